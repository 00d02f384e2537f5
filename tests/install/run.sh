#!/bin/sh
# run.sh BUILD_FOLDER: installs into a temporary place, then builds and runs a consumer by
# pkg-config and by find_package, each with the shared and with the static library; by find_package
# in C and in C++, for lcsm/lcsm.h and for lcsm/tools.h. Then packs the sources.
set -eu
build=$(cd "${1:?usage: run.sh BUILD_FOLDER}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT

cmake --install "$build" --prefix "$stage/shared" >/dev/null
"$stage/shared/bin/lcsm" --version
library=$(find "$stage/shared" -name liblcsm.so)
libdir=$(dirname "$library")
readelf -d "$library" | grep -q 'SONAME.*liblcsm\.so\.[0-9]' || {
    echo "liblcsm.so has no SONAME"
    exit 1
}
if nm -D --defined-only "$library" | awk '{ print $3 }' | grep -v '^lcsm_'; then
    echo "the symbols above leave the library without its prefix"
    exit 1
fi

# What the wheel carries runs on systems with glibc 2.34, wherever it is built with an older one than 2.38.
if ldd --version | head -n 1 | grep -Eq ' 2\.(3[4-7])$' && nm -D "$library" | grep -E '@GLIBC_2\.(3[5-9]|[4-9][0-9])$'; then
    echo "the functions above need a newer glibc than 2.34"
    exit 1
fi

echo "pkg-config, shared"
export PKG_CONFIG_PATH="$libdir/pkgconfig"
# shellcheck disable=SC2046 # options
cc "$here/consumer.c" -o "$stage/a" $(pkg-config --cflags --libs lcsm)
LD_LIBRARY_PATH=$libdir "$stage/a"

echo "pkg-config, static"
cp -R "$stage/shared" "$stage/static"
archive_dir=$stage/static/${libdir#"$stage/shared/"}
rm "$archive_dir"/liblcsm.so*
# shellcheck disable=SC2046 # options
PKG_CONFIG_PATH="$archive_dir/pkgconfig" sh -c \
    'cc "$1" -o "$2" $(pkg-config --static --cflags --libs lcsm)' sh "$here/consumer.c" "$stage/b"
"$stage/b"

# Both kinds of project: the consumer is as good as C++.
for language in C CXX; do
    echo "find_package, shared and static, $language alone"
    project=$stage/$language
    {
        cmake -S "$here" -B "$project" -DLANGUAGE=$language -DCMAKE_PREFIX_PATH="$stage/shared" &&
            cmake --build "$project"
    } >"$stage/log" 2>&1 || {
        cat "$stage/log"
        exit 1
    }
    for program in with_lcsm with_lcsm_tools with_lcsm_static with_lcsm_static_tools; do
        "$project/$program"
    done
done

echo "the archive of the sources has all of them"
cpack --config "$build/CPackSourceConfig.cmake" -B "$stage/archive" >"$stage/log" 2>&1 || {
    cat "$stage/log"
    exit 1
}
tar -tzf "$stage"/archive/lcsm-*.tar.gz | sed -n 's|^[^/]*/\(.*[^/]\)$|\1|p' | sort >"$stage/archived"
"$here/../../tools/list-files" | sort | comm -23 - "$stage/archived" >"$stage/missing"
if [ -s "$stage/missing" ]; then
    cat "$stage/missing"
    echo "the files above are not in the archive of the sources"
    exit 1
fi
