#!/bin/sh
# One update of the paper-sized GLA model beside the same model in PyTorch, tokens a second.
#
#     bench/train.sh [PROGRAM [long]]   PROGRAM defaults to build/lcsm; long: one sequence of 8192
. "$(dirname "$0")/beside.sh"

beside "tokens, batch 4 x 512" tokens_per_second "bench_lm.py --reps 3" "--seconds 15"
[ "${2:-}" != long ] || beside "tokens, batch 1 x 8192" tokens_per_second \
    "bench_lm.py --reps 3 --B 1 --n 8192" "--batch_size 1 --seq_len 8192 --seconds 40"
