"""Linear attention and what it became: decays, rotations and gates of the data."""

import numpy as np

from golden.basics import *  # noqa: F403


def qkv(p, cfg, x, H, K, D, bias=False):
    """q, k (B, T, H, K, 1) and v (B, T, H, D)."""
    q = heads(p.linear(x, "q", H * K, bias), H)[..., None]
    k = heads(p.linear(x, "k", H * K, bias), H)[..., None]
    return q, k, heads(p.linear(x, "v", H * D, bias), H)


def sizes(cfg, x):
    H = cfg.heads or 1
    return H, cfg.expand or x.shape[-1] // H, x.shape[-1] // H


def powers(count, width):
    """10000^(-2 j / width)"""
    return REAL(10000) ** (-2 * np.arange(count, dtype=REAL) / width)


def linear_attention(p, cfg, x):
    """Katharopoulos et al.: m += f(k) v^T, y = m^T f(q) / (f(q) . sum f(k) + 1e-6), f = 1 + elu."""
    native = cfg.flavour == "native"

    def states(x):
        q, k, v = qkv(p, cfg, x, *sizes(cfg, x), bias=native)
        return States(v, 1 + elu(k), 1 + elu(q))

    y = run(cfg, x, states)
    if not native or not cfg.denominator:
        return bare_end(p, cfg, merge(y))
    y = y / (run(cfg, x, ones_for_input(states)) + REAL(1e-6))
    return p.linear(merge(y), "out", cfg.d_model, True)


def cosformer(p, cfg, x):
    """Scores relu(q_t) . relu(k_s) cos(pi/2 (t - s) / M), summed directly over s <= t."""
    native = cfg.flavour == "native"
    H, K, D = sizes(cfg, x)
    q, k, v = (a[..., 0] if a.ndim == 5 else a for a in qkv(p, cfg, x, H, K, D, bias=native))
    theta = p.fixed("theta", np.full(H, PI / 2 / cfg.max_length))[0]
    T = x.shape[1]
    lag = np.arange(T, dtype=REAL)[:, None] - np.arange(T, dtype=REAL)
    seen = np.ones((T, T), dtype=REAL) if cfg.bidirectional else (lag >= 0) * REAL(1)
    score = np.einsum("bthk,bshk->bhts", relu(q), relu(k)) * np.cos(theta * lag) * seen
    y = np.einsum("bhts,bshd->bthd", score, v)
    if not native or not cfg.denominator:
        return bare_end(p, cfg, merge(y))
    total = np.moveaxis(score.sum(-1), 1, 2)[..., None]
    return p.linear(merge(y / np.maximum(total, REAL(1e-6))), "out", cfg.d_model, True)


def angles_of_heads(p, H, K):
    """LRPE's learned angles (1, 1, H, K, 1)."""
    theta = p("theta", H * K, centre=0.4, scale=0.4, init=powers(H * K, H * K))
    return theta.reshape(1, 1, H, K, 1)


def lrpe(p, cfg, x):
    """o = exp(i theta_a), y = Re(m)^T q."""
    native = cfg.flavour == "native"
    H, K, D = sizes(cfg, x)

    def states(x):
        q, k, v = qkv(p, cfg, x, H, K, D, bias=native)
        return States(v, k, q, o=np.exp(1j * angles_of_heads(p, H, K)))

    y = run(cfg, x, states)
    if not native:
        return bare_end(p, cfg, merge(y))
    return p.linear(merge(rms_norm(y)), "out", cfg.d_model, True)


def alibi_slopes(n):
    """2^(-8 j / n) for powers of two; else those of the power below, and every second of the next."""
    power = 1 << (n.bit_length() - 1)
    slopes = [REAL(2) ** (-REAL(8) * j / power) for j in range(1, power + 1)]
    more = [REAL(2) ** (-REAL(8) * j / (2 * power)) for j in range(1, 2 * power + 1)]
    return real((slopes + more[0::2])[:n])


def tnl(p, cfg, x):
    """TransNormerLLM: lambda = exp(-slope (1 - l/(L-1) + 1e-5)), silu(q), silu(k), LRPE in layer 0. A
    single layer has lambda = exp(-slope)."""
    H, K, D = cfg.heads or 4, cfg.expand, cfg.d_model // (cfg.heads or 4)
    depth = 1 - REAL(cfg.layer) / (cfg.layers - 1) + REAL(1e-5) if cfg.layers > 1 else REAL(1)
    log_decay = p.fixed("log_decay", -alibi_slopes(H) * depth).reshape(1, 1, H, 1, 1)

    def states(x):
        q, k, v = qkv(p, cfg, x, H, K, D)
        turn = 1j * angles_of_heads(p, H, K) if cfg.layer == 0 else 0
        return States(v, silu(k), silu(q), o=np.exp(log_decay + turn))

    y = merge(run(cfg, x, states))
    if cfg.flavour == "bare":
        return bare_end(p, cfg, y)
    return p.linear(p.linear(x, "gate", cfg.d_model) * rms_norm(y), "out", cfg.d_model)


def rotated(x, theta):
    """Pairs (x_2j, x_2j+1) of (B, T, H, K, 1) turned by t theta_j."""
    angle = np.arange(x.shape[1], dtype=REAL)[:, None, None] * theta
    c, s = np.cos(angle), np.sin(angle)
    even, odd = x[..., 0::2, 0], x[..., 1::2, 0]
    return np.stack([even * c - odd * s, odd * c + even * s], axis=-1).reshape(x.shape)


def retnet(p, cfg, x):
    """lambda_h = 1 - 2^(-5 - h), q and k / sqrt(K) turned by their position."""
    H = cfg.heads or 4
    K, Dv = cfg.expand, int(cfg.d_model * cfg.value_ratio)
    half = K // 2
    if cfg.rotation:
        theta = REAL(10000) ** (-np.arange(half, dtype=REAL) / max(half - 1, 1))
        p.fixed("theta", theta)
    decay = np.log(1 - REAL(2) ** (-5 - np.arange(H, dtype=REAL)))
    decay = p.fixed("log_decay", decay).reshape(1, 1, H, 1, 1)

    def states(x):
        q, k, v = qkv(p, cfg, x, H, K, Dv // H)
        k = k / np.sqrt(REAL(K))
        if cfg.rotation:
            q, k = rotated(q, theta), rotated(k, theta)
        return States(v, k, q, o=np.exp(decay))

    y = run(cfg, x, states)
    if cfg.flavour == "bare":
        return bare_end(p, cfg, merge(y))
    gate = silu(p.linear(x, "gate", Dv))
    return p.linear(merge(rms_norm(y)) * gate, "out", cfg.d_model)


def gla(p, cfg, x):
    """g = sigmoid(W2 W1 x + b)^(1/tau) for each row, y = m^T q / sqrt(K)."""
    H, K, D = cfg.heads, cfg.expand, cfg.d_model // cfg.heads

    def states(x):
        q, k, v = qkv(p, cfg, x, H, K, D)
        z = p.linear(p.linear(x, "gate_down", cfg.rank), "gate_up", H * K, True)
        g = sigmoid(heads(z, H)[..., None]) ** (1 / REAL(cfg.tau))
        return States(v, k, q, o=g, scale=1 / np.sqrt(REAL(K)))

    y = run(cfg, x, states)
    if cfg.flavour == "bare":
        return bare_end(p, cfg, merge(y))
    weight = p("norm.weight", D, centre=1.0, scale=0.3, init=1)
    return p.linear(merge(rms_norm(y, weight, 1e-5)) * silu(p.linear(x, "gate", cfg.d_model)), "out", cfg.d_model)


def gateloop(p, cfg, x):
    """o = sigmoid(alpha) exp(i beta) for each row."""
    H, K, D = sizes(cfg, x)

    def states(x):
        q, k, v = qkv(p, cfg, x, H, K, D)
        alpha = heads(p.linear(x, "alpha", H * K, True), H)[..., None]
        beta = heads(p.linear(x, "beta", H * K, True), H)[..., None]
        return States(v, k, q, o=sigmoid(alpha) * np.exp(1j * beta))

    y = merge(run(cfg, x, states))
    if cfg.flavour == "bare":
        return bare_end(p, cfg, y)
    return p.linear(y * silu(p.linear(x, "gate", cfg.d_model)), "out", cfg.d_model)


def attention(p, cfg, x):
    """Softmax attention with rotary positions: halves (x_j, x_{j + K/2}) turned by t theta_j."""
    H = cfg.heads
    K, T = cfg.d_model // H, x.shape[1]
    theta = p.fixed("theta", powers(K // 2, K))
    angle = np.arange(T, dtype=REAL)[:, None, None] * theta

    def turned(name):
        a = heads(p.linear(x, name, cfg.d_model), H)
        left, right = a[..., : K // 2], a[..., K // 2 :]
        c, s = np.cos(angle), np.sin(angle)
        return np.concatenate([left * c - right * s, right * c + left * s], axis=-1)

    q, k, v = turned("q"), turned("k"), heads(p.linear(x, "v", cfg.d_model), H)
    score = np.einsum("bthk,bshk->bhts", q, k) / np.sqrt(REAL(K))
    ahead = np.arange(T) > np.arange(T)[:, None]
    weight = np.exp(score) * (1 if cfg.bidirectional else ~ahead)
    y = np.einsum("bhts,bshd->bthd", weight / weight.sum(-1, keepdims=True), v)
    return p.linear(merge(y), "out", cfg.d_model)


METHODS = {
    "linear-attention": linear_attention,
    "cosformer": cosformer,
    "lrpe": lrpe,
    "tnl": tnl,
    "retnet": retnet,
    "gla": gla,
    "gateloop": gateloop,
    "attention": attention,
}
