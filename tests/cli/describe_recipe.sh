# The paper's language model, row by row; recipes and sizes by name.
for code in 0-0-0-0 1-1-1-0 1-1-1-1 1-2-1-0 1-3-1-0 1-4-1-0 1-5-1-0 1-6-1-0 1-7-1-0 1-8-1-0 1-9-1-0 \
    1-10-1-0 1-11-1-0 0; do
    echo "$code $($LCSM describe $code --recipe wikitext103 | sed -n 's/^  parameters  *\([0-9]*\).*/\1/p')"
done
$LCSM describe gla --recipe tiny | sed -n 's/^  parameters  *//p'
$LCSM describe mamba --size 1m --layers=3 | sed -n 's/^  parameters  *//p'
