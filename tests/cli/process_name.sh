# The program is called lcsm in the list of processes, also once it has started itself again.
mkfifo text
"$LCSM" tokenizer encode <text >/dev/null &
exec 3>text
sleep 0.5
cat /proc/$!/comm
exec 3>&-
wait
