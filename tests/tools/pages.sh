#!/bin/sh
# Man pages and completions have every command and every option that --help has.
# Arguments: the source folder and the program.
set -eu
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
program=$2
bad=0
fail() {
    echo "pages: $*"
    bad=1
}

"$1/scripts/pages/make" "$program" "$out/pages"
cd "$out/pages"

for command in $("$program" help | awk '/^  [a-z]+ / { print $1 }'); do
    page=man1/lcsm-$command.1
    [ -s "$page" ] || {
        fail "no man page for $command"
        continue
    }
    for section in NAME SYNOPSIS "SEE ALSO"; do
        grep -q "^.SH $section\$" "$page" || fail "$page has no $section"
    done
    # Options that begin a line of --help, those of settings with dots too.
    "$program" help "$command" </dev/null | sed -n 's/^  \(--[a-z][-a-z0-9.]*\).*/\1/p' | sort -u >wanted
    while read -r option; do
        escaped=$(printf '%s' "$option" | sed 's/-/\\\\-/g')
        grep -q -- "^.fB$escaped\\([ \\\\]\\|\$\\)" "$page" || fail "$page lacks $option"
        awk -F '\t' -v p="$command" -v o="$option" '$1 == p && $2 == o { found = 1 } END { exit !found }' \
            table.txt || fail "completions lack $command $option"
    done <wanted
done
if command -v mandoc >/dev/null 2>&1; then
    mandoc -T lint -W warning man1/*.1 || fail "mandoc has something to say"
fi
if command -v groff >/dev/null 2>&1; then
    said=$(cat man1/*-*.1 | groff -ww -man -Tutf8 2>&1 >/dev/null)
    [ -z "$said" ] || fail "groff: $said"
fi
[ -s man1/lcsm-tokenizer-train.1 ] || fail "no man page for a part of a command"

# complete WORD...: what bash offers for the last word.
complete_bash() {
    PATH=$(dirname "$program"):$PATH bash -c '. ./lcsm.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _lcsm; echo "${COMPREPLY[*]}"' \
        bash "$@"
}
if command -v bash >/dev/null 2>&1; then
    [ "$(complete_bash lcsm tra)" = train ] || fail "bash does not complete commands"
    [ "$(complete_bash lcsm train --sched)" = --schedule ] || fail "bash does not complete options"
    [ "$(complete_bash lcsm train --schedule inv)" = inverse-sqrt ] || fail "bash does not complete values"
    [ "$(complete_bash lcsm tokenizer train --voc)" = --vocab ] || fail "bash does not complete options of parts"
    [ "$(complete_bash lcsm train --method mls)" = mlstm ] || fail "bash does not complete methods"
    [ "$(complete_bash lcsm generate --weights q4)" = "q4 q4k" ] || fail "bash does not complete words of a list"
    [ "$(complete_bash lcsm tokenizer e)" = encode ] || fail "bash does not complete parts"
    [ "$(complete_bash lcsm help tr)" = train ] || fail "bash does not complete the commands of help"
fi
if command -v fish >/dev/null 2>&1; then
    complete_fish() { PATH=$(dirname "$program"):$PATH fish -c "source lcsm.fish; complete -C '$1'" | cut -f 1 | tr '\n' ' '; }
    [ "$(complete_fish 'lcsm tra')" = "train " ] || fail "fish does not complete commands"
    [ "$(complete_fish 'lcsm train --schedule inv')" = "inverse-sqrt " ] || fail "fish does not complete values"
    [ "$(complete_fish 'lcsm experiment ')" = "list run " ] || fail "fish does not complete the words of a command"
fi
for shell in zsh fish; do
    command -v $shell >/dev/null 2>&1 || continue
    case $shell in zsh) file=_lcsm ;; *) file=lcsm.fish ;; esac
    $shell -n $file || fail "$shell does not read $file"
done
exit $bad
