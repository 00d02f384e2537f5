mkdir from
echo '{"architectures": ["GPT2LMHeadModel"]}' >from/config.json
"$LCSM" import from run
echo "exit $?"
echo '{"architectures": ["MambaForCausalLM"], "hidden_size": "8"}' >from/config.json
printf '\002\000\000\000\000\000\000\000{}' >from/model.safetensors
"$LCSM" import from run
echo "exit $?"
echo '{"architectures": ["MambaForCausalLM"], "hidden_size": 8, "vocab_size": 5}' >from/config.json
"$LCSM" import from run
echo "exit $?"
"$LCSM" import nowhere run
echo "exit $?"
"$LCSM" import from/model.safetensors run
echo "exit $?"
ls
"$LCSM" check from --logits logits.json
echo "exit $?"
"$LCSM" train --task mqar --steps 1 --batch-size 1 --seq-len 16 --pairs 2 --vocab 8 --d-model 8 \
    --layers 1 --test-examples 1 --threads 1 --quiet --out own >/dev/null
echo '{"sequence": []}' >logits.json
"$LCSM" check own --logits logits.json
echo "exit $?"
"$LCSM" check --logits logits.json
echo "exit $?"
"$LCSM" import from
