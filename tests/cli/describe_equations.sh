# The equation of a code is that of its own gates, activations and tau; every state has a name.
short() { $LCSM describe "$@" | sed '/^parameters/,/^$/d'; }
short 1-9-1-4 --expand 8 --d-model 16 --tau 8
short 0-4-0-3 --expand 8 --d-model 16
short 1-11-1-0 --expand 8 --d-model 16
short 0 --expand 8 --d-model 16
short 0-0-0-0 --o-learned false --tau 1 --expand 8 --d-model 16
short custom --oscillation outer --oscillation.d static --phase data --expand 8 --d-model 16
short attention --d-model 16
for code in 1-0-1-1 1-1-1-2 1-2-1-3 1-3-1-4 1-5-1-5 1-6-1-6 1-7-1-7 1-8-1-0 1-10-1-0; do
    $LCSM describe $code | grep -e '^code' -e '^  e_t' -e '^  o'
done
# So is that of a method, with the gates that it has as it is set.
for name in gla mamba rwkv4 rwkv6 rwkv7 mlstm linear-attention cosformer gated-deltanet s4d; do
    $LCSM describe $name | sed -n '1,/^$/p'
done
# No state of any method is without a meaning.
for name in $($LCSM methods --json | sed -n 's/^ *"name": "\([^"]*\)",$/\1/p'); do
    $LCSM describe "$name" --json | grep -q '"meaning": ""' && echo "$name lists a state without a meaning"
done
true
