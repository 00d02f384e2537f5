# The table of options -> completion for fish.

function quote(s) { gsub(/\\/, "\\\\", s); gsub(/'/, "\\'", s); return "'" s "'" }

# The first clause is enough beside an option.
function short(s) { sub(/ \(default.*/, "", s); return substr(s, 1, 70) }

FILENAME ~ /commands$/ {
    printf "complete -c lcsm -n __fish_use_subcommand -f -a %s -d %s\n", $1, quote($2)
    next
}
$2 == "" { # files too where a word is one of several things
    when = "test (count (commandline -opc)) -eq 2; and __fish_seen_subcommand_from " $1
    printf "complete -c lcsm -n %s %s-a %s\n", quote(when), $1 == "check" ? "" : "-f ", quote($4)
    next
}
{
    split($1, w, " ")
    when = "__fish_seen_subcommand_from " w[1]
    if (w[2] != "") when = when "; and __fish_seen_subcommand_from " w[2]
    kind = $2 ~ /^--/ ? "-l " substr($2, 3) : "-o " substr($2, 2)
    value = $3 == "" ? "" : ($3 ~ /^(FILE|DIR|PATH|RUN|FOLDER|TEXT|NAME)/ ? " -r" : " -x")
    if ($4 != "" && $3 != "") value = " -x -a " quote($4)
    if ($2 == "--method") value = " -x -a " quote("(lcsm methods | awk 'NR > 1 && /^[a-z0-9-]+  / { print $1 }')")
    printf "complete -c lcsm -n %s %s%s -d %s\n", quote(when), kind, value, quote(short($5))
}
