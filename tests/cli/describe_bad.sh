# Every mistake gets a sentence that names the nearest thing that would do.
try() { $LCSM "$@" 2>&1 || echo "exit $?"; }
try describe gal
try describe GLA
try describe nosuch
try describe Mamba
try bench decode --method 1-1-1-0
try describe gla --method mamba
try describe gla --code=1-1-1-0
try describe 1-1-1-0 --recipe wikitext103 --method gla
try describe --method gla
try describe gla --oscillation row
try describe 1-1-1-0 --activation silu
try describe gla --lr 1
try describe gla --vocab 2000000000
try describe 1-12-1-0
try describe 1-1-1
try describe 9-0-0-9
try describe 1-x-1-0
try describe gla --d-modle 8
try describe gla --d-model 0
try describe gla --d-model 1.5
try describe gla --heads 7
try describe retnet --d-model 6 --heads 2
try describe attention --d-model 9 --heads 3
try describe s4 --state-size 5
try describe gla --flavour bear
try describe rwkv4 --flavour bare
try describe gla --size 12m
try describe gla --size huge
try describe gla --recipe wikitxt103
try describe gla --recipe ./nothing.json
try describe gla --tau
try describe
try check gal
try check 1-99-1-0
try check methds
