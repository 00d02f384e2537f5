# Two small models of text, for the scripts beside this one: `bytes`, which converses, and `characters`.
python=${LCSM_PYTHON:-python3}
"$python" -c "import $needs" 2>/dev/null || {
    echo "skipped: the Python package $needs is not installed"
    exit 77
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
unset LCSM_API_KEY
i=0
while [ $i -lt 200 ]; do
    echo "the cat sat on the mat. " >>text
    printf 'é€ é€ é€ é€ ' >>text2
    i=$((i + 1))
done
"$lcsm" train --data text --out bytes --steps 40 --d-model 16 --layers 1 --seq-len 32 --batch-size 4 --quiet --json >/dev/null
"$lcsm" train --data text2 --out characters --method mamba2 --steps 40 --d-model 16 --layers 1 --seq-len 32 --batch-size 4 --quiet \
    --json >/dev/null
printf '%s' "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}</{{ m['role'] }}>{% endfor %}<assistant>" \
    >bytes/chat_template.jinja
