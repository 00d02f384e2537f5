"""Hugging Face's recurrent layers as programs, for tokens without gradients in float32 on the CPU.

Each function stands for the forward method of a class of transformers and returns NotImplemented where
the layer is not one for the library: gradients, other types, masked tokens, hooks, adapters.
"""

from __future__ import annotations

import ctypes as ct
from typing import Any, Callable, Optional

import torch
from torch import Tensor, nn

from .. import _binding as b
from .._model import context
from ._parts import (CONV, EOS, EXP, FUNCTIONS, GLU, LINEAR, MAP, REST, SAME, SCALE, SIGMOID, SILU, SOFTPLUS, SPREAD, UNIT,
                     Program, Rows, Unfit, local)

T, K, D = b.LCSM_AXIS_T, b.LCSM_AXIS_K, b.LCSM_AXIS_D


def ready(x: Tensor) -> bool:
    """Whether a call is one for the library: float32 on the CPU, in place, without gradients."""
    return (type(x) is Tensor and x.dtype is torch.float32 and not torch.is_grad_enabled() and x.is_contiguous()
            and x.device.type == "cpu" and x.numel() > 0 and not torch.compiler.is_compiling())


def function_of(f: Any) -> int:
    """The function of an activation, by its name or its module."""
    name = f if isinstance(f, str) else type(f).__name__
    if name not in FUNCTIONS:
        raise Unfit(name)
    return FUNCTIONS[name]


def _unmasked(mask: Optional[Tensor]) -> bool:
    return mask is None or bool(mask.all())


def program_of(module: nn.Module, batch: int, steps: int, build: Callable[[Program, Any], Any]) -> Program:
    """The program of a layer: kept for single tokens, made anew on shared buffers for sequences."""
    if steps > 1:
        local.arena.clear()
        p = Program(batch, steps, local.arena)
    else:
        kept = local.kept.get(module)
        if kept is not None and kept.batch == batch and kept.context is context() and kept.current():
            return kept
        p = Program(batch, steps)
    build(p, module)
    p.finish()
    if not p.current():
        raise Unfit("hooks")
    if steps == 1:
        local.kept[module] = p
    return p


def _run(p: Program, x: Tensor, wide: int = 0) -> Tensor:
    """Sets where the input and the output are, and runs."""
    y = torch.empty_like(x) if wide in (0, x.shape[-1]) else x.new_empty(*x.shape[:-1], wide)
    at = x.data_ptr()
    for j, name in p.inputs:
        setattr(p.list[j], name, at)
    p.list[-1].y = y.data_ptr()
    p.run()
    return y


def _input(p: Program, wide: int, name: str = "x") -> Rows:
    """The input, whose address comes later, as an operand of the next part."""
    p.inputs.append((len(p.parts), name))
    return Rows(64, wide, wide)


def _states(cache: Any, layer: int, steps: int) -> Any:
    """The states of a layer: (True, None, None) without any, (False, conv, memory) to go on."""
    if cache is None:
        if steps == 1:
            raise Unfit("a single token")
        return True, None, None
    if cache.is_recording_past(layer):
        raise Unfit("recording")
    conv, memory = cache.get_conv_state(layer), cache.get_recurrent_state(layer)
    if steps == 1:
        if conv is None or memory is None or conv.dtype is not torch.float32 or not conv.is_contiguous():
            raise Unfit("no state")
        return False, conv, memory
    if conv is not None:
        raise Unfit("going on with several tokens")
    return True, None, None


def _go(p: Program, x: Tensor, cache: Any, layer: int, conv: Any, memory: Any, shape: Any, turned: bool, taps: int) -> Tensor:
    """Runs a layer with its states in a cache of transformers. ``shape``: of the memory as the library has it;
    ``turned``: the cache has its last two axes the other way round, which a view does."""
    step = p.steps == 1
    eos = p.of_kind(EOS)
    if step:
        own = memory.transpose(-1, -2) if turned else memory
        if not own.is_contiguous() or memory.dtype is not torch.float32:
            own = own.contiguous().float()
            cache.layers[layer].recurrent_states[0] = own.transpose(-1, -2) if turned else own
        p.of_kind(CONV).state, eos.state = conv.data_ptr(), own.data_ptr()
        return _run(p, x)
    last = None if cache is None else torch.empty(shape)
    eos.state = None if last is None else last.data_ptr()
    y = _run(p, x)
    if cache is not None and last is not None and p.pre is not None:
        cache.update_conv_state(p.arena.tensor(p.pre, p.batch, p.steps, taps), layer, conv_kernel_size=taps)
        cache.update_recurrent_state(last.transpose(-1, -2) if turned else last, layer)
    return y


# ---- Mamba and Falcon-Mamba -----------------------------------------------------------------

def _mamba_parts(p: Program, block: Any) -> None:
    norm, m = p.module(block, "norm"), p.module(block, "mixer")
    inner, rank, N, wide = m.intermediate_size, m.time_step_rank, m.ssm_state_size, m.hidden_size
    x = p.norm(_input(p, wide), p.weight(norm, "weight"), norm.variance_epsilon)
    xz = p.linear(x, m, "in_proj")
    p.pre = xz.cut(0, inner)
    c = p.conv(p.pre, m, "conv1d", function_of(m.activation), m.conv_kernel_size)
    s = p.linear(c, m, "x_proj")
    if hasattr(m, "dt_layernorm"):
        for name, first, n in (("dt_layernorm", 0, rank), ("b_layernorm", rank, N), ("c_layernorm", rank + N, N)):
            part = s.cut(first, n)
            p.norm(part, None, p.module(m, name).eps, y=part)
    dt = p.linear(s.cut(0, rank), m, "dt_proj", SOFTPLUS)
    rates = p.rates(m, "A_log", inner, N)
    i = p.glu(dt, c, SAME)
    y = p.eos((1, N, inner), {"i": (T | D, 1, i), "e": (T | K, 1, s.cut(rank, N)), "s": (T | K, 1, s.cut(rank + N, N)),
                              "u": (T | D, 1, dt), "w": (K | D, 1, rates)}, gen=b.LCSM_GEN_EXP)
    p.add(SCALE, y, c, w=p.weight(m, "D"), add=1, **{"in": inner})
    p.glu(y, xz.cut(inner, inner), SILU, y=y)
    p.linear(y, m, "out_proj", z=_input(p, wide, "z"))


def mamba_block(self: Any, hidden_states: Tensor, cache_params: Any = None, attention_mask: Any = None, **rest: Any) -> Any:
    if not ready(hidden_states) or not _unmasked(attention_mask) or rest.get("seq_idx") is not None:
        return NotImplemented
    m, (B, steps, _) = self.mixer, hidden_states.shape
    _, conv, memory = _states(cache_params, m.layer_idx, steps)
    p = program_of(self, B, steps, _mamba_parts)
    return _go(p, hidden_states, cache_params, m.layer_idx, conv, memory, (B, m.ssm_state_size, m.intermediate_size), True,
               m.conv_kernel_size)


# ---- Mamba-2 --------------------------------------------------------------------------------

def _mamba2_parts(p: Program, block: Any) -> None:
    norm, m = p.module(block, "norm"), p.module(block, "mixer")
    inner, N, G, H, P, wide = m.intermediate_size, m.ssm_state_size, m.n_groups, m.num_heads, m.head_dim, m.hidden_size
    if tuple(m.time_step_limit) != (0.0, float("inf")):
        raise Unfit("time_step_limit")
    x = p.norm(_input(p, wide), p.weight(norm, "weight"), norm.variance_epsilon)
    zxd = p.linear(x, m, "in_proj")
    p.pre = zxd.cut(inner, m.conv_dim)
    c = p.conv(p.pre, m, "conv1d", function_of(m.activation), m.conv_kernel_size)
    dt = p.map(zxd.cut(inner + m.conv_dim, H), SOFTPLUS, bias=p.weight(m, "dt_bias"))
    rates = p.rates(m, "A_log", 1, H)
    row = p.rows_of(H)
    p.add(SCALE, row, dt, w=rates.at, **{"in": H})
    i = p.rows_of(inner)
    p.add(SPREAD, i, c.cut(0, inner), dt, heads=H, **{"in": P})
    y = p.eos((H, N, P), {"i": (T | D, H, i), "e": (T | K, G, c.cut(inner, G * N)),
                          "s": (T | K, G, c.cut(inner + G * N, G * N)), "row": (T, H, row)})
    p.add(SPREAD, y, c.cut(0, inner), heads=H, w=p.weight(m, "D"), add=1, **{"in": P})
    p.glu(y, zxd.cut(0, inner), SILU, y=y)
    gated = p.module(m, "norm")
    p.norm(y, p.weight(gated, "weight"), gated.variance_epsilon, inner // gated.group_size, own=True, y=y)
    p.linear(y, m, "out_proj", z=_input(p, wide, "z"))


def mamba2_block(self: Any, hidden_states: Tensor, cache_params: Any = None, attention_mask: Any = None, **rest: Any) -> Any:
    if not ready(hidden_states) or not _unmasked(attention_mask) or any(v is not None for v in rest.values()):
        return NotImplemented
    m, (B, steps, _) = self.mixer, hidden_states.shape
    _, conv, memory = _states(cache_params, m.layer_idx, steps)
    p = program_of(self, B, steps, _mamba2_parts)
    return _go(p, hidden_states, cache_params, m.layer_idx, conv, memory, (B, m.num_heads, m.ssm_state_size, m.head_dim), True,
               m.conv_kernel_size)


# ---- Qwen3-Next -----------------------------------------------------------------------------

def _gather(p: Program, x: Rows, groups: int, first: int, wide: int, y: Rows, function: int = SAME) -> None:
    """Columns first .. first + wide of each of some groups side by side."""
    each = x.wide // groups
    for h in range(groups):
        p.map(x.cut(h * each + first, wide), function, y=y.cut(h * wide, wide))


def _delta_parts(p: Program, m: Any) -> None:
    Hk, Hv, dk, dv, wide = m.num_k_heads, m.num_v_heads, m.head_k_dim, m.head_v_dim, m.hidden_size
    share = Hv // Hk
    qkvz = p.linear(_input(p, wide), m, "in_proj_qkvz")
    ba = p.linear(_input(p, wide), m, "in_proj_ba")
    p.pre = p.rows_of(2 * m.key_dim + m.value_dim)
    _gather(p, qkvz, Hk, 0, dk, p.pre.cut(0, m.key_dim))
    _gather(p, qkvz, Hk, dk, dk, p.pre.cut(m.key_dim, m.key_dim))
    _gather(p, qkvz, Hk, 2 * dk, share * dv, p.pre.cut(2 * m.key_dim, m.value_dim))
    c = p.conv(p.pre, m, "conv1d", function_of(m.activation), m.conv_kernel_size)
    q, k, v = c.cut(0, m.key_dim), c.cut(m.key_dim, m.key_dim), c.cut(2 * m.key_dim, m.value_dim)
    p.norm(c.cut(0, 2 * m.key_dim), None, 1e-6, 2 * Hk, y=c.cut(0, 2 * m.key_dim), kind=UNIT)
    beta, row, write = p.rows_of(Hv), p.rows_of(Hv), p.rows_of(Hv * dk)
    _gather(p, ba, Hk, 0, share, beta, SIGMOID)
    _gather(p, ba, Hk, share, share, row)
    p.map(row, SOFTPLUS, y=row, bias=p.weight(m, "dt_bias"))
    p.add(SCALE, row, row, w=p.rates(m, "A_log", 1, Hv).at, **{"in": Hv})
    p.add(SPREAD, write, k, beta, heads=Hv, shared=share, **{"in": dk})
    y = p.eos((Hv, dk, dv), {"i": (T | D, Hv, v), "e": (T | K, Hv, write), "s": (T | K, Hk, q), "row": (T, Hv, row),
                             "erase": (T | K, Hk, k)}, scale=dk ** -0.5)
    gated = p.module(m, "norm")
    p.norm(y, p.weight(gated, "weight"), gated.variance_epsilon, Hv, y=y)
    z = p.rows_of(Hv * dv)
    _gather(p, qkvz, Hk, 2 * dk + share * dv, share * dv, z)
    p.glu(y, z, SILU, y=y)
    p.linear(y, m, "out_proj")


def delta_net(self: Any, hidden_states: Tensor, cache_params: Any = None, attention_mask: Any = None, **rest: Any) -> Any:
    packed = rest.get("cu_seq_lens_q") is not None or rest.get("seq_idx") is not None
    if not ready(hidden_states) or not _unmasked(attention_mask) or packed:
        return NotImplemented
    B, steps, _ = hidden_states.shape
    _, conv, memory = _states(cache_params, self.layer_idx, steps)
    p = program_of(self, B, steps, _delta_parts)
    return _go(p, hidden_states, cache_params, self.layer_idx, conv, memory,
               (B, self.num_v_heads, self.head_k_dim, self.head_v_dim), False, self.conv_kernel_size)


# ---- experts --------------------------------------------------------------------------------

def _expert_parts(p: Program, m: Any, rows: Any) -> None:
    """Three parts for each expert, for so many rows; where these and its weights are comes later."""
    wide, inner, function = m.hidden_dim, m.intermediate_dim, function_of(m.act_fn)
    both, hidden, first = p.rows_of(2 * inner, sum(rows)), p.rows_of(inner, sum(rows)), 0
    w = p.weight(m, "gate_up_proj"), p.weight(m, "down_proj")
    for n in rows:
        x, h = Rows(both.at + 8 * first * inner, 2 * inner, 2 * inner), Rows(hidden.at + 4 * first * inner, inner, inner)
        p.add(LINEAR, x, Rows(64, wide, wide), w=w[0], rows=n, out=2 * inner, **{"in": wide})
        p.add(GLU, h, x.cut(inner, inner), x.cut(0, inner), function=function, rows=n, **{"in": inner})
        p.add(LINEAR, Rows(64, wide, wide), h, w=w[1], rows=n, out=wide, **{"in": inner})
        first += n


def _run_experts(p: Program, m: Any, chosen: Any, rows: Any, x: Tensor, step: int) -> Tensor:
    """Runs each expert on its rows of x, which are side by side; ``step``: floats from row to row, 0 for one row."""
    wide, inner, first = m.hidden_dim, m.intermediate_dim, 0
    y = x.new_empty(sum(rows), wide)
    into, out, up, down = x.data_ptr(), y.data_ptr(), m.gate_up_proj.data_ptr(), m.down_proj.data_ptr()
    for j, (e, n) in enumerate(zip(chosen, rows)):
        one, last = p.list[3 * j], p.list[3 * j + 2]
        one.x, one.w = into + 4 * first * step, up + 8 * e * inner * wide
        last.y, last.w = out + 4 * first * wide, down + 4 * e * inner * wide
        first += n
    p.run()
    return y


def experts(self: Any, hidden_states: Tensor, top_k_index: Tensor, top_k_weights: Tensor) -> Any:
    x, (n, k) = hidden_states, top_k_index.shape
    plain = self.has_gate and not (self.has_bias or self.is_transposed or self._is_expert_parallel)
    if not ready(x) or not plain or not self.is_concatenated or top_k_weights.dtype is not torch.float32:
        return NotImplemented
    if n == 1:
        ones = [1] * k
        p = program_of(self, 1, 1, lambda p, m: _expert_parts(p, m, ones))
        if len(p.list) != 3 * k:
            raise Unfit("another number of experts")
        return top_k_weights @ _run_experts(p, self, top_k_index[0].tolist(), ones, x, 0)
    pairs = top_k_index.reshape(-1)
    counts = torch.bincount(pairs, minlength=self.num_experts).tolist()
    if len(counts) > self.num_experts:
        return NotImplemented
    order = pairs.argsort(stable=True)
    token, rows = order // k, [c for c in counts if c]
    p = program_of(self, 1, n, lambda p, m: _expert_parts(p, m, rows))
    y = _run_experts(p, self, [e for e, c in enumerate(counts) if c], rows, x.index_select(0, token), self.hidden_dim)
    return torch.zeros_like(x).index_add_(0, token, y.mul_(top_k_weights.reshape(-1)[order, None]))


# ---- RecurrentGemma -------------------------------------------------------------------------

def _rglru_parts(p: Program, m: Any, resets: Any = (), mask: Optional[int] = None, m0: Optional[int] = None) -> None:
    lru, wide, r = m.lru_width, m.hidden_size, p.module(m, "rg_lru")
    H, each = r.num_attention_heads, r.block_width
    branch = p.linear(_input(p, wide), m, "linear_y", function_of(m.act_fn))
    p.pre = p.linear(_input(p, wide), m, "linear_x")
    c = p.conv(p.pre, m, "conv_1d", SAME, m.conv1d_width - 1)

    def gate(name: str) -> Rows:
        return p.add(LINEAR, p.rows_of(lru), c, w=p.weight(r, name + "_weight"), b=p.weight(r, name + "_bias"), heads=H,
                     turned=1, function=SIGMOID, out=each, **{"in": each})
    into, decay = gate("input_gate"), gate("recurrent_gate")
    rate = p.map(Rows(p.weight(r, "recurrent_param") or 0, lru, lru), SOFTPLUS, scale=-8.0, rows=1)
    p.add(SCALE, decay, decay, w=rate.at, **{"in": lru})
    p.glu(into, c, SAME, y=into)
    i = p.glu(into, decay, REST)
    for j in resets:
        p.map(Rows(into.at + 4 * lru * j, lru, lru), SAME, y=Rows(i.at + 4 * lru * j, lru, lru), rows=1)
    one = torch.ones(16)
    p.kept.append(one)
    ones = (K, 1, Rows(one.data_ptr(), 1, 1))
    y = p.eos((1, 1, lru), {"i": (T | D, 1, i), "e": ones, "s": ones, "col": (T | D, 1, decay)}, reset=mask, m0=m0)
    p.glu(branch, y, SAME, y=y)
    p.linear(y, m, "linear_out")


def rglru_block(self: Any, input_states: Tensor, position_ids: Tensor, attention_mask: Any = None, use_cache: bool = True,
                **_: Any) -> Any:
    x, r = input_states, self.rg_lru
    if not ready(x) or self.lru_width != self.hidden_size or position_ids is None:
        return NotImplemented
    B, steps, _ = x.shape
    new = (position_ids == 0).expand(B, steps)
    if steps == 1:
        conv, memory = self.conv1d_state, r.recurrent_states
        if not use_cache or conv is None or memory is None or conv.shape[0] != B or bool(new.any()):
            return NotImplemented
        p = program_of(self, B, 1, _rglru_parts)
        self.conv1d_state, r.recurrent_states = conv.contiguous(), memory.contiguous()
        p.of_kind(CONV).state, p.of_kind(EOS).state = self.conv1d_state.data_ptr(), r.recurrent_states.data_ptr()
        return _run(p, x), None
    resets = new.reshape(-1).nonzero().flatten().tolist()
    if len(resets) > 256:
        return NotImplemented
    mask, last = new.to(torch.int32).contiguous(), torch.empty(B, self.lru_width)
    m0 = r.recurrent_states if use_cache and self.conv1d_state is not None and self.conv1d_state.shape[0] == B else None
    m0 = None if m0 is None else m0.contiguous()
    p = program_of(self, B, steps, lambda p, m: _rglru_parts(p, m, resets, mask.data_ptr(), None if m0 is None else m0.data_ptr()))
    p.of_kind(EOS).state = last.data_ptr()
    y = _run(p, x)
    self.conv1d_state = r.recurrent_states = None
    if use_cache:
        held = self.conv1d_width - 1
        state = p.arena.tensor(p.pre, B, steps, held).contiguous() if p.pre is not None and held > 0 else x.new_empty(B, self.lru_width, 0)
        self.conv1d_state = nn.functional.pad(state, (held - state.shape[-1], 0))
        r.recurrent_states = last
    return y, None


# ---- what stands around them ----------------------------------------------------------------

def _mlp_parts(p: Program, m: Any) -> None:
    gate = p.linear(_input(p, m.hidden_size), m, "gate_proj", function_of(m.act_fn))
    up = p.linear(_input(p, m.hidden_size), m, "up_proj")
    p.glu(up, gate, SAME, y=up)
    p.linear(up, m, "down_proj")


def mlp(self: Any, x: Tensor) -> Any:
    if not ready(x):
        return NotImplemented
    tokens = x.numel() // x.shape[-1]
    return _run(program_of(self, 1, tokens, _mlp_parts), x)


def _norm_parts(p: Program, m: Any) -> None:
    n = m.weight.shape[0]
    p.norm(_input(p, n), p.weight(m, "weight"), m.eps, shift=1.0)


def rms_norm(self: Any, x: Tensor) -> Any:
    if not ready(x) or x.numel() < 1 << 15:
        return NotImplemented
    return _run(program_of(self, 1, x.numel() // x.shape[-1], _norm_parts), x)


def linear(x: Tensor, weight: Tensor, bias: Optional[Tensor] = None) -> Any:
    """A linear map, where it is large enough to be worth a call."""
    if not ready(x) or weight.dtype is not torch.float32 or not weight.is_contiguous() or weight.dim() != 2:
        return NotImplemented
    n, (out, wide) = x.numel() // x.shape[-1], weight.shape
    if x.shape[-1] != wide or n * out * wide < 1 << 20 or (n < 8 and out * wide < 1 << 22):
        return NotImplemented
    if bias is not None and (bias.dtype is not torch.float32 or not bias.is_contiguous()):
        return NotImplemented
    y = x.new_empty(*x.shape[:-1], out)
    local.arena.clear()
    p = Program(1, n, local.arena)
    p.add(LINEAR, Rows(y.data_ptr(), out, out), Rows(x.data_ptr(), wide, wide), w=weight.data_ptr(),
          b=None if bias is None else bias.data_ptr(), out=out, **{"in": wide})
    p.finish().run()
    return y
