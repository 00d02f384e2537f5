#!/bin/sh
# report_results.sh SOURCE_FOLDER PROGRAM: the CSV files of docs/results still make their report.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
LCSM=$2 "$1/tools/report-results" "$folder" >"$folder/summary" 2>/dev/null
grep -q '"done": 62' "$folder/summary"
grep -q '"done": 97' "$folder/summary"
grep -q '"done": 24' "$folder/summary"
grep -q '29.28' "$folder/language/report.md"
grep -q '32.03.*40.91' "$folder/language/report.md"
grep -q 'as run: 0.92 with the paper, 12 rows; 0.85 to 0.94' "$folder/language/report.md"
ls "$folder"/language/figures/*.svg >/dev/null
grep -q '0.832 / 1.000' "$folder/state-tracking/report.md"
"$1/tools/results-csv" --check
