"$LCSM" >stdout 2>stderr && exit 9
code=$?
"$LCSM" help >help
test ! -s stdout && cmp stderr help && exit $code
