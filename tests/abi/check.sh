#!/bin/sh
# check.sh LIBRARY: the library exports the functions of symbols.txt and no others, and the stable
# ones take and return what lcsm.abi says. A difference that is meant is recorded by `make abi`.
set -eu
library=$1
cd "$(dirname "$0")/../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

differ() {
    echo "$1"
    echo "if this is meant, run: make abi"
    exit 1
}

tests/abi/list | diff tests/abi/symbols.txt - || differ "the headers declare other functions than tests/abi/symbols.txt has"
cut -d ' ' -f 2 tests/abi/symbols.txt | sort >"$folder/want"
nm -D --defined-only "$library" | awk '{ print $3 }' | sort >"$folder/have"
diff "$folder/want" "$folder/have" || differ "the library exports other functions than tests/abi/symbols.txt has"

python3 python/tools/bind --check || exit 1

if grep -nE '^# *define' include/lcsm/*.h |
    grep -vE '# *define (LCSM_[A-Z_]+_H|LCSM_API|LCSM_(BEGIN|END)_DECLS|LCSM_VERSION[A-Z_]*)\b'; then
    differ "public headers define the macros above"
fi

command -v abidiff >/dev/null || {
    echo "abidiff is not here: types are not compared (package abigail-tools)"
    exit 0
}
tests/abi/stub lcsm/lcsm.h "$folder/liblcsm.so"
abidiff --no-show-locs --harmless tests/abi/lcsm.abi "$folder/liblcsm.so" ||
    differ "the types of the stable functions are not those of tests/abi/lcsm.abi"
echo "$(grep -c . tests/abi/symbols.txt) functions, as recorded"
