# A grid of one's own: two models that train, one that cannot be built.
mkdir grid
cat >grid/grid.json <<'JSON'
{"title": "Three", "task": "mqar", "metric": "accuracy",
 "fixed": {"layers": 1, "vocab": 32, "expand": 4, "pairs": 2, "seq_len": 16, "wiring": "mqar"},
 "variants": [{"label": "a", "code": "1-1-1-0"}, {"label": "b", "code": "1-0-1-0"},
              {"label": "c", "method": "gla", "heads": 3}],
 "scales": {"tiny": {"fixed": {"steps": 4, "batch_size": 2, "test_examples": 8},
                     "axes": {"d_model": [4, 8]}, "lr": [0.01], "seeds": 1}}}
JSON
"$LCSM" experiment run ./grid --out done --quiet --jobs 2
echo "exit $?"
cat done/runs/c_d_model-4_lr-0.01_seed-1/failed.txt
inspected=done/runs/a_d_model-8_lr-0.01_seed-1/inspect.json
rm $inspected
"$LCSM" experiment run ./grid --out done --quiet --json --only a,b
echo "exit $?"
[ -e $inspected ] && echo inspected
grep '^  "command"' done/experiment.json
"$LCSM" report done --quiet --out page.html --json | tr -d ' \n'
echo
rm $inspected
: >"$(dirname $inspected)/model.safetensors"
"$LCSM" experiment run ./grid --out done --only a,b 2>&1 | grep 'not inspected'
"$LCSM" experiment list | cut -d ' ' -f1 | head -3
"$LCSM" experiment list --json | grep -c '"task"'
"$LCSM" experiment run tau-mqra --out x
echo "exit $?"
"$LCSM" experiment run tau-mqar --out x --scale huge
echo "exit $?"
"$LCSM" experiment run tau-mqar --out x --lr-grid 1e-2,fast
echo "exit $?"
"$LCSM" experiment run tau-lm --out x
echo "exit $?"
"$LCSM" experiment run tau-lm --out x --data none.txt
echo "exit $?"
"$LCSM" experiment run tau-lm --out x --data grid/grid.json --valid none.txt
echo "exit $?"
"$LCSM" experiment run tau-lm --out x --data grid/grid.json --test none.txt
echo "exit $?"
"$LCSM" experiment run tau-lm --out x --data grid/grid.json --scale paper
echo "exit $?"
"$LCSM" experiment run tau-lm --out x --data grid/grid.json --scale paper --tokenizer none.json
echo "exit $?"
for flag in --data --valid --test --tokenizer; do
    "$LCSM" experiment run ./grid --out x $flag grid/grid.json --quiet
    echo "exit $?"
done
[ -e x ] || echo nothing
"$LCSM" experiment ran
echo "exit $?"
"$LCSM" experiment run tau-mqar
echo "exit $?"
"$LCSM" experiment run ./grid --out "b's own" --quiet --only b | tail -1
