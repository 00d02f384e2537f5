# Half-lives and influence of a small recall model, kept for the report.
"$LCSM" train --task mqar --code 1-4-1-0 --d-model 8 --expand 4 --layers 2 --vocab 32 --seq-len 32 \
    --pairs 2 --steps 2 --batch-size 2 --test-examples 4 --threads 1 --quiet --out run >/dev/null
"$LCSM" inspect run --save | sed -n '1p;3,4p'
"$LCSM" inspect run --json | grep -c '"half_life":'
"$LCSM" report run --quiet --json --out page.html --svg figures | grep figures
ls figures
"$LCSM" inspect
echo "exit $?"
"$LCSM" inspect nowhere
echo "exit $?"
"$LCSM" inspect run --data nowhere.txt
echo "exit $?"

echo "# the run's own text, while it is there"
yes 'a line of text' | head -n 200 >book.txt
"$LCSM" train --data book.txt --d-model 8 --layers 1 --seq-len 16 --steps 1 --batch-size 2 \
    --threads 1 --quiet --out text >/dev/null
"$LCSM" inspect text --threads 1 | sed "s:$(pwd -P)/::; q"
: >book.txt
"$LCSM" inspect text --threads 1 | sed "s:$(pwd -P)/::; q"
rm book.txt
"$LCSM" inspect text --threads 1 | sed "s:$(pwd -P)/::; q"

echo "# recall of short sequences: many of them"
"$LCSM" train --task mqar --code 1-4-1-0 --d-model 8 --expand 4 --layers 1 --vocab 32 --seq-len 8 \
    --pairs 2 --steps 1 --batch-size 2 --test-examples 4 --threads 1 --quiet --out short >/dev/null
"$LCSM" inspect short --threads 1 | head -n 1
"$LCSM" inspect short --threads 1 --json | grep '"tokens"\|"length"\|"state_norm_every"\|"window"'

echo "# texts one after another, as many tokens as are asked for"
printf 'a short text' >a.txt
yes 'a line of text' | head -n 100 >b.txt
: >empty.txt
"$LCSM" inspect text --threads 1 --data a.txt --data b.txt --tokens 1000 | head -n 1
"$LCSM" inspect text --threads 1 --data empty.txt --data b.txt --tokens 31 | head -n 1
"$LCSM" inspect text --threads 1 --data empty.txt
echo "exit $?"

echo "# a context that the window does not hold"
"$LCSM" train --data b.txt --code 1-4-1-0 --tau 1e6 --d-model 8 --layers 1 --seq-len 16 --steps 1 \
    --batch-size 2 --threads 1 --quiet --out long >/dev/null
"$LCSM" inspect long --threads 1 --tokens 4 | tail -n 1

echo "# models without decays say why"
for method in attention fwp; do
    "$LCSM" train --data b.txt --method $method --d-model 8 --layers 1 --seq-len 16 --steps 1 \
        --batch-size 2 --threads 1 --quiet --out $method >/dev/null
    "$LCSM" inspect $method --threads 1 | sed -n '5s/  [ 0-9.-]*$//p'
done
