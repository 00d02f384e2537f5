"""A session reads a stream of any length in constant memory, branches, and goes back.

    python streaming.py runs/book
"""
# %%
import sys

import numpy as np

import lcsm

model = lcsm.load(sys.argv[1])
session = model.session(rewind=64)
for piece in ("It was the best of times, ", "it was the worst of times, ", "it was the "):
    session.feed(model.tokenizer.encode(piece))
print(f"{session.position} tokens read; the memory is {len(session.save())} bytes")

# %% the next token, as probabilities
p = np.exp(session.logits - session.logits.max())
for token in np.argsort(-p)[:3]:
    print(f"{model.tokenizer.decode([token])!r:8} {p[token] / p.sum():.3f}")

# %% two continuations of one past, then back to where it was
for seed in (1, 2):
    print("".join(model.generate("", 30, seed=seed, session=session.clone())))
session.feed(model.tokenizer.encode("age"))
session.rollback(3)
print(f"back at token {session.position}")
