# A run of recall has no text to write or to read, whatever its vocabulary.
try() { $LCSM "$@" 2>&1 || echo "exit $?"; }
yes 'a line of text' | head -n 200 >text
for vocab in 256 64; do
    "$LCSM" train --task mqar --vocab $vocab --seq-len 32 --pairs 2 --d-model 8 --layers 1 --steps 1 \
        --batch-size 2 --test-examples 4 --threads 1 --quiet --out recall$vocab >/dev/null
    try generate recall$vocab --n 5 --quiet --threads 1
    try eval recall$vocab --data text --threads 1
    try eval recall$vocab --threads 1 | cut -d ' ' -f 1
done
for option in '--batch-size 4' '--blocks 2' --carried '--lengths 8,16' '--ends line'; do
    try eval recall64 $option --threads 1
done
try eval recall64 --seq-len 16 --threads 1 | cut -d ' ' -f 1
