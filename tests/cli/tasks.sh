# The table of tasks, examples of one, and a run of a task with another length in its test.
try() {
    "$LCSM" "$@" 2>&1
    code=$?
    [ $code = 0 ] || echo "exit $code"
}
try tasks | cut -c1-21 | sed 's/ *$//'
try tasks show parity --examples 1
try tasks show listops --examples 1 | tail -7
try tasks show mad-recall --seq-len 7 --vocab 4 --examples 1 --json | tr -d ' \n' | sed 's/.*"examples"//'
echo
echo "# mistakes"
try tasks show paritty
try tasks show parity --seq-len 1
try tasks show parity --d-model 8
try tasks nothing
try train --task parity --pairs 3 --out never --quiet
echo "# a run"
set -- --method deltanet --d-model 8 --heads 1 --layers 1 --batch-size 8 --threads 1 --quiet
try train --task parity "$@" --seq-len 7 --test-len 12 --test-examples 40 --steps 6 --eval-every 3 --out a > /dev/null
grep -c '"score"' a/metrics.jsonl
grep -o '"test_len": 12' a/config.json
try eval a --json | sed 's/"queries": \([0-9]*\).*/\1/; s/: [-0-9.e]*,/,/g'
try generate a --prompt x
for task in mad-compression stacked-recall words-s3 needle; do
    size="--vocab 16 --test-examples 8"
    [ $task = mad-compression ] && size="--vocab 16 --seq-len 6 --test-examples 8"
    [ $task = stacked-recall ] && size="--vocab 16 --seq-len 4 --pairs 2 --test-examples 8"
    [ $task = words-s3 ] && size="--seq-len 5 --test-len 9 --test-examples 8"
    [ $task = needle ] && size="--seq-len 40 --test-examples 8"
    try train --task $task $size "$@" --steps 2 --out $task > /dev/null
    try eval $task | sed 's/ *[-0-9.].*//'
done
