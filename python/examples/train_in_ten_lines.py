"""Train a small language model and let it write: ten lines.

    python train_in_ten_lines.py book.txt
"""
# %%
import sys

import lcsm

run = lcsm.train(sys.argv[1], "runs/book", "gla", steps=int(sys.argv[2]) if len(sys.argv) > 2 else 300,
                 d_model=64, layers=2, seq_len=128, batch_size=8,
                 progress=lambda e: e.kind != "eval" or print(f"step {e.step}: loss {e.loss:.3f}"))
print(f"{run.tokens_per_second:.0f} tokens per second, best loss {run.best_loss:.3f}")
for text in run.load().generate("It was", 80):
    print(text, end="", flush=True)
print()
