i=0
while [ $i -lt 50 ]; do echo "the cat sat on the mat. "; i=$((i + 1)); done >text
"$LCSM" train --data text --method mamba2 --out run --steps 2 --d-model 16 --layers 1 --seq-len 16 \
    --batch-size 2 --norm-eps 1e-5 --quiet --json >/dev/null
"$LCSM" export run model.gguf --format gguf --type f16
echo "exit $?"
"$LCSM" import model.gguf back
echo "exit $?"
"$LCSM" export run folder --format hf
echo "exit $?"
ls folder
"$LCSM" import folder again
echo "exit $?"
"$LCSM" export again twice --format hf --type bf16 && cmp folder/tokenizer.json twice/tokenizer.json
echo "exit $?"
"$LCSM" export run folder --format hf
echo "exit $?"
"$LCSM" export run model.gguf --format onnx
echo "exit $?"
"$LCSM" export run model.gguf --format gguf --type q2_k
echo "exit $?"
"$LCSM" export nowhere model.gguf --format gguf
echo "exit $?"
"$LCSM" export run
