"""The functions of flash-linear-attention (fla) on a CPU, with the same arguments and results.

Tensors are (B, T, H, K) and (B, T, H, V); gates are logarithms; states are (B, H, K, V) in float32 or float64.
``cu_seqlens`` packs sequences into one row. Arguments that only steer a GPU are accepted and ignored.
"""

from __future__ import annotations

from typing import Any, Callable, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor

from .._library import ArgumentError
from ._eos import eos

State = Optional[Tensor]


def _packed(run: Callable[..., Tuple[Tensor, State]], cu_seqlens: Optional[Tensor], state: State,
            final: bool, *sequences: Optional[Tensor]) -> Tuple[Tensor, State]:
    """Runs sequences that lie behind each other in one row, each with its own state."""
    if cu_seqlens is None:
        return run(state, final, None, *sequences)
    total = sequences[0].shape[1]
    if sequences[0].shape[0] != 1:
        raise ArgumentError(f"cu_seqlens needs a batch of 1; found {sequences[0].shape[0]}")
    ends = [int(n) for n in cu_seqlens]
    if state is None and not final:
        reset = torch.zeros(1, total, dtype=torch.int32)
        reset[0, [n for n in ends[:-1] if n < total]] = 1
        return run(None, False, reset, *sequences)
    if state is not None and state.shape[0] != len(ends) - 1:
        raise ArgumentError(f"there are {state.shape[0]} initial states; expected {len(ends) - 1}, one for each sequence")
    parts = [run(None if state is None else state[j:j + 1], final, None,
                 *[None if x is None else x[:, first:last] for x in sequences])
             for j, (first, last) in enumerate(zip(ends, ends[1:]))]
    return torch.cat([y for y, _ in parts], 1), torch.cat([m for _, m in parts], 0) if final else None


def _attention(q: Tensor, k: Tensor, v: Tensor, scale: Optional[float], state: State, final: bool,
               cu_seqlens: Optional[Tensor], reverse: bool = False, v_first: bool = False,
               gates: Tuple[Optional[Tensor], ...] = (), names: Tuple[str, ...] = (), **static: Any) -> Tuple[Tensor, State]:
    """i = v, e = k, s = q, and gates by token; ``static`` has what is the same for all sequences."""
    if state is not None and v_first:
        state = state.transpose(-1, -2)

    def run(m0: State, want: bool, reset: Optional[Tensor], q: Tensor, k: Tensor, v: Tensor, *by_token: Any) -> Any:
        out = eos(v, k, q, m0=m0, reset=reset, final=want, reverse=reverse,
                  scale=k.shape[-1] ** -0.5 if scale is None else scale, **dict(zip(names, by_token)), **static)
        return out if want else (out, None)
    y, last = _packed(run, cu_seqlens, state, final, q, k, v, *gates)
    return y, last.transpose(-1, -2).contiguous() if last is not None and v_first else last


# ---- gated and plain linear attention ---------------------------------------------------------

def chunk_gla(q: Tensor, k: Tensor, v: Tensor, g: Tensor, scale: Optional[float] = None, initial_state: State = None,
              output_final_state: bool = False, state_v_first: bool = False, cu_seqlens: Optional[Tensor] = None,
              cu_seqlens_cpu: Optional[Tensor] = None, **_: Any) -> Tuple[Tensor, State]:
    """Gated linear attention; g (B, T, H, K) is the log of the gate."""
    return _attention(q, k, v, scale, initial_state, output_final_state, cu_seqlens, False, state_v_first, (g,), ("row",))


def fused_recurrent_gla(q: Tensor, k: Tensor, v: Tensor, gk: Optional[Tensor] = None, gv: Optional[Tensor] = None,
                        scale: Optional[float] = None, initial_state: State = None, output_final_state: bool = False,
                        reverse: bool = False, state_v_first: bool = False, cu_seqlens: Optional[Tensor] = None,
                        **_: Any) -> Tuple[Tensor, State]:
    """Gated linear attention with gates over keys (gk) and values (gv)."""
    return _attention(q, k, v, scale, initial_state, output_final_state, cu_seqlens, reverse, state_v_first,
                      (gk, gv), ("row", "col"))


def fused_recurrent_simple_gla(q: Tensor, k: Tensor, v: Tensor, g: Optional[Tensor] = None,
                               g_gamma: Optional[Tensor] = None, scale: Optional[float] = None,
                               initial_state: State = None, output_final_state: bool = False, reverse: bool = False,
                               state_v_first: bool = False, cu_seqlens: Optional[Tensor] = None,
                               **_: Any) -> Tuple[Tensor, State]:
    """One gate for each head: g (B, T, H), or g_gamma (H) for all steps."""
    if g is not None and g_gamma is not None:
        g, g_gamma = g + g_gamma, None
    static = {} if g_gamma is None else {"row": g_gamma}
    gates, names = ((g,), ("row",)) if g is not None else ((), ())
    return _attention(q, k, v, scale, initial_state, output_final_state, cu_seqlens, reverse, state_v_first,
                      gates, names, **static)


def chunk_simple_gla(q: Tensor, k: Tensor, v: Tensor, g: Optional[Tensor] = None, g_gamma: Optional[Tensor] = None,
                     scale: Optional[float] = None, initial_state: State = None, output_final_state: bool = False,
                     state_v_first: bool = False, cu_seqlens: Optional[Tensor] = None,
                     cu_seqlens_cpu: Optional[Tensor] = None, **_: Any) -> Tuple[Tensor, State]:
    """As fused_recurrent_simple_gla."""
    return fused_recurrent_simple_gla(q, k, v, g, g_gamma, scale, initial_state, output_final_state, False,
                                      state_v_first, cu_seqlens)


def fused_recurrent_retention(q: Tensor, k: Tensor, v: Tensor, scale: Optional[float] = None,
                              initial_state: State = None, output_final_state: bool = False, reverse: bool = False,
                              state_v_first: bool = False, cu_seqlens: Optional[Tensor] = None,
                              **_: Any) -> Tuple[Tensor, State]:
    """Retention: head h decays by 1 - 2^(-5 - h)."""
    exact = torch.float64 if q.dtype == torch.float64 else torch.float32
    gamma = torch.log1p(-torch.exp2(-5.0 - torch.arange(q.shape[2], dtype=exact)))
    return fused_recurrent_simple_gla(q, k, v, None, gamma, scale, initial_state, output_final_state, reverse,
                                      state_v_first, cu_seqlens)


def chunk_retention(q: Tensor, k: Tensor, v: Tensor, scale: Optional[float] = None, initial_state: State = None,
                    output_final_state: bool = False, cu_seqlens: Optional[Tensor] = None,
                    **_: Any) -> Tuple[Tensor, State]:
    """As fused_recurrent_retention."""
    return fused_recurrent_retention(q, k, v, scale, initial_state, output_final_state, cu_seqlens=cu_seqlens)


def fused_recurrent_linear_attn(q: Tensor, k: Tensor, v: Tensor, scale: Optional[float] = None, initial_state: Any = None,
                                output_final_state: bool = False, reverse: bool = False, normalize: bool = False,
                                cu_seqlens: Optional[Tensor] = None) -> Tuple[Tensor, Any]:
    """Linear attention. With ``normalize`` the output is divided by q scale times the sum of all keys so far, and
    states are pairs (K V state, key sum (B, 1, H, K))."""
    state, keys = initial_state if normalize and isinstance(initial_state, tuple) else (initial_state, None)
    scale = k.shape[-1] ** -0.5 if scale is None else scale
    y, last = _attention(q, k, v, scale, state, output_final_state, cu_seqlens, reverse)
    if not normalize:
        return y, last
    below, total = _key_sums(q, k, keys, scale, reverse, cu_seqlens)
    return y / (below + 1e-10), (last, total)


def _key_sums(q: Tensor, k: Tensor, keys: Optional[Tensor], scale: float, reverse: bool,
              cu_seqlens: Optional[Tensor]) -> Tuple[Tensor, Tensor]:
    """q scale times the sum of keys, and the last sum: the memory of a column of ones."""
    ones = torch.ones_like(k[..., :1])
    first = None if keys is None else keys.squeeze(1).unsqueeze(-1)
    below, last = _attention(q, k, ones, scale, first, True, cu_seqlens, reverse)
    return below, last.squeeze(-1).unsqueeze(1).to(k.dtype)


def chunk_linear_attn(q: Tensor, k: Tensor, v: Tensor, scale: Optional[float] = None, initial_state: Any = None,
                      output_final_state: bool = False, normalize: bool = True,
                      cu_seqlens: Optional[Tensor] = None) -> Tuple[Tensor, Any]:
    """As fused_recurrent_linear_attn; normalised unless told otherwise."""
    return fused_recurrent_linear_attn(q, k, v, scale, initial_state, output_final_state, False, normalize, cu_seqlens)


# ---- delta rules ----------------------------------------------------------------------------

def _unit(x: Tensor) -> Tensor:
    wide = x if x.dtype == torch.float64 else x.float()
    return (wide * torch.rsqrt((wide * wide).sum(-1, keepdim=True) + 1e-6)).to(x.dtype)


def _beta(beta: Optional[Tensor], k: Tensor, sigmoid: bool, negative: bool) -> Optional[Tensor]:
    if beta is not None and beta.dim() != 3:
        raise ArgumentError(f"beta has the shape {tuple(beta.shape)}; expected (B, T, H)")
    if beta is not None and sigmoid:
        beta = beta.sigmoid()
    return beta * 2 if beta is not None and negative and sigmoid else beta


def _delta(q: Tensor, k: Tensor, v: Tensor, beta: Optional[Tensor], g: Optional[Tensor], scale: Optional[float],
           state: State, final: bool, norm: bool, cu_seqlens: Optional[Tensor], v_first: bool = False,
           gv: Optional[Tensor] = None) -> Tuple[Tensor, State]:
    """m = (I - beta k k^T)(gate m) + beta k v^T; q and k may have fewer heads than v."""
    if norm:
        q, k = _unit(q), _unit(k)
    write = k
    if beta is not None:
        share = beta.shape[2] // k.shape[2]
        write = (k.repeat_interleave(share, 2) if share > 1 else k) * beta.unsqueeze(-1)
    scale = k.shape[-1] ** -0.5 if scale is None else scale
    return _attention(q, write, v, scale, state, final, cu_seqlens, False, v_first, (k, g, gv), ("erase", "row", "col"))


def fused_recurrent_delta_rule(q: Tensor, k: Tensor, v: Tensor, beta: Optional[Tensor] = None,
                               scale: Optional[float] = None, initial_state: State = None,
                               output_final_state: bool = False, use_qk_l2norm_in_kernel: bool = False,
                               cu_seqlens: Optional[Tensor] = None, **_: Any) -> Tuple[Tensor, State]:
    """The delta rule; beta (B, T, H)."""
    return _delta(q, k, v, _beta(beta, k, False, False), None, scale, initial_state, output_final_state,
                  use_qk_l2norm_in_kernel, cu_seqlens)


def chunk_delta_rule(q: Tensor, k: Tensor, v: Tensor, beta: Tensor, scale: Optional[float] = None,
                     initial_state: State = None, output_final_state: bool = False,
                     use_qk_l2norm_in_kernel: bool = False, cu_seqlens: Optional[Tensor] = None,
                     cu_seqlens_cpu: Optional[Tensor] = None, **_: Any) -> Tuple[Tensor, State]:
    """As fused_recurrent_delta_rule."""
    return fused_recurrent_delta_rule(q, k, v, beta, scale, initial_state, output_final_state,
                                      use_qk_l2norm_in_kernel, cu_seqlens)


def _gate(g: Tensor, A_log: Optional[Tensor], dt_bias: Optional[Tensor], bound: Optional[float] = None) -> Tensor:
    """-exp(A_log) softplus(g + dt_bias), or bound sigmoid(exp(A_log) (g + dt_bias)); g (B, T, H) or (B, T, H, K)."""
    wide = g if g.dtype == torch.float64 else g.float()
    if dt_bias is not None:
        wide = wide + dt_bias.reshape(wide.shape[2:])
    if A_log is None:
        raise ArgumentError("use_gate_in_kernel needs A_log")
    rate = A_log.reshape(-1).exp().reshape(-1, *[1] * (wide.dim() - 3))
    return -rate * F.softplus(wide) if bound is None else bound * torch.sigmoid(rate * wide)


def fused_recurrent_gated_delta_rule(q: Tensor, k: Tensor, v: Tensor, g: Optional[Tensor] = None,
                                     gk: Optional[Tensor] = None, gv: Optional[Tensor] = None,
                                     beta: Optional[Tensor] = None, scale: Optional[float] = None,
                                     initial_state: State = None, output_final_state: bool = False,
                                     use_qk_l2norm_in_kernel: bool = False, use_gate_in_kernel: bool = False,
                                     A_log: Optional[Tensor] = None, dt_bias: Optional[Tensor] = None,
                                     use_beta_sigmoid_in_kernel: bool = False, allow_neg_eigval: bool = False,
                                     state_v_first: bool = False, cu_seqlens: Optional[Tensor] = None,
                                     **_: Any) -> Tuple[Tensor, State]:
    """The gated delta rule; g (B, T, H) for a head, gk (B, T, H, K) for a key channel, gv for a value channel."""
    if g is not None and use_gate_in_kernel:
        g = _gate(g, A_log, dt_bias)
    if g is not None and gk is not None:
        gk = gk + g.unsqueeze(-1)
    row = g if gk is None else gk
    return _delta(q, k, v, _beta(beta, k, use_beta_sigmoid_in_kernel, allow_neg_eigval), row, scale, initial_state,
                  output_final_state, use_qk_l2norm_in_kernel, cu_seqlens, state_v_first, gv)


def chunk_gated_delta_rule(q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor, scale: Optional[float] = None,
                           initial_state: State = None, output_final_state: bool = False,
                           use_qk_l2norm_in_kernel: bool = False, use_beta_sigmoid_in_kernel: bool = False,
                           allow_neg_eigval: bool = False, state_v_first: bool = False,
                           cu_seqlens: Optional[Tensor] = None, cu_seqlens_cpu: Optional[Tensor] = None,
                           **kwargs: Any) -> Tuple[Tensor, State]:
    """As fused_recurrent_gated_delta_rule with g."""
    gate = {name: kwargs[name] for name in ("use_gate_in_kernel", "A_log", "dt_bias") if name in kwargs}
    return fused_recurrent_gated_delta_rule(
        q, k, v, g=g, beta=beta, scale=scale, initial_state=initial_state, output_final_state=output_final_state,
        use_qk_l2norm_in_kernel=use_qk_l2norm_in_kernel, use_beta_sigmoid_in_kernel=use_beta_sigmoid_in_kernel,
        allow_neg_eigval=allow_neg_eigval, state_v_first=state_v_first, cu_seqlens=cu_seqlens, **gate)


def fused_recurrent_kda(q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor, A_log: Optional[Tensor] = None,
                        dt_bias: Optional[Tensor] = None, scale: Optional[float] = None, initial_state: State = None,
                        output_final_state: bool = False, use_qk_l2norm_in_kernel: bool = False,
                        use_gate_in_kernel: bool = False, use_beta_sigmoid_in_kernel: bool = False,
                        allow_neg_eigval: bool = False, lower_bound: Optional[float] = None,
                        state_v_first: bool = False, cu_seqlens: Optional[Tensor] = None,
                        **_: Any) -> Tuple[Tensor, State]:
    """Kimi delta attention: the gated delta rule with a gate g (B, T, H, K) for each key channel."""
    if use_gate_in_kernel:
        g = _gate(g, A_log, dt_bias, lower_bound)
    return _delta(q, k, v, _beta(beta, k, use_beta_sigmoid_in_kernel, allow_neg_eigval), g, scale, initial_state,
                  output_final_state, use_qk_l2norm_in_kernel, cu_seqlens, state_v_first)


def chunk_kda(q: Tensor, k: Tensor, v: Tensor, g: Tensor, beta: Tensor, scale: Optional[float] = None,
              initial_state: State = None, output_final_state: bool = False, use_qk_l2norm_in_kernel: bool = False,
              use_gate_in_kernel: bool = False, use_beta_sigmoid_in_kernel: bool = False,
              allow_neg_eigval: bool = False, safe_gate: bool = False, lower_bound: Optional[float] = None,
              state_v_first: bool = False, cu_seqlens: Optional[Tensor] = None, **kwargs: Any) -> Tuple[Tensor, State]:
    """As fused_recurrent_kda."""
    return fused_recurrent_kda(q, k, v, g, beta, kwargs.get("A_log"), kwargs.get("dt_bias"), scale, initial_state,
                               output_final_state, use_qk_l2norm_in_kernel, use_gate_in_kernel,
                               use_beta_sigmoid_in_kernel, allow_neg_eigval, lower_bound, state_v_first, cu_seqlens)


# ---- RWKV, HGRN -----------------------------------------------------------------------------

def fused_recurrent_rwkv6(r: Tensor, k: Tensor, v: Tensor, w: Tensor, u: Tensor, scale: Optional[float] = None,
                          initial_state: State = None, output_final_state: bool = False, reverse: bool = False,
                          cu_seqlens: Optional[Tensor] = None) -> Tuple[Tensor, State]:
    """RWKV-6: reads before the step; w is the log of the decay, u (H, K) the bonus of the token itself."""
    return _attention(r, k, v, scale, initial_state, output_final_state, cu_seqlens, reverse, False, (w,), ("row",),
                      bonus=u, read_before=True)


def chunk_rwkv6(r: Tensor, k: Tensor, v: Tensor, w: Tensor, u: Tensor, scale: Optional[float] = None,
                initial_state: State = None, output_final_state: bool = False, cu_seqlens: Optional[Tensor] = None,
                cu_seqlens_cpu: Optional[Tensor] = None, **_: Any) -> Tuple[Tensor, State]:
    """As fused_recurrent_rwkv6."""
    return fused_recurrent_rwkv6(r, k, v, w, u, scale, initial_state, output_final_state, False, cu_seqlens)


def fused_recurrent_rwkv7(r: Tensor, w: Tensor, k: Tensor, v: Tensor, a: Tensor, b: Tensor,
                          scale: Optional[float] = None, initial_state: State = None, output_final_state: bool = True,
                          cu_seqlens: Optional[Tensor] = None, reverse: bool = False) -> Tuple[Tensor, State]:
    """RWKV-7: m = exp(w) m + b (a^T m) + k v^T."""
    return _attention(r, k, v, scale, initial_state, output_final_state, cu_seqlens, reverse, False,
                      (w, b, a), ("row", "a", "b"))


def chunk_rwkv7(r: Tensor, w: Tensor, k: Tensor, v: Tensor, a: Tensor, b: Tensor, scale: float = 1.0,
                initial_state: State = None, output_final_state: bool = False, cu_seqlens: Optional[Tensor] = None,
                **_: Any) -> Tuple[Tensor, State]:
    """As fused_recurrent_rwkv7; the scale is 1 unless given."""
    return fused_recurrent_rwkv7(r, w, k, v, a, b, scale, initial_state, output_final_state, cu_seqlens)


def fused_mul_recurrent_rwkv7(r: Tensor, w: Tensor, k: Tensor, v: Tensor, kk: Tensor, a: Tensor, scale: float = 1.0,
                              initial_state: State = None, output_final_state: bool = False, reverse: bool = False,
                              cu_seqlens: Optional[Tensor] = None) -> Tuple[Tensor, State]:
    """RWKV-7 from the removal key kk and its strength a."""
    return fused_recurrent_rwkv7(r, w, k, v, -kk, kk * a, scale, initial_state, output_final_state, cu_seqlens, reverse)


def fused_recurrent_hgrn(x: Tensor, g: Tensor, initial_state: State = None, output_final_state: bool = False,
                         cu_seqlens: Optional[Tensor] = None) -> Tuple[Tensor, State]:
    """h = exp(g) h + x over (B, T, D)."""
    one = torch.ones(1, 1, dtype=x.dtype)

    def run(m0: State, want: bool, reset: Optional[Tensor], x: Tensor, g: Tensor) -> Any:
        m0 = None if m0 is None else m0[:, None, None]
        out = eos(x.unsqueeze(2), one, one, col=g.unsqueeze(2), m0=m0, reset=reset, final=want)
        return (out[0].squeeze(2), out[1][:, 0, 0]) if want else (out.squeeze(2), None)
    return _packed(run, cu_seqlens, initial_state, output_final_state, x, g)


def chunk_hgrn(x: Tensor, g: Tensor, initial_state: State = None,
               output_final_state: bool = False) -> Tuple[Tensor, State]:
    """As fused_recurrent_hgrn."""
    return fused_recurrent_hgrn(x, g, initial_state, output_final_state)
