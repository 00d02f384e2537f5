# Moments of the optimiser in fewer bits: a resumed run has the bits of one that was not stopped.
seq 1 300 >text.txt
train() {
    "$LCSM" train --quiet "$@" >/dev/null
    echo "exit $?"
}
for type in bf16 8bit; do
    echo "# $type"
    set -- --data text.txt --d-model 16 --layers 1 --heads 1 --batch-size 2 --seq-len 16 --warmup 0 \
        --schedule constant --save-every 6 --eval-every 6 --optimizer-state $type
    train "$@" --out "$type-whole" --steps 12
    train "$@" --out "$type-two" --steps 6
    train --resume --out "$type-two" --steps 12
    for file in model optimizer; do
        cmp "$type-whole/checkpoints/step-00000012/$file.safetensors" \
            "$type-two/checkpoints/step-00000012/$file.safetensors" && echo "same $file"
    done
done
cmp -s bf16-whole/model.safetensors 8bit-whole/model.safetensors || echo "types differ"
train --data text.txt --out bad --optimizer-state 4bit
