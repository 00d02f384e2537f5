# An initial memory, trained beside a frozen model: kept apart, resumed, in one file, used.
seq 1 400 >a.txt
yes 'hello world, this is a page' | head -n 40 >b.txt
train() {
    $LCSM train --batch-size 4 --seq-len 32 --threads 1 --quiet "$@" >out 2>&1 || { echo "exit $?" && cat out; }
}
train --data a.txt --out base --d-model 32 --layers-pattern gla,attention --steps 10

echo "files:"
train --init base --data b.txt --out tuned --initial-memory true --steps 6 --lr 0.05 --schedule constant --warmup 0 --save-every 2
ls tuned tuned/checkpoints/step-00000006
grep -o '"initial_memory": [^,]*' tuned/config.json
$LCSM train --init base --data b.txt --out q --initial-memory true --steps 1 2>&1 >/dev/null | sed -n 1p

echo "resumed, bit-identical:"
train --resume --out tuned --steps 40
train --init base --data b.txt --out whole --initial-memory true --steps 40 --lr 0.05 --schedule constant --warmup 0 --save-every 2
for file in adapter optimizer; do
    cmp tuned/checkpoints/step-00000040/$file.safetensors whole/checkpoints/step-00000040/$file.safetensors && echo "same $file"
done

echo "better, and the same in one file:"
$LCSM merge tuned merged
loss() { $LCSM eval "$1" --data b.txt --json --threads 1 2>/dev/null | sed -n 's/.*"loss": \([0-9.]*\).*/\1/p'; }
awk -v a="$(loss tuned)" -v b="$(loss merged)" -v c="$(loss base)" \
    'BEGIN { print (a == b && c - a > 0.1) ? "yes" : a " " b " " c }'
$LCSM generate tuned --prompt he --n 8 --temperature 0 --quiet >x
$LCSM generate merged --prompt he --n 8 --temperature 0 --quiet | cmp - x && echo "the same text"
$LCSM generate tuned --prompt h --n 1 --temperature 0 --quiet --save-state s.state >/dev/null
$LCSM generate base --prompt '' --n 1 --load-state s.state --quiet 2>&1 | grep -o 'was saved with another model'

echo "refused:"
train --data a.txt --out no --initial-memory true
train --init base --data b.txt --out no --initial-memory true --carried
train --init base --data b.txt --out no --initial-memory true --segments 2
train --init tuned --data b.txt --out no --initial-memory false
$LCSM export tuned no.gguf --format gguf
$LCSM export tuned no --format hf
ls -d no 2>/dev/null
exit 0
