# A grid with the task as an axis: runs by methods and tasks, and the report beside the numbers in print.
try() {
    "$LCSM" "$@" 2>&1
    code=$?
    [ $code = 0 ] || echo "exit $code"
}
mkdir grid
cat > grid/grid.json <<'EOF'
{"title": "Two tasks", "task": "several", "metric": "score",
 "variants": [{"label": "mamba", "method": "mamba"}, {"label": "deltanet", "method": "deltanet"},
              {"label": "attention", "method": "attention"}],
 "scales": {"tiny": {"fixed": {"d_model": 8, "layers": 1, "batch_size": 4, "steps": 2, "test_examples": 8},
   "axes": {"task": [{"task": "parity", "seq_len": 5, "test_len": 9}, {"task": "mad-recall", "seq_len": 7}]},
   "lr": [0.01], "seeds": 1}}}
EOF
try experiment run ./grid --scale tiny --out done --jobs 1 --quiet
ls done/runs
grep -o '"parity"\|"mad-recall"' done/experiment.json | sort | uniq -c | tr -s ' '
grep -h -o '"seq_len": [0-9]*\|"examples": [0-9]*\|"vocab": [0-9]*' done/runs/mamba_task-mad-recall*/config.json
"$LCSM" report done --markdown r.md --csv r.csv > /dev/null 2>&1 || echo "no report"
grep '^| variant' -A 5 r.md | sed 's/-*0\.[0-9]* *|/X |/g;  s/[-]*0\.[0-9]*\b/X/g; s/ [01]\.000\b/ X/g' | grep -E 'parity|mamba .*\|.*\|' | tail -2
cut -d, -f1,2,7 r.csv | head -3
echo "# mistakes"
sed 's/"several"/"parity"/' grid/grid.json > bad.json
mkdir bad && mv bad.json bad/grid.json
try experiment run ./bad --scale tiny --out bad-out
sed 's/"task": "parity", /"task": "paritty", /' grid/grid.json > bad/grid.json
try experiment run ./bad --scale tiny --out bad-out
