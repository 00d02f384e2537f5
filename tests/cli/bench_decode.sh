# The keys that scripts may rely on; no time is looked at.
"$LCSM" bench decode --method gla --d-model 16 --layers 1 --seconds 0.001 --threads 1 --json >out
echo "exit $?"
grep -o '"case": "[^"]*"\|"[a-z_]*":' out | sort -u
"$LCSM" bench decode
echo "exit $?"
"$LCSM" bench decode nowhere
echo "exit $?"
"$LCSM" bench decode --method gla --d-model 32 --layers 1 --seconds 0.001 --threads 1 --weights q8 --json |
    grep -o '"weight_bytes": [0-9]*'
"$LCSM" bench decode --method gla --d-model 16 --layers 1 --weights q9 --threads 1
echo "exit $?"
"$LCSM" bench decode --method gla --d-model 16 --layers 1 --seconds 0.001 --threads 1 --slots 2,3 --json >out
echo "exit $?"
grep -o '"slots": [0-9][0-9]*\|"times_one"\|"one_tokens_per_second"' out
"$LCSM" bench decode --method gla --d-model 16 --layers 1 --seconds 0.001 --threads 1 --slots 2 |
    sed -n 's/ \{2,\}/ | /g; s/^\(threads\)/\1/p'
for list in 0 2,x '' 2,70000 -1; do
    "$LCSM" bench decode --method gla --slots "$list"
    echo "exit $?"
done
