# A run of recall has no text to write or to read, whatever its vocabulary.
try() { $LCSM "$@" 2>&1 || echo "exit $?"; }
yes 'a line of text' | head -n 200 >text
for vocab in 256 64; do
    "$LCSM" train --task mqar --vocab $vocab --seq-len 32 --pairs 2 --d-model 8 --layers 1 --steps 1 \
        --batch-size 2 --test-examples 4 --threads 1 --quiet --out recall$vocab >/dev/null
    try generate recall$vocab --n 5 --quiet --threads 1
    try eval recall$vocab --data text --threads 1
    try eval recall$vocab --threads 1 | cut -d ' ' -f 1
done
for option in '--batch-size 4' '--blocks 2' --carried '--lengths 8,16' '--ends line'; do
    try eval recall64 $option --threads 1
done
try eval recall64 --seq-len 16 --threads 1 | cut -d ' ' -f 1

# Another problem than that of training, as far as it is one of recall.
queries() { try eval recall64 --json --threads 1 "$@" | sed 's/.*"queries": \([0-9]*\).*/\1/'; }
queries
queries --pairs 4 --test-examples 5 --seed 0
queries --pairs 9
"$LCSM" train --data text --d-model 8 --layers 1 --steps 1 --quiet --out text-run >/dev/null
try eval text-run --pairs 4 --data text

# The model that is kept is the best one: as often right as any other, and with the least loss.
"$LCSM" train --task mqar --steps 12 --eval-every 1 --batch-size 4 --layers 1 --d-model 16 --vocab 16 --seq-len 8 \
    --pairs 2 --test-examples 7 --threads 1 --quiet --json --out best >best.json
"$LCSM" eval best --json --threads 1 >kept.json
for key in loss accuracy; do
    kept=$(sed -n "s/.*\"$key\": \([0-9.]*\).*/\1/p" kept.json)
    said=$(sed -n "s/.*\"best_$key\": \([0-9.]*\).*/\1/p" best.json)
    awk -v key=$key -v a="$kept" -v b="$said" 'BEGIN { d = a - b; print key, d * d < 1e-10 ? "of the kept model" : a " " b }'
done
grep '"kind":"eval"' best/metrics.jsonl | sed 's/.*"loss":\([0-9.]*\).*"accuracy":\([0-9.]*\).*/\2 \1/' |
    sort -k1,1nr -k2,2n | head -n 1 |
    awk -v loss="$said" '{ print "the most right" ($1 - loss < 1e-9 && loss - $1 < 1e-9 ? "" : " is another") }'
