# Kills a run that saves after every update, 25 times at random moments, and resumes it each time;
# as often as it reaches its end, its weights must be those of the run that was never interrupted.
seq 1 800 >text.txt
set -- --data text.txt --method gla --d-model 16 --layers 2 --heads 2 --batch-size 2 --seq-len 32 \
    --steps 40 --save-every 1 --eval-every 20 --dropout 0.1 --quiet --threads 1
$LCSM train "$@" --out whole >/dev/null || exit 1

same() {
    for file in model.safetensors checkpoints/step-00000040/model.safetensors \
        checkpoints/step-00000040/optimizer.safetensors; do
        cmp "whole/$file" "parts/$file" || exit 1
    done
}

kills=0
ends=0
while [ "$kills" -lt 25 ] || [ "$ends" -eq 0 ]; do
    resume=
    [ ! -f parts/config.json ] || resume=--resume
    $LCSM train "$@" $resume --out parts >/dev/null 2>log &
    process=$!
    if [ "$kills" -lt 25 ]; then
        sleep "0.$(od -An -N2 -tu2 /dev/urandom | awk '{printf "%03d", 20 + $1 % 300}')"
        kill -9 $process 2>/dev/null && kills=$((kills + 1))
    fi
    wait $process 2>/dev/null
    code=$?
    [ $code -eq 0 ] || [ $code -eq 137 ] || { cat log; exit 1; }
    [ $code -eq 0 ] || continue
    same
    ends=$((ends + 1))
    rm -r parts
done
echo "killed 25 times, same weights"
