# Interrupted by signals of both kinds, and resumed, a grid has the same tables as one that was not,
# whether it does one run at a time or two.
mkdir grid
cat >grid/grid.json <<'JSON'
{"title": "Two", "task": "mqar", "metric": "accuracy",
 "fixed": {"layers": 1, "vocab": 32, "expand": 8, "pairs": 2, "seq_len": 16, "wiring": "mqar"},
 "variants": [{"label": "a", "code": "1-1-1-0"}, {"label": "b", "code": "1-0-1-0"}],
 "scales": {"tiny": {"fixed": {"steps": 240, "batch_size": 8, "test_examples": 50, "eval_every": 20,
                               "d_model": 16}, "lr": [0.01, 0.03], "seeds": 2}}}
JSON

# table FOLDER: what the report has of it, without its name and the seconds that runs took.
table() {
    "$LCSM" report "$1" --csv "$1.csv" --quiet
    cut -d, -f1-5,7-19,23 "$1.csv" >"$1.table"
}

"$LCSM" experiment run ./grid --out whole --quiet --jobs 2 >/dev/null
table whole
wc -l <whole.table | tr -d ' '
for jobs in 1 2; do
    for stop in INT:0.12 KILL:0.07 TERM:0.1 KILL:0.15 INT:0.05 TERM:0.13 KILL:0.1 INT:0.08 TERM:0.06 \
        KILL:0.11; do
        "$LCSM" experiment run ./grid --out pieces$jobs --quiet --jobs $jobs >/dev/null &
        pid=$!
        sleep "${stop#*:}"
        kill "-${stop%:*}" $pid
        wait $pid
    done 2>/dev/null
    "$LCSM" experiment run ./grid --out pieces$jobs --quiet --jobs $jobs | head -1
    table pieces$jobs
    cmp whole.table pieces$jobs.table
done
