#!/bin/sh
# A run that some ranks began goes on with any other number of them, and ends with the same bits.
. "$(dirname "$0")/ranks.sh"
set -- $model --data text.txt --method gla --batch-size 6 --dropout 0.1 --schedule constant \
    --eval-every 4 --eval-blocks 8

ranks 2 train "$@" --steps 8 --out whole || fail "2 ranks failed"
ranks 2 train "$@" --steps 4 --out parts || fail "2 ranks failed"
ranks 3 train --resume --steps 6 --out parts || fail "3 ranks did not resume a run of 2"
alone train --resume --steps 8 --out parts
same_weights whole parts

# A signal saves and ends all ranks, whichever of them gets it.
ranks 2 train "$@" --steps 100000 --out stopped &
job=$!
for _ in $(seq 100); do
    [ ! -f stopped/metrics.jsonl ] || break
    sleep 0.2
done
kill -TERM "$(pgrep -f "$lcsm train .*--out stopped" | while read -r pid; do
    [ "$(readlink "/proc/$pid/exe")" != "$lcsm" ] || echo "$pid"
done | tail -1)"
wait $job && fail "a run that was stopped ended with 0"
grep -q '"reason": *"signal"' stopped/metrics.jsonl || fail "the run was not stopped by the signal"
ls stopped/checkpoints | grep -q step- || fail "the signal left no checkpoint"
echo "resumed with other ranks"
