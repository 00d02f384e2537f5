# lcsm view on a free port of the loopback address; tests/support/view_checks.py asks it everything.
i=0
while [ $i -lt 200 ]; do
    echo "the cat sat on the mat. " >>text
    i=$((i + 1))
done
"$LCSM" train --data text --out runs/one --steps 40 --d-model 16 --layers 1 --seq-len 32 --batch-size 4 --quiet --json >/dev/null
"$LCSM" train --task mqar --out runs/two --steps 20 --d-model 8 --layers 1 --quiet --json >/dev/null
unset LCSM_API_KEY
python3 "$(dirname "$0")/../support/view_checks.py" "$LCSM" runs

echo "# what is wrong with a command line"
"$LCSM" view
echo "exit $?"
"$LCSM" view runs/one runs/two
echo "exit $?"
"$LCSM" view nothing
echo "exit $?"
mkdir empty
"$LCSM" view empty
echo "exit $?"
