#!/bin/sh
# The version of include/lcsm/lcsm.h stands in every other place that names it.
set -eu
cd "$1"
version=$(sed -n 's/^#define LCSM_VERSION  *"\(.*\)"$/\1/p' include/lcsm/lcsm.h)
[ -n "$version" ] || { echo "include/lcsm/lcsm.h: no LCSM_VERSION"; exit 1; }
failed=0
while read -r file pattern; do
    found=$(sed -n "s/^$pattern.*$/\\1/p" "$file" | head -n 1)
    [ "$found" = "$version" ] && continue
    echo "$file: the version is '$found'; expected $version, as in include/lcsm/lcsm.h"
    failed=1
done <<'END'
CITATION.cff version: \([0-9.]*\)
CITATION.cff #.*version = {\([0-9.]*\)}
README.md .*version = {\([0-9.]*\)}
CHANGELOG.md ## \([0-9.]*\)
debian/changelog lcsm (\([0-9.]*\))
python/lcsm/_version.py __version__ = "\([0-9.]*\)"
END
exit $failed
