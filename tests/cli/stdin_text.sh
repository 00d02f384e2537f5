# Text may come from stdin: a run keeps it and can be resumed, other commands read it once.
yes 'a line of text' | head -n 300 >text
set -- --d-model 8 --layers 1 --batch-size 2 --seq-len 16 --threads 1 --quiet
$LCSM train --data - --out run "$@" --steps 2 <text | grep -c '2 steps'
cmp text run/data.txt && echo kept
$LCSM train --data text --out same "$@" --steps 2 >/dev/null
for run in run same; do tail -c 4000 $run/model.safetensors >$run.end; done # before it is the name of the data
cmp run.end same.end && echo same
$LCSM train --resume --out run --steps 3 --quiet </dev/null | grep -c '3 steps'
echo other | $LCSM train --resume --data - --out run --quiet 2>&1
echo other | $LCSM train --data - --out run --quiet 2>&1
cmp text run/data.txt && echo kept
$LCSM eval run --data text --threads 1 | sed 1,5p >file
$LCSM eval run --data - --threads 1 <text | sed 1,5p >piped
sed 's/ [0-9]* per second//' -i file piped
cmp file piped && echo 'the same loss'
$LCSM inspect run --data - --tokens 64 --json --threads 1 <text | grep -c '"tokens": 64'
$LCSM tokenizer train - --vocab 260 --out tok --quiet <text | sed 's/in [0-9.]* s/in N s/'
$LCSM eval run --data - - <text 2>&1
echo "exit $?"
