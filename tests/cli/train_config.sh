# Files of settings: a method takes the place of a recipe's code, a run's own settings serve again,
# and a run that is shorter than its warm-up still ends at a small rate.
yes 'a line of text' | head -n 200 >text
small='--steps 20 --batch-size 2 --seq-len 16 --layers 1 --d-model 8 --expand 0 --hidden 0 --vocab 256'
echo '{"method": "retnet"}' >method.json
echo '{"code": "1-1-1-4", "d_model": 16}' >recipe.json
$LCSM train --data text --recipe ./recipe.json --config method.json $small --out a --quiet >/dev/null
grep -E '"(method|code)"' a/config.json
$LCSM train --data text --config a/config.json --out b --quiet >/dev/null
cmp a/model.safetensors b/model.safetensors && echo same
sed -i 's/"retnet"/"retnet", "modell_type": 1/' method.json
$LCSM train --data text --config method.json --out c --quiet 2>&1
sed -n 's/.*"step":20,.*"lr":\([0-9.e-]*\),.*/\1/p' a/metrics.jsonl | awk '{ print ($1 < 0.0002) }'
$LCSM describe retnet --recipe wikitext103 | sed -n 's/^  parameters  *//p'
