#!/bin/sh
# The pages in a browser. $LCSM_PYTHON names a Python that has playwright.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
lcsm=$(realpath "$1")
needs=playwright
. "$here/models.sh"
"$python" "$here/browser_checks.py" "$lcsm" bytes characters
