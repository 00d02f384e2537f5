"""Delta rules of 2025 and 2026."""

import numpy as np

from golden.basics import *  # noqa: F403
from golden.family import column, conv, delta_end, delta_sizes, dt_gate, normed, scalar_gate, share, short, strength, unit  # noqa: F401


def low_rank_end(p, cfg, x, y):
    if cfg.flavour == "bare":
        return bare_end(p, cfg, y)
    H, _, _, D = delta_sizes(cfg)
    g = p.linear(p.linear(x, "gate_down", D), "gate_up", H * D, True)
    return p.linear(normed(p, cfg, y) * sigmoid(g), "out", cfg.d_model)


def gated_deltanet_2(p, cfg, x):
    """m = g m, then m = m + k ((w v) - (b k)^T m)^T, with gates b of key rows and w of values."""
    H, G, K, D = delta_sizes(cfg)

    def gate(x):
        z = p.linear(p.linear(x, "decay_down", D), "decay_up", G * K)
        if not cfg.gate_bound:
            return np.exp(dt_gate(p, z, G))
        A = np.exp(np.repeat(p("A_log", G, scale=0.7, init=0), K))
        return np.exp(-REAL(cfg.gate_bound) * sigmoid(A * (z + p("dt_bias", G * K, scale=0.7))))

    def states(x):
        q, k = (unit(column(short(p, cfg, x, name, G * K), G)) for name in "qk")
        v = short(p, cfg, x, "v", H * D) * sigmoid(p.linear(x, "write", H * D))
        b = REAL(cfg.beta_max) * column(sigmoid(p.linear(x, "erase", G * K)), G)
        g = column(gate(x), G)
        q, k, b, g = (share(y, H) for y in (q, k, b, g))
        return States(heads(v, H), k, q, o=g, erase=g * b * k, scale=1 / np.sqrt(REAL(K)))

    return low_rank_end(p, cfg, x, merge(run(cfg, x, states)))


def complex_kda(p, cfg, x):
    """KDA with gates sign(a) (least + (1 - least) |a|), a = tanh(exp(A_log) (z + dt_bias) / 2)."""
    H, G, K, D = delta_sizes(cfg)
    least = np.exp(-REAL(cfg.gate_bound or 5))

    def gate(x):
        z = p.linear(p.linear(x, "decay_down", D), "decay_up", H * K)
        rate = np.exp(np.repeat(p("A_log", H, scale=0.7, init=0), K))
        a = np.tanh(rate * (z + p("dt_bias", H * K, scale=0.7)) / 2)
        return column(np.where(a < 0, -1, 1) * (least + (1 - least) * abs(a)), H)

    def states(x):
        q, k = (share(unit(column(short(p, cfg, x, name, G * K), G)), H) for name in "qk")
        v, g = heads(short(p, cfg, x, "v", H * D), H), gate(x)
        e = strength(p, cfg, x, H)[..., None, None] * k
        return States(v, e, q, o=g, erase=g * k, scale=1 / np.sqrt(REAL(K)))

    return low_rank_end(p, cfg, x, merge(run(cfg, x, states)))


def comba(p, cfg, x):
    """m = g m + beta k (v - c k^T m)^T, where k reads m before its gate; y = m^T (q - d c k) / sqrt(K)."""
    H, G, K, D = delta_sizes(cfg)
    c = sigmoid(p("feedback", G, centre=1.0, init=1))[:, None, None]
    d = p("correction", G, centre=1.0, init=1)[:, None, None]

    def states(x):
        q, k = (column(short(p, cfg, x, name, G * K), G) for name in "qk")
        q = share(unit(q - d * c * k), H)
        k = unit(k)
        v = heads(short(p, cfg, x, "v", H * D), H)
        e = strength(p, cfg, x, H)[..., None, None] * share(k, H)
        g = scalar_gate(p, cfg, x)[..., None, None]
        return States(v, e, q, o=g, a=-e, b=share(c * k, H), scale=1 / np.sqrt(REAL(K)))

    return delta_end(p, cfg, x, merge(run(cfg, x, states)), "sigmoid")


METHODS = {"gated-deltanet-2": gated_deltanet_2, "complex-kda": complex_kda, "comba": comba}
