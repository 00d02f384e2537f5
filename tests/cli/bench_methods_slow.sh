# One method, small and short; the figures change, their names do not.
$LCSM bench methods --quick --size 1m --seconds 0.001 --threads 1 --filter lrn --json >figures
grep -o '"[a-z_]*":' figures | sort
sed -n 's/ *"\(case\|parameters\|linear\)": \(.*\),/\1 \2/p' figures
$LCSM bench methods --threads 1 --filter nothing-of-this-name 2>&1 >/dev/null || echo "exit $?"
$LCSM bench methods --size 11m --filter lrn 2>&1 >/dev/null || echo "exit $?"
