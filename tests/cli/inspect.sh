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
