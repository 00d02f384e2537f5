# What would do nothing is refused, and what was asked for is kept.
try() { $LCSM train "$@" --out run --quiet >out 2>&1 || echo "exit $?" >>out; cat out; }
yes 'a line of text' | head -n 200 >text
small='--steps 1 --batch-size 2 --seq-len 16 --layers 1 --d-model 8'
try --task mqar --data text
try --task mqar --tokenizer text
try --data text --vocab 200
$LCSM tokenizer train text --vocab 260 --out tok --quiet >/dev/null
try --data text --tokenizer tok --vocab 256
try --data text --oscillation row
for option in '--pairs 8' '--examples 9' '--test-examples 9' --fresh '--power 1' --random-non-queries; do
    try --data text $option
done
try --task mqar --valid-fraction 0.5
ls -d run 2>/dev/null
$LCSM train --data text --tokenizer tok $small --out own --quiet >/dev/null
grep -o '"vocab": 260' own/config.json
$LCSM train --task mqar --pairs 2 --test-examples 2 --threads 1 $small --out recall --quiet >/dev/null
grep -o '"vocab": 256' recall/config.json
$LCSM train --data text --vocab 300 $small --out run --quiet >out || cat out
grep -c '"vocab": 300' run/config.json
$LCSM train --resume --out run --steps 2 --quiet | grep -c '2 steps'
$LCSM generate run --prompt a --n 5 --quiet >out && echo written
# A model that an earlier version saved with such a setting is still good.
sed -i 's/"flavour"/"oscillation": "row", "state_size": 8, "pairs": 5, "code": "", "flavour"/' run/config.json
grep -c '"oscillation": "row", "state_size": 8, "pairs": 5' run/config.json
$LCSM generate run --prompt a --n 5 --quiet >again && cmp out again && echo same
$LCSM train --resume --out run --steps 3 --quiet | grep -c '3 steps'
try --resume --pairs 6
$LCSM train --config run/config.json --data text --out like --quiet | grep -c '3 steps'
# Sizes may be said to every model of a comparison; where there is no such thing, that is said.
for sizes in '--method mamba --heads 2' '--method attention --expand 8' '--method mamba --hidden 16'; do
    $LCSM train --data text $sizes $small --out sizes 2>&1 >/dev/null | grep unused
    rm -r sizes
done
# A recipe may name another model than the one that is trained.
echo '{"method": "gla", "heads": 2}' >recipe.json
$LCSM train --data text --recipe ./recipe.json --method mamba $small --out other --quiet | grep -c '^1 step,'
# A model has one name; of a recipe and a flag the flag counts.
try --data text --method gla --code 1-1-1-0
try --data text --code 1-1-1-0 --method=gla
echo '{"method": "gla", "code": "1-1-1-0"}' >both.json
try --data text --config both.json
try --data text --recipe ./both.json
$LCSM train --data text --recipe ./recipe.json --code 1-1-1-0 $small --out code --quiet | grep -c '^1 step,'
# The settings of a run are those that its model reads.
grep -E '"(method|code|heads|s4_kind|raw|expand.from|pairs)"' code/config.json
# Those of earlier versions have a method beside a code, and all keys.
sed -i 's/"code"/"method": "gla", "heads": 0, "raw": false, "pairs": 4, "code"/' code/config.json
$LCSM train --resume --out code --steps 2 --quiet | grep -c '2 steps'
$LCSM train --config code/config.json --data text --out like2 --quiet | grep -c '2 steps'
