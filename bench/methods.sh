#!/bin/sh
# Writes docs/methods-speed.md: a model of every method on this machine.
#
#     bench/methods.sh [PROGRAM]          PROGRAM defaults to build/lcsm
#
# Takes ten minutes and more; the less runs beside it, the better.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
program=${1:-$root/build/lcsm}
figures=$(mktemp -d)
trap 'rm -rf "$figures"' EXIT

"$program" methods --json >"$figures/names"
for name in $(sed -n 's/^ *"name": "\([^"]*\)",$/\1/p' "$figures/names" | grep -v '^custom$'); do
    grep -qs "\"case\": \"$name\"" "$figures"/*.json && continue # timed with one whose name is part of it
    echo "$name" >&2
    "$program" bench methods --size 10m --threads 1 --seconds 0.5 --filter "$name" --json \
        >"$figures/$(ls "$figures" | wc -l | sed 's/^/0/; s/.*\(..\)$/\1/').json"
done
cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
python3 - "$figures" "$cpu" >"$root/docs/methods-speed.md" <<'PY'
import json
import pathlib
import sys

runs = [json.loads(path.read_text()) for path in sorted(pathlib.Path(sys.argv[1]).glob("*.json"))]
run = {"peak_gflops": max(r["peak_gflops"] for r in runs),
       "results": list({row["case"]: row for r in runs for row in r["results"]}.values())}
print(f"""# Every method at 10 million parameters

Made by `bench/methods.sh` on one thread of {sys.argv[2]}, which does {run["peak_gflops"]:.0f} GFLOP/s of
multiply-adds; times are CPU time. This page is generated: run the script again instead of editing it.

Models have a vocabulary of 256 and the methods' own blocks (`--size 10m`). *Memory* is the number of floats that one sequence
carries. *Cost* is the number of operations per token, in millions: for training (forward and backward, at a length of 512) and for
decoding. *Train* is the speed of whole steps of 4 x 512 tokens including the optimiser, *decode* that of one sequence token by
token, both in tokens per second (higher is better). *Growth* is the time per token of one mixer, forward and backward, in one
sequence of 65,536 tokens, divided by that for the same number of tokens in sequences of 1,024: 1 is linear, and a linear method
should stay at or below 1.15.

| method | width x layers | parameters | memory | cost, train | cost, decode | train | decode | growth |
|---|---|---|---|---|---|---|---|---|""")
for r in run["results"]:
    name = r["case"] + (" " + r["code"] if r["code"] else "")
    missed = r["growth_target"] is not None and r["growth"] > r["growth_target"]
    growth = f'{r["growth"]:.2f}' + (" (above 1.15)" if missed else "")
    if r["long_length"] != 65536:
        growth += f' at {r["long_length"]}'
    print(f'| {name} | {r["d_model"]} x {r["layers"]} | {r["parameters"]:,} | {r["memory_floats"]:,} '
          f'| {r["train_flops"] / 1e6:.1f} | {r["decode_flops"] / 1e6:.1f} '
          f'| {r["train_tokens_per_second"]:,.0f} | {r["decode_tokens_per_second"]:,.0f} | {growth} |')
PY
echo "docs/methods-speed.md"
