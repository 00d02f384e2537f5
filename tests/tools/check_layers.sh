#!/bin/sh
# check_layers.sh SOURCE_FOLDER: tools/check-layers accepts good arrows and refuses bad ones.
set -eu
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/tools" "$tree/include/lcsm" "$tree/src/base" "$tree/src/kernel" "$tree/src/graph" \
    "$tree/src/cli"
cp "$1/tools/check-layers" "$tree/tools/"
for header in base/size kernel/vec graph/op cli/cli; do : >"$tree/src/$header.h"; done
: >"$tree/include/lcsm/lcsm.h"

# try accepted|refused FILE LINE
try() {
    echo "$3" >"$tree/$2"
    verdict=accepted
    "$tree/tools/check-layers" >/dev/null || verdict=refused
    rm "$tree/$2"
    [ "$verdict" = "$1" ] || {
        echo "$2 with '$3' is $verdict, want $1"
        exit 1
    }
}

try accepted src/graph/run.c '#include "kernel/vec.h"'
try accepted src/graph/run.c '#include "base/size.h"'
try accepted src/kernel/a.c '#include <lcsm/lcsm.h>'
try accepted src/cli/main.c '#include "cli.h"'
try accepted src/base/thread.c 'pthread_create(&t, NULL, f, NULL);'
try accepted src/cli/main.c '#include "base/size.h"'
try accepted include/lcsm/eos.h '#include <lcsm/lcsm.h>'
try refused src/base/file.c '#include "kernel/vec.h"'
try refused src/kernel/a.c '#  include "graph/op.h"'
try refused src/graph/run.c '#include "op.h"'
try refused src/graph/run.c '#include "graph/missing.h"'
try refused src/graph/run.c '#include "../kernel/vec.h"'
try refused src/cli/main.c '#include "kernel/vec.h"'
try refused src/kernel/a.c '#pragma omp simd'
try refused src/kernel/a.c 'pthread_create(&t, NULL, f, NULL);'
try refused include/lcsm/eos.h '#include "base/size.h"'
try refused include/lcsm/eos.h '#include <lcsm/missing.h>'
mkdir "$tree/src/novel"
try refused src/novel/a.c 'int x;'
