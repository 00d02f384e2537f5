# Interrupted by signals of both kinds, and resumed, a grid has the same tables as one that was not.
mkdir grid
cat >grid/grid.json <<'JSON'
{"title": "Two", "task": "mqar", "metric": "accuracy",
 "fixed": {"layers": 1, "vocab": 32, "expand": 8, "pairs": 2, "seq_len": 16, "wiring": "mqar"},
 "variants": [{"label": "a", "code": "1-1-1-0"}, {"label": "b", "code": "1-0-1-0"}],
 "scales": {"tiny": {"fixed": {"steps": 120, "batch_size": 8, "test_examples": 50, "eval_every": 20,
                               "d_model": 16}, "lr": [0.01, 0.03], "seeds": 2}}}
JSON
"$LCSM" experiment run ./grid --out whole --quiet --jobs 1 >/dev/null
for signal in INT KILL TERM KILL INT TERM KILL INT TERM KILL; do
    "$LCSM" experiment run ./grid --out pieces --quiet --jobs 1 >/dev/null &
    pid=$!
    sleep 0.1
    kill -$signal $pid
    wait $pid
done 2>/dev/null
"$LCSM" experiment run ./grid --out pieces --quiet --jobs 1 | head -1
for name in whole pieces; do
    "$LCSM" report $name --csv $name.csv --quiet
    cut -d, -f1-8,10-16 $name.csv >$name.table
done
cmp whole.table pieces.table && wc -l <whole.table | tr -d ' '
