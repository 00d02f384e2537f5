# Training in bfloat16: resumed with the bits of a whole run, also in shards and with carried memory;
# and a run may go on in the other precision.
seq 1 800 >text.txt
set -- --data text.txt --method gla --d-model 16 --layers 2 --heads 2 --batch-size 4 --seq-len 32 \
    --schedule constant --dropout 0.1 --quiet --threads 1 --eval-every 4 --eval-blocks 20
train() { "$LCSM" train "$@" >/dev/null || exit 1; }

for split in "--accumulate 2" "--shards 2" "--carried true" "--recompute true"; do
    # shellcheck disable=SC2086 # two words
    train "$@" $split --precision bf16 --steps 8 --out whole
    # shellcheck disable=SC2086
    train "$@" $split --precision bf16 --steps 4 --out run
    train --resume --quiet --threads 1 --out run --steps 8
    cmp whole/model.safetensors run/model.safetensors && echo "$split: the bits of a whole run"
    rm -r whole
    [ "$split" = "--recompute true" ] || rm -r run
done
grep precision run/config.json

train "$@" --precision bf16 --steps 4 --out half
train "$@" --steps 4 --out plain
cmp -s plain/model.safetensors half/model.safetensors && echo "bf16 is float32"
train --resume --quiet --threads 1 --out run --steps 10 --precision float32
grep precision run/config.json
"$LCSM" train "$@" --precision half --out bad
echo "exit $?"
"$LCSM" bench train --precision bf16 --vocab 50 --d_model 16 --hidden 24 --expand 4 --layers 1 \
    --batch_size 2 --seq_len 9 --seconds 0.001 --threads 1 | grep -o 'of the peak\|linear_xent'
"$LCSM" bench train --precision bf16 --task mqar --vocab 64 --d_model 16 --expand 8 --batch_size 3 \
    --seq_len 16 --seconds 0.001 --threads 1 | grep -o 'examples/s'
"$LCSM" bench methods --precision half --filter gla 2>&1 >/dev/null || echo "exit $?"
exit 0
