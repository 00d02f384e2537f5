# Low-rank adapters: trained beside a frozen model, kept apart, resumed, merged.
seq 1 400 >a.txt
yes 'hello world, this is a page' | head -n 40 >b.txt
train() {
    $LCSM train --batch-size 4 --seq-len 32 --threads 1 --quiet "$@" >out 2>&1 || { echo "exit $?" && cat out; }
}
train --data a.txt --out base --d-model 32 --layers-pattern gla,attention --steps 10

echo "files:"
train --init base --data b.txt --out apart --adapter 4 --adapter-scale 2 --steps 6 --lr 0.01 --schedule constant --save-every 2
ls apart apart/checkpoints/step-00000006
$LCSM train --init base --data b.txt --out q --adapter 4 --adapter-matrices q,channel --steps 1 2>&1 >/dev/null | sed -n 1p
grep -o '"adapter[a-z_]*": [^,]*' apart/config.json

echo "the base is that of the model, bit-identical:"
train --resume --out apart --steps 8
for run in base apart; do tail -c 90000 $run/model.safetensors >$run.numbers; done # behind the header
cmp base.numbers apart.numbers && echo same

echo "resumed, bit-identical:"
train --init base --data b.txt --out whole --adapter 4 --adapter-scale 2 --steps 8 --lr 0.01 --schedule constant --save-every 2
cmp apart/adapter.safetensors whole/adapter.safetensors && echo same
rm -r whole/checkpoints whole/adapter.safetensors whole/metrics.jsonl # as if killed before the first checkpoint
train --resume --out whole
cmp apart/adapter.safetensors whole/adapter.safetensors && echo same

echo "merged:"
$LCSM merge apart merged
ls merged
$LCSM merge apart merged2 --json
cmp merged/model.safetensors merged2/model.safetensors && echo same
loss() { $LCSM eval "$1" --data b.txt --json --threads 1 2>/dev/null | sed -n 's/.*"loss": \([0-9.]*\).*/\1/p'; }
awk -v a="$(loss apart)" -v b="$(loss merged)" -v c="$(loss base)" \
    'BEGIN { d = a - b; print (d < 1e-5 && d > -1e-5 && c - a > 0.01) ? "the same loss" : a " " b " " c }'
$LCSM generate apart --prompt he --n 8 --temperature 0 --quiet >x
$LCSM generate merged --prompt he --n 8 --temperature 0 --quiet | cmp - x && echo "the same text"
train --init merged --data b.txt --out again --steps 1
train --init apart --data b.txt --out on --steps 1
grep -o '"adapter": [0-9]*' on/config.json

echo "refused:"
train --data a.txt --out no --adapter 4
train --init base --data b.txt --out no --adapter 4 --adapter-matrices nothing
train --init base --data b.txt --out no --adapter-scale 2
train --init apart --data b.txt --out no --adapter 8
train --init base --data b.txt --out no --adapter -1
$LCSM merge base no
$LCSM merge apart merged
$LCSM merge apart
$LCSM merge nothing no
rm merged/config.json merged2/model.safetensors
cp apart/adapter.safetensors merged2/ && cp base/model.safetensors merged2/ && cp apart/config.json merged2/
cat apart/model.safetensors >merged2/adapter.safetensors
$LCSM generate merged2 --prompt a --n 1
rm apart/adapter.safetensors
$LCSM generate apart --prompt a --n 1
ls -d no 2>/dev/null
exit 0
