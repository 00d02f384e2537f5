# A file that is right, one with a wrong number, one that is unknown, one that is no JSON; and a real
# start of a memory that a phase makes complex.
case_of() {
    printf '{"format": "lcsm-oracle-1", "title": "t", "cases": [{"name": "%s", "config": {},
"inputs": {"i": {"shape": [1, 1], "data": [2]}, "%s": {"shape": [1, 1], "data": [3]},
"s": {"shape": [1, 1], "data": [5]}}, "outputs": {"y": {"shape": [1, 1], "data": [%s]}}}]}' "$@"
}
case_of ones e 30 >right.json
case_of ones e 31 >wrong.json
case_of ones f 30 >unknown.json
printf '{"format": ' >broken.json
printf '%s' '{"format": "lcsm-oracle-1", "title": "t", "cases": [{"name": "turn",
"config": {"op": "eos2", "n": 1, "H": 1, "k": 1, "d": 1, "axes": {"i": "TD", "e": "TK", "s": "TK", "row_phase": "K"}},
"inputs": {"i": {"shape": [1, 1, 1], "data": [2]}, "e": {"shape": [1, 1, 1], "data": [3]}, "s": {"shape": [1, 1, 1], "data": [5]},
"row_phase": {"shape": [1, 1], "data": [0]}, "m0": {"shape": [1, 1, 1], "data": [7]}},
"outputs": {"y": {"shape": [1, 1, 1], "complex": true, "data": [65, 0]}}}]}' >turn.json
"$LCSM" check --oracle right.json
echo "exit $?"
"$LCSM" check --oracle --quiet right.json wrong.json unknown.json
echo "exit $?"
"$LCSM" check --oracle right.json broken.json none.json --json | grep '"ok"'
echo
"$LCSM" check --oracle --quiet turn.json
"$LCSM" check --oracle
echo "exit $?"
"$LCSM" check --oracle broken.json
