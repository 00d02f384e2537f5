# A page of --help -> its options, one a line: page, option, argument, choices, description.
# An option's line has two spaces in front; lines of its description have more. One line without an
# option has the words that may follow the command, as in "lcsm experiment run".

function finish()
{
    if (option == "") return
    choices = ""
    if (match(text, /[a-z0-9_+^-]+(\|[A-Za-z0-9_+^-]+)+/)) choices = substr(text, RSTART, RLENGTH)
    if (choices == "" && argument != "" && match(text, /[a-z0-9]+(, [a-z0-9]+)+ or [a-z0-9]+/)) {
        choices = substr(text, RSTART, RLENGTH)
        gsub(/, | or /, " ", choices)
    }
    gsub(/\|/, " ", choices)
    gsub(/\t/, " ", text)
    printf "%s\t%s\t%s\t%s\t%s\n", page, option, argument, choices, text
    option = ""
}

/^(usage: |       )lcsm / && index($0, "lcsm " page " ") == 8 {
    word = substr($0, length("usage: lcsm " page " ") + 1)
    sub(/ .*/, "", word)
    if (word ~ /^\[[a-z]+(\|[a-zA-Z]+)+\]$/) {
        gsub(/\[|\]|\|[A-Z]+/, "", word)
        gsub(/\|/, " ", word)
    }
    if (word ~ /^[a-z][a-z ]*$/ && index(" " words " ", " " word " ") == 0) words = words (words == "" ? "" : " ") word
    next
}
/^  --?[a-z]/ {
    finish()
    line = substr($0, 3)
    option = line
    sub(/[ ].*/, "", option)
    sub(/,$/, "", option)
    rest = substr(line, length(option) + 1)
    argument = ""
    if (match(rest, /^ [A-Za-z][A-Za-z0-9,.|]*/) && rest !~ /^  /) {
        argument = substr(rest, 2, RLENGTH - 1)
        rest = substr(rest, RLENGTH + 1)
    }
    sub(/^ +/, "", rest)
    text = rest
    next
}
/^      +[^ ]/ && option != "" {
    line = $0
    sub(/^ +/, "", line)
    text = text (text == "" || text ~ /\|$/ ? "" : " ") line
    next
}
{ finish() }
END {
    finish()
    if (words != "" && page !~ / /) printf "%s\t\t\t%s\t\n", page, words
}
