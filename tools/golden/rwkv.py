"""RWKV-5, 6 and 7, and their channel mixers."""

import numpy as np

from golden.basics import *  # noqa: F403
from golden.cells import mixes, ratios


def column(x, H):
    """(B, T, H n) -> (B, T, H, n, 1)"""
    return heads(x, H)[..., None]


def toward_past(p, x, name, init, more=0):
    """x_t + mu (x_{t-1} - x_t)"""
    mu = p(name, x.shape[-1], centre=0.5, scale=0.5, init=init) + more
    return x + mu * (before(x) - x)


def group_norm(p, cfg, y, weight):
    """y (B, T, H, D), a weight and a bias for each channel."""
    size = y.shape[-2] * y.shape[-1]
    w = p("ln_x.weight", size, centre=1.0, scale=0.3, init=weight)
    b = p("ln_x.bias", size, scale=0.3, init=0)
    return merge(layer_norm(y, 1, 0, cfg.mixer_eps or 64e-5)) * w + b


# ---- RWKV-5, RWKV-6 ----------------------------------------------------------------------------


def decay(p, cfg, size):
    up, _ = ratios(cfg)
    share = np.arange(size, dtype=REAL) / max(size - 1, 1)
    init = -6 + 5 * share ** (REAL(7) / 10 + REAL(13) / 10 * up)
    return p("time_decay", size, centre=-0.7, scale=0.7, init=init)


def bonus(p, cfg, H, K):
    up, _ = ratios(cfg)
    c = np.arange(H * K)
    init = up * (1 - real(c) / max(H * K - 1, 1)) + REAL(1) / 10 * ((c + 1) % 3 - 1)
    return p("time_faaaa", H, K, scale=0.7, init=init.reshape(H, K))[:, :, None]


def early(p, cfg, x, inputs, rate):
    """m = diag(w) m + k v^T, read before the write, with a bonus for the step itself."""
    H, K, D = cfg.heads, cfg.expand, int(cfg.d_model * cfg.value_ratio + 0.5)
    u = bonus(p, cfg, H, K)

    def states(x):
        r, k, v, w = inputs(x)[:4]
        r, k = column(p.linear(r, "receptance", H * K), H), column(p.linear(k, "key", H * K), H)
        v = heads(p.linear(v, "value", D), H)
        return States(v, k, r, o=np.exp(-np.exp(rate(w, H, K))), bonus=u)

    y = run(cfg, x, states)
    if cfg.flavour == "bare":
        return bare_end(p, cfg, merge(y))
    y = group_norm(p, cfg, y, 1)
    if cfg.output_gate != "none":
        y = y * silu(p.linear(inputs(x)[4], "gate", D))
    return p.linear(y, "output", cfg.d_model)


def rwkv5(p, cfg, x):
    init = mixes(cfg, cfg.d_model)

    def inputs(x):
        if cfg.flavour == "bare":
            return [x] * 5
        mu = lambda s, i: p("time_mix_" + s, cfg.d_model, centre=0.5, scale=0.5, init=init[i])  # noqa: E731
        names = "rkv" if cfg.output_gate == "none" else "rkvg"
        out = [w * x + (1 - w) * before(x) for w in (mu(s, "r" if s == "g" else s) for s in names)]
        return out[:3] + [x] + out[3:]

    def rate(w, H, K):
        return decay(p, cfg, H * K).reshape(1, 1, H, K, 1)

    return early(p, cfg, x, inputs, rate)


def rwkv6(p, cfg, x):
    init = {s: 1 - v for s, v in mixes(cfg, cfg.d_model).items()}
    init.update(x=init["k"], w=init["k"], g=init["r"])

    def inputs(x):
        if cfg.flavour == "bare":
            return [x] * 5
        low = toward_past(p, x, "time_maa_x", init["x"])
        low = np.tanh(p.linear(low, "time_maa_w1", 5 * R))
        up = p("time_maa_w2", 5, cfg.d_model, R, scale=0.7)
        made = {s: toward_past(p, x, "time_maa_" + s, init[s], low[..., j * R : (j + 1) * R] @ up[j].T) for j, s in enumerate("wkvrg")}
        return [made[s] for s in "rkvwg"]

    def rate(w, H, K):
        low = np.tanh(p.linear(w, "time_decay_w1", cfg["rwkv.decay_rank"] or 64))
        return column(p.linear(low, "time_decay_w2", H * K) + decay(p, cfg, H * K), H)

    R = cfg["rwkv.mix_rank"] or 32
    return early(p, cfg, x, inputs, rate)


# ---- RWKV-7 ------------------------------------------------------------------------------------


def rwkv7(p, cfg, x):
    """m = diag(w) m - (c a) (c^T m) + k v^T, y = m^T r; c is a unit vector beside k."""
    D, H, bare = cfg.d_model, cfg.heads, cfg.flavour == "bare"
    K = D // H
    up, down = ratios(cfg)
    c = np.arange(D)
    line = real(c) / (D - 1) - REAL(1) / 2
    half = REAL(K - 1) / 2
    zig = (c % K - half) / half
    zig = zig * abs(zig)
    w0 = -6 + 6 * (line + REAL(1) / 2) ** (1 + up ** (REAL(3) / 10)) + REAL(1) / 2 + REAL(5) / 2 * zig

    def mixed(x, name, power):
        return x if bare else toward_past(p, x, "x_" + name, 1 - (real(c) / D) ** (REAL(power) / 10 * down))

    def low(x, name, rank, act):
        return p.linear(act(p.linear(x, name + "1", cfg["rwkv.%s_rank" % rank] or 32)), name + "2", D)

    def vector(name, init):
        return p(name, D, scale=0.7, init=init)

    same = lambda x: x  # noqa: E731

    def value(x, direction):
        v = p.linear(x, "value", D)
        if bare:
            return v
        if direction not in cfg.first:
            cfg.first[direction] = v, cfg.layer
        first, layer = cfg.first[direction]
        if layer == cfg.layer:
            return v
        init = REAL(73) / 100 - REAL(4) / 10 * line
        return v + (first - v) * sigmoid(vector("v0", init) + low(x, "v", "v", same))

    def parts(x, direction):
        r = p.linear(mixed(x, "r", 2), "receptance", D)
        w = sigmoid(vector("w0", w0) + low(mixed(x, "w", 9), "w", "decay", np.tanh))
        k = p.linear(mixed(x, "k", 7), "key", D)
        v = value(mixed(x, "v", 7), direction)
        a0 = REAL(-19) / 100 + REAL(3) / 10 * zig + REAL(4) / 10 * line
        a = sigmoid(vector("a0", a0) + low(mixed(x, "a", 9), "a", "a", same))
        unit = heads(k * vector("k_k", REAL(71) / 100 - REAL(1) / 10 * line), H)
        unit = unit / np.sqrt((unit * unit).sum(-1, keepdims=True))
        k = k * (1 + (a - 1) * vector("k_a", REAL(102) / 100))
        return r, w, k, v, a, unit

    def states(x, direction):
        r, w, k, v, a, unit = parts(x, direction)
        o = np.exp(-np.exp(-REAL(1) / 2) * column(w, H))
        take, read = (unit * heads(a, H))[..., None], -unit[..., None]
        return States(heads(v, H), column(k, H), column(r, H), o=o, a=take, b=read)

    z = states(x, "forward")
    y = recurrence(z)
    if cfg.bidirectional:
        y = y + backwards(recurrence(states(backwards(x), "back"))) - alone(z)
    if bare:
        return bare_end(p, cfg, merge(y))
    y = group_norm(p, cfg, y, (REAL(cfg.layer + 1) / cfg.layers) ** (REAL(7) / 10))
    r, _, k, v, _, _ = parts(x, "forward")
    r_k = p("r_k", H, K, scale=0.7, init=REAL(-4) / 100)
    y = y + merge((heads(r * k, H) * r_k).sum(-1, keepdims=True) * heads(v, H))
    gate = low(mixed(x, "g", 2), "g", "g", sigmoid)
    return p.linear(y * gate, "output", D)


# ---- channel mixers ----------------------------------------------------------------------------


def channel6(p, cfg, x):
    share = np.arange(cfg.d_model, dtype=REAL) / cfg.d_model
    init = 1 - share ** ratios(cfg)[1]
    k = p.linear(toward_past(p, x, "x_k", init), "key", cfg.hidden or 4 * cfg.d_model)
    r = p.linear(toward_past(p, x, "x_r", init), "receptance", cfg.d_model)
    return sigmoid(r) * p.linear(relu(k) ** 2, "value", cfg.d_model)


def channel7(p, cfg, x):
    share = np.arange(cfg.d_model, dtype=REAL) / cfg.d_model
    k = toward_past(p, x, "x_k", 1 - share ** (ratios(cfg)[1] ** 4))
    return p.linear(relu(p.linear(k, "key", cfg.hidden or 4 * cfg.d_model)) ** 2, "value", cfg.d_model)


METHODS = {"rwkv5": rwkv5, "rwkv6": rwkv6, "rwkv7": rwkv7}
CHANNELS = {"rwkv6": channel6, "rwkv7": channel7}
