# Weights in less room: at import and at load, in every command that takes them; nothing to train.
"$LCSM" train --data "$0" --vocab 256 --steps 2 --batch-size 2 --seq-len 16 --d-model 32 --layers 1 \
    --method mamba --threads 1 --quiet --out run >/dev/null
"$LCSM" export run run.gguf --format gguf >/dev/null
for type in f32 f16 bf16 q8 q4 q4k; do
    "$LCSM" import run.gguf "run-$type" --weights $type >/dev/null
    for arguments in "run --weights $type" "run-$type"; do
        "$LCSM" generate $arguments --prompt a --n 4 --temperature 0 --quiet --threads 1 >text && echo "$type text"
        "$LCSM" eval $arguments --data "$0" --seq-len 32 --threads 1 --quiet --json | grep -c bits_per_byte
    done
done
[ "$(wc -c <run-q8/model.safetensors)" -lt "$(wc -c <run-f16/model.safetensors)" ] && echo smaller
"$LCSM" generate run --prompt a --weights q9
echo "exit $?"
"$LCSM" import run.gguf other --weights q9
echo "exit $?"
ls
