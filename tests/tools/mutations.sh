#!/bin/sh
# Every fault of tests/mutations.txt fits the tree; `make mutate` plants them. Argument: the source
# folder.
set -eu
cd "$1"
scripts/mutate --fits
