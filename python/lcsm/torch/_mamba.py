"""The functions of mamba_ssm and causal_conv1d on a CPU, with the same arguments and results."""

from __future__ import annotations

from typing import Any, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor

from .._library import ArgumentError
from ._eos import eos


def _wide(x: Tensor) -> Tensor:
    return x if x.dtype == torch.float64 else x.float()


def _by_token(x: Tensor, groups: int) -> Tensor:
    """B or C as (B, L, G, N): from (B, N, L) or (B, G, N, L)."""
    return (x.unsqueeze(1) if x.dim() == 3 else x).permute(0, 3, 1, 2)


def selective_scan_fn(u: Tensor, delta: Tensor, A: Tensor, B: Tensor, C: Tensor, D: Optional[Tensor] = None,
                      z: Optional[Tensor] = None, delta_bias: Optional[Tensor] = None, delta_softplus: bool = False,
                      return_last_state: bool = False, **_: Any) -> Any:
    """Mamba's selective scan.

    u, delta and z are (B, D, L), A (D, N), B and C (B, N, L), (B, G, N, L) or (D, N), D and delta_bias (D).
    Returns the output (B, D, L), and with return_last_state also the state (B, D, N).
    """
    if A.is_complex():
        raise ArgumentError("selective_scan_fn: A is complex; expected a real A")
    groups = next((x.shape[1] for x in (B, C) if x.dim() == 4), 1)
    batch, width, length = u.shape
    dt = _wide(delta) + _wide(delta_bias)[:, None] if delta_bias is not None else _wide(delta)
    dt = (F.softplus(dt) if delta_softplus else dt).transpose(1, 2).reshape(batch, length, groups, width // groups)
    x = _wide(u).transpose(1, 2).reshape(dt.shape)
    rates = _wide(A).t().reshape(-1, groups, width // groups).transpose(0, 1)  # (G, N, D / G)

    def key(value: Tensor) -> Tensor:
        if value.dim() == 2:
            return _wide(value).t().reshape(-1, groups, width // groups).transpose(0, 1)
        return _by_token(_wide(value), groups)
    y, last = eos(dt * x, key(B), key(C), u=dt, w=rates, gen="exp", final=True)
    y = y.reshape(batch, length, width)
    if D is not None:
        y = y + x.reshape(y.shape) * _wide(D)
    if z is not None:
        y = y * F.silu(_wide(z).transpose(1, 2))
    y = y.transpose(1, 2).to(u.dtype)
    return (y, last.transpose(2, 3).reshape(batch, width, -1)) if return_last_state else y


def mamba_chunk_scan_combined(x: Tensor, dt: Tensor, A: Tensor, B: Tensor, C: Tensor, chunk_size: int = 0,
                              D: Optional[Tensor] = None, z: Optional[Tensor] = None, dt_bias: Optional[Tensor] = None,
                              initial_states: Optional[Tensor] = None, seq_idx: Optional[Tensor] = None,
                              cu_seqlens: Optional[Tensor] = None, dt_softplus: bool = False,
                              dt_limit: Tuple[float, float] = (0.0, float("inf")), return_final_states: bool = False,
                              **_: Any) -> Any:
    """Mamba-2's scan.

    x and z are (B, L, H, P), dt (B, L, H), A (H), B and C (B, L, G, N), D (H) or (H, P), states (B, H, P, N).
    seq_idx (B, L) numbers packed sequences. chunk_size is not needed: the library chooses.
    """
    if cu_seqlens is not None:
        raise ArgumentError("mamba_chunk_scan_combined: cu_seqlens is not supported; pass seq_idx")
    step = _wide(dt) + _wide(dt_bias) if dt_bias is not None else _wide(dt)
    step = F.softplus(step) if dt_softplus else step
    if tuple(dt_limit) != (0.0, float("inf")):
        step = step.clamp(*dt_limit)
    reset = None
    if seq_idx is not None:
        reset = F.pad((seq_idx[:, 1:] != seq_idx[:, :-1]).to(torch.int32), (1, 0))
    m0 = None if initial_states is None else initial_states.transpose(2, 3)
    y, last = eos(_wide(x) * step.unsqueeze(-1), _wide(B), _wide(C), row=step * _wide(A), m0=m0, reset=reset, final=True)
    if D is not None:
        y = y + _wide(x) * _wide(D if D.dim() == 2 else D.unsqueeze(-1))
    if z is not None:
        y = y * F.silu(_wide(z))
    y = y.to(x.dtype)
    return (y, last.transpose(2, 3)) if return_final_states else y


def _sequences(seq_idx: Tensor, length: int) -> Tensor:
    """The number of the sequence of every input as (B, 1, length): what comes before belongs to the first one."""
    before = seq_idx[:, :1].expand(-1, length - seq_idx.shape[1])
    return torch.cat([before, seq_idx], -1).unsqueeze(1)


def causal_conv1d_fn(x: Tensor, weight: Tensor, bias: Optional[Tensor] = None, seq_idx: Optional[Tensor] = None,
                     initial_states: Optional[Tensor] = None, return_final_states: bool = False,
                     final_states_out: Optional[Tensor] = None, activation: Optional[str] = None, **_: Any) -> Any:
    """A causal convolution of each channel: x (B, D, L), weight (D, W), bias (D), states (B, D, W - 1).

    seq_idx (B, L) numbers packed sequences: nothing is read across their borders, initial states are those of the first
    one, final states those of the last one, and where a number is negative the output is 0.
    """
    if activation not in (None, "silu", "swish"):
        raise ArgumentError(f"causal_conv1d_fn: activation is '{activation}'; expected None, silu or swish")
    width, length = weight.shape[-1], x.shape[-1]
    wide = x.to(weight.dtype)
    before = F.pad(wide, (width - 1, 0)) if initial_states is None else torch.cat([initial_states.to(wide.dtype), wide], -1)
    index = None if seq_idx is None else _sequences(seq_idx, width - 1 + length)
    y = None
    for j in range(width):
        part = before[..., j:j + length]
        if index is not None:
            part = part * (index[..., j:j + length] == index[..., width - 1:])
        y = part * weight[:, j:j + 1] if y is None else torch.addcmul(y, part, weight[:, j:j + 1])
    y = y if bias is None else y + bias[:, None]
    y = y if activation is None else F.silu(y)
    y = (y if index is None else y * (index[..., width - 1:] >= 0)).to(x.dtype)
    if not return_final_states:
        return y
    last = before if index is None else before * (index == index[..., -1:])
    last = last[..., last.shape[-1] - (width - 1):].to(x.dtype)
    return y, last if final_states_out is None else final_states_out.copy_(last)
