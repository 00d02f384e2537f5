"""A classifier of real-valued sequences with fit and predict, as scikit-learn's have: two layers of gated linear attention.

    python classifier.py
"""
# %%
from __future__ import annotations

import numpy as np
import torch
from torch import nn

from lcsm.torch import chunk_gla


class Layer(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads, self.norm = heads, nn.LayerNorm(width)
        self.project, self.out = nn.Linear(width, 4 * width), nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v, g = self.project(self.norm(x)).unflatten(-1, (4, self.heads, -1)).unbind(2)
        y, _ = chunk_gla(q, k, v, nn.functional.logsigmoid(g) / 16)
        return x + self.out(y.flatten(2))


class SequenceClassifier:
    """fit(X, y) and predict(X): X (N, T, C) numbers, y (N) labels of any kind."""

    def __init__(self, width: int = 32, layers: int = 2, heads: int = 2, epochs: int = 30, batch: int = 32, lr: float = 3e-3,
                 seed: int = 0):
        self.width, self.layers, self.heads = width, layers, heads
        self.epochs, self.batch, self.lr, self.seed = epochs, batch, lr, seed

    def fit(self, X: np.ndarray, y: np.ndarray) -> SequenceClassifier:
        torch.manual_seed(self.seed)
        self.classes_, target = np.unique(y, return_inverse=True)
        x = torch.as_tensor(X, dtype=torch.float32)
        self.mean_, self.std_ = x.mean((0, 1)), x.std((0, 1)) + 1e-6
        blocks = [Layer(self.width, self.heads) for _ in range(self.layers)]
        self.body_ = nn.Sequential(nn.Linear(x.shape[-1], self.width), *blocks, nn.LayerNorm(self.width))
        self.head_ = nn.Linear(self.width, len(self.classes_))
        optimizer = torch.optim.AdamW([*self.body_.parameters(), *self.head_.parameters()], lr=self.lr)
        for _ in range(self.epochs):
            for rows in torch.randperm(len(x)).split(self.batch):
                loss = nn.functional.cross_entropy(self._scores(x[rows]), torch.as_tensor(target)[rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return self._scores(torch.as_tensor(X, dtype=torch.float32)).softmax(-1).numpy()

    def predict(self, X: np.ndarray) -> np.ndarray:
        return self.classes_[self.predict_proba(X).argmax(-1)]

    def score(self, X: np.ndarray, y: np.ndarray) -> float:
        return float((self.predict(X) == y).mean())

    def _scores(self, x: torch.Tensor) -> torch.Tensor:
        return self.head_(self.body_((x - self.mean_) / self.std_)[:, -1])  # what is remembered at the end


# %% which of two pulses came first? Both look alike at the end.
def pulses(count: int, seed: int, steps: int = 48) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    X, y = 0.3 * draw.standard_normal((count, steps, 2)), np.empty(count, dtype=object)
    for n in range(count):
        first, second = sorted(draw.choice(np.arange(2, steps - 2), 2, replace=False))
        channel = draw.integers(2)
        X[n, first, channel] += 4
        X[n, second, 1 - channel] += 4
        y[n] = ("left", "right")[channel]
    return X, y


if __name__ == "__main__":
    classifier = SequenceClassifier().fit(*pulses(384, 0))
    print(f"accuracy on sequences that were not seen: {classifier.score(*pulses(256, 1)):.3f}")
