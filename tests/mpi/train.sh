#!/bin/sh
# Ranks come to the weights of one process with as many shards, also in batches that they cannot
# share evenly, with dropout, accumulated batches, carried memory and evaluations.
. "$(dirname "$0")/ranks.sh"

# shellcheck disable=SC2086 # lists of words
check() {
    name=$1 size=$2
    shift 2
    alone train $model "$@" --shards "$size" --out "one-$name-$size"
    ranks "$size" train $model "$@" --out "ranks-$name-$size" || fail "$name: $size ranks failed"
    same_weights "one-$name-$size" "ranks-$name-$size"
    newest=$(ls "one-$name-$size/checkpoints" | tail -1)
    cmp "one-$name-$size/checkpoints/$newest/optimizer.safetensors" \
        "ranks-$name-$size/checkpoints/$newest/optimizer.safetensors" ||
        fail "$name: the checkpoints differ"
    cmp "one-$name-$size/config.json" "ranks-$name-$size/config.json" || fail "$name: the settings differ"
}

text="--data text.txt --batch-size 5 --steps 6 --eval-every 3 --eval-blocks 12"
check gla 2 $text --method gla --dropout 0.2 --accumulate 2
grep -q '2 ranks of .* MB with .* of the optimizer.s moments' log || fail "the memory of the ranks is not said"
check gla 3 $text --method gla --dropout 0.2
check bf16 2 $text --method gla --dropout 0.2 --accumulate 2 --precision bf16
check carried 2 $text --method gla --carried true
check gated-deltanet 3 $text --method gated-deltanet
check mqar 2 --task mqar --code 1-9-1-4 --batch-size 4 --pairs 2 --vocab 64 --steps 6 --test-examples 40
echo "the weights of one process"
