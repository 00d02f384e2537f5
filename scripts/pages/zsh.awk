# The table of options -> completion for zsh.

function quote(s) { gsub(/'/, "'\\''", s); return "'" s "'" }
function short(s) { sub(/ \(default.*/, "", s); gsub(/\[/, "(", s); gsub(/\]/, ")", s); gsub(/:/, " -", s); gsub(/\\/, "", s); return substr(s, 1, 90) }

FILENAME ~ /commands$/ { commands = commands " " quote($1 ":" $2); next }

$2 == "" { first[$1] = $4 }

{
    if (!($1 in seen)) { pages[++count] = $1; seen[$1] = 1 }
    value = ""
    if ($3 != "") {
        action = $3 ~ /^(FILE|PATH|TEXT)/ ? "_files" : $3 ~ /^(DIR|RUN|FOLDER)/ ? "_files -/" : " "
        if ($4 != "") action = "(" $4 ")"
        if ($2 == "--method") action = "($(lcsm methods | awk \"NR > 1 && /^[a-z0-9-]+  / { print \\$1 }\"))"
        value = ":" tolower($3) ":" action
    }
    if ($2 != "") lines[$1] = lines[$1] " \\\n            " quote("*" $2 "[" short($5) "]" value)
}

END {
    print "#compdef lcsm"
    print "_lcsm() {"
    print "    if (( CURRENT == 2 )); then"
    print "        local -a commands=(" substr(commands, 2) ")"
    print "        _describe command commands"
    print "        return"
    print "    fi"
    print "    local page=$words[2]"
    print "    case \"$page $words[3]\" in"
    for (j = 1; j <= count; j++) if (index(pages[j], " ") > 0) printf "    %s) page=%s ;;\n", quote(pages[j]), quote(pages[j])
    print "    esac"
    print "    shift words; (( CURRENT-- ))"
    print "    case $page in"
    for (j = 1; j <= count; j++) {
        word = pages[j] in first ? " \\\n            " quote("1:word:" (pages[j] == "check" ? "_files" : "(" first[pages[j]] ")")) : ""
        printf "    %s)\n        _arguments -S%s%s \\\n            '*:file:_files'\n        ;;\n", quote(pages[j]), lines[pages[j]], word
    }
    print "    *) _files ;;"
    print "    esac"
    print "}"
    print "_lcsm \"$@\""
}
