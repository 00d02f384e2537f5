# The table of options -> completion for bash.

function quote(s) { gsub(/'/, "'\\''", s); return "'" s "'" }

FILENAME ~ /commands$/ { commands = commands " " $1; next }

$2 == "" { parts[$1] = $4; next }

{
    options[$1] = options[$1] " " $2
    if (!($1 in seen)) { pages[++count] = $1; seen[$1] = 1 }
    if ($4 != "") choices[$1 "|" $2] = $4
    if ($3 == "") flags[$1] = flags[$1] " " $2
}

END {
    print "# bash completion for lcsm"
    print "_lcsm()"
    print "{"
    print "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} page=${COMP_WORDS[1]} words="
    print "    COMPREPLY=()"
    print "    if [ \"$COMP_CWORD\" -eq 1 ]; then"
    printf "        words=%s\n", quote(substr(commands, 2) " --help --version")
    print "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")"
    print "        return"
    print "    fi"
    print "    case \"$page ${COMP_WORDS[2]}\" in"
    for (j = 1; j <= count; j++) if (index(pages[j], " ") > 0) printf "    %s) page=%s ;;\n", quote(pages[j]), quote(pages[j])
    print "    esac"
    print "    case \"$prev\" in"
    print "    --method) words=$(lcsm methods 2>/dev/null | awk 'NR > 1 && /^[a-z0-9-]+  / { print $1 }') ;;"
    print "    *)"
    print "        case \"$page|$prev\" in"
    for (key in choices) printf "        %s) words=%s ;;\n", quote(key), quote(choices[key])
    print "        esac"
    print "        ;;"
    print "    esac"
    print "    if [ -n \"$words\" ]; then"
    print "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")"
    print "        return"
    print "    fi"
    print "    case \"$cur\" in"
    print "    -*)"
    print "        case \"$page\" in"
    for (j = 1; j <= count; j++) printf "        %s) words=%s ;;\n", quote(pages[j]), quote(substr(options[pages[j]], 2) " --help")
    print "        esac"
    print "        ;;"
    print "    *)"
    print "        if [ \"$COMP_CWORD\" -eq 2 ]; then"
    print "            case \"$page\" in"
    for (c in parts) printf "            %s) words=%s ;;\n", c, quote(parts[c])
    print "            esac"
    print "        fi"
    print "        ;;"
    print "    esac"
    print "    if [ -n \"$words\" ]; then"
    print "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")"
    print "    else"
    print "        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")"
    print "    fi"
    print "}"
    print "complete -o filenames -F _lcsm lcsm"
}
