"""The methods since 2024: matrix memories with gates and delta rules, and what came back of RNNs."""

import numpy as np

from golden.basics import *  # noqa: F403


def column(x, H):
    """(B, T, H n) -> (B, T, H, n, 1)"""
    return heads(x, H)[..., None]


def rms_weight(p, n):
    return p("norm.weight", n, centre=1.0, scale=0.3, init=1)


def conv(p, cfg, x, name, bias, act=True):
    """A causal convolution in each channel, then silu."""
    W = cfg.conv_width
    if W > 0:
        w = p(name + ".weight", x.shape[-1], W, scale=1.0)
        padded = np.concatenate([np.zeros_like(x[:, :1])] * (W - 1) + [x], axis=1)
        x = sum(padded[:, j : j + x.shape[1]] * w[:, j] for j in range(W))
        if bias:
            x = x + p(name + ".bias", x.shape[-1], scale=0.3)
    return silu(x) if act else x


def ways(cfg, x, forward):
    """In both directions of time each counts the step itself."""
    return forward(x) + backwards(forward(backwards(x))) if cfg.bidirectional else forward(x)


# ---- HGRN2 -------------------------------------------------------------------------------------


def hgrn2(p, cfg, x):
    """m = (f 1^T) * m + (1 - f) v^T, y = m^T silu(q) / sqrt(K), f = bound + (1 - bound) sigmoid(W x)."""
    D, H = cfg.d_model, cfg.heads
    gamma = p("/lower_bounds", cfg.layers, D, centre=1.0, scale=0.8, init=1)
    bound = (np.exp(gamma) / np.exp(gamma).sum(0))[1 : cfg.layer + 1].sum(0)

    def states(x):
        f = heads(bound + (1 - bound) * sigmoid(p.linear(x, "forget", D)), H)
        q, v = silu(heads(p.linear(x, "q", D), H)), heads(p.linear(x, "v", D), H)
        return States(v, (1 - f)[..., None], q[..., None], o=f[..., None], scale=1 / np.sqrt(REAL(D // H)))

    y = merge(run(cfg, x, states))
    if cfg.flavour == "bare":
        return bare_end(p, cfg, y)
    return p.linear(rms_norm(y, rms_weight(p, D), cfg.mixer_eps or 1e-5), "out", D)


# ---- delta rules -------------------------------------------------------------------------------


def unit(x):
    """Over the rows of (..., K, 1)."""
    return x / np.sqrt((x * x).sum(-2, keepdims=True) + REAL(1e-6))


def delta_sizes(cfg):
    """Heads, heads of q and k, and the sizes of a head."""
    H = cfg.heads
    return H, cfg.groups or H, cfg.expand, int(cfg.d_model * cfg.value_ratio + 0.5) // H


def short(p, cfg, x, name, width):
    y = p.linear(x, name, width)
    return silu(y) if cfg.flavour == "bare" else conv(p, cfg, y, name + "_conv", False)


def share(x, H):
    """Consecutive heads share one of q or k."""
    return np.repeat(x, H // x.shape[2], axis=2)


def dt_gate(p, z, H):
    """-exp(A_log) softplus(z + dt_bias)"""
    A = p("A_log", H, scale=0.7)
    z = softplus(z + p("dt_bias", z.shape[-1], scale=0.7))
    return -np.exp(np.repeat(A, z.shape[-1] // H)) * z


def strength(p, cfg, x, n):
    return REAL(cfg.beta_max) * sigmoid(p.linear(x, "beta", n))


def delta(p, cfg, x, gate):
    H, G, K, D = delta_sizes(cfg)

    def states(x):
        q = share(unit(column(short(p, cfg, x, "q", G * K), G)), H)
        k = share(unit(column(short(p, cfg, x, "k", G * K), G)), H)
        v = heads(short(p, cfg, x, "v", H * D), H)
        g = gate(x)
        b = strength(p, cfg, x, H)[..., None, None]
        return States(v, b * k, q, o=g, erase=g * k, scale=1 / np.sqrt(REAL(K)))

    return merge(run(cfg, x, states))


GATES = {"silu": silu, "sigmoid": sigmoid}


def normed(p, cfg, y):
    H, _, _, D = delta_sizes(cfg)
    return merge(rms_norm(heads(y, H), rms_weight(p, D), cfg.mixer_eps or 1e-5))


def delta_end(p, cfg, x, y, standard):
    if cfg.flavour == "bare":
        return bare_end(p, cfg, y)
    H, _, _, D = delta_sizes(cfg)
    kind = standard if cfg.output_gate == "auto" else cfg.output_gate
    y = normed(p, cfg, y)
    if kind != "none":
        y = y * GATES[kind](p.linear(x, "gate", H * D))
    return p.linear(y, "out", cfg.d_model)


def deltanet(p, cfg, x):
    return delta_end(p, cfg, x, delta(p, cfg, x, lambda x: REAL(1)), "none")


def scalar_gate(p, cfg, x):
    return np.exp(dt_gate(p, p.linear(x, "decay", cfg.heads), cfg.heads))


def gated_deltanet(p, cfg, x):
    gate = lambda x: scalar_gate(p, cfg, x)[..., None, None]  # noqa: E731
    return delta_end(p, cfg, x, delta(p, cfg, x, gate), "silu")


def kda(p, cfg, x):
    H, _, K, D = delta_sizes(cfg)

    def gate(x):
        z = p.linear(p.linear(x, "decay_down", D), "decay_up", H * K)
        if not cfg.gate_bound:
            return np.exp(column(dt_gate(p, z, H), H))
        A = np.exp(np.repeat(p("A_log", H, scale=0.7, init=0), K))
        z = A * (z + p("dt_bias", H * K, scale=0.7))
        return np.exp(-REAL(cfg.gate_bound) * column(sigmoid(z), H))

    y = delta(p, cfg, x, gate)
    if cfg.flavour == "bare":
        return bare_end(p, cfg, y)
    g = p.linear(p.linear(x, "gate_down", D), "gate_up", H * D, True)
    return p.linear(normed(p, cfg, y) * sigmoid(g), "out", cfg.d_model)


def deltaproduct(p, cfg, x):
    """For each token m = g m, then J times m = m + b_j k_j (v_j - k_j^T m)^T; y = m^T q / sqrt(K)."""
    H, _, K, D = delta_sizes(cfg)
    J = cfg.householders

    def forward(x):
        B, T = x.shape[:2]
        q = unit(column(short(p, cfg, x, "q", H * K), H))
        k = unit(short(p, cfg, x, "k", J * H * K).reshape(B, T, J, H, K, 1))
        v = short(p, cfg, x, "v", J * H * D).reshape(B, T, J, H, 1, D)
        b = strength(p, cfg, x, J * H).reshape(B, T, J, H, 1, 1)
        g = scalar_gate(p, cfg, x)[..., None, None] if cfg.forget_gate else None
        m, out = np.zeros((B, H, K, D), dtype=REAL), []
        for t in range(T):
            m = m if g is None else g[:, t] * m
            for j in range(J):
                read = (k[:, t, j] * m).sum(-2, keepdims=True)
                m = m + b[:, t, j] * k[:, t, j] * (v[:, t, j] - read)
            out.append((q[:, t] * m).sum(-2))
        return merge(np.stack(out, axis=1)) / np.sqrt(REAL(K))

    return delta_end(p, cfg, x, ways(cfg, x, forward), "silu")


METHODS = {
    "hgrn2": hgrn2, "deltanet": deltanet, "gated-deltanet": gated_deltanet, "kda": kda,
    "deltaproduct": deltaproduct,
}  # fmt: skip
