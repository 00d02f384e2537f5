# The keys that scripts may rely on; no time is looked at.
"$LCSM" bench eos --quick --seconds 0.001 --threads 1 --filter scalar-token/fwd/B4 --json >out.json
echo "exit $?"
grep -c '"peak_gflops"' out.json
grep -o '"case": "[^"]*"\|"threads": 1\|"wrong": [a-z]*\|"seconds"\|"fraction_of_peak"' out.json |
    sort -u
