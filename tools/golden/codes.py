"""Models by code e-o-s-a, and custom ones: the paper's EOS layer."""

import numpy as np

from golden.attention import alibi_slopes, powers
from golden.basics import *  # noqa: F403

# The oscillation table of the paper: which parts o has, from the data (x) or learned (w), and
# whether its sigmoid comes after their product.
OSCILLATIONS = [
    {"kd": "w"},
    {"k": "x", "d": "x"},
    {"d": "x"},
    {"k": "x"},
    {"k": "w"},
    {"d": "w"},
    {"k": "x", "kd": "w", "product": True},
    {"d": "x", "kd": "w", "product": True},
    {"k": "w", "d": "x", "product": True},
    {"k": "x", "d": "w", "product": True},
    {},
    {"phase": "fixed"},
]

CUSTOM = {
    "ones": (),
    "scalar": ("k",),
    "row": ("k",),
    "col": ("d",),
    "outer": ("k", "d"),
    "full": ("kd",),
    "product": ("k", "d"),
}
SOURCES = {"data": "x", "static": "w", "fixed": "f"}


def choices(cfg):
    """e and s from the data?, the activation, the parts of o."""
    if cfg.code:
        e, o, s, a = (int(n) for n in cfg.code.split("-"))
        parts = dict(OSCILLATIONS[o])
    else:
        e, s = cfg["expand.from"] == "data", cfg["shrink.from"] == "data"
        a = [name for name, _ in ACTIVATIONS].index(cfg.activation)
        parts = {key: SOURCES[cfg["oscillation." + key]] for key in CUSTOM[cfg.oscillation]}
        parts["product"], parts["scalar"] = cfg.oscillation == "product", cfg.oscillation == "scalar"
    if not cfg.o_learned and not parts.get("product"):
        parts = {key: "f" if value == "w" else value for key, value in parts.items()}
    if cfg.phase != "none":
        parts["phase"] = cfg.phase
    return e, s, ACTIVATIONS[a][1], parts


AXES = {"k": lambda K, D: (K,), "d": lambda K, D: (D,), "kd": lambda K, D: (K, D)}
PLACES = {"k": (-1, 1), "d": (1, -1), "kd": (-1, 0)}


def spread(part, z, K, D):
    """A part as (B or 1, T or 1, 1, K or 1, D or 1)."""
    lead = z.shape[:2] if z.ndim == 3 else (1, 1)
    if part == "kd":
        return z.reshape(1, 1, 1, K, D)
    return z.reshape(*lead, 1, *((-1, 1) if part == "k" else (1, -1)))


def gate_alibi(slopes, tau):
    """The z whose gate is exp(-slope)."""
    return -np.log(np.exp(tau * slopes) - 1)


def raw(p, cfg, x, part, source, K, D):
    """z of a part, before its gate."""
    size = AXES[part](K, D)
    if source == "x":
        return p.linear(x, "o_" + part, size[0])
    count = int(np.prod(size))
    init = gate_alibi(alibi_slopes(count), REAL(cfg.tau)).reshape(1, *size) if cfg.o_init == "alibi" else None
    return p("o_" + part, 1, *size, scale=1.0, init=init)[0]


def decay(p, cfg, x, part, source, K, D):
    if source == "f":
        size = AXES[part](K, D)
        log = -alibi_slopes(int(np.prod(size))).reshape(size)
        p.fixed("o_" + part, log.reshape(1, *size))
        return np.exp(spread(part, log, K, D))
    return sigmoid(spread(part, raw(p, cfg, x, part, source, K, D), K, D)) ** (1 / REAL(cfg.tau))


def phase(p, cfg, x, kind, K, D):
    if kind == "data":
        return spread("k", p.linear(x, "theta", K), K, D)
    even = PI * (np.arange(K, dtype=REAL) + REAL(1) / 2) / K
    theta = powers(K, D) if cfg.theta_init == "powers" else even
    if kind == "fixed":
        return spread("k", p.fixed("theta", theta.reshape(1, K))[0], K, D)
    return spread("k", p("theta", 1, K, centre=0.4, scale=0.5, init=theta.reshape(1, K))[0], K, D)


def oscillation(p, cfg, x, parts, K, D):
    o = np.ones((1, 1, 1, 1, 1), dtype=REAL)
    rows = 1 if parts.get("scalar") else K
    names = [part for part in ("k", "d", "kd") if part in parts]
    if parts.get("product"):
        z = o
        for part in names:
            source = "w" if parts[part] == "f" else parts[part]
            z = z * spread(part, raw(p, cfg, x, part, source, rows, D), K, D)
        o = sigmoid(z) ** (1 / REAL(cfg.tau))
    else:
        for part in names:
            o = o * decay(p, cfg, x, part, parts[part], rows, D)
    if "phase" in parts:
        o = o * np.exp(1j * phase(p, cfg, x, parts["phase"], K, D))
    return o


def state(p, x, name, data, act, K, D):
    """e or s: from the data (B, T, 1, K, 1), or a matrix (1, 1, 1, K, D)."""
    if data:
        return act(p.linear(x, name, K))[:, :, None, :, None]
    return act(p(name, 1, K, D, scale=0.8)).reshape(1, 1, 1, K, D)


def eos(p, cfg, x):
    K, D = cfg.expand, cfg.d_model

    def states(x):
        e, s, act, parts = choices(cfg)
        i = p.linear(x, "i", D)[:, :, None, :]
        return States(
            i,
            state(p, x, "e", e, act, K, D),
            state(p, x, "s", s, act, K, D),
            o=oscillation(p, cfg, x, parts, K, D),
        )

    return bare_end(p, cfg, merge(run(cfg, x, states)))


def ssm(p, cfg, x):
    """Code 0: dt = softplus(W2 W1 x), o = exp(-dt exp(L)), i = dt W x."""
    K, D = cfg.expand, cfg.d_model

    def states(x):
        dt = softplus(p.linear(p.linear(x, "dt_down", cfg.rank), "dt_up", D))
        log = np.log(np.arange(1, K + 1, dtype=REAL)).reshape(1, K, 1)
        rate = np.exp(p("log_a", 1, K, D, scale=0.7, init=log))
        i = dt * p.linear(x, "i", D)
        same = lambda z: z  # noqa: E731
        e, s = (state(p, x, name, True, same, K, D) for name in "es")
        return States(i[:, :, None, :], e, s, o=np.exp(-dt[:, :, None, None, :] * rate))

    return bare_end(p, cfg, merge(run(cfg, x, states)))


def by_code(p, cfg, x):
    return ssm(p, cfg, x) if cfg.code == "0" else eos(p, cfg, x)


METHODS = {"code": by_code, "custom": by_code}
