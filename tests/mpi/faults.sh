#!/bin/sh
# Ranks that would not train the same run are refused; a rank that ends takes the others with it;
# what cannot be written ends all; and what is missing is named.
. "$(dirname "$0")/ranks.sh"
set -- $model --data text.txt --method gla --batch-size 4 --eval-every 0

mpmd() { # FIRST : SECOND, for one rank each
    timeout -k 5 120 "$mpirun" -n 1 "$lcsm" train $first : -n 1 "$lcsm" train $second >log 2>&1
}
says() { grep -q -- "$1" log || fail "no line has: $1"; }

# ---- not the same run
seq 1 3001 >other.txt
first="$* --steps 4 --out refused"
second="$(echo "$first" | sed 's/text.txt/other.txt/')"
mpmd && fail "ranks with other data began"
says 'rank 1 .*the training data differs: '
second="$first --lr 0.5"
mpmd && fail "ranks with other settings began"
says 'rank 1 .*lr differs: 0.5, but rank 0 has 0.002'
cp "$lcsm" copy && printf ' ' >>copy
LCSM_MPI_PLUGIN=${LCSM_MPI_PLUGIN:-$(dirname "$lcsm")/liblcsm_mpi.so} timeout -k 5 120 "$mpirun" -n 1 "$lcsm" train $first : -n 1 ./copy train $first >log 2>&1 &&
    fail "ranks of other builds began"
says 'rank 1 .*program.s file differs'
[ ! -e refused ] || fail "a run that was refused left a folder"

# ---- what is too small, and where nothing can be written
ranks 3 train "$@" --batch-size 2 --steps 4 --out small && fail "3 ranks shared 2 sequences"
says 'cannot share batches of 2 sequences'
[ "$(grep -c 'cannot share' log)" -eq 1 ] || fail "more than one rank spoke"
ranks 2 train "$@" --steps 4 --out /proc/none && fail "a run was written into /proc"

# ---- a disk that is full, where the test may make one
mkdir disk
if mount -t tmpfs -o size=3m none disk 2>/dev/null; then
    trap 'umount "$work/disk"; rm -rf "$work"' EXIT
    ranks 2 train "$@" --steps 400 --save-every 1 --keep 100 --out disk/run && fail "a full disk was written to"
    says 'No space left on device'
    [ "$(grep -c 'No space left' log)" -eq 1 ] || fail "more than one rank spoke of the disk"
    cp -r disk/run freed
    kept=$(ls freed/checkpoints | grep '^step-' | tail -1 | sed 's/step-0*//')
    alone train --resume --steps "$((kept + 1))" --out freed
    umount disk
    trap 'rm -rf "$work"' EXIT
fi

# ---- the plug-in
LCSM_MPI_PLUGIN=$work/nowhere.so ranks 2 train "$@" --out x && fail "a missing plug-in was loaded"
says 'nowhere.so cannot be loaded'
"$lcsm" train "$@" --steps 1 --distributed mpx --out x 2>log && fail "an engine mpx was taken"
says "distributed is 'mpx'; expected auto, mpi or none"

# ---- a rank that pauses, and one that is killed
signal_rank() { # SIGNAL RANK RUN
    for pid in $(pgrep -f "train .*--out $3"); do
        [ "$(readlink "/proc/$pid/exe")" = "$lcsm" ] || continue
        own=$(tr '\0' '\n' <"/proc/$pid/environ" | sed -n 's/^\(OMPI_COMM_WORLD_RANK\|PMI_RANK\)=//p' | head -1)
        [ "$own" != "$2" ] || kill "-$1" "$pid"
    done
}

for rank in 0 1; do
    ranks 2 train "$@" --steps 100000 --save-every 5 --out "killed$rank" &
    job=$!
    for _ in $(seq 600); do
        [ ! -d "killed$rank/checkpoints" ] || break
        sleep 0.2
    done
    signal_rank STOP $((1 - rank)) "killed$rank"
    sleep 1.5
    kill -0 $job || fail "a pause ended the run"
    before=$(ls -l "killed$rank/metrics.jsonl")
    sleep 0.3
    [ "$before" = "$(ls -l "killed$rank/metrics.jsonl")" ] || fail "a rank was not paused"
    signal_rank CONT $((1 - rank)) "killed$rank"
    for _ in $(seq 100); do
        [ "$before" = "$(ls -l "killed$rank/metrics.jsonl")" ] || break
        sleep 0.1
    done
    [ "$before" != "$(ls -l "killed$rank/metrics.jsonl")" ] || fail "the run did not go on after a pause"
    signal_rank 9 $rank "killed$rank"
    from=$(date +%s)
    wait $job && fail "a run whose rank $rank was killed ended with 0"
    [ $(($(date +%s) - from)) -le 10 ] || fail "the ranks took more than 10 seconds to end"
    grep -Eiq 'has ended|signal 9|killed|terminat' log || fail "nothing says that rank $rank ended"
    alone train --resume --steps 10 --out "killed$rank"
done
echo "faults are noticed"
