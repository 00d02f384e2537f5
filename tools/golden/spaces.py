"""State spaces and long convolutions. Those with fixed coefficients are computed by their kernel:
y_t = sum over s of K_{t-s} u_s, where K_l is the answer l steps after an impulse."""

import numpy as np

from golden.basics import *  # noqa: F403


def convolve(cfg, u, kernel):
    """u (B, T, D), kernel (T, D); in both directions lags ahead weigh as lags behind."""
    T = u.shape[1]
    lag = np.arange(T)[:, None] - np.arange(T)
    weight = kernel[np.abs(lag)]
    if not cfg.bidirectional:
        weight = weight * (lag >= 0)[..., None]
    return np.einsum("tsd,bsd->btd", weight, u)


def entry(p, cfg, x):
    """x itself, or W x in the bare flavour."""
    return p.linear(x, "i", cfg.d_model) if cfg.flavour == "bare" else x


def steps(p, n):
    """exp(log_dt), about 0.3"""
    return np.exp(p("log_dt", n, centre=-1.2, scale=0.6))


def skip(p, cfg, x, y):
    return y + p("D", cfg.d_model, scale=1.0) * x


def gated(p, cfg, x, y):
    """Two halves of W gelu(y + D x): the first, gated by the second."""
    z = p.linear(gelu(skip(p, cfg, x, y)), "out", 2 * cfg.d_model, True)
    return z[..., : cfg.d_model] * sigmoid(z[..., cfg.d_model :])


def solve(a, b):
    """a x = b for stacks of matrices, by elimination; a is near the identity."""
    a, b = a.copy(), b.copy()
    n = a.shape[-1]
    for j in range(n):
        pivot = a[..., j : j + 1, j : j + 1]
        b[..., j : j + 1, :] = b[..., j : j + 1, :] / pivot
        a[..., j : j + 1, :] = a[..., j : j + 1, :] / pivot
        for i in range(n):
            if i != j:
                factor = a[..., i : i + 1, j : j + 1].copy()
                a[..., i : i + 1, :] = a[..., i : i + 1, :] - factor * a[..., j : j + 1, :]
                b[..., i : i + 1, :] = b[..., i : i + 1, :] - factor * b[..., j : j + 1, :]
    return b


def bilinear_kernel(A, B, C, dt, T):
    """K_l = Re(C A_bar^l B_bar): A (D, N, N), B and C (D, N), dt (D)."""
    half = dt[:, None, None] / 2 * A
    one = np.eye(A.shape[-1], dtype=REAL)
    m = solve(one - half, (dt[:, None] * B)[..., None])
    move = solve(one - half, one + half)
    kernel = []
    for _ in range(T):
        kernel.append(np.real((C * m[..., 0]).sum(-1)))
        m = np.einsum("dij,djk->dik", move, m)
    return np.stack(kernel)


def hippo(N):
    """HiPPO-LegS: A (N, N), B (N)."""
    n = np.arange(N, dtype=REAL)
    A = -np.tril(np.sqrt(np.outer(2 * n + 1, 2 * n + 1)), -1) - np.diag(n + 1)
    return A, np.sqrt(2 * n + 1)


def legs(N):
    """Im lambda of the normal part of HiPPO-LegS, the negative half from the lowest."""
    A, _ = hippo(N)
    n = np.arange(N, dtype=REAL)
    skew = A + np.outer(np.sqrt(n + REAL(1) / 2), np.sqrt(n + REAL(1) / 2)) + np.eye(N) / 2
    w = np.linalg.eigvalsh(-1j * skew.astype(complex))
    return np.sort(w)[: N // 2]


def s4_low_rank(p, cfg, u):
    """A = diag(lambda) - P P^* with conjugate pairs, written out in full."""
    D, N = cfg.d_model, cfg.state_size
    shape = (D, N // 2, 2)
    init = np.stack([np.full(N // 2, np.log(REAL(1) / 2)), legs(N)], axis=-1)
    stored = p("Lambda", *shape, scale=0.8, init=init)
    lam = -np.exp(stored[..., 0]) + 1j * stored[..., 1]
    both = lambda z: np.concatenate([z, np.conj(z)], axis=-1)  # noqa: E731
    lam, P = both(lam), both(pairs(p("P", *shape, scale=0.7)))
    B = both(pairs(p("B", *shape, scale=1.0)))
    C = both(pairs(p("C", *shape, scale=1.0)))
    A = lam[..., None] * np.eye(N, dtype=REAL) - P[..., :, None] * np.conj(P)[..., None, :]
    return bilinear_kernel(A, B, C, steps(p, D), u.shape[1])


def s4_dense(p, cfg, u):
    D, N = cfg.d_model, cfg.state_size
    A0, B0 = hippo(N)
    A = p("A", N, N, scale=0.9, init=A0)
    B = p("B", N, scale=1.0, init=B0)
    C = p("C", D, N, scale=1.0)
    A, B = (np.broadcast_to(z, (D,) + z.shape) for z in (A, B))
    return bilinear_kernel(A, B, C, steps(p, D), u.shape[1])


def diagonal_init(cfg):
    """log(-Re A), Im A of the first values of S4D."""
    N = cfg.state_size
    j = np.arange(N // 2, dtype=REAL)
    half = np.full(N // 2, np.log(REAL(1) / 2))
    return {
        "legs": (half, -legs(N)[::-1]),  # the conjugate half
        "lin": (half, PI * j),
        "inv": (half, N / PI * (N / (2 * j + 1) - 1)),
        "real": (np.log(j + 1), 0 * j),
    }[cfg.s4_init]


def s4_diagonal(p, cfg, u):
    """ZOH: K_l = 2 Re sum C (exp(dt A) - 1) / A exp(dt A l)."""
    D, half = cfg.d_model, cfg.state_size // 2
    re, im = (z[:, None] for z in diagonal_init(cfg))
    A = -np.exp(p("A_re_log", half, D, scale=0.8, init=re)) + 1j * p("A_im", half, D, scale=2.0, init=im)
    C = pairs(p("C", half, D, 2, scale=1.0))
    z = steps(p, D) * A
    lag = np.arange(u.shape[1], dtype=REAL)[:, None, None]
    return 2 * np.real(C * (np.exp(z) - 1) / A * np.exp(z * lag)).sum(1)


def s4(p, cfg, x, kernel=None):
    kernel = kernel or {"dplr": s4_low_rank, "dense": s4_dense, "diagonal": s4_diagonal}[cfg.s4_kind]
    u = entry(p, cfg, x)
    y = convolve(cfg, u, kernel(p, cfg, u))
    return bare_end(p, cfg, y) if cfg.flavour == "bare" else gated(p, cfg, x, y)


def s4d(p, cfg, x):
    return s4(p, cfg, x, s4_diagonal)


def s5(p, cfg, x):
    """x = L_bar x + B_bar u, y = 2 Re(C x). The library stores (2 Re C, -2 Im C) side by side, and
    keeps Re lambda below -1e-4."""
    D, P = cfg.d_model, cfg.state_size // 2
    re = p("Lambda_re", P, centre=-0.6, scale=0.4, init=-0.5)
    lam = np.minimum(re, REAL(-1e-4)) + 1j * p("Lambda_im", P, scale=1.5, init=legs(2 * P))
    planes = p("B", 2, P, D, scale=0.7)
    stored = p("C", D, 2 * P, scale=0.7)
    B, C = planes[0] + 1j * planes[1], (stored[:, :P] - 1j * stored[:, P:]) / 2
    dt = steps(p, P)
    if cfg.disc == "zoh":
        move = np.exp(lam * dt)
        drive = ((move - 1) / lam)[:, None] * B
    else:
        move = (1 + dt * lam / 2) / (1 - dt * lam / 2)
        drive = (dt / (1 - dt * lam / 2))[:, None] * B
    u = entry(p, cfg, x)
    y = np.zeros_like(u)
    for t in range(u.shape[1]):
        for s in range(u.shape[1] if cfg.bidirectional else t + 1):
            y[:, t] += 2 * np.real((u[:, s] @ drive.T * move ** abs(t - s)) @ C.T)
    if cfg.flavour == "bare":
        return bare_end(p, cfg, y)
    h = gelu(skip(p, cfg, x, y))
    return h * sigmoid(p.linear(h, "gate", D, True))


def s5_table(p, cfg, x):
    """The row of the paper: o = exp(-exp(log_rate) + i angle) 1^T, static E and S."""
    D, K = cfg.d_model, cfg.state_size

    def states(x):
        rate = p("log_rate", 1, K, centre=-0.8, scale=0.6)
        angle = p("angle", 1, K, scale=1.0)
        o = np.exp(-np.exp(rate) + 1j * angle).reshape(1, 1, 1, K, 1)
        E, S = (p(name, 1, K, D, scale=0.8).reshape(1, 1, 1, K, D) for name in "ES")
        return States(p.linear(x, "i", D)[:, :, None, :], E, S, o=o)

    return bare_end(p, cfg, merge(run(cfg, x, states)))


def dss_init(N):
    """Positive imaginary parts, largest first, of the skew part of the HiPPO matrix of 2N."""
    A, _ = hippo(2 * N)
    lower = -np.tril(A, -1)
    w = np.linalg.eigvals(((lower - lower.T) / 2).astype(float)).imag
    return np.sort(w)[::-1][:N]


def dss(p, cfg, x):
    """exp: K_l = Re sum W (e^z - 1)/lambda e^(z l); softmax: Re sum W / lambda e^(z l) / sum_r e^(z r)."""
    D, N = cfg.d_model, cfg.state_size
    re = p("Lambda_re_log", N, centre=-0.5, scale=0.5, init=np.log(REAL(1) / 2))
    lam = -np.exp(re) + 1j * p("Lambda_im", N, scale=2.0, init=dss_init(N))
    W = pairs(p("W", N, D, 2, scale=1.0))
    u = entry(p, cfg, x)
    z = steps(p, D) * lam[:, None]
    lag = np.arange(u.shape[1], dtype=REAL)[:, None, None]
    if cfg.dss_kind == "exp":
        weight = W * (np.exp(z) - 1) / lam[:, None]
    else:  # sum_r e^(z r) = (e^(z L) - 1) / (e^z - 1); 1 / r is taken as conj(r) / (|r|^2 + 1e-7)
        under = (np.exp(z * cfg.max_length) - 1) * lam[:, None]
        weight = W * (np.exp(z) - 1) * np.conj(under) / (np.abs(under) ** 2 + REAL(1e-7))
    y = convolve(cfg, u, np.real(weight * np.exp(z * lag)).sum(1))
    if cfg.flavour == "bare":
        return bare_end(p, cfg, y)
    return p.linear(gelu(skip(p, cfg, x, y)), "out", D, True)


# ---- TNN ---------------------------------------------------------------------------------------


def position_network(p, cfg, positions, width):
    """RPE(l): Linear(1, r), then layers of norm, relu, Linear."""
    r = cfg.rank
    p = p.inside("rpe")
    h = positions[:, None] * p("in.weight", r, scale=1.0) + p("in.bias", r, scale=1.0)
    for layer in range(cfg.rpe_layers + 1):
        length = np.sqrt((h * h).sum(-1, keepdims=True)) / np.sqrt(REAL(r))
        h = relu(h / (length + REAL(1e-8)))
        h = p.linear(h, str(layer), width if layer == cfg.rpe_layers else r, True)
    return h


def toeplitz(p, cfg, v):
    """y_t = sum_s gamma^|t-s| RPE(t - s) v_s, gamma = 0.99."""
    T = v.shape[1]
    lag = np.arange(T)[:, None] - np.arange(T)
    place = np.arange(-(T - 1), T, dtype=REAL)
    if not cfg.bidirectional:
        place = np.maximum(place, 0)
    lags = position_network(p, cfg, place, v.shape[-1])
    weight = lags[lag + T - 1] * (REAL(99) / 100) ** np.abs(lag)[..., None]
    if not cfg.bidirectional:
        weight = weight * (lag >= 0)[..., None]
    return np.einsum("tsd,bsd->btd", weight, v)


def tnn(p, cfg, x):
    if cfg.flavour == "bare":
        return bare_end(p, cfg, toeplitz(p, cfg, entry(p, cfg, x)))
    width = int(cfg.d_model * (cfg.inner_ratio or 3))
    u, v = silu(p.linear(x, "u", width, True)), silu(p.linear(x, "v", width, True))
    return p.linear(u * toeplitz(p, cfg, v), "out", cfg.d_model, True)


# ---- Mamba -------------------------------------------------------------------------------------


def short_convolution(p, cfg, x):
    """y_t = b + sum_j w[:, j] x_{t-W+1+j}"""
    E, W = x.shape[-1], cfg.conv_width
    w = p("conv1d.weight", E, W, scale=0.7)
    bias = p("conv1d.bias", E, scale=0.3) if cfg.conv_bias else REAL(0)
    padded = np.concatenate([np.zeros_like(x[:, :1])] * (W - 1) + [x], axis=1)
    return bias + sum(w[:, j] * padded[:, j : j + x.shape[1]] for j in range(W))


def selective(p, cfg, u):
    """dt, B, C of u; o = exp(dt A), e = B, i = dt u, s = C."""
    E, N, R = u.shape[-1], cfg.state_size, cfg.rank
    low = p.linear(u, "x_proj", R + 2 * N)
    raw = low[..., :R] @ p("dt_proj.weight", E, R, scale=1.0).T
    dt = softplus(raw + p("dt_proj.bias", E, centre=-0.5, scale=0.5))
    log = np.log(np.arange(1, N + 1, dtype=REAL))[:, None]
    A = -np.exp(p("A_log", N, E, scale=0.7, init=log))
    B, C = low[..., R : R + N], low[..., R + N :]
    o = np.exp(dt[:, :, None, :] * A)[:, :, None]
    o = 2 * o - 1 if cfg.signed_gates else o
    return States((dt * u)[:, :, None, :], B[:, :, None, :, None], C[:, :, None, :, None], o=o)


def mamba(p, cfg, x):
    E = int(cfg.d_model * (cfg.inner_ratio or 2))
    if cfg.flavour == "bare":
        y = run(cfg, x, lambda x: selective(p, cfg, p.linear(x, "in_proj", E)))
        return bare_end(p, cfg, merge(y))

    def halves(x):
        both = p.linear(x, "in_proj", 2 * E, cfg.proj_bias)
        return silu(short_convolution(p, cfg, both[..., :E])), both[..., E:]

    y = merge(run(cfg, x, lambda x: selective(p, cfg, halves(x)[0])))
    u, z = halves(x)
    y = (y + p("D", E, centre=1.0, scale=0.5, init=1) * u) * silu(z)
    return p.linear(y, "out_proj", cfg.d_model, cfg.proj_bias)


METHODS = {"s4": s4, "s4d": s4d, "s5": s5, "s5-table": s5_table, "dss": dss, "tnn": tnn, "mamba": mamba}
