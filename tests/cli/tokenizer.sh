# Training, encoding, decoding and what goes wrong with them.
run() {
    "$LCSM" "$@"
    code=$?
    [ $code -eq 0 ] || echo "exit $code"
}
run tokenizer encode 'Hi é'
run tokenizer encode ''
run tokenizer encode --json 'a'
printf 'a\000\377b' | run tokenizer encode -
printf 'a\000\377b' | "$LCSM" tokenizer encode | "$LCSM" tokenizer decode | od -An -tx1
run tokenizer decode 72 105
echo
run tokenizer decode --json 255 65
echo 'low low low lower lowest' >text
run tokenizer train text --vocab 260 --out t.json --quiet | sed 's/, in .*//'
run tokenizer encode --tokenizer t.json 'low low'
run tokenizer encode --tokenizer . 'low'
run tokenizer encode --tokenizer t.json '<|endoftext|>' --special
run tokenizer encode --tokenizer t.json 'low low' | "$LCSM" tokenizer decode --tokenizer t.json
echo
run tokenizer info --tokenizer t.json | grep -v hash
mkdir folder
: >empty
gzip -c text | head -c 20 >cut.gz
run tokenizer train empty
run tokenizer train folder
run tokenizer train cut.gz
run tokenizer train absent
run tokenizer train text --vocab 100
run tokenizer train
run tokenizer train text --vocab 260 --quiet --out new/folder/t.json | sed 's/, in .*//'
run tokenizer train text --quiet --out empty/t.json
echo '{"model": 1}' >bad.json
run tokenizer encode --tokenizer bad.json a
run tokenizer encode --tokenizer empty a
run tokenizer encode --merges text a
run tokenizer encode a b
run tokenizer decode 256
run tokenizer decode x
run tokenizer decod
run tokenizer
run bench tokenizer
run bench tokenizer text --seconds 0.01 --json | grep -c '"case"'
"$LCSM" tokenizer encode abc >/dev/full
echo "exit $?"
