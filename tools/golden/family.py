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


# ---- state spaces ------------------------------------------------------------------------------


def clamped(cfg, dt):
    return np.clip(dt, REAL(cfg.dt_min), REAL(cfg.dt_max or np.inf))


def mamba2(p, cfg, x):
    """m = exp(dt A) m + B (dt x)^T, y = m^T C + D x, with a dt and an A for each head."""
    inner = int(cfg.d_model * (cfg.inner_ratio or 2))
    H, G, N = cfg.heads, cfg.groups or 1, cfg.state_size
    bare, n = cfg.flavour == "bare", G * N

    def inputs(x):
        if bare:
            u, b, c = (p.linear(x, name, size) for name, size in (("i", inner), ("e", n), ("s", n)))
            return None, u, b, c, p.linear(x, "dt", H)
        all = p.linear(x, "in_proj", 2 * inner + 2 * n + H, cfg.proj_bias)
        z, mid, dt = np.split(all, [inner, 2 * inner + 2 * n], axis=-1)
        u, b, c = np.split(conv(p, cfg, mid, "conv1d", cfg.conv_bias), [inner, inner + n], axis=-1)
        return z, u, b, c, dt

    def states(x):
        _, u, b, c, dt = inputs(x)
        dt = clamped(cfg, softplus(dt + p("dt_bias", H, scale=0.7)))
        o = np.exp(-np.exp(p("A_log", H, scale=0.7)) * dt)[..., None, None]
        o = 2 * o - 1 if cfg.signed_gates else o
        return States(dt[..., None] * heads(u, H), share(column(b, G), H), share(column(c, G), H), o=o)

    y = merge(run(cfg, x, states))
    if bare:
        return bare_end(p, cfg, y)
    z, u, _, _, _ = inputs(x)
    y = (y + np.repeat(p("D", H, centre=1.0, init=1), inner // H) * u) * silu(z)
    y = merge(rms_norm(heads(y, G), 1, cfg.mixer_eps or 1e-5)) * rms_weight(p, inner)
    return p.linear(y, "out_proj", cfg.d_model, cfg.proj_bias)


def behind_conv(p, cfg, x, select):
    """Mamba's block around select(p, cfg, u, low, e, s, inner)."""
    inner, bare = int(cfg.d_model * (cfg.inner_ratio or 2)), cfg.flavour == "bare"

    def inputs(x):
        if bare:
            return p.linear(x, "in_proj", inner), None
        both = p.linear(x, "in_proj", 2 * inner, cfg.proj_bias)
        return conv(p, cfg, both[..., :inner], "conv1d", cfg.conv_bias), both[..., inner:]

    def states(x):
        u, R, N = inputs(x)[0], cfg.rank, cfg.state_size
        low, e, s = np.split(p.linear(u, "x_proj", R + 2 * N), [R, R + N], axis=-1)
        return select(p, cfg, u, low, e, s, inner)

    y = merge(run(cfg, x, states))
    if bare:
        return bare_end(p, cfg, y)
    u, z = inputs(x)
    y = (y + p("D", inner, centre=1.0, init=1) * u) * silu(z)
    return p.linear(y, "out_proj", cfg.d_model, cfg.proj_bias)


def one_head(x):
    """(B, T, D) -> (B, T, 1, D)"""
    return x[:, :, None]


def selected(p, cfg, u, low, e, s, inner):
    low, e, s = (rms_norm(v, 1, cfg.mixer_eps or 1e-6) for v in (low, e, s))
    w = p("dt_proj.weight", inner, cfg.rank, scale=1.0)
    dt = softplus(low @ w.T + p("dt_proj.bias", inner, scale=0.7))
    init = np.log(np.arange(1, cfg.state_size + 1, dtype=REAL))[:, None]
    A = -np.exp(p("A_log", cfg.state_size, inner, scale=0.7, init=init))
    o = np.exp(one_head(dt)[..., None, :] * A)
    return States(one_head(dt * u), column(e, 1), column(s, 1), o=o)


def falcon_mamba(p, cfg, x):
    return behind_conv(p, cfg, x, selected)


def online(p, cfg, u, low, k, q, inner):
    beta = sigmoid(p.linear(low, "dt_head", inner, True))
    step = beta / (1 + beta * (k * k).sum(-1, keepdims=True))
    o = 1 - column(k * k, 1) * one_head(step)[..., None, :]
    return States(one_head(step * u), column(k, 1), column(q, 1), o=o)


def longhorn(p, cfg, x):
    """The best memory for |m^T k - u|^2, one step of each channel, of which the diagonal is kept."""
    return behind_conv(p, cfg, x, online)


# ---- attention ---------------------------------------------------------------------------------


def softmax(x):
    y = np.exp(x - x.max(-1, keepdims=True))
    return y / y.sum(-1, keepdims=True)


def gsa(p, cfg, x):
    H, K, M = cfg.heads, cfg.expand, cfg.slots or 64
    width = int(cfg.d_model * cfg.value_ratio + 0.5)

    def forward(x):
        q, k = (silu(heads(p.linear(x, name, H * K), H)) for name in "qk")
        v = silu(heads(p.linear(x, "v", width), H))
        f = heads(sigmoid(p.linear(x, "forget", H * M)), H) ** (1 / REAL(cfg.slot_tau))
        score = recurrence(States(1 - f, k[..., None], q[..., None], o=f[..., None, :]))
        return merge(recurrence(States(v, (1 - f)[..., None], softmax(score)[..., None], o=f[..., None])))

    y = ways(cfg, x, forward)
    if cfg.flavour == "bare":
        return bare_end(p, cfg, y)
    return p.linear(rms_norm(silu(y), rms_weight(p, width), cfg.mixer_eps or 1e-5), "out", cfg.d_model)


def lightning(p, cfg, x):
    H, K = cfg.heads, cfg.expand
    width = int(cfg.d_model * cfg.value_ratio + 0.5)
    slopes = REAL(2) ** (REAL(-8) * np.arange(1, H + 1) / H)
    rate = slopes * (1 - REAL(cfg.layer) / (cfg.layers - 1 + REAL(1e-5)) + REAL(1e-5))
    p.fixed("log_decay", -rate)

    def states(x):
        q, k = (silu(column(p.linear(x, name, H * K), H)) for name in "qk")
        v = silu(heads(p.linear(x, "v", width), H))
        return States(v, k, q, o=np.exp(-rate).reshape(1, 1, H, 1, 1))

    y = merge(run(cfg, x, states))
    if cfg.flavour == "bare":
        return bare_end(p, cfg, y)
    y = rms_norm(y, rms_weight(p, width), cfg.mixer_eps or 1e-6) * sigmoid(p.linear(x, "gate", width))
    return p.linear(y, "out", cfg.d_model)


def second_order(p, cfg, x, feature, eps):
    H, d = cfg.heads, cfg.expand
    width = int(cfg.d_model * cfg.value_ratio + 0.5)

    def states(x):
        q, k = (feature(heads(p.linear(x, name, H * d), H))[..., None] for name in "qk")
        return States(heads(p.linear(x, "v", width), H), k, q)

    y = run(cfg, x, states)
    if cfg.flavour == "bare":
        return bare_end(p, cfg, merge(y))
    y = y / (run(cfg, x, ones_for_input(states)) + REAL(cfg.mixer_eps or eps))
    return p.linear(merge(y), "out", cfg.d_model)


def outer(x):
    """Each x_i x_j."""
    return (x[..., :, None] * x[..., None, :]).reshape(*x.shape[:-1], -1)


def based(p, cfg, x):
    """Scores 1 + s + s^2 / 2 with s = q . k / sqrt(d); all products of two, where half would do."""

    def feature(x):
        x = x / REAL(cfg.expand) ** (REAL(1) / 4)
        return np.concatenate([np.ones_like(x[..., :1]), x, outer(x) / np.sqrt(REAL(2))], axis=-1)

    return second_order(p, cfg, x, feature, 1e-12)


def rebased(p, cfg, x):
    """Scores (q . k)^2 / d of centred q and k."""
    weight, bias = norm_parameters(p.inside("feature"), cfg.expand)
    feature = lambda x: outer(layer_norm(x, weight, bias)) / REAL(cfg.expand) ** REAL(0.5)  # noqa: E731
    return second_order(p, cfg, x, feature, 1e-5)


# ---- one memory for each channel ---------------------------------------------------------------


def channels(a, b):
    one = np.ones((1, 1, 1, 1, 1), dtype=REAL)
    return States(one_head(b), one, one, o=one_head(a)[..., None, :])


def positive(x):
    return np.where(x >= 0, x + REAL(0.5), sigmoid(x))


def min_rnn(p, cfg, x, gates):
    width, bare = int(cfg.d_model * (cfg.inner_ratio or 1)), cfg.flavour == "bare"

    def states(x):
        u = x if bare else conv(p, cfg, x, "conv1d", cfg.conv_bias, False)
        c = p.linear(u, "candidate", width, True)
        a, b = gates(u, width)
        return channels(a, b * (positive(c) if cfg.log_space else c))

    y = merge(run(cfg, x, states))
    return bare_end(p, cfg, y) if bare else p.linear(y, "out", cfg.d_model, True)


def mingru(p, cfg, x):
    def gates(u, width):
        z = sigmoid(p.linear(u, "update", width, True))
        return 1 - z, z

    return min_rnn(p, cfg, x, gates)


def minlstm(p, cfg, x):
    def gates(u, width):
        f, i = (sigmoid(p.linear(u, name, width, True)) for name in ("forget", "input"))
        return f / (f + i), i / (f + i)

    return min_rnn(p, cfg, x, gates)


def gelu_tanh(x):
    return x / 2 * (1 + np.tanh(np.sqrt(2 / PI) * (x + REAL("0.044715") * x**3)))


def rg_lru(p, cfg, x):
    """h = a h + sqrt(1 - a^2) (g u), at the first step h = g u; log a = -8 r softplus(Lambda)."""
    width, H, bare = int(cfg.d_model * (cfg.inner_ratio or 1)), cfg.heads, cfg.flavour == "bare"

    def block(u, name):
        n = width // H
        w = p(name + ".weight", H, n, n, scale=1.4 / float(n) ** 0.5)
        z = np.einsum("bthi,hoi->btho", heads(u, H), w)
        return sigmoid(merge(z) + p(name + ".bias", width, scale=0.3, init=0))

    def states(x):
        u = p.linear(x, "x", width, True)
        u = u if bare else conv(p, cfg, u, "conv1d", cfg.conv_bias, False)
        log_a = -8 * block(u, "recurrent_gate") * softplus(p("lambda", width, centre=-1.0, scale=0.7))
        scale = np.sqrt(-np.expm1(2 * log_a))
        scale = np.concatenate([np.ones_like(scale[:, :1]), scale[:, 1:]], axis=1)
        return channels(np.exp(log_a), scale * block(u, "input_gate") * u)

    y = merge(run(cfg, x, states))
    if bare:
        return bare_end(p, cfg, y)
    return p.linear(y * gelu_tanh(p.linear(x, "gate", width, True)), "out", cfg.d_model, True)


METHODS = {
    "hgrn2": hgrn2, "deltanet": deltanet, "gated-deltanet": gated_deltanet, "kda": kda,
    "deltaproduct": deltaproduct, "mamba2": mamba2, "falcon-mamba": falcon_mamba,
    "longhorn": longhorn, "gsa": gsa, "lightning": lightning, "based": based, "rebased": rebased,
    "rg-lru": rg_lru, "mingru": mingru, "minlstm": minlstm,
}  # fmt: skip
