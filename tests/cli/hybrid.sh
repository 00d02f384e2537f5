# A model of several mixers: trained, interrupted and resumed, described, inspected, evaluated,
# generated from with a state file, reported.
seq 1 800 >text.txt
set -- --data text.txt --layers-pattern 'gla*2,mamba+attention' --d-model 16 --layers 4 --heads 2 \
    --batch-size 2 --seq-len 32 --save-every 5 --eval-every 10 --dropout 0.1 --quiet --threads 1
$LCSM train "$@" --steps 20 --out whole >/dev/null || exit 1

# Killed at random moments, the run ends with the same weights.
kills=0
while :; do
    resume=
    [ ! -f parts/config.json ] || resume=--resume
    $LCSM train "$@" --steps 20 $resume --out parts >/dev/null 2>log &
    process=$!
    if [ "$kills" -lt 5 ]; then
        sleep "0.$(od -An -N2 -tu2 /dev/urandom | awk '{printf "%03d", 20 + $1 % 200}')"
        kill -9 $process 2>/dev/null
        kills=$((kills + 1))
    fi
    wait $process 2>/dev/null
    code=$?
    [ $code -eq 0 ] || [ $code -eq 137 ] || { cat log; exit 1; }
    [ $code -ne 0 ] || break
done
cmp whole/model.safetensors parts/model.safetensors && echo "same weights"
grep -c '"method"' whole/config.json
grep -o '"layers_pattern": "[^"]*"' whole/config.json
$LCSM train --resume --out whole --layers-pattern 'gla,attention' --quiet
$LCSM train --resume --out whole --method gla --quiet

# Token by token from a state file, or in one piece.
$LCSM generate whole --prompt '12 13 1' --n 20 --temperature 0 --quiet >one.txt
$LCSM generate whole --prompt '12 13 1' --n 8 --temperature 0 --save-state s --quiet >first.txt
$LCSM generate whole --load-state s --n 12 --temperature 0 --quiet >second.txt
printf '%s%s' "$(cat first.txt)" "$(cat second.txt)" | tr -d '\n' >both.txt
tr -d '\n' <one.txt | cmp - both.txt && echo "same text"

$LCSM describe whole | sed -n '1,7p'
$LCSM describe 'gla*3,attention' --layers 4 --size 1m | grep -c parameters
$LCSM inspect whole --data text.txt >/dev/null && echo inspected
$LCSM report whole --quiet --csv runs.csv && grep -o "gla\*2,mamba+attention" runs.csv
$LCSM check 'gla,attention' | grep -c ok
$LCSM bench decode --layers-pattern 'gla,attention' --d-model 16 --vocab 50 --layers 2 --threads 1 --seconds 0.1 --json |
    grep -o "gla,attention" | head -1

# Mistakes.
for pattern in 'gla*3,atention' 'gla,,s4' 'gla*9' 'gla+s4+s5' 'gla;s4'; do
    $LCSM describe "$pattern" || $LCSM train --data text.txt --out bad --layers-pattern "$pattern"
    echo "exit $?"
done
$LCSM train --data text.txt --out bad --layers-pattern gla --code 1-1-1-0
echo "exit $?"
