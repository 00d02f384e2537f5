# One model that both readings train alike, and one that they do not; described first, then both.
mkdir grid
cat >grid/grid.json <<'JSON'
{"title": "Two", "task": "mqar", "metric": "accuracy",
 "fixed": {"layers": 1, "vocab": 32, "expand": 4, "pairs": 2, "seq_len": 16, "wiring": "mqar"},
 "variants": [{"label": "a", "code": "1-1-1-0"}, {"label": "SSM", "code": "0"}],
 "scales": {"tiny": {"fixed": {"steps": 4, "batch_size": 2, "test_examples": 8, "d_model": 4},
                     "lr": [0.01], "seeds": 1}}}
JSON
cat >grid/paper.json <<'JSON'
{"rows": [], "findings": [{"text": "SSM beats a.", "better": ["SSM"], "than": ["a"]}]}
JSON
"$LCSM" experiment run ./grid --out done --quiet --json
"$LCSM" experiment run ./grid --out done --quiet --json --reading both
ls done/runs
grep -c -- '--o-trained false' done/experiment.json
"$LCSM" report done | grep -E 'finding of|beats|^variant +as|The paper as' | sed 's/ *confirmed.*//; s/ *not$//'
"$LCSM" experiment run ./grid --out done --reading neither
echo "exit $?"
