#!/bin/sh
# Ranks that share sequences come to the weights of one process with as many segments, and a batch
# that is cut into segments has the loss of one that is not.
. "$(dirname "$0")/ranks.sh"

loss() { sed -n 's/.*"best_loss": *\([0-9.e+-]*\).*/\1/p' log; }

# shellcheck disable=SC2086 # lists of words
check() { # NAME SEGMENTS SHARDS RANKS ARGUMENT...: RANKS ranks, or fewer, that share sequences
    name=$1 segments=$2 shards=$3 size=$4
    shift 4
    set -- $model "$@" --json --quiet
    alone train "$@" --segments "$segments" --shards "$shards" --out "one-$name"
    cut=$(loss)
    [ -d "plain-$name" ] || alone train "$@" --shards "$shards" --out "plain-$name"
    awk -v a="$cut" -v b="$(loss)" 'BEGIN {d = a - b; exit !(d <= 1e-6 && d >= -1e-6)}' ||
        fail "$name: the loss is $cut in segments, $(loss) without"
    ranks "$size" train "$@" --segments "$segments" --shards "$shards" --out "ranks-$name" ||
        fail "$name: $size ranks failed"
    same_weights "one-$name" "ranks-$name"
    cmp "one-$name/config.json" "ranks-$name/config.json" || fail "$name: the settings differ"
}

text="--data text.txt --seq-len 24 --batch-size 3 --steps 4 --eval-every 2 --eval-blocks 12"
check gla 3 1 3 $text --method gla --dropout 0.2 --recompute
check mamba2 4 1 3 $text --method mamba2
check deltanet 2 2 4 $text --method gated-deltanet
check rwkv4 2 1 2 $text --method rwkv4
check mqar 2 1 2 --task mqar --code 1-9-1-4 --batch-size 4 --pairs 2 --vocab 64 --steps 6 --test-examples 40

# The flag, and a run that goes on with other ranks.
ranks 4 train $model $text --method gated-deltanet --sequence-parallel 2 --out flag || fail "2 x 2 ranks failed"
same_weights one-deltanet flag
ranks 2 train $model $text --method gla --dropout 0.2 --recompute --segments 3 --steps 2 --shards 1 --schedule constant --out parts || fail "2 ranks failed"
ranks 3 train --resume --steps 3 --out parts || fail "3 ranks did not resume"
alone train --resume --steps 4 --out parts
ranks 3 train $model $text --method gla --dropout 0.2 --recompute --segments 3 --shards 1 --schedule constant --out whole || fail "3 ranks failed"
same_weights parts whole

# What cannot be cut.
says() { grep -q -- "$1" log || fail "no line has: $1"; }
ranks 2 train $model $text --method attention --sequence-parallel 2 --out no && fail "attention was cut"
says 'attention needs a whole sequence'
ranks 2 train $model $text --method gla --sequence-parallel 3 --out no && fail "2 ranks made 3"
says 'sequence-parallel is 3, but there are 2 ranks'
ranks 2 train $model $text --method gla --segments 5 --out no && fail "24 steps were cut in 5"
says 'seq_len is 24, which 5 segments do not divide'
echo "the weights of one process"
