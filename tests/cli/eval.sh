i=0
while [ $i -lt 100 ]; do echo "the cat sat on the mat. "; i=$((i + 1)); done >text
"$LCSM" train --data text --out run --steps 20 --d-model 16 --layers 1 --seq-len 32 \
    --batch-size 4 --quiet --json >/dev/null

"$LCSM" eval run --data text | sed 's/  *[0-9][0-9.e+]* */ N /; s/N [0-9]* per second/N N per second/; s/ $//'
"$LCSM" eval run --data text --json | sed "s/[0-9][0-9.e+]*\(,*\)\$/N\1/"
"$LCSM" eval run --data text text --lengths 16,64 --quiet | sed 's/ [0-9.]*\.[0-9.]*/ N/g'
"$LCSM" eval run --data text --lengths 16,64 --json | grep -c '"from"'
"$LCSM" eval run text --data text --carried --json | grep carried

echo "# a model that reads both ways"
"$LCSM" train --data text --out both --steps 2 --d-model 16 --layers 1 --seq-len 32 \
    --batch-size 4 --bidirectional --quiet --json >/dev/null
"$LCSM" eval both --data text | tail -1
"$LCSM" eval both --data text --json | grep bidirectional

echo "# mistakes"
"$LCSM" eval run both --data text
echo "exit $?"
"$LCSM" eval run
echo "exit $?"
"$LCSM" eval run --data nowhere
echo "exit $?"
"$LCSM" eval nowhere --data text
echo "exit $?"
"$LCSM" eval run --data text --lengths 16,x
echo "exit $?"
: >empty
"$LCSM" eval run --data empty
echo "exit $?"
"$LCSM" eval run --data text --ends files
