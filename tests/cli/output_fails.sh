# What cannot be written is a failure, also where stdout is closed.
i=0
while [ $i -lt 50 ]; do echo "the cat sat on the mat. "; i=$((i + 1)); done >text
"$LCSM" train --data text --out run --steps 2 --d-model 8 --layers 1 --seq-len 16 \
    --batch-size 2 --quiet --json >/dev/full
echo "exit $?"
for words in --help version "train --help" methods "methods --json" "describe gla" "experiment list" \
    "eval run --data text --json" "inspect run --json" "report run --json --quiet --out page.html" \
    "generate run --n 5 --quiet" "generate run --n 5 --json" "generate run --n 0 --quiet"; do
    echo "# $words"
    "$LCSM" $words >/dev/full
    echo "exit $?"
    "$LCSM" $words >&-
    echo "exit $?"
done
echo "# a failure of its own keeps its code"
"$LCSM" describe nosuch >/dev/full 2>/dev/null
echo "exit $?"
echo "# a reader that has enough ends the program"
{ "$LCSM" generate run --n 0 --quiet; echo "exit $?" >&2; } | head -c 100 >/dev/null
