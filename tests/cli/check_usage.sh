"$LCSM" check --help | head -1
"$LCSM" check --nothing
echo "exit $?"
"$LCSM" check nothing-of-this-name
echo "exit $?"
"$LCSM" check --threads two
echo "exit $?"
"$LCSM" check eos ops
echo "exit $?"
"$LCSM" check reverse/one --bound 1
echo "exit $?"
"$LCSM" check reverse/one --quiet | sed 's/error.*/error/'
"$LCSM" bench --help | head -1
"$LCSM" bench
echo "exit $?"
"$LCSM" bench eso
echo "exit $?"
"$LCSM" bench eos --filter nothing-of-this-name --threads 1 | wc -l | sed 's/ *//'
"$LCSM" bench eos --seconds never
