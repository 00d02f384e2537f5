#!/bin/sh
# The package openai as a client. $LCSM_PYTHON names a Python that has openai.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
lcsm=$(realpath "$1")
needs=openai
. "$here/models.sh"
"$python" "$here/openai_checks.py" "$lcsm" bytes
