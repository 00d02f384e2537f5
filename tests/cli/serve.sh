# A server on a free port of the loopback address; tests/support/serve_checks.py asks it everything.
i=0
while [ $i -lt 200 ]; do
    echo "the cat sat on the mat. " >>text
    printf 'é€ é€ é€ é€ ' >>text2
    i=$((i + 1))
done
"$LCSM" train --data text --out bytes --steps 40 --d-model 16 --layers 1 --seq-len 32 \
    --batch-size 4 --quiet --json >/dev/null
"$LCSM" train --data text2 --out characters --method mamba2 --steps 150 --d-model 16 --layers 1 --seq-len 32 \
    --batch-size 4 --lr 0.01 --quiet --json >/dev/null
unset LCSM_API_KEY
python3 "$(dirname "$0")/../support/serve_checks.py" "$LCSM" bytes characters

echo "# what is wrong with a command line"
"$LCSM" serve
echo "exit $?"
"$LCSM" serve bytes --tls-cert cert.pem
echo "exit $?"
"$LCSM" serve nothing
echo "exit $?"
: >empty
"$LCSM" serve bytes --api-key-file empty
echo "exit $?"
