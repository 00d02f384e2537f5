"""The functions of fla, mamba_ssm and causal_conv1d against plain loops of what they are defined to do."""

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

import torch.nn.functional as F  # noqa: E402

import lcsm  # noqa: E402
import lcsm.torch as lt  # noqa: E402

F64 = torch.float64
B, T, H, K, V = 2, 23, 4, 8, 5


def draw(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=F64)


def loop(q, k, v, step, m=None, scale=None, before=None):
    """y_t = scale m_t^T q_t with m_t = step(t, m_{t-1}); before: what an early read adds."""
    heads = v.shape[2]
    q = q.repeat_interleave(heads // q.shape[2], 2)
    m = torch.zeros(q.shape[0], heads, q.shape[-1], v.shape[-1], dtype=q.dtype) if m is None else m
    ys = []
    for t in range(q.shape[1]):
        old, m = m, step(t, m)
        read = m if before is None else old + before(t)
        ys.append((read * q[:, t].unsqueeze(-1)).sum(2))
    return torch.stack(ys, 1) * (q.shape[-1] ** -0.5 if scale is None else scale), m


def outer(k, v, t):
    return k[:, t].unsqueeze(-1) * v[:, t].unsqueeze(-2)


def close(found, want, inputs):
    """Outputs and the gradients of everything that has one."""
    weights = [draw(*x.shape, seed=99) for x in want]
    for x, y in zip(found, want):
        assert x.shape == y.shape and (x - y).abs().max() < 1e-9
    g = [torch.autograd.grad(sum((x * w).sum() for x, w in zip(r, weights)), inputs, retain_graph=True)
         for r in (found, want)]
    for x, y in zip(*g):
        assert (x - y).abs().max() < 1e-9 * max(1, float(y.abs().max()))


@pytest.fixture
def data():
    x = {"q": draw(B, T, H, K, seed=1), "k": draw(B, T, H, K, seed=2), "v": draw(B, T, H, V, seed=3),
         "g": -draw(B, T, H, K, seed=4).abs(), "gv": -draw(B, T, H, V, seed=5).abs(), "gs": -draw(B, T, H, seed=6).abs(),
         "beta": torch.sigmoid(draw(B, T, H, seed=7)), "m0": draw(B, H, K, V, seed=8), "u": draw(H, K, seed=9)}
    return {n: t.requires_grad_() for n, t in x.items()}


def test_gla(data):
    q, k, v, g, gv, m0 = (data[n] for n in ("q", "k", "v", "g", "gv", "m0"))
    want = loop(q, k, v, lambda t, m: g[:, t].exp().unsqueeze(-1) * m + outer(k, v, t), m0)
    close(lt.chunk_gla(q, k, v, g, initial_state=m0, output_final_state=True), want, (q, k, v, g, m0))
    both = loop(q, k, v, lambda t, m: (g[:, t].unsqueeze(-1) + gv[:, t].unsqueeze(-2)).exp() * m + outer(k, v, t), m0, 0.3)
    close(lt.fused_recurrent_gla(q, k, v, gk=g, gv=gv, scale=0.3, initial_state=m0, output_final_state=True), both,
          (q, k, v, g, gv, m0))
    turned = lt.chunk_gla(q, k, v, g, initial_state=m0.transpose(-1, -2), output_final_state=True, state_v_first=True)
    assert (turned[1] - want[1].transpose(-1, -2)).abs().max() < 1e-9
    assert lt.chunk_gla(q, k, v, g)[1] is None


def test_simple_gla_and_retention(data):
    q, k, v, g, m0 = (data[n] for n in ("q", "k", "v", "gs", "m0"))
    want = loop(q, k, v, lambda t, m: g[:, t].exp()[..., None, None] * m + outer(k, v, t), m0)
    for f in (lt.chunk_simple_gla, lt.fused_recurrent_simple_gla):
        close(f(q, k, v, g, initial_state=m0, output_final_state=True), want, (q, k, v, g, m0))
    gamma = torch.tensor([1 - 2.0 ** (-5 - h) for h in range(H)], dtype=F64)
    want = loop(q, k, v, lambda t, m: gamma[:, None, None] * m + outer(k, v, t), m0)
    for f in (lt.chunk_retention, lt.fused_recurrent_retention):
        close(f(q, k, v, initial_state=m0, output_final_state=True), want, (q, k, v, m0))


def test_linear_attention(data):
    q, k, v = (data[n] for n in ("q", "k", "v"))
    plain = loop(q, k, v, lambda t, m: m + outer(k, v, t))
    close(lt.chunk_linear_attn(q, k, v, normalize=False, output_final_state=True), plain, (q, k, v))
    kp, qp = k.square(), q.square()  # positive features, so that the divisor is not near 0
    y, (state, keys) = lt.chunk_linear_attn(qp, kp, v, output_final_state=True)
    raw = loop(qp, kp, v, lambda t, m: m + outer(kp, v, t))
    below = (qp * K ** -0.5 * kp.cumsum(1)).sum(-1, keepdim=True) + 1e-10
    close((y, state, keys), (raw[0] / below, raw[1], kp.sum(1, keepdim=True)), (q, k, v))
    cut = [lt.chunk_linear_attn(qp[:, :9], kp[:, :9], v[:, :9], output_final_state=True)]
    cut.append(lt.chunk_linear_attn(qp[:, 9:], kp[:, 9:], v[:, 9:], initial_state=cut[0][1], output_final_state=True))
    assert (torch.cat([cut[0][0], cut[1][0]], 1) - y).abs().max() < 1e-9


def test_delta_rules(data):
    q, k, v, beta, g, gs, m0 = (data[n] for n in ("q", "k", "v", "beta", "g", "gs", "m0"))

    def rule(k, gate=None):
        def step(t, m):
            m = m if gate is None else gate(t) * m
            seen = (m * k[:, t].unsqueeze(-1)).sum(2)
            return m + (beta[:, t].unsqueeze(-1) * k[:, t]).unsqueeze(-1) * (v[:, t] - seen).unsqueeze(-2)
        return step
    unit = [x / (x.square().sum(-1, keepdim=True) + 1e-6).sqrt() for x in (q, k)]
    keys = dict(initial_state=m0, output_final_state=True, use_qk_l2norm_in_kernel=True)
    want = loop(unit[0], unit[1], v, rule(unit[1]), m0)
    for f in (lt.chunk_delta_rule, lt.fused_recurrent_delta_rule):
        close(f(q, k, v, beta, **keys), want, (q, k, v, beta, m0))
    want = loop(unit[0], unit[1], v, rule(unit[1], lambda t: gs[:, t].exp()[..., None, None]), m0)
    for f in (lt.chunk_gated_delta_rule, lt.fused_recurrent_gated_delta_rule):
        close(f(q, k, v, g=gs, beta=beta, **keys), want, (q, k, v, beta, gs, m0))
    want = loop(unit[0], unit[1], v, rule(unit[1], lambda t: g[:, t].exp().unsqueeze(-1)), m0)
    for f in (lt.chunk_kda, lt.fused_recurrent_kda):
        close(f(q, k, v, g=g, beta=beta, **keys), want, (q, k, v, beta, g, m0))
    shared = [x[:, :, :2] for x in unit]  # two key heads for four value heads
    wide = shared[1].repeat_interleave(2, 2)
    want = loop(shared[0], wide, v, rule(wide, lambda t: gs[:, t].exp()[..., None, None]), m0)
    close(lt.chunk_gated_delta_rule(q[:, :, :2], k[:, :, :2], v, gs, beta, **keys), want, (q, k, v, beta, gs, m0))


def test_gates_inside_the_delta_rules(data):
    q, k, v, g, beta = (data[n].detach() for n in ("q", "k", "v", "g", "beta"))
    A, bias = draw(H, seed=20), draw(H * K, seed=21)
    gate = -A.exp()[:, None] * F.softplus(g + bias.view(H, K))
    want = lt.chunk_kda(q, k, v, gate, beta.sigmoid())[0]
    found = lt.chunk_kda(q, k, v, g, beta, use_gate_in_kernel=True, use_beta_sigmoid_in_kernel=True, A_log=A, dt_bias=bias)[0]
    assert (found - want).abs().max() < 1e-12


def test_rwkv(data):
    q, k, v, w, u, m0 = (data[n] for n in ("q", "k", "v", "g", "u", "m0"))
    want = loop(q, k, v, lambda t, m: w[:, t].exp().unsqueeze(-1) * m + outer(k, v, t), m0,
                before=lambda t: u.unsqueeze(-1) * outer(k, v, t))
    for f in (lt.chunk_rwkv6, lt.fused_recurrent_rwkv6):
        close(f(q, k, v, w, u, initial_state=m0, output_final_state=True), want, (q, k, v, w, u, m0))
    a, b = (draw(B, T, H, K, seed=30) * 0.3).requires_grad_(), (draw(B, T, H, K, seed=31) * 0.3).requires_grad_()

    def step(t, m):
        read = (m * a[:, t].unsqueeze(-1)).sum(2)
        return w[:, t].exp().unsqueeze(-1) * m + b[:, t].unsqueeze(-1) * read.unsqueeze(-2) + outer(k, v, t)
    want = loop(q, k, v, step, m0, 1.0)
    for f in (lt.chunk_rwkv7, lt.fused_recurrent_rwkv7):
        close(f(q, w, k, v, a, b, scale=1.0, initial_state=m0, output_final_state=True), want, (q, k, v, w, a, b, m0))
    kk, s = draw(B, T, H, K, seed=32) * 0.3, torch.sigmoid(draw(B, T, H, K, seed=33))
    one = lt.fused_mul_recurrent_rwkv7(q, w, k, v, kk, s)[0]
    assert (one - lt.chunk_rwkv7(q, w, k, v, -kk, kk * s)[0]).abs().max() < 1e-12


def test_hgrn():
    x, g, h = draw(B, T, 7, seed=1).requires_grad_(), (-draw(B, T, 7, seed=2).abs()).requires_grad_(), draw(B, 7, seed=3)
    rows, m = [], h
    for t in range(T):
        m = g[:, t].exp() * m + x[:, t]
        rows.append(m)
    for f in (lt.chunk_hgrn, lt.fused_recurrent_hgrn):
        close(f(x, g, initial_state=h, output_final_state=True), (torch.stack(rows, 1), m), (x, g))


def test_packed_sequences(data):
    q, k, v, g = (data[n].detach()[:1] for n in ("q", "k", "v", "g"))
    ends = torch.tensor([0, 5, 6, T])
    parts = [lt.chunk_gla(*(x[:, a:b] for x in (q, k, v, g)), output_final_state=True) for a, b in zip(ends, ends[1:])]
    y, m = lt.chunk_gla(q, k, v, g, cu_seqlens=ends, output_final_state=True)
    assert (y - torch.cat([p[0] for p in parts], 1)).abs().max() < 1e-12
    assert (m - torch.cat([p[1] for p in parts])).abs().max() < 1e-12 and m.shape[0] == 3
    assert (lt.chunk_gla(q, k, v, g, cu_seqlens=ends)[0] - y).abs().max() < 1e-12
    with pytest.raises(lcsm.ArgumentError, match="batch of 1"):
        lt.chunk_gla(*(data[n] for n in ("q", "k", "v", "g")), cu_seqlens=ends)


@pytest.mark.parametrize("groups", [0, 1, 2])
def test_selective_scan(groups):
    width, N = 6, 4
    u, dt, z = (draw(B, width, T, seed=s).requires_grad_() for s in (1, 2, 3))
    A, D, bias = (-draw(width, N, seed=4).abs()).requires_grad_(), draw(width, seed=5).requires_grad_(), draw(width, seed=6).requires_grad_()
    shape = (B, N, T) if groups == 0 else (B, groups, N, T)
    Bs, Cs = draw(*shape, seed=7).requires_grad_(), draw(*shape, seed=8).requires_grad_()
    wide = [x.unsqueeze(1).expand(B, width, N, T) if groups == 0 else x.repeat_interleave(width // groups, 1) for x in (Bs, Cs)]
    step, h, ys = F.softplus(dt + bias[:, None]), torch.zeros(B, width, N, dtype=F64), []
    for t in range(T):
        h = torch.exp(step[:, :, t, None] * A) * h + step[:, :, t, None] * wide[0][..., t] * u[:, :, t, None]
        ys.append((h * wide[1][..., t]).sum(-1))
    want = (torch.stack(ys, 2) + u * D[:, None]) * F.silu(z)
    found = lt.selective_scan_fn(u, dt, A, Bs, Cs, D, z, bias, True, return_last_state=True)
    close(found, (want, h), (u, dt, A, Bs, Cs, D, z, bias))


def test_mamba2_scan():
    P, G, N, heads = 3, 2, 5, 4
    x, z = (draw(B, T, heads, P, seed=s).requires_grad_() for s in (1, 2))
    dt, A = draw(B, T, heads, seed=3).requires_grad_(), (-draw(heads, seed=4).abs()).requires_grad_()
    Bs, Cs = (draw(B, T, G, N, seed=s).requires_grad_() for s in (5, 6))
    D, bias, m0 = draw(heads, seed=7).requires_grad_(), draw(heads, seed=8).requires_grad_(), draw(B, heads, P, N, seed=9)
    step, h, ys = F.softplus(dt + bias), m0, []
    wide = [t.repeat_interleave(heads // G, 2) for t in (Bs, Cs)]
    for t in range(T):
        h = (step[:, t] * A).exp()[..., None, None] * h + (step[:, t].unsqueeze(-1) * x[:, t]).unsqueeze(-1) * wide[0][:, t].unsqueeze(-2)
        ys.append((h * wide[1][:, t].unsqueeze(-2)).sum(-1))
    want = (torch.stack(ys, 1) + x * D[:, None]) * F.silu(z)
    found = lt.mamba_chunk_scan_combined(x, dt, A, Bs, Cs, 8, D=D, z=z, dt_bias=bias, initial_states=m0, dt_softplus=True,
                                         return_final_states=True)
    close(found, (want, h), (x, dt, A, Bs, Cs, D, z, bias))
    index = torch.tensor([[0] * 5 + [1] * (T - 5)] * B)
    packed = lt.mamba_chunk_scan_combined(x, dt, A, Bs, Cs, 8, seq_idx=index)
    alone = lt.mamba_chunk_scan_combined(x[:, 5:], dt[:, 5:], A, Bs[:, 5:], Cs[:, 5:], 8)
    assert (packed[:, 5:] - alone).abs().max() < 1e-9


def test_causal_convolution():
    x, w, b = draw(B, 6, T, seed=1).requires_grad_(), draw(6, 4, seed=2).requires_grad_(), draw(6, seed=3).requires_grad_()
    want = F.silu(F.conv1d(x, w.unsqueeze(1), b, padding=3, groups=6)[..., :T])
    close((lt.causal_conv1d_fn(x, w, b, activation="silu"),), (want,), (x, w, b))
    first, state = lt.causal_conv1d_fn(x[..., :9], w, b, return_final_states=True)
    rest = lt.causal_conv1d_fn(x[..., 9:], w, b, initial_states=state)
    assert (torch.cat([first, rest], -1) - lt.causal_conv1d_fn(x, w, b)).abs().max() < 1e-12


def test_packed_convolution():
    x, w, b = (draw(*s, seed=j).requires_grad_() for j, s in enumerate([(B, 6, T), (6, 4), (6,)]))
    state, bounds = draw(B, 6, 3, seed=4).requires_grad_(), [0, 2, 3, 17, T]
    index = torch.cat([torch.full((B, n - m), j, dtype=torch.int32) for j, (m, n) in enumerate(zip(bounds, bounds[1:]))], 1)
    parts = [lt.causal_conv1d_fn(x[..., m:n], w, b, initial_states=state if m == 0 else None, return_final_states=True,
                                 activation="silu") for m, n in zip(bounds, bounds[1:])]
    want = torch.cat([y for y, _ in parts], -1), parts[-1][1]
    found = lt.causal_conv1d_fn(x, w, b, index, initial_states=state, return_final_states=True, activation="silu")
    close(found, want, (x, w, b, state))
    none = lt.causal_conv1d_fn(x, w, b, torch.where(index == 2, -1, index))
    assert (none[..., 3:17] == 0).all() and (none[..., 17:] != 0).any()
    short = lt.causal_conv1d_fn(x[..., 17:18], w, b, index[:, 17:18], return_final_states=True)[1]
    assert (short[..., :2] == 0).all() and (short[..., 2] == x[..., 17]).all()
