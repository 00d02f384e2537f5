#!/bin/sh
# Ranks share the runs of an experiment: the folder is that of one process.
. "$(dirname "$0")/ranks.sh"
mkdir grid
cat >grid/grid.json <<'JSON'
{"title": "Four", "task": "mqar", "metric": "accuracy",
 "fixed": {"layers": 1, "vocab": 32, "expand": 4, "pairs": 2, "seq_len": 16, "wiring": "mqar"},
 "variants": [{"label": "a", "code": "1-1-1-0"}, {"label": "b", "method": "gla"},
              {"label": "c", "method": "gla", "heads": 3}],
 "scales": {"tiny": {"fixed": {"steps": 10, "batch_size": 2, "test_examples": 8},
                     "axes": {"d_model": [4, 8]}, "lr": [0.01], "seeds": 1}}}
JSON
"$lcsm" experiment run ./grid --out one --quiet --jobs 2 >one.log 2>&1 && fail "a run that cannot be built is done"
ranks 2 experiment run ./grid --out two && fail "a run that cannot be built is done"
grep -q '4 of 6 runs done, 2 failed' log || fail "2 ranks did not do 4 of 6 runs"
for run in one/runs/[ab]*; do same_weights "$run" "two/runs/$(basename "$run")"; done
"$lcsm" report one --quiet --out one.html --json >one.json
"$lcsm" report two --quiet --out two.html --json >two.json
cp "$lcsm" copy && printf ' ' >>copy
LCSM_MPI_PLUGIN=${LCSM_MPI_PLUGIN:-$(dirname "$lcsm")/liblcsm_mpi.so} timeout -k 5 120 "$mpirun" -n 1 "$lcsm" experiment run ./grid --out other : -n 1 ./copy experiment run ./grid --out other >log 2>&1 &&
    fail "ranks of other builds share a grid"
grep -q 'rank 1 .*the program.s file differs' log || fail "nothing says that the builds differ"
[ ! -e other ] || fail "a grid that was refused left a folder"
cmp one.json two.json || fail "the reports differ"
echo "the table of one process"
