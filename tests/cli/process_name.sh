# The program is called lcsm in the list of processes, and so are the runs that an experiment starts.
# A program whose file is replaced meanwhile goes on with its runs.
mkfifo text
"$LCSM" tokenizer encode <text >/dev/null &
exec 3>text
sleep 0.5
cat /proc/$!/comm
exec 3>&-
wait

mkdir grid bin
cp "$LCSM" bin/lcsm
cat >grid/grid.json <<'JSON'
{"title": "Two", "task": "mqar", "metric": "accuracy",
 "fixed": {"layers": 1, "vocab": 32, "expand": 4, "pairs": 2, "seq_len": 16, "d_model": 4},
 "variants": [{"label": "a", "code": "1-1-1-0"}, {"label": "b", "code": "1-0-1-0"}],
 "scales": {"tiny": {"fixed": {"steps": 100000000, "batch_size": 2, "test_examples": 8},
                     "axes": {"d_model": [4]}, "lr": [0.01], "seeds": 1}}}
JSON
# child RUN: the process of this run, once its log shows that it trains, as "number (name)"
child() {
    until grep -q . done/runs/"$1"_*/log.txt 2>/dev/null; do sleep 0.05; done
    for stat in /proc/[0-9]*/stat; do
        read -r pid name _ above _ 2>/dev/null <"$stat" || continue
        [ "$above" != "$parent" ] || echo "$pid $name"
    done
}
bin/lcsm experiment run ./grid --out done --quiet --jobs 1 >/dev/null 2>&1 &
parent=$!
first=$(child a)
echo "${first#* }"
rm bin/lcsm
kill -9 "${first%% *}"
child b | grep -c .
kill $parent
wait $parent || :
