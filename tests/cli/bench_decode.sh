# The keys that scripts may rely on; no time is looked at.
"$LCSM" bench decode --method gla --d-model 16 --layers 1 --seconds 0.001 --threads 1 --json >out
echo "exit $?"
grep -o '"case": "[^"]*"\|"[a-z_]*":' out | sort -u
"$LCSM" bench decode
echo "exit $?"
"$LCSM" bench decode nowhere
echo "exit $?"
