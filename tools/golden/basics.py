"""Numbers, parameters, activations, norms and the recurrence: what all models share.

Everything is computed in extended precision (80-bit floats), so that differences of the loss are
exact to about 1e-14.
"""

import numpy as np

REAL = np.longdouble
PI = REAL(4) * np.arctan(REAL(1))
MASK = (1 << 64) - 1


def real(x):
    return np.asarray(x, dtype=REAL)


# ---- parameters --------------------------------------------------------------------------------


def uniform(name, count):
    """count doubles in [-1, 1) that depend on the name and their index only: FNV-1a of the name,
    then SplitMix64. tests/golden/test_golden.c has the same."""
    seed = 0xCBF29CE484222325
    for byte in name.encode():
        seed = ((seed ^ byte) * 0x100000001B3) & MASK
    out = np.empty(count)
    for j in range(count):
        z = (seed + (j + 1) * 0x9E3779B97F4A7C15) & MASK
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        z ^= z >> 31
        out[j] = (z >> 11) * 2.0**-52 - 1
    return out


class Parameter:
    """Values are centre + scale * uniform(name + salt), plus what a difference adds to them."""

    def __init__(self, name, salt, shape, centre, scale, init):
        self.name, self.shape, self.centre, self.scale, self.init = name, shape, centre, scale, init
        count = int(np.prod(shape))
        self.values = real(centre + scale * uniform(name + salt, count)).reshape(shape)


class Parameters:
    """The parameters of a model, made when a formula first asks for them. wide: factors of the
    scales of those whose name ends so. salt: is added to names, for other values."""

    def __init__(self, wide, salt):
        self.learned, self.frozen, self.scope, self.wide, self.salt = {}, {}, "", wide, salt

    def inside(self, scope):
        view = Parameters(self.wide, self.salt)
        view.learned, view.frozen = self.learned, self.frozen
        view.scope = self.scope + scope + "."
        return view

    def __call__(self, name, *shape, centre=0.0, scale=0.5, init=None):
        """A learned parameter. init: its deterministic initial values, where it has such."""
        name = name[1:] if name.startswith("/") else self.scope + name
        if name not in self.learned:
            if init is not None:
                init = np.broadcast_to(real(init), shape)
            for end, factor in self.wide.items():
                scale *= factor if name.endswith(end) else 1
            self.learned[name] = Parameter(name, self.salt, shape, centre, scale, init)
        assert self.learned[name].shape == shape, name
        return self.learned[name].values

    def fixed(self, name, values):
        """A constant that the library stores among the parameters."""
        self.frozen[self.scope + name] = real(values)
        return real(values)

    def linear(self, x, name, out, bias=False):
        size = x.shape[-1]
        w = self(name + ".weight", out, size, scale=1.4 / float(size) ** 0.5)
        y = x @ w.T
        return y + self(name + ".bias", out, scale=0.3) if bias else y


# ---- functions of one number -------------------------------------------------------------------


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softplus(x):
    return np.log1p(np.exp(x))


def silu(x):
    return x * sigmoid(x)


def relu(x):
    return np.where(x > 0, x, 0 * x)


def elu(x):
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))


def erf(x):
    """2/sqrt(pi) exp(-x^2) sum_n 2^n x^(2n+1) / (2n+1)!!, good for |x| < 6."""
    term, total = x, x
    for n in range(1, 120):
        term = term * 2 * x * x / (2 * n + 1)
        total = total + term
    return 2 / np.sqrt(PI) * np.exp(-x * x) * total


def gelu(x):
    return x * (1 + erf(x / np.sqrt(REAL(2)))) / 2


# The activations of e and s: paper, table of activation functions.
ACTIVATIONS = [
    ("none", lambda x: x),
    ("relu", relu),
    ("sigmoid", sigmoid),
    ("1+elu", lambda x: 1 + elu(x)),
    ("silu", silu),
    ("elu", elu),
    ("relu2", lambda x: relu(x) ** 2),
    ("square", lambda x: x**2),
]


# ---- norms -------------------------------------------------------------------------------------


def layer_norm(x, weight, bias, eps=1e-5):
    mean = x.mean(-1, keepdims=True)
    var = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) / np.sqrt(var + REAL(eps)) * weight + bias


def rms_norm(x, weight=1, eps=1e-6):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + REAL(eps)) * weight


def norm_parameters(p, size):
    return p("weight", size, centre=1.0, scale=0.3, init=1), p("bias", size, scale=0.3, init=0)


# ---- sequences (B, T, channels) ----------------------------------------------------------------


def heads(x, H):
    """(B, T, H n) -> (B, T, H, n)"""
    return x.reshape(*x.shape[:2], H, -1)


def merge(x):
    """(B, T, H, n) -> (B, T, H n)"""
    return x.reshape(*x.shape[:2], -1)


def backwards(x):
    return x[:, ::-1]


def before(x):
    """x_{t-1}, and 0 before the first."""
    return np.concatenate([np.zeros_like(x[:, :1]), x[:, :-1]], axis=1)


def pairs(x):
    """(..., 2) -> complex"""
    return x[..., 0] + 1j * x[..., 1]


class States:
    """i (B, T, H, D); e, s, erase, a and b (B, T or 1, H, K, D or 1); o likewise, with B or 1.

    m_t = o_t m_{t-1} + a_t (b_t^T m_{t-1}) + e_t i_t^T,        y_t = scale Re(m_t^T s_t)

    erase: a = -e and b = erase. bonus (H, K, 1): y_t = scale (m_{t-1}^T s_t + (sum bonus s_t e_t) i_t).
    """

    def __init__(self, i, e, s, o=REAL(1), erase=None, scale=REAL(1), a=None, b=None, bonus=None):
        self.i, self.e, self.s, self.o, self.scale, self.bonus = i, e, s, o, scale, bonus
        self.a, self.b = (a, b) if erase is None else (-e, erase)


def at(x, t):
    return x if np.ndim(x) == 0 else x[:, t if x.shape[1] > 1 else 0]


def recurrence(z):
    """The recurrence of the paper, one step after the other: (B, T, H, D)."""
    m, out = REAL(0), []
    for t in range(z.i.shape[1]):
        past, write = m, at(z.e, t) * z.i[:, t][:, :, None, :]
        m = at(z.o, t) * past + write
        if z.a is not None:
            m = m + at(z.a, t) * (at(z.b, t) * past).sum(-2, keepdims=True)
        out.append((at(z.s, t) * (m if z.bonus is None else past + z.bonus * write)).sum(-2))
    return z.scale * np.real(np.stack(out, axis=1))


def alone(z):
    """What the step itself adds: (s . e) i."""
    weight = (z.s * z.e * (1 if z.bonus is None else z.bonus)).sum(-2)
    return z.scale * np.real(weight * z.i)


def run(cfg, x, states):
    """y = F(x), or F(x) + reverse(F(reverse x)) - self in both directions of time."""
    z = states(x)
    y = recurrence(z)
    if not cfg.bidirectional:
        return y
    return y + backwards(recurrence(states(backwards(x)))) - alone(z)


def ones_for_input(states):
    """The same states with 1 for i: y becomes the sum of the scores."""

    def changed(x):
        z = states(x)
        z.i = np.ones_like(z.i[..., :1])
        return z

    return changed


def bare_end(p, cfg, y):
    """LayerNorm over all channels and a projection."""
    weight, bias = norm_parameters(p.inside("norm"), y.shape[-1])
    return p.linear(layer_norm(y, weight, bias), "out", cfg.d_model)
