# Tables on stdout, files where they are asked for, messages for what is not there.
mkdir -p run
printf '{"task": "lm", "code": "1-1-1-0"}' >run/config.json
cat >run/metrics.jsonl <<'LINES'
{"kind":"train","step":1,"tokens":10,"seconds":1,"loss":3,"tokens_per_second":10}
{"kind":"eval","step":1,"tokens":10,"seconds":1,"split":"valid","loss":1.5,"perplexity":4.48}
{"kind":"end","reason":"steps","step":1,"seconds":1.5,"peak_memory_bytes":2000000}
LINES
"$LCSM" report run --out page.html --csv runs.csv --svg figures
echo "exit $?"
head -c 15 page.html
echo
cut -d, -f2,4,6,8,15 runs.csv | tr -d '\r'
ls figures
"$LCSM" report run --json | tr -d ' \n'
echo
{
    echo before
    "$LCSM" report run --quiet --csv /dev/stdout
    echo after
} >all.txt
cut -c 1-20 all.txt
"$LCSM" report run --quiet --csv /dev/stdout | wc -l
"$LCSM" report run --quiet --csv /dev/null --out /dev/null
echo "exit $?"
cp -r run second
"$LCSM" report run ./run/ . second/.. | grep '^run\|^second\|^1-1-1-0'
(cd run && "$LCSM" report . | sed -n 3p)
rm -r second
for config in '{"task": "lm", "co' 'no JSON' '[1]'; do
    printf '%s' "$config" >run/config.json
    "$LCSM" report run | grep 'state\|settings'
    "$LCSM" report run --json | grep 'done\|failed'
done
"$LCSM" report nowhere
echo "exit $?"
mkdir empty
echo '{}' >empty/experiment.json
"$LCSM" report empty
echo "exit $?"
mkdir par
cp -r run par/good
mv empty par/bad
"$LCSM" report par --out par.html | head -2
grep -c 'Omitted: par/bad' par.html
rm -r par/good
"$LCSM" report par
echo "exit $?"
"$LCSM" report
echo "exit $?"
"$LCSM" report run --quiet --markdown ''
echo "exit $?"
"$LCSM" report run --quiet --markdown new --csv ./new
echo "exit $?"
"$LCSM" report run --quiet --out par.html --csv "$PWD/par.html" 2>&1 | sed "s|$PWD/||"
"$LCSM" report run --quiet --csv /nowhere/x.csv
echo "exit $?"
"$LCSM" report run --ouy x
echo "exit $?"
"$LCSM" report --help | head -1
