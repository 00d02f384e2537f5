i=0
while [ $i -lt 200 ]; do echo "the cat sat on the mat. "; i=$((i + 1)); done >text
"$LCSM" train --data text --out run --steps 40 --d-model 16 --layers 1 --seq-len 32 \
    --batch-size 4 --quiet --json >/dev/null

echo "# the same seed, the same text"
"$LCSM" generate run --prompt the --n 100 --seed 5 --quiet >a
"$LCSM" generate run --prompt the --n 100 --seed 5 --quiet >b
"$LCSM" generate run --prompt the --n 100 --seed 6 --quiet >c
cmp a b && ! cmp -s a c && echo same

echo "# a saved state goes on as if it had not stopped; the prompt may come from stdin"
"$LCSM" generate run --prompt the --n 60 --temperature 0 --quiet >whole
printf the | "$LCSM" generate run --prompt - --n 25 --temperature 0 --save-state s --quiet >first
"$LCSM" generate run --load-state s --n 35 --temperature 0 --quiet >rest
cat first rest | cmp - whole && echo continued

echo "# other states are refused"
"$LCSM" train --data text --out other --steps 1 --d-model 16 --layers 1 --seq-len 32 \
    --batch-size 4 --quiet --json >/dev/null
"$LCSM" generate other --load-state s --quiet 2>&1 | sed 's/[0-9a-f]\{12\}/HASH/g'
head -c 100 s >short
"$LCSM" generate run --load-state short
echo "exit $?"
"$LCSM" generate run --load-state run/model.safetensors
echo "exit $?"

echo "# stop texts, lines, figures"
stop=$(head -c 12 whole | tail -c 5)
"$LCSM" generate run --prompt the --stop zzz --stop "$stop" --temperature 0 --n 60 --json |
    grep -o '"reason": "stop"'
printf 'the cat\nsat\n' | "$LCSM" generate run --interactive --n 5 --quiet | wc -l | tr -d ' '

echo "# branches: the prompt is read once, the first is the text of a lone run"
"$LCSM" generate run --prompt the --n 30 --seed 5 --quiet >alone
"$LCSM" generate run --prompt the --n 30 --seed 5 --branch 3 --quiet >three
grep -c '^\[[123]\]$' three
"$LCSM" generate run --prompt the --n 30 --seed 5 --branch 3 --json >three.json
python3 - <<'END'
import json
j = json.load(open("three.json"))
texts = [b["text"] for b in j["branches"]]
print(len(texts), len(set(texts)), j["tokens"], texts[0] == open("alone").read())
END
"$LCSM" generate run --prompt the --branch 2 --n 0
echo "exit $?"
"$LCSM" generate run --branch 2 --save-state s2
echo "exit $?"

echo "# a signal ends it with its state saved"
"$LCSM" generate run --n 0 --prompt the --save-state late --quiet >endless &
while [ ! -s endless ]; do sleep 0.05; done
kill -TERM $!
wait $!
echo "exit $?"
"$LCSM" generate run --load-state late --n 1 --quiet >/dev/null && echo saved

echo "# bytes of a prompt that are no characters are replaced, as those of tokens are"
"$LCSM" generate run --prompt "$(printf 'a\377\342\202')" --n 1 --echo --json |
    grep -c "$(printf '"text": "a\357\277\275\357\277\275')"

echo "# mistakes"
"$LCSM" generate
echo "exit $?"
"$LCSM" generate nowhere
echo "exit $?"
"$LCSM" generate run --top-p 2
echo "exit $?"
"$LCSM" generate run --prompts x
echo "exit $?"
"$LCSM" generate run --n 0 --save-state nosuch/state
echo "exit $?"

echo "# attention holds as many tokens as it was made for"
"$LCSM" train --data text --out cache --method attention --max-length 32 --steps 1 --d-model 16 \
    --layers 1 --seq-len 32 --batch-size 4 --quiet --json >/dev/null
"$LCSM" generate cache --prompt the --n 29 --quiet >/dev/null && echo written
"$LCSM" generate cache --prompt the --n 40 --quiet >/dev/null
echo "exit $?"

echo "# a cache of prompts: the same text, and the files of the first time serve the second"
"$LCSM" generate run --prompt - --n 40 --seed 5 --quiet <text >plain
"$LCSM" generate run --prompt - --n 40 --seed 5 --quiet --prefix-cache prefixes <text >once
ls prefixes | sed 's/[0-9a-f]\{16,\}/HASH/g; s/-[0-9]*-/-N-/' | sort | uniq -c | sed 's/^ *//'
"$LCSM" generate run --prompt - --n 40 --seed 5 --quiet --prefix-cache prefixes <text >twice
cmp plain once && cmp plain twice && echo same

echo "# a smaller model proposes: the most probable text stays the same"
"$LCSM" generate run --prompt the --n 60 --temperature 0 --quiet --draft other >drafted
cmp drafted whole && echo same
"$LCSM" generate run --prompt the --n 60 --temperature 0 --draft run 2>&1 >drafted | tail -1
"$LCSM" generate run --prompt the --draft other --branch 2
echo "exit $?"
"$LCSM" generate run --prompt the --draft other --draft-tokens 1
echo "exit $?"
