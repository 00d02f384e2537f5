# beside.sh - sourced by train.sh, mqar.sh and peers.sh: finds PyTorch and the program, and sets a
# PyTorch script and lcsm bench train back to back: theirs, ours, theirs. The best and the median of
# each are compared, and the memory.
#
#     beside TITLE KEY THEIRS OURS
#
# THEIRS is a script of shared/peers/torch with its arguments, OURS the arguments of
# `lcsm bench train`, KEY the rate in its JSON. The scripts are found in the folder shared/ beside
# the source folder, or at LCSM_SHARED; PyTorch must be there for /usr/bin/python3 (Debian:
# python3-torch, libopenblas0-openmp).
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
program=$(realpath "${1:-$root/build/lcsm}")
torch=${LCSM_SHARED:-$root/../shared}/peers/torch

fail() {
    echo "$(basename "$0"): $1" >&2
    exit 1
}

[ -x "$program" ] || fail "no program $program; run make first"
[ -f "$torch/common.py" ] || fail "no scripts in $torch"
/usr/bin/python3 -c 'import torch' 2>/dev/null || fail "no PyTorch; apt-get install python3-torch"
dpkg -s libopenblas0-openmp >/dev/null 2>&1 ||
    fail "PyTorch is slow without its matrix products; apt-get install libopenblas0-openmp"

# Debian's OpenBLAS does not know processors that are newer than itself, and takes its slowest kernels
# for them.
! grep -qm 1 avx512f /proc/cpuinfo || export OPENBLAS_CORETYPE="${OPENBLAS_CORETYPE:-SKYLAKEX}"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

theirs() (
    cd "$torch"
    . ./env.sh
    # shellcheck disable=SC2086
    /usr/bin/python3 $1 | grep maxrss
)

beside() {
    echo "$1: PyTorch, ours, PyTorch ..." >&2
    theirs "$3" >"$folder/theirs"
    # shellcheck disable=SC2086
    "$program" bench train --json --threads 2 $4 >"$folder/ours"
    theirs "$3" >>"$folder/theirs"
    /usr/bin/python3 - "$folder" "$1" "$2" <<'PYTHON'
import json
import sys

folder, title, key = sys.argv[1:]
ours = json.load(open(f"{folder}/ours"))
theirs = [json.loads(line) for line in open(f"{folder}/theirs")]
count = ours[key] * ours["seconds"]
best = min(t["ms_min"] for t in theirs) * 1e-3
middle = min(t["ms"] for t in theirs) * 1e-3
memory = min(t["maxrss_mb"] for t in theirs) * 2**20
rss = ours["memory"]["max_rss"]
print(f"{title}, a second: best {ours[key]:.1f} : {count / best:.1f}, {best / ours['seconds']:.2f}x; "
      f"median {count / ours['median_seconds']:.1f} : {count / middle:.1f}, "
      f"{middle / ours['median_seconds']:.2f}x; memory {rss / 1e6:.0f} : {memory / 1e6:.0f} MB, "
      f"{rss / memory:.2f}; {ours['fraction_of_peak']:.3f} of the peak; "
      f"our threads ran {ours['processor_share']:.0%} of the time")
PYTHON
}
