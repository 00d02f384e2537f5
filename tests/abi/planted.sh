#!/bin/sh
# planted.sh LIBRARY: check.sh notices what would break programs that were built before: a member in
# the middle of a struct, another number of an enum, another argument, a macro, a function too many.
set -eu
library=$1
cd "$(dirname "$0")/../.."
command -v abidiff >/dev/null || exit 0
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir "$tree/tests"
cp -R tests/abi "$tree/tests/abi"
code=0

# FILE OLD NEW: the check must fail with the text changed so.
plant() {
    rm -rf "$tree/include"
    cp -R include "$tree/include"
    sed -i "s/$2/$3/" "$tree/include/lcsm/$1"
    if cmp -s "include/lcsm/$1" "$tree/include/lcsm/$1"; then
        echo "$1 has no text '$2'"
        code=1
    elif "$tree/tests/abi/check.sh" "$library" >"$tree/log" 2>&1; then
        echo "not noticed in $1: '$3' for '$2'"
        code=1
    fi
}

plant session.h '    size_t chunk;' '    size_t extra, chunk;'
plant session.h '    size_t chunk;' '    unsigned chunk;'
plant dataset.h 'LCSM_ENDS_FILE \( *\)= 1' 'LCSM_ENDS_FILE \1= 7'
plant status.h 'char \( *\)text\[240\]' 'char \1text[200]'
plant session.h 'const int32_t \*tokens, size_t n' 'const int64_t *tokens, size_t n'
plant eos.h 'typedef struct lcsm_eos lcsm_eos;' 'typedef struct lcsm_eos lcsm_eos;\n#define X 1'
plant session.h '^LCSM_END_DECLS' 'LCSM_API void lcsm_session_more(void);\nLCSM_END_DECLS'
exit $code
