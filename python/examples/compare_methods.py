"""Five methods on the same text, side by side: a table and a report.

    python compare_methods.py book.txt
"""
# %%
import sys

import lcsm

steps = int(sys.argv[2]) if len(sys.argv) > 2 else 200
rows = []
for method in ("linear-attention", "retnet", "gla", "mamba", "gated-deltanet"):
    run = lcsm.train(sys.argv[1], f"runs/compare/{method}", method, steps=steps, d_model=64, layers=2, seq_len=128,
                     batch_size=8)
    about = lcsm.describe(method, d_model=64, layers=2)
    rows.append([method, about.parameters, about.memory_floats, run.best_loss, round(run.tokens_per_second)])

# %%
print(lcsm.Table(["method", "parameters", "memory, floats", "loss", "tokens per second"], rows))
lcsm.report("runs/compare", "compare.html")
