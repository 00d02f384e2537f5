#!/bin/sh
# What methods learn from the same text: a Markdown table on stdout.
#
#     bench/losses.sh shakespeare TEXT OUT [FLAG...]          every method, recipe shakespeare-char
#     bench/losses.sh wikitext2 TRAIN VALID OUT [FLAG...]     seven models of equal size, recipe
#                                                             wikitext2-small, BPE of 8192 tokens
#     bench/losses.sh family RECIPE TRAIN VALID OUT [FLAG...] eight models of 2017 to 2025 and a hybrid
#                                                             of equal size (width 64), two seeds;
#                                                             words: BPE of 2048 tokens
#
# FLAGs go to every `lcsm train`, as --steps 300, --minutes 5 or --threads 1. OUT gets the run folders;
# a run that is there is not trained again. The program is build/lcsm, or LCSM.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
program=${LCSM:-$root/build/lcsm}

field() {
    sed -n "s/^ *\"$2\": \"\{0,1\}\([^\",]*\).*/\1/p" "$1"
}

# The number of values in a safetensors file: its bytes after the header, by four.
parameters() {
    header=$(od -An -t u8 -N 8 "$1" | tr -d ' ')
    echo $((($(wc -c <"$1") - 8 - header) / 4))
}

# row LABEL DATA-FLAGS... -- trains OUT/LABEL, evaluates it and prints its line
row() {
    label=$1
    run=$out/$(echo "$label" | tr ' *,' '---')
    shift
    if [ ! -f "$run.json" ]; then
        rm -rf "$run"
        echo "$label" >&2
        "$program" train --recipe "$root/recipes/$recipe.json" --out "$run" --quiet --json "$@" >"$run.tmp" &&
            "$program" eval "$run" --data "$valid" --quiet --json >"$run.eval.json" &&
            mv "$run.tmp" "$run.json" || { echo "| $label | failed |"; return; }
    fi
    printf '| %s | %s | %s | %.0f | %.3f | %.3f | %.1f |\n' "$label" \
        "$(parameters "$run/model.safetensors")" "$(field "$run.json" steps)" \
        "$(field "$run.json" seconds)" "$(field "$run.eval.json" loss)" \
        "$(field "$run.eval.json" bits_per_byte)" "$(field "$run.eval.json" word_perplexity)"
}

usage() {
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2
    exit 2
}

what=${1:-}
case $what in
shakespeare)
    [ $# -ge 3 ] || usage
    recipe=shakespeare-char text=$2 out=$3
    shift 3
    ;;
wikitext2)
    [ $# -ge 4 ] || usage
    recipe=wikitext2-small text=$2 valid=$3 out=$4
    shift 4
    ;;
family)
    [ $# -ge 5 ] || usage
    recipe=$2 text=$3 valid=$4 out=$5
    shift 5
    ;;
*) usage ;;
esac
mkdir -p "$out"
echo '| model | parameters | steps | seconds | loss (nats per token) | bits per byte | perplexity per word |'
echo '|---|---|---|---|---|---|---|'

if [ "$what" = shakespeare ]; then
    # The last tenth, which nothing is trained on.
    size=$(wc -c <"$text")
    valid=$out/valid.txt
    head -c $((size - size / 10)) "$text" >"$out/train.txt"
    tail -c $((size / 10)) "$text" >"$valid"
    "$program" methods --json >"$out/methods"
    for name in $(sed -n 's/^ *"name": "\([^"]*\)",$/\1/p' "$out/methods" | grep -v '^custom$'); do
        case $name in
        code) row "code 1-1-1-4" --code 1-1-1-4 --data "$out/train.txt" --valid "$valid" "$@" ;;
        *) row "$name" --method "$name" --data "$out/train.txt" --valid "$valid" "$@" ;;
        esac
    done
elif [ "$what" = family ]; then
    set -- --data "$text" --valid "$valid" --d-model 64 --layers 4 "$@"
    if [ "$recipe" != shakespeare-char ]; then
        [ -f "$out/tokenizer.json" ] ||
            "$program" tokenizer train "$text" --vocab 2048 --out "$out/tokenizer.json" --quiet >&2
        set -- --tokenizer "$out/tokenizer.json" "$@"
    fi
    # Widths of the channel mixer that bring each to the size of mamba2, which has none.
    for seed in 1 2; do
        row "mamba2 seed $seed" --method mamba2 --seed $seed "$@"
        row "gla seed $seed" --method gla --hidden 131 --seed $seed "$@"
        row "hgrn2 seed $seed" --method hgrn2 --hidden 138 --seed $seed "$@"
        row "gated-deltanet seed $seed" --method gated-deltanet --hidden 111 --seed $seed "$@"
        row "kda seed $seed" --method kda --hidden 112 --seed $seed "$@"
        row "rwkv7 seed $seed" --method rwkv7 --hidden 80 --seed $seed "$@"
        row "mlstm seed $seed" --method mlstm --hidden 136 --seed $seed "$@"
        row "attention seed $seed" --method attention --hidden 139 --seed $seed "$@"
        row "gated-deltanet*3,attention seed $seed" --layers-pattern 'gated-deltanet*3,attention' \
            --hidden 118 --seed $seed "$@"
    done
else
    [ -f "$out/tokenizer.json" ] ||
        "$program" tokenizer train "$text" --vocab 8192 --out "$out/tokenizer.json" --quiet >&2
    set -- --data "$text" --valid "$valid" --tokenizer "$out/tokenizer.json" "$@"
    # Layers and widths that bring each to the size of gla, 3.3 million parameters.
    row gla --method gla "$@"
    row mamba --method mamba --layers 7 "$@"
    row hgrn --method hgrn --hidden 320 "$@"
    row retnet --method retnet --hidden 456 "$@"
    row fwp --method fwp "$@"
    row "code 1-1-1-4" --code 1-1-1-4 --expand 64 "$@"
    row attention --method attention "$@"
fi
