"""A gated linear attention layer as a torch module: lcsm.torch computes it on the CPU, with gradients.

    python torch_module.py
"""
# %%
import torch
from torch import nn

from lcsm.torch import chunk_gla


class GatedLinearAttention(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.project = nn.Linear(width, 4 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v, g = self.project(x).unflatten(-1, (4, self.heads, -1)).unbind(2)
        y, _ = chunk_gla(q, k, v, nn.functional.logsigmoid(g) / 16)
        return self.out(y.flatten(2))


# %% every token is followed by its double: a memory of one step is enough
torch.manual_seed(0)
embed, layer, head = nn.Embedding(16, 64), GatedLinearAttention(64, 4), nn.Linear(64, 16)
optimizer = torch.optim.AdamW([*embed.parameters(), *layer.parameters(), *head.parameters()], lr=1e-2)
for step in range(60):
    tokens = torch.randint(16, (16, 16)).repeat_interleave(2, 1)
    x = embed(tokens)
    loss = nn.functional.cross_entropy(head(x + layer(x))[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0 or step == 59:
        print(f"step {step}: loss {loss.item():.3f}")
