# An option that has no value does not take the next one for it; behind = anything is a value.
try() { $LCSM "$@" 2>&1 || echo "exit $?"; }
yes 'a line of text' | head -n 200 >text
small='--steps 1 --batch-size 2 --seq-len 16 --layers 1 --d-model 8 --threads 1'
try train --data text $small --out --quiet
try train --data --quiet --out run
try train --config --quiet --out run
try train --data text --out
try train --data text --out run --method
try train --data text --out run --code --quiet
$LCSM train --data text $small --out run --quiet >/dev/null
try report run --markdown --quiet
try describe gla --recipe --json
try generate run --prompt --text --n 1
try generate run --stop -- --n 1
try generate run --n --quiet
ls
$LCSM generate run --prompt=--text --n 1 --echo --quiet --threads 1 | head -c 6 && echo
$LCSM report run --quiet --markdown=--page.md && ls ./--page.md
