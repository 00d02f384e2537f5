# What a terminal shows fits its width, and where both streams go to one place no line has two things.
yes 'a line of text' | head -n 300 >text
set -- --data text --d-model 8 --layers 1 --batch-size 2 --seq-len 16 --threads 1

# widest COLUMNS: the longest line that a terminal of this width gets, live or not.
widest() {
    rm -rf live
    script -qec "stty cols $1; $LCSM train $2 --steps 30 --out live" /dev/null </dev/null | tr '\r' '\n' |
        sed 's/\x1b\[[0-9;]*[A-Za-z]//g' | awk -v most="$1" '
            /^step/ { live++; if (length($0) >= most) long++ }
            END { print "columns " most ": " (live > 9 ? "live, " : "no live line, ") long + 0 " too long" }'
}
widest 80 "$*"
widest 30 "$*"

$LCSM train "$@" --steps 10 --out run >out 2>&1
grep -c '^step 10  loss .* tok/s  left .* MB$' out
grep -c '^  valid at step 10: loss' out
grep -c '^10 steps, [0-9]* tokens, .* tok/s without evaluation: all steps done$' out
$LCSM generate run --prompt a --n 5 >out 2>&1
grep -c '^5 tokens, .*; ended: all tokens generated$' out
$LCSM generate run --prompt a --n 5 2>err >alone
grep -c '^$' err
$LCSM generate run --prompt a --n 5 --quiet >quiet
cmp alone quiet && echo 'the text is alone on stdout'
# The speed of a run is one number.
$LCSM train "$@" --steps 10 --out other --json --quiet >out
said=$(sed -n 's/.*"tokens_per_second": \([0-9]*\).*/\1/p' out)
kept=$(sed -n 's/.*"kind":"end".*"tokens_per_second":\([0-9]*\).*/\1/p' other/metrics.jsonl)
[ -n "$said" ] && [ "$said" = "$kept" ] && echo 'the same speed'
