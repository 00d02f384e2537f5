#!/bin/sh
# One update of the paper's recall model (code 1-1-1-0, d 64, k 128, 512 examples of 64) beside the
# same model in PyTorch, examples a second.
#
#     bench/mqar.sh [PROGRAM]           PROGRAM defaults to build/lcsm
. "$(dirname "$0")/beside.sh"

beside "recall examples" examples_per_second "bench_mqar.py" "--task mqar --seconds 10"
