# The keys that scripts may rely on; no time is looked at.
"$LCSM" bench train --vocab 50 --d_model 16 --hidden 24 --expand 4 --layers 1 --batch_size 2 \
    --seq_len 9 --seconds 0.001 --threads 1 --json >out.json
echo "exit $?"
grep -o '"tokens_per_second"\|"examples_per_second"\|"fraction_of_peak"\|"fraction_beside"\|"flops_per_token"\|"threads": 1\|"arena"\|"max_rss"\|"op": "linear_xent"\|"op": "optimizer"' out.json |
    sort -u
"$LCSM" bench train --task mqar --vocab 64 --d_model 16 --expand 8 --batch_size 3 --seq_len 16 \
    --seconds 0.001 --threads 1 | grep -o 'examples/s\|of the peak\|linear_xent'
"$LCSM" bench train here 2>&1
echo "exit $?"
