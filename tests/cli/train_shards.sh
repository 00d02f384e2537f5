# A batch that is cut into shards gives the run that is not cut, as far as numbers are not rounded
# otherwise, dropout included; and an uneven cut is as good.
seq 1 800 >text.txt
set -- --data text.txt --method gla --d-model 16 --layers 2 --heads 2 --batch-size 5 --seq-len 32 \
    --steps 8 --schedule constant --dropout 0.2 --quiet --threads 1 --json --eval-every 4
loss() { awk -F'[:,]' '/"best_loss"/ {print $2}' "$1"; }
for shards in 1 2 5; do
    $LCSM train "$@" --shards $shards --out run$shards >$shards.json || exit 1
done
for shards in 2 5; do
    awk -v a="$(loss 1.json)" -v b="$(loss $shards.json)" \
        'BEGIN {d = a - b; exit !(a > 0 && d < 1e-6 && d > -1e-6)}' || {
        echo "$shards shards: loss $(loss $shards.json), not $(loss 1.json)"
        exit 1
    }
    echo "$shards shards: the loss of one"
done
$LCSM train "$@" --shards 6 --out run6

# Memory that is carried belongs to the shards that it was carried in.
$LCSM train "$@" --carried true --shards 2 --steps 4 --out carried >/dev/null || exit 1
$LCSM train --resume --shards 5 --steps 8 --quiet --out carried 2>&1 | sed 's/.*optimizer/optimizer/'
$LCSM train --resume --steps 8 --quiet --out carried >/dev/null && echo "resumed with 2 shards"
$LCSM train "$@" --carried true --shards 2 --out whole >/dev/null
cmp whole/model.safetensors carried/model.safetensors && echo "the same weights"
