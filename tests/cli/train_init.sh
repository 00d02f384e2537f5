# Runs that begin with the weights of a trained or of an imported model.
seq 1 400 >a.txt
yes 'hello world, this is a page' | head -n 40 >b.txt
sizes='--batch-size 4 --seq-len 32 --threads 1 --quiet'
train() {
    $LCSM train $sizes "$@" >out 2>&1 || { echo "exit $?" && cat out; }
}
$LCSM tokenizer train a.txt --vocab 262 --out tok --quiet >/dev/null
train --data a.txt --tokenizer tok --out base --d-model 32 --layers-pattern gla,attention --dropout 0.1 --steps 10

echo "settings and tokenizer are the model's:"
train --init base --data b.txt --out tuned --steps 6 --lr 1e-3 --dropout 0
cmp base/tokenizer.json tuned/tokenizer.json
grep -c '"init_sha256": "[0-9a-f]*"' tuned/config.json
grep -o '"layers_pattern": "[^"]*"\|"d_model": [0-9]*\|"vocab": [0-9]*\|"dropout": [^,]*\|"ends": "[a-z]*"' tuned/config.json

echo "the first loss is that of the model, not of a new one:"
first() { sed -n '1s/.*"loss": *\([0-9.]*\).*/\1/p' "$1/metrics.jsonl"; }
train --init base --data a.txt --out same --steps 1 --lr 1e-9 --dropout 0
train --data a.txt --tokenizer tok --out new --d-model 32 --layers-pattern gla,attention --steps 1 --lr 1e-9
awk -v a="$(first same)" -v b="$(first new)" 'BEGIN { print (a < b - 0.5) ? "yes" : "no " a " " b }'

echo "resumed, bit-identical:"
train --init base --data b.txt --out half --steps 6 --lr 1e-3 --dropout 0 --schedule constant --save-every 1
train --init base --data b.txt --out whole --steps 9 --lr 1e-3 --dropout 0 --schedule constant --save-every 1
train --resume --out half --steps 9
cmp half/model.safetensors whole/model.safetensors && echo same
rm -r half/checkpoints half/metrics.jsonl half/model.safetensors # as if killed before the first checkpoint
$LCSM train --resume --out half --threads 1 2>&1 >/dev/null | grep beginning
cmp half/model.safetensors whole/model.safetensors && echo same

echo "refused:"
train --init base --data b.txt --out no --d-model 64
train --init base --data b.txt --out no --method mamba
train --init base --data b.txt --out no --vocab 300
train --init base --data b.txt --out no --task mqar
train --init nothing --data b.txt --out no
train --init base --resume --out tuned
$LCSM tokenizer train b.txt --vocab 262 --out other --quiet >/dev/null
train --init base --data b.txt --tokenizer other --out no
rm -r half/checkpoints half/metrics.jsonl half/model.safetensors
train --init tuned --data b.txt --out last --steps 1
cp tuned/model.safetensors base/model.safetensors
train --resume --out half --steps 9 | sed 's/[0-9a-f]*\.\.\./.../g; s/in .*base/in base/'
ls -d no 2>/dev/null

echo "imported:"
printf '%s' '{"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false}, "model": {"type": "BPE",
  "vocab": {"a": 0, "b": 1, "\u0120": 2, "\u010A": 3}, "merges": []}}' >few.json
yes 'ab ba a' | head -n 80 >few.txt
train --data few.txt --tokenizer few.json --out small --method mamba --d-model 16 --layers 1 --steps 2 --tied false
rm small/tokenizer.json
$LCSM export small small.gguf --format gguf >/dev/null
$LCSM import small.gguf imported >/dev/null
train --init imported --data few.txt --out own | sed 's/: [^ ]*imported/: imported/'
train --init imported --data few.txt --tokenizer few.json --out own --steps 30 --lr 0.02
grep -o '"ends": "[a-z]*"' own/config.json
$LCSM generate own --prompt 'ab b' --n 12 --temperature 0 --quiet
