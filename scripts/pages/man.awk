# A page of --help -> a man page. The first line is "lcsm ... - summary", then come the usage, text,
# options (two spaces, a term, two spaces, a description, whose further lines are indented),
# examples (two spaces and a command), and settings, which are options by groups. A manual has its
# examples at the end, so they are kept until then.

function escape(s)
{
    gsub(/\\/, "\\e", s)
    gsub(/-/, "\\-", s)
    gsub(/\|/, "|\\:", s)
    if (s ~ /^[.']/) s = "\\&" s
    return s
}

function put(line)
{
    if (mode == "example" && commands) examples = examples line "\n"
    else print line
}

# Text, in lines of the source that are not long.
function fill(s,    cut)
{
    while (length(escape(s)) > 76 && index(s, " ") > 0) {
        for (cut = 76; cut > 1 && (substr(s, cut, 1) != " " || length(escape(substr(s, 1, cut))) > 76); cut--) continue
        if (cut == 1) cut = index(s, " ")
        put(escape(substr(s, 1, cut - 1)))
        s = substr(s, cut + 1)
    }
    put(escape(s) (s ~ /\|$/ ? "\\c" : "")) # no blank between choices
}

function section(name)
{
    if (name == in_section) return
    in_section = name
    opened = 1
    print ".SH " name
}

# In the middle of one kind of lines: "", text, list or example.
function enter(kind)
{
    if (kind == mode) return
    if (mode == "example") put(".EE")
    if (kind == "example" && !commands) print ".PP"
    if (kind == "text" && !opened) print ".PP"
    opened = 0
    mode = kind
    if (kind == "example") put(".EX")
}

function item(term, text)
{
    enter("list")
    if (term ~ /^-/ && examples == "") section("OPTIONS")
    if (name == "lcsm") section("COMMANDS")
    put(".TP\n\\fB" escape(term) "\\fR")
    if (text != "") fill(text)
}

# What follows the examples, before their end is reached.
function after_examples()
{
    if (examples != "") section("SETTINGS")
}

NR == 1 {
    summary = $0
    sub(/^.* - /, "", summary)
    printf ".TH %s 1 \"%s\" \"lcsm %s\" \"lcsm manual\"\n", toupper(name), date, version
    print ".ad l\n.nh"
    printf ".SH NAME\n%s \\- %s\n", escape(name), escape(summary)
    next
}
/^usage: / {
    print ".SH SYNOPSIS\n.nf"
    print escape(substr($0, 8))
    usage = 1
    next
}
usage && /^ / { print escape(substr($0, 8)); next }
usage { print ".fi" (name == "lcsm" ? "" : "\n.SH DESCRIPTION"); usage = 0; mode = "text"; next }

/^$/ { if (mode != "example") enter(""); else blank = 1; next }
/^[A-Z][A-Za-z ,]*:$/ { enter(""); after_examples(); sub(/:$/, ""); print ".SS " escape($0); next }
/^Exit code / { enter(""); section("EXIT STATUS") }
/^First steps: / { sub(/.*: /, "  "); first = 1 }
first { sub(/^ +/, "  ") }

# "  --option ARG  text", "  term   text", but not a command of the program
/^  [^ ]/ && !/^  lcsm / {
    line = substr($0, 3)
    if (match(line, /   */) && RSTART > 1) {
        item(substr(line, 1, RSTART - 1), substr(line, RSTART + RLENGTH))
        next
    }
    if (match(line, /^--?[a-z][-a-z0-9._]*( [A-Z][A-Za-z,.|]*)?/)) {
        item(substr(line, 1, RLENGTH), substr(line, RLENGTH + 2))
        next
    }
}
/^      / && mode == "list" { sub(/^ +/, ""); fill($0); next }
/^  / {
    if (mode != "example") commands = /^  lcsm /
    enter("example")
    if (blank) put("")
    blank = 0
    put(escape(substr($0, 3)))
    next
}
{
    if (mode == "example") enter("")
    after_examples()
    enter("text")
    fill($0)
}
END {
    enter("")
    if (usage) print ".fi"
    if (examples != "") printf ".SH EXAMPLES\n%s", examples
    print ".SH SEE ALSO"
    fill(see)
}
