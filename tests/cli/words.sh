# Words and options that a command does not take, and help by either name.
try() { $LCSM "$@" 2>&1 || echo "exit $?"; }
try methods foo
try version --frob
try version foo
try bench methods --size 0
try bench methods --filter zzz
try bench methods foo
try eval run --seq-len 2000000000 --data text
try train --batch-size 2000000000 --out nowhere
try help nosuch
try help methods extra
try help train extra
try help bench decode extra
try help bench extra
try help experiment extra
try help --help extra
$LCSM help train >a
$LCSM train --help >b
cmp a b && head -1 a
$LCSM help bench decode | head -1
$LCSM help tokenizer train | head -1
$LCSM help tokenizer | head -1
$LCSM help experiment run | head -1
$LCSM help help | head -1
$LCSM help version | head -1
$LCSM bench --help | grep -o 'bench tokenizer'
mkdir mine
echo '{}' >mine/grid.json
try experiment run mine --out x
