"""mLSTM, delta rules of 2025 and 2026, and Mamba-3."""

import numpy as np

from golden.basics import *  # noqa: F403
from golden.family import column, conv, delta_end, delta_sizes, dt_gate, normed, scalar_gate, share, short, strength, unit, ways  # noqa: F401


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


# ---- mLSTM -------------------------------------------------------------------------------------


def mlstm(p, cfg, x):
    """m = f m + exp(z) k v^T and n = f n + exp(z) k, y = m^T q / max(|n^T q|, 1), without a maximum."""
    H, K, D = cfg.heads, cfg.expand, int(cfg.d_model * cfg.value_ratio + 0.5)
    assert cfg.normaliser_eps == 0

    def gate(x, name, init):
        z = p.linear(x, name, H) + p(name + ".bias", H, scale=0.7, init=init)
        return REAL(cfg.gate_cap) * np.tanh(z / REAL(cfg.gate_cap)) if cfg.gate_cap else z

    def states(x):
        q, k = (column(p.linear(x, name, H * K), H) for name in "qk")
        v = heads(p.linear(x, "v", D), H)
        f = sigmoid(gate(x, "forget", 3 + 3 * np.arange(H, dtype=REAL) / max(H - 1, 1)))[..., None, None]
        k = k * np.exp(gate(x, "input", -10))[..., None, None]
        return States(np.concatenate([v, np.ones_like(v[..., :1])], -1), k, q, o=f, scale=1 / np.sqrt(REAL(K)))

    y = run(cfg, x, states)
    y = y[..., :-1] / np.maximum(abs(y[..., -1:]), 1)
    if cfg.flavour == "bare":
        return bare_end(p, cfg, merge(y))
    w = p("norm.weight", D, centre=1.0, scale=0.3, init=1)
    y = merge(layer_norm(y, 1, 0, cfg.mixer_eps or 1e-6)) * w
    return p.linear(sigmoid(p.linear(x, "gate", D)) * y, "out", cfg.d_model)


# ---- Mamba-3 -----------------------------------------------------------------------------------


def turned(x, angle):
    """Pairs (..., N) of numbers that follow each other, the first ones by angle (..., n)."""
    pair = x.reshape(*x.shape[:-1], -1, 2)
    pair = pair[..., 0] + 1j * pair[..., 1]
    still = np.zeros_like(pair[..., angle.shape[-1] :].real)
    pair = pair * np.exp(1j * np.concatenate([angle, still], axis=-1))
    return np.stack([pair.real, pair.imag], axis=-1).reshape(x.shape)


def mamba3(p, cfg, x):
    """h = a h + (1 - l) dt a B' x' + l dt B x, y = h C: B and C turn with time, B' x' is the token before's."""
    inner = int(cfg.d_model * (cfg.inner_ratio or 2))
    H, G, N, bare = cfg.heads, cfg.groups or 1, cfg.state_size, cfg.flavour == "bare"
    n = int(N * cfg.state_rotary) // 2
    p.fixed("conjugate", np.tile([1, -1], H * N // 2))
    part = lambda x, name, size: p.linear(x, name, size, cfg.proj_bias)  # noqa: E731

    def forward(x):
        u, b, c = part(x, "x", inner), part(x, "B", G * N), part(x, "C", G * N)
        dt, rate, l = part(x, "dt", H), part(x, "A", H), part(x, "share", H)
        angle = part(x, "angle", n) if n else np.zeros((*x.shape[:2], 0), dtype=REAL)
        dt = softplus(dt + p("dt_bias", H, scale=0.7))
        a = np.exp(-np.maximum(softplus(rate), REAL(1e-4)) * dt)
        l = sigmoid(l)
        theta = np.cumsum(PI * np.tanh(angle)[:, :, None] * dt[..., None], axis=1)

        def state(x, name):
            w = p(name + "_norm.weight", N, centre=1.0, scale=0.3, init=1)
            x = np.repeat(rms_norm(heads(x, G), w, cfg.mixer_eps or 1e-5), H // G, axis=2)
            return turned(x + p(name + "_bias", H, N, centre=1.0, init=1), theta)

        b, c = state(b, "B"), state(c, "C")
        write = b[..., None] * heads(u, H)[..., None, :]
        h, out = np.zeros_like(write[:, 0]), []
        for t in range(x.shape[1]):
            k = lambda v: v[:, t, :, None, None]  # noqa: E731
            h = k(a) * h + k(l * dt) * write[:, t]
            if t > 0:
                h = h + k((1 - l) * dt * a) * write[:, t - 1]
            out.append((h * c[:, t, :, :, None]).sum(-2))
        return merge(np.stack(out, axis=1))

    y = ways(cfg, x, forward)
    if bare:
        return bare_end(p, cfg, y)
    y = y + np.repeat(p("D", H, centre=1.0, init=1), inner // H) * part(x, "x", inner)
    y = y * silu(part(x, "z", inner))
    return p.linear(y, "out_proj", cfg.d_model, cfg.proj_bias)


METHODS = {"gated-deltanet-2": gated_deltanet_2, "complex-kda": complex_kda, "comba": comba, "mlstm": mlstm, "mamba3": mamba3}
