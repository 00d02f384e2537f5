#!/bin/sh
# The recorded models are those that tools/make-golden computes today: their list, and their logits.
# Argument: the source folder. Without NumPy there is nothing to compare with.
set -eu
cd "$1"
python3 -c 'import numpy' 2>/dev/null || {
    echo "no NumPy: not compared"
    exit 0
}
PYTHONDONTWRITEBYTECODE=1 tools/make-golden --check
