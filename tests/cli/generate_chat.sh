i=0
while [ $i -lt 100 ]; do echo "the cat sat on the mat. "; i=$((i + 1)); done >text
"$LCSM" train --data text --out run --steps 5 --d-model 16 --layers 1 --seq-len 32 \
    --batch-size 4 --quiet --json >/dev/null

echo "# a run without a template"
"$LCSM" generate run --chat --prompt Hi
echo "exit $?"
"$LCSM" generate run --system x --prompt Hi
echo "exit $?"

echo "# the prompt in its template is what a plain prompt of that text is"
printf '%s' '{{ bos }}{% for m in messages %}<{{ m.role }}>{{ m.content }};{% endfor %}<assistant>' \
    >run/chat_template.jinja
"$LCSM" generate run --chat --system Brief --prompt Hi --n 40 --quiet >a
"$LCSM" generate run --prompt '<system>Brief;<user>Hi;<assistant>' --n 40 --quiet >b
cmp a b && echo same

echo "# a conversation, message by message: each reply is that to the whole text so far"
printf 'Hi\nMore\n' | "$LCSM" generate run --chat --interactive --n 9 --temperature 0 --quiet >lines
"$LCSM" generate run --prompt '<user>Hi;<assistant>' --n 9 --temperature 0 --quiet >first
first=$(cat first; echo x)
"$LCSM" generate run --prompt "<user>Hi;<assistant>${first%x};<user>More;<assistant>" --n 9 \
    --temperature 0 --quiet >second
{ cat first; echo; cat second; echo; } | cmp - lines && echo same

echo "# a template that refuses"
echo '{{ raise_exception("no") }}' >run/chat_template.jinja
"$LCSM" generate run --chat --prompt Hi 2>&1 | sed 's/^.*line/line/'
