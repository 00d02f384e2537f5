# The plan alone: nothing is written, and what takes longer than a day is not started unasked.
"$LCSM" experiment run parameterisation-mqar --scale tiny --reading both --out x --dry-run 2>&1 | sed 's/;.*//'
"$LCSM" experiment run parameterisation-mqar --scale paper --only 1-1-1-0 --out x --quiet </dev/null 2>&1 |
    sed 's/about [0-9.]* days/about N days/'
"$LCSM" experiment run parameterisation-mqar --scale paper --only 1-1-1-0 --out x --quiet </dev/null 2>/dev/null
echo "exit $?"
[ -e x ] || echo nothing
