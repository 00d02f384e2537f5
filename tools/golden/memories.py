"""Fast weights: outer gates, the delta rule, and the three methods that the paper proposes."""

import numpy as np

from golden.attention import qkv, sizes
from golden.basics import *  # noqa: F403


def end(p, cfg, y, bare):
    return bare_end(p, cfg, merge(y)) if bare else p.linear(merge(y), "out", cfg.d_model)


def gates(p, x, H, K, D):
    """g (B, T, H, K, 1) and h (B, T, H, 1, D)."""
    g = heads(p.linear(x, "gate_k", H * K, True), H)[..., None]
    h = heads(p.linear(x, "gate_d", H * D, True), H)[..., None, :]
    return sigmoid(g), sigmoid(h)


def dur(p, cfg, x):
    """o = g h^T."""
    if cfg.complement:
        return gfw(p, cfg, x)
    H, K, D = sizes(cfg, x)

    def states(x):
        q, k, v = qkv(p, cfg, x, H, K, D)
        g, h = gates(p, x, H, K, D)
        return States(v, k, q, o=g * h)

    return end(p, cfg, run(cfg, x, states), cfg.flavour == "bare")


def gfw(p, cfg, x):
    """m = (1 - T) m + T (k v^T) with T = g h^T."""
    H, K, D = sizes(cfg, x)

    def states(x):
        q, k, v = qkv(p, cfg, x, H, K, D)
        g, h = gates(p, x, H, K, D)
        return States(v, k * g * h, q, o=1 - g * h)

    return end(p, cfg, run(cfg, x, states), cfg.flavour == "bare")


def sum_one(x, eps=0):
    return x / (x.sum(-2, keepdims=True) + REAL(eps))


def length_one(x):
    return x / np.sqrt((x * x).sum(-2, keepdims=True))


def dpfp(x):
    """relu([x, -x]) times itself moved on by one."""
    r = np.concatenate([relu(x), relu(-x)], axis=-2)
    return r * np.roll(r, 1, axis=-2)


FEATURES = {
    "auto": lambda x: sum_one(1 + elu(x)),
    "elu1": lambda x: sum_one(1 + elu(x)),
    "dpfp": lambda x: sum_one(dpfp(x), 1e-6),
    "l2": lambda x: length_one(silu(x)),
}


def strength(p, x, H):
    return sigmoid(heads(p.linear(x, "beta", H), H)[..., None])


def fwp(p, cfg, x):
    """m += beta k (v - m^T k)^T, y = m^T q / sqrt(K), with features of q and k."""
    H, K, D = sizes(cfg, x)
    feature = FEATURES[cfg.feature]

    def states(x):
        q, k, v = qkv(p, cfg, x, H, K, D)
        q, k = feature(q), feature(k)
        e = strength(p, x, H) * k
        return States(v, e, q, erase=k, scale=1 / np.sqrt(REAL(k.shape[-2])))

    return end(p, cfg, run(cfg, x, states), cfg.flavour == "bare")


def m1(p, cfg, x):
    """O = I - k k^T, e = k."""
    H, K, D = sizes(cfg, x)

    def states(x):
        q, k, v = qkv(p, cfg, x, H, K, D)
        k = k if cfg.raw else length_one(k)
        return States(v, k, q, erase=k)

    return end(p, cfg, run(cfg, x, states), True)


def m2(p, cfg, x):
    """O = I - k b^T, e = k."""
    H, K, D = sizes(cfg, x)

    def states(x):
        q, k, v = qkv(p, cfg, x, H, K, D)
        b = heads(p.linear(x, "b", H * K), H)[..., None]
        if not cfg.raw:
            b = sum_one(1 + elu(b))
            k = strength(p, x, H) * sum_one(1 + elu(k))
        return States(v, k, q, erase=b)

    return end(p, cfg, run(cfg, x, states), True)


def m3(p, cfg, x):
    """O = I - diag(k), e = k."""
    H, K, D = sizes(cfg, x)

    def states(x):
        q, k, v = qkv(p, cfg, x, H, K, D)
        k = k if cfg.raw else sigmoid(k)
        return States(v, k, q, o=1 - k)

    return end(p, cfg, run(cfg, x, states), True)


METHODS = {"dur": dur, "gfw": gfw, "fwp": fwp, "m1": m1, "m2": m2, "m3": m3}
