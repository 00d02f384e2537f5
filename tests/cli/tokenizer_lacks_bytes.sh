# A vocabulary that lacks most bytes: they are never lost without a word.
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
vocabulary='{"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false}, "model": {"type": "BPE",
  "vocab": {"a": 0, "b": 1, "\u0120": 2, "\u010A": 3}, "merges": []}}'
printf '%s' "$vocabulary" >"$dir/tokenizer.json"
printf 'a\377\300b' >"$dir/text"

echo "refused:"
"$LCSM" tokenizer encode --tokenizer "$dir" - <"$dir/text" 2>&1
echo "exit $?"
echo "skipped:"
"$LCSM" tokenizer encode --tokenizer "$dir" --invalid skip - <"$dir/text" 2>&1
echo "exit $?"
"$LCSM" tokenizer encode --tokenizer "$dir" --invalid skip --json - <"$dir/text" 2>/dev/null | grep skipped
"$LCSM" tokenizer encode --tokenizer "$dir" --invalid drop a 2>&1
echo "exit $?"

i=0
while [ $i -lt 200 ]; do
    printf 'ab ba\377 a\n'
    i=$((i + 1))
done >"$dir/data.txt"
echo "train, eval, generate:"
for turn in 1 2; do # the second time from the cache
    "$LCSM" train --data "$dir/data.txt" --tokenizer "$dir/tokenizer.json" --method gla --layers 1 --d-model 16 \
        --cache "$dir/cache" --steps 2 --seq-len 16 --batch-size 2 --out "$dir/run$turn" 2>&1 | grep skipped
done
"$LCSM" eval "$dir/run1" --data "$dir/data.txt" 2>&1 >/dev/null | grep skipped
"$LCSM" generate "$dir/run1" --prompt "$(printf 'ab\377c')" --n 1 2>&1 >/dev/null | grep skipped
