# A run folder: its model, how it was trained, what it scored.
yes 'to be or not to be' | head -200 >text
$LCSM train --data text --method gla --d-model 16 --layers 1 --heads 2 --steps 3 --seq-len 8 --batch-size 2 \
    --warmup 1 --threads 1 --out mine >log 2>&1
$LCSM describe mine | sed -n -e '1p' -e '/^  parameters/p' -e '/^training/,$p' |
    sed -e 's,  data  .*/text,  data text,' -e 's/^\(  seconds *\).*/\1-/' -e 's/^\(  tokens_per_second *\).*/\1-/' -e 's/^\(  peak_memory_bytes *\).*/\1-/' \
        -e 's/^\(  [a-z_]*loss *\).*/\1-/' -e 's/^\(  perplexity *\).*/\1-/' -e 's/^\(  accuracy *\).*/\1-/' \
        -e 's/^\(  bits_per_byte *\).*/\1-/'
$LCSM describe mine --json | grep -e '"steps"' -e '"state"' -e '"name": "mine"' -e '"seq_len"'
$LCSM describe mine --tau 4 || echo "exit $?"
$LCSM describe mine --size 10m 2>&1 || echo "exit $?"
$LCSM describe nothing-here || echo "exit $?"
$LCSM describe ./nothing-here || echo "exit $?"
# A folder that is named like a method: the method, and with a slash the folder.
mv mine gla
$LCSM describe gla | grep -c '^training'
$LCSM describe ./gla | grep -c '^training'
