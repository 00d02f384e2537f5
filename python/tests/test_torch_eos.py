"""lcsm.torch.eos against the definition as a loop: random shapes, strides and operands, in double and in float."""

import random

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

import lcsm  # noqa: E402
import lcsm.torch as lt  # noqa: E402

F64 = torch.float64


def spread(x, axes, sizes, heads):
    """An operand as (B, T, H, ...) with all its heads."""
    B, T, H = sizes
    if "T" not in axes:
        x = x[None, None].expand(B, T, *x.shape)
    return x.repeat_interleave(H // x.shape[2], 2) if x.shape[2] != H else x


def reference(p, i, e, s, m0=None, **o):
    """The definition, step by step: m = o * m + sum a (b^T m) + e i^T and so on."""
    B, T, D, H, K = i.shape[0], i.shape[1], i.shape[3], p["H"], p["K"]
    get = {n: spread(x, p["axes"][n], (B, T, H), H) for n, x in dict(i=i, e=e, s=s, **o).items()}

    def cell(n, t):
        """(B, H, K, D), broadcast."""
        x, axes = get[n][:, t], p["axes"][n]
        if "K" not in axes:
            x = x.unsqueeze(2)
        if "D" not in axes:
            x = x.unsqueeze(-1)
        return x
    kind = torch.promote_types(i.dtype, e.dtype)
    phase = any(n.endswith("phase") for n in get)
    m = torch.zeros(B, H, K, D, dtype=kind.to_complex() if phase and not kind.is_complex else kind) if m0 is None else m0
    ys = []
    order = range(T - 1, -1, -1) if p["reverse"] else range(T)
    for t in order:
        first = t + 1 if p["reverse"] else t  # backwards, a sequence ends where the next one begins
        if p["reset"] is not None and first < T:
            m = m * (p["reset"][:, first] == 0)[:, None, None, None]
        log = sum((cell(n, t) for n in ("row", "col", "full") if n in get), torch.zeros((), dtype=i.real.dtype))
        gate = torch.exp(log)
        turn = [cell(n, t) for n in ("row_phase", "col_phase", "full_phase") if n in get]
        if turn:
            gate = gate * torch.exp(1j * sum(turn))
        if "u" in get:
            uw = cell("u", t) * cell("w", t)
            gate = gate * {"exp": torch.exp, "complement": lambda x: 1 - x,
                           "gate": lambda x: torch.sigmoid(x) ** (1 / p["tau"])}[p["gen"]](uw)
        before = m
        m = gate * before
        if "dense" in get:
            m = get["dense"][:, t] @ before
        if "erase" in get:
            k = get["erase"][:, t].unsqueeze(-1)
            m = m - cell("e", t) * (k * m).sum(2, keepdim=True)
        if "a" in get:
            read = torch.einsum("bhrk,bhkd->bhrd", get["b"][:, t].to(before.dtype), before)
            m = m + torch.einsum("bhrk,bhrd->bhkd", get["a"][:, t].to(before.dtype), read)
        wrote = cell("e", t) * get["i"][:, t].unsqueeze(2)
        m = m + wrote
        read = cell("s", t)
        y = (read * (before if p["read_before"] else m)).sum(2)
        if p["read_before"] and "bonus" in get:
            y = y + (cell("bonus", t) * read * wrote).sum(2)
        ys.append(y * p["scale"])
    y = torch.stack(ys[::-1] if p["reverse"] else ys, 1) if ys else i.new_zeros(B, 0, H, D)
    return (y if p["complex_y"] else y.real), m


def strided(rng, x):
    """The same numbers, lying otherwise in memory."""
    how = rng.choice(["packed", "permuted", "slice", "expanded", "inner"])
    if how == "permuted" and x.dim() >= 4:
        return x.transpose(1, 2).contiguous().transpose(1, 2)
    if how == "slice" and x.dim() >= 2:
        wide = x.new_zeros(*x.shape[:-1], x.shape[-1] + 3) if x.dim() == 2 else x.new_zeros(*x.shape[:1], 3, *x.shape[1:])
        part = wide[..., 1:-2] if x.dim() == 2 else wide[:, 1]
        part.copy_(x)
        return part
    if how == "inner":
        return x.transpose(-1, -2).contiguous().transpose(-1, -2) if x.dim() >= 2 else x
    return x


def case(seed):
    rng = random.Random(seed)
    gen = torch.Generator().manual_seed(seed)
    H, K, D = rng.choice([1, 2, 4]), rng.choice([1, 2, 3, 8, 17]), rng.choice([1, 3, 8, 16, 33])
    B, T = rng.choice([0, 1, 2, 3]), rng.choice([0, 1, 2, 5, 33, 70])
    sizes = {"B": B, "T": T, "K": K, "D": D, "R": rng.choice([1, 2])}
    axes, o = {}, {}

    def make(name, letters, draw, heads=True):
        h = rng.choice([n for n in (1, 2, 4) if H % n == 0]) if heads else H
        lead = ["B", "T"] if "T" in letters else []
        tail = ["K", "K"] if name == "dense" else [c for c in ("R", "K", "D") if c in letters]
        shape = [sizes[c] for c in lead] + [h] + [sizes[c] for c in tail]
        axes[name] = letters
        x = draw(torch.randn(*shape, generator=gen, dtype=F64))
        o[name] = strided(rng, x).requires_grad_()

    small = lambda x: x * 0.5  # noqa: E731
    decay = lambda x: -x.abs() * 0.3  # noqa: E731
    make("i", "TD", small, heads=False)
    kind = rng.choice(["row", "scalar", "static", "outer", "full", "exp", "gate", "complement", "delta", "free",
                       "before", "phase", "dense", "none"])
    make("e", rng.choice(["TK", "K", "KD"]) if kind not in ("delta", "free", "before") else "TK", small)
    make("s", rng.choice(["TK", "K", "KD"]) if kind != "before" else "TK", small)
    p = {"H": H, "K": K, "axes": axes, "reverse": rng.random() < 0.2, "read_before": kind == "before",
         "scale": rng.choice([1.0, 0.5]), "gen": None, "tau": 2.0, "complex_y": False, "reset": None}
    if kind in ("row", "delta", "free", "before", "phase"):
        make("row", "TK", decay)
    if kind == "scalar":
        make("row", "T", decay)
    if kind == "static":
        make("row", rng.choice(["K", ""]), decay)
    if kind == "outer":
        make("row", "TK", decay)
        make("col", rng.choice(["TD", "D"]), decay)
    if kind == "full":
        make("full", rng.choice(["TKD", "KD"]), decay)
    if kind in ("exp", "gate", "complement"):
        p["gen"] = kind
        make("u", "TD", (lambda x: x.abs() * 0.3) if kind != "complement" else torch.sigmoid)
        make("w", "KD", {"exp": lambda x: -x.abs(), "gate": small, "complement": torch.sigmoid}[kind])
    if kind == "delta":
        make("erase", "TK", small)
    if kind == "free":
        make("a", "TRK", lambda x: x * 0.2)
        make("b", "TRK", lambda x: x * 0.2)
    if kind == "before":
        make("bonus", rng.choice(["K", ""]), small)
    if kind == "phase":
        make("row_phase", "TK", lambda x: x)
        p["complex_y"] = rng.random() < 0.5
    if kind == "dense":
        make("dense", "TK", lambda x: x * 0.3 / max(K, 1) ** 0.5)
    if rng.random() < 0.3 and T > 0:
        p["reset"] = (torch.rand(B, T, generator=gen) < 0.2).int()
    if rng.random() < 0.5 and kind != "phase":
        o["m0"] = (torch.randn(B, H, K, D, generator=gen, dtype=F64) * 0.5).requires_grad_()
    return kind, p, o


def run(p, o):
    keys = {n: p[n] for n in ("gen", "tau", "scale", "reverse", "read_before", "complex_y", "reset")}
    if "u" in o:
        keys.update(u_axes=p["axes"]["u"], w_axes=p["axes"]["w"])
    i, e, s = (o[n] for n in ("i", "e", "s"))
    return lt.eos(i, e, s, heads=p["H"], final=True, **{n: x for n, x in o.items() if n not in ("i", "e", "s")}, **keys)


def gradients(outputs, weights, o):
    loss = sum((torch.conj(w) * x).real.sum() if x.is_complex() else (w * x).sum() for x, w in zip(outputs, weights))
    names = [n for n in o if o[n].requires_grad]
    if not loss.requires_grad:  # no steps at all
        return {n: torch.zeros_like(o[n]) for n in names}
    found = torch.autograd.grad(loss, [o[n] for n in names], allow_unused=True)
    return {n: torch.zeros_like(o[n]) if g is None else g for n, g in zip(names, found)}


def worst(found, want):
    """The largest difference, relative to the largest number that was expected."""
    found, want = found.detach(), want.detach()
    if want.numel() == 0:
        return 0.0
    return float((found - want).abs().max() / max(float(want.abs().max()), 1e-3))


@pytest.mark.parametrize("block", range(10))
def test_random_shapes_strides_and_operands(block):
    for seed in range(20 * block, 20 * block + 20):
        kind, p, o = case(seed)
        where = f"case {seed}, {kind}, {({n: (tuple(x.shape), x.stride()) for n, x in o.items()})}"
        gen = torch.Generator().manual_seed(seed)
        want = reference(p, **o)
        weights = [torch.randn(x.shape, generator=gen, dtype=x.dtype) for x in want]
        want_g = gradients(want, weights, o)
        found = run(p, o)
        for x, y in zip(found, want):
            assert worst(x, y) < 1e-9, where
        for n, g in gradients(found, weights, o).items():
            assert g.shape == o[n].shape and worst(g, want_g[n]) < 1e-9, (n, where)

        o32 = {n: strided(random.Random(seed), x.detach().float()).requires_grad_() for n, x in o.items()}
        w32 = [w.to(x.dtype) for w, x in zip(weights, reference(p, **o32))]
        loop, mine = reference(p, **o32), run(p, o32)
        loop_g, mine_g = gradients(loop, w32, o32), gradients(mine, w32, o32)
        for x, y, z in zip(mine, loop, want):
            # four times what the same loop loses in float, and some roundings of the largest number
            assert worst(x, z.to(x.dtype)) <= 4 * worst(y, z.to(x.dtype)) + 5e-6, where
        for n, g in mine_g.items():
            z = want_g[n].float()
            assert worst(g, z) <= 4 * worst(loop_g[n], z) + 5e-6, (n, where)


@pytest.fixture(params=["reference", "portable", "avx2"])
def slower(request):
    """Nothing faster than these kernels, where the processor has them."""
    lcsm.set_threads(0, request.param)
    yield
    lcsm.set_threads(0)


def test_random_shapes_strides_and_operands_with_slower_kernels(slower):
    test_random_shapes_strides_and_operands(0)


@pytest.mark.parametrize("kind", ["row", "scalar", "outer", "full", "exp", "delta", "free", "before", "phase"])
def test_gradcheck(kind):
    seed = next(s for s in range(10 ** 4) if (lambda c: c[0] == kind and 0 < c[2]["i"].numel() < 60)(case(s)))
    _, p, o = case(seed)
    names = list(o)
    assert torch.autograd.gradcheck(lambda *x: run(p, dict(zip(names, x))), tuple(o[n] for n in names), atol=1e-7)


def test_packed_and_sliced_operands_are_not_copied():
    from lcsm.torch import _eos
    x = torch.randn(2, 5, 3, 4, 8)
    for t in (x[:, :, 0], x[:, :, 1].transpose(1, 2).contiguous().transpose(1, 2), torch.randn(2, 5, 4, 8)):
        assert _eos._fits(t, 3)
    for t in (torch.randn(1, 5, 4, 8).expand(2, 5, 4, 8), torch.randn(2, 5, 8, 4).transpose(2, 3)):
        assert not _eos._fits(t, 3)


def test_half_precision_is_computed_in_float():
    torch.manual_seed(0)
    q, k, v = (torch.randn(2, 20, 2, 8, dtype=torch.bfloat16, requires_grad=True) for _ in range(3))
    y = lt.eos(v, k, q)
    assert y.dtype == torch.bfloat16
    exact = lt.eos(v.float(), k.float(), q.float())
    assert worst(y.float(), exact) < 2 ** -8
    y.sum().backward()
    assert q.grad.dtype == torch.bfloat16


def test_bad_operands_are_refused_in_words():
    x = torch.randn(1, 4, 2, 8)
    for keys, word in ((dict(row=torch.randn(1, 4, 2, 7)), "expected K = 8"), (dict(row=torch.randn(1, 1, 1, 1, 1)), "dimensions"),
                       (dict(a=x), "b is missing"), (dict(form="fast"), "expected one of"),
                       (dict(m0=torch.randn(1, 2, 3, 4)), "m0 has the shape")):
        with pytest.raises(lcsm.Error, match=word):
            lt.eos(x, x, x, **keys)


def test_the_operator_is_registered_and_compiles():
    torch.manual_seed(0)
    q, k, v, g = (torch.randn(2, 40, 2, 8, requires_grad=True) for _ in range(4))
    arguments = (v, k, q, -g.detach().abs(), *[None] * 14, [2, 5, 6, 0, 24, 0, 0], 1.0, 1.0)
    torch.library.opcheck(torch.ops.lcsm.eos.default, arguments,
                          test_utils=("test_schema", "test_autograd_registration", "test_faketensor"))

    def f(q, k, v, g):
        return lt.chunk_gla(q * 2, k, v, -torch.nn.functional.softplus(g))[0].square().sum()
    want = torch.autograd.grad(f(q, k, v, g), (q, k, v, g))
    compiled = torch.compile(f, fullgraph=True, backend="aot_eager")
    found = torch.autograd.grad(compiled(q, k, v, g), (q, k, v, g))
    for x, y in zip(found, want):
        assert worst(x, y) < 1e-5
