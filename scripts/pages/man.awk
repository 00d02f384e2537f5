# A page of --help -> a man page. The first line is "lcsm ... - summary", then come the usage, text,
# options (two spaces, a term, two spaces, a description, whose further lines are indented), and
# examples (two spaces and a command).

function escape(s)
{
    gsub(/\\/, "\\e", s)
    gsub(/-/, "\\-", s)
    gsub(/\|/, "|\\:", s)
    if (s ~ /^[.']/) s = "\\&" s
    return s
}

# In the middle of one kind of lines: "", text, list or example.
function enter(kind)
{
    if (kind == mode) return
    if (mode == "example") print ".EE"
    if (kind == "example") print (commands ? ".SH EXAMPLES" : ".PP") "\n.EX"
    if (kind == "text") print ".PP"
    mode = kind
}

function item(term, text)
{
    enter("list")
    print ".TP\n\\fB" escape(term) "\\fR"
    if (text != "") print escape(text)
}

NR == 1 {
    summary = $0
    sub(/^.* - /, "", summary)
    printf ".TH %s 1 \"\" \"lcsm %s\" \"lcsm manual\"\n", toupper(name), version
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
usage { print ".fi\n.SH DESCRIPTION"; usage = 0; mode = "text"; next }

/^$/ { if (mode != "example") enter(""); else blank = 1; next }
/^[A-Z][A-Za-z ,]*:$/ { enter(""); sub(/:$/, ""); print ".SS " escape($0); next }

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
/^      / && mode == "list" { sub(/^ +/, ""); print escape($0); next }
/^  / {
    commands = /^  lcsm / && mode != "example"
    enter("example")
    if (blank) print ""
    blank = 0
    print escape(substr($0, 3))
    next
}
{
    enter("text")
    print escape($0)
}
END {
    enter("")
    if (usage) print ".fi"
    print ".SH SEE ALSO"
    print escape(see)
}
