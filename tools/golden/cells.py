"""One memory for each channel: RWKV-4, HGRN, LRN."""

import numpy as np

from golden.attention import powers
from golden.basics import *  # noqa: F403


def row(x):
    """(B, T, D) -> (B, T, 1, D)"""
    return x[:, :, None, :]


# ---- RWKV-4 ------------------------------------------------------------------------------------


def ratios(cfg):
    return REAL(cfg.layer) / (cfg.layers - 1) if cfg.layers > 1 else REAL(0), 1 - REAL(cfg.layer) / cfg.layers


def mixes(cfg, D):
    """Initial mixing weights of k, v, r, and of the channel mixer."""
    up, down = ratios(cfg)
    share = np.arange(D, dtype=REAL) / D
    return {
        "k": share**down,
        "v": share**down + REAL(3) / 10 * up,
        "r": share ** (down / 2),
        "channel": share**down,
    }


def shifted(p, x, name, init):
    mu = p(name, x.shape[-1], centre=0.5, scale=0.5, init=init)
    return mu * x + (1 - mu) * before(x)


def receive(p, cfg, x, width):
    init = mixes(cfg, cfg.d_model)
    k = p.linear(shifted(p, x, "time_mix_k", init["k"]), "key", width)
    v = p.linear(shifted(p, x, "time_mix_v", init["v"]), "value", width)
    r = p.linear(shifted(p, x, "time_mix_r", init["r"]), "receptance", width)
    return k, v, sigmoid(r)


def decay(p, cfg, width):
    up, _ = ratios(cfg)
    h = np.arange(width, dtype=REAL) / max(width - 1, 1)
    init = -5 + 8 * h ** (REAL(7) / 10 + REAL(13) / 10 * up)
    return p("time_decay", width, centre=-0.7, scale=0.7, init=init)


def past(k, v, w):
    """Sums before each step, of v and of 1, with the weights exp(k_s + (t - 1 - s) w)."""
    number, total = np.zeros_like(v), np.zeros_like(v)
    for t in range(k.shape[1]):
        for s in range(t):
            weight = np.exp(k[:, s] + (t - 1 - s) * w)
            number[:, t] += weight * v[:, s]
            total[:, t] += weight
    return number, total


def rwkv4(p, cfg, x):
    """The mean of v; the weight of the step itself is exp(u + k)."""
    width = int(cfg.d_model * cfg.value_ratio + 0.5)
    k, v, r = receive(p, cfg, x, width)
    h = np.arange(width)
    first = np.log(REAL(3) / 10) + REAL(1) / 2 * ((h + 1) % 3 - 1)
    u = p("time_first", width, scale=0.7, init=first)
    w = -np.exp(decay(p, cfg, width))
    number, total = past(k, v, w)
    number, total = number + np.exp(u + k) * v, total + np.exp(u + k)
    if cfg.bidirectional:
        k, v, _ = receive(p, cfg, backwards(x), width)
        after = past(k, v, w)
        number, total = number + backwards(after[0]), total + backwards(after[1])
    return p.linear(r * number / total, "output", cfg.d_model)


def rwkv4_eos(p, cfg, x):
    """The paper's row: m = exp(-w) m + exp(k) v, y = r m; k is held below 10."""
    width = int(cfg.d_model * cfg.value_ratio + 0.5)
    r = receive(p, cfg, x, width)[2]

    def states(x):
        k, v, _ = receive(p, cfg, x, width)
        w = np.exp(decay(p, cfg, width))
        one = np.ones((1, 1, 1, 1, 1), dtype=REAL)
        i = np.exp(np.minimum(k, REAL(10))) * v
        return States(row(i), one, one, o=np.exp(-w).reshape(1, 1, 1, 1, width))

    y = merge(run(cfg, x, states))
    if cfg.flavour == "bare":
        return bare_end(p, cfg, r * y)
    return p.linear(r * rms_norm(y), "output", cfg.d_model)


# ---- HGRN, LRN ---------------------------------------------------------------------------------


def forget(p, cfg, x, bounded):
    share = sigmoid(p.linear(x, "forget", cfg.d_model, True))
    if not bounded:
        return share
    gamma = p("/lower_bounds", cfg.layers, cfg.d_model, centre=1.0, scale=0.8, init=1)
    soft = np.exp(gamma) / np.exp(gamma).sum(0)
    bound = soft[1 : cfg.layer + 1].sum(0)
    return bound + (1 - bound) * share


def channel_states(p, cfg, act, bounded):
    def states(x):
        lam = forget(p, cfg, x, bounded)
        c = act(p.linear(x, "input", cfg.d_model, True))
        one = np.ones((1, 1, 1, 1, 1), dtype=REAL)
        return States(row((1 - lam) * c), one, one, o=row(lam)[:, :, :, None, :])

    return states


def turning(p, cfg, x):
    """HGRN's complex memory as (B, T, 2 D): all real parts, then all imaginary ones."""
    D = cfg.d_model
    lam = forget(p, cfg, x, True)
    c = pairs(silu(p.linear(x, "input", 2 * D, True)).reshape(*x.shape[:2], D, 2))
    theta = p("theta", D, centre=0.4, scale=0.4, init=powers(D, D))
    h, out = 0, []
    for t in range(x.shape[1]):
        h = lam[:, t] * np.exp(1j * theta) * h + (1 - lam[:, t]) * c[:, t]
        out.append(h)
    h = np.stack(out, axis=1)
    return np.concatenate([h.real, h.imag], axis=-1)


def hgrn(p, cfg, x):
    states = channel_states(p, cfg, silu, True)
    if cfg.flavour == "bare":
        return bare_end(p, cfg, merge(run(cfg, x, states)))
    if cfg.complex:
        h = turning(p, cfg, x)
        if cfg.bidirectional:  # both scans count the step, as in HGRN's code
            h = h + backwards(turning(p, cfg, backwards(x)))
    else:
        h = merge(run(cfg, x, states))
    gate = silu(p.linear(x, "gate", h.shape[-1], True))
    weight, bias = norm_parameters(p.inside("norm"), h.shape[-1])
    return p.linear(gate * layer_norm(h, weight, bias), "out", cfg.d_model, True)


def lrn(p, cfg, x):
    y = merge(run(cfg, x, channel_states(p, cfg, np.tanh, False)))
    return bare_end(p, cfg, y) if cfg.flavour == "bare" else y


METHODS = {"rwkv4": rwkv4, "rwkv4-eos": rwkv4_eos, "hgrn": hgrn, "lrn": lrn}
