# An evaluation that is not finite ends the run, and the best model stays.
yes 'a line of text' | head -n 200 >text
set -- --data text --d-model 16 --layers 1 --seq-len 32 --batch-size 2 --threads 1 --warmup 0 --clip 0
"$LCSM" train "$@" --lr 1000 --steps 9 --eval-every 1 --out run --quiet 2>err
echo "exit $?"
sed 's/step [0-9]*/step N/; s/; first in .*//' err
"$LCSM" eval run --data text --threads 1 >/dev/null && echo 'the model is good'
