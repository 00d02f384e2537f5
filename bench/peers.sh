#!/bin/sh
# The operator beside PyTorch's versions of the same work, back to back: theirs, ours, theirs.
#
#     bench/peers.sh [PROGRAM]          PROGRAM defaults to build/lcsm
#
# The best of several runs counts.
. "$(dirname "$0")/beside.sh"

operators() (
    cd "$torch"
    . ./env.sh
    /usr/bin/python3 bench_eos.py --naive 0 --reps 3
    /usr/bin/python3 bench_mamba_scan.py --lens 2048
) >>"$folder/theirs" 2>/dev/null

echo "PyTorch, first time ..." >&2
operators
for name in ones scalar-static row-token mamba; do
    echo "lcsm, $name ..." >&2
    "$program" bench eos --json --threads 2 --filter "$name/" >"$folder/ours-$name"
done
echo "PyTorch, second time ..." >&2
operators

/usr/bin/python3 - "$folder" <<'PYTHON'
import json
import pathlib
import re
import sys

folder = pathlib.Path(sys.argv[1])
# theirs, ours, and the ratio that we want
PAIRS = [
    ("linattn chunk64 fwd", "ones/fwd/", None),
    ("linattn chunk64 fwd\\+bwd", "ones/fwd+bwd/", None),
    ("retnet chunk64 fwd", "scalar-static/fwd/", 2.7),
    ("retnet chunk64 fwd\\+bwd", "scalar-static/fwd+bwd/", 2.0),
    ("gla chunk64 fwd", "row-token/fwd/", 4.3),
    ("gla chunk64 fwd\\+bwd", "row-token/fwd+bwd/", 3.5),
    ("mamba \\w+ fwd n=2048", "mamba/fwd/", 8.0),
    ("mamba \\w+ fwd\\+bwd n=2048", "mamba/fwd+bwd/", 8.0),
]
theirs = {}
for line in (folder / "theirs").read_text().splitlines():
    if line.startswith("{"):
        row = json.loads(line)
        best = theirs.get(row["name"], 0)
        theirs[row["name"]] = max(best, row["tok_s"] * row["ms"] / row["ms_min"])
ours = {}
for file in folder.glob("ours-*"):
    for row in json.loads(file.read_text())["results"]:
        size = re.search(r"/B(\d+)-T(\d+)-H(\d+)", row["case"])
        if row["seconds"] and (size[1], size[2]) in (("4", "2048"), ("1", "2048")):
            ours[row["case"]] = int(size[1]) * int(size[2]) / row["seconds"]

print(f"{'work, 2 threads':<42} {'PyTorch tok/s':>14} {'lcsm tok/s':>12} {'ratio':>7}  wanted")
for name, case, wanted in PAIRS:
    slow = max((v for k, v in theirs.items() if re.fullmatch(name, k)), default=None)
    fast = next((v for k, v in ours.items() if k.startswith(case)), None)
    if slow is None or fast is None:
        print(f"{case:<42} {'-':>14} {'-':>12}")
        continue
    mark = "" if wanted is None else f">= {wanted} " + ("+" if fast / slow >= wanted else "-")
    print(f"{case.rstrip('/'):<42} {slow:>14.0f} {fast:>12.0f} {fast / slow:>6.2f}x  {mark}")
PYTHON
