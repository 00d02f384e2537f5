# A signal ends what waits for a reader that never reads, and stdout is not blamed for it.
yes 'the cat sat on the mat.' | head -n 100 >text
"$LCSM" train --data text --out run --steps 1 --d-model 8 --layers 1 --seq-len 16 --batch-size 2 \
    --threads 1 --quiet >/dev/null
mkfifo pipe
exec 3<>pipe

# spent PID: processor time in ticks.
spent() { cut -d ' ' -f 14 "/proc/$1/stat"; }

# stop SIGNAL OPTION...: when it no longer computes.
stop() {
    signal=$1
    shift
    "$LCSM" generate run --prompt the --threads 1 --quiet "$@" >pipe &
    before=none
    while [ "$(spent $!)" != "$before" ]; do
        before=$(spent $!)
        sleep 0.5
    done
    kill "-$signal" $!
    wait $!
    echo "$* exit $?"
}

stop INT --n 0
stop TERM --n 0 --save-state state
"$LCSM" generate run --load-state state --n 1 --quiet >/dev/null && echo saved
stop INT --n 5 --json
stop TERM --n 20000 --json
