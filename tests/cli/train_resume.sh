# What a resumed run refuses, each with a sentence; and which of two values of a flag counts.
seq 1 300 >text.txt
seq 1 99 >words.txt
$LCSM tokenizer train --vocab 260 --out tok words.txt >/dev/null 2>&1 || exit 1
train() {
    $LCSM train --quiet --threads 1 "$@" >/dev/null
    echo "exit $?"
}

train --data text.txt --out a --out run --d-model 16 --layers 1 --heads 1 --batch-size 2 \
    --seq-len 16 --steps 4
[ ! -e a ] || echo "the first --out was taken"
cp run/config.json kept.json
cp -r run copy

train --resume --out run --tau 1
train --resume --out run --d-model=32
train --resume --out run --method mamba
train --resume --out run --code 1-1-1-0
train --resume --out run --task mqar
train --resume --out run --vocab 300
train --resume --out run --tokenizer tok
train --resume --out run --data words.txt
echo '{"tau": 2}' >tau.json
train --resume --out run --config tau.json
echo '[1]' >list.json
train --resume --out run --config list.json
cmp run/config.json kept.json && train --resume --out nothing --out run --steps 6

sed 's/"format_version": 1/"format_version": 9/' kept.json >copy/config.json
train --resume --out copy
sed 's/"format_version"/"imported_from": "mamba", "format_version"/' kept.json >copy/config.json
train --resume --out copy
sed 's/"seq_len": 16/"seq_len": 0/' kept.json >copy/config.json
train --resume --out copy
cp kept.json copy/config.json
rm -r copy/checkpoints
train --resume --out copy

# While the text is read a signal ends the program, and no run has begun.
seq 1 8000000 >long.txt
$LCSM train --quiet --threads 1 --data long.txt --tokenizer tok --out long &
process=$!
sleep 0.3
kill $process
wait $process 2>/dev/null
echo "exit $?"
[ ! -e long ] || echo "it went on"
