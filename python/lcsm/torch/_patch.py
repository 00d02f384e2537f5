"""Hugging Face's recurrent models with the operator instead of their slow path, until told otherwise."""

from __future__ import annotations

import functools
import importlib
from typing import Any, Callable, Dict, List, Tuple

import torch
from torch import Tensor

from ._eos import eos
from ._fla import chunk_gated_delta_rule
from ._mamba import mamba_chunk_scan_combined, selective_scan_fn

_undo: List[Tuple[Any, str, Any]] = []


def _on_cpu(ours: Callable[..., Any], theirs: Callable[..., Any]) -> Callable[..., Any]:
    """Ours for tensors on the CPU, theirs for others. Single steps of RecurrentGemma stay theirs, as those of the
    other models do: one token in torch costs less than the call."""
    @functools.wraps(theirs)
    def chosen(*arguments: Any, **keys: Any) -> Any:
        first = next(x for x in (*arguments, *keys.values()) if isinstance(x, Tensor))
        use = first.device.type == "cpu" and not (ours is _rnn_scan and first.shape[1] == 1)
        return (ours if use else theirs)(*arguments, **keys)
    return chosen


def _named(function: Callable[..., Any], **names: str) -> Callable[..., Any]:
    """Arguments that transformers calls otherwise."""
    def renamed(*arguments: Any, **keys: Any) -> Any:
        return function(*arguments, **{names.get(k, k): v for k, v in keys.items()})
    return renamed


def _rnn_scan(self: Any, hidden_states: Tensor, recurrent_gate: Tensor, reset: Tensor, recurrent_states: Any,
              acc_dtype: torch.dtype = torch.float32) -> Tuple[Tensor, Tensor]:
    """RecurrentGemma's linear recurrence: h = a h + x, a = 0 where a document begins."""
    gate = torch.where(reset, torch.ones_like(recurrent_gate), recurrent_gate).to(acc_dtype)
    one, m0 = torch.ones(1, 1, dtype=acc_dtype), None if recurrent_states is None else recurrent_states[:, None, None]
    y, last = eos(hidden_states.to(acc_dtype).unsqueeze(2), one, one, col=gate.log().unsqueeze(2), m0=m0,
                  reset=reset[..., 0].expand(hidden_states.shape[:2]), final=True)
    return y.squeeze(2).to(hidden_states.dtype), last[:, 0, 0]


_QWEN = dict(query="q", key="k", value="v")
#: module of transformers.models: {where: ours}
_REPLACEMENTS: Dict[str, Dict[str, Callable[..., Any]]] = {
    "mamba.modeling_mamba": {"mamba_selective_scan": _named(selective_scan_fn, hidden_states="u", dt="delta")},
    "falcon_mamba.modeling_falcon_mamba": {
        "mamba_selective_scan": _named(selective_scan_fn, hidden_states="u", dt="delta")},
    "mamba2.modeling_mamba2": {"mamba2_chunk_scan": _named(mamba_chunk_scan_combined, hidden_states="x")},
    "qwen3_next.modeling_qwen3_next": {"torch_chunk_gated_delta_rule": _named(chunk_gated_delta_rule, **_QWEN)},
    "recurrent_gemma.modeling_recurrent_gemma": {"RecurrentGemmaRglru._rnn_scan": _rnn_scan},
}


def patch_transformers() -> List[str]:
    """Makes Hugging Face's Mamba, Mamba-2, Falcon-Mamba, Qwen3-Next and RecurrentGemma use the operator for tensors
    on the CPU. Returns what was replaced; unpatch_transformers() undoes it. Calling it twice changes nothing."""
    if _undo:
        return [name for _, name, _ in _undo]
    for module_name, functions in _REPLACEMENTS.items():
        module = importlib.import_module(f"transformers.models.{module_name}")
        for path, ours in functions.items():
            owner: Any = module
            *parents, name = path.split(".")
            for parent in parents:
                owner = getattr(owner, parent)
            theirs = getattr(owner, name, None)
            if theirs is None:
                unpatch_transformers()
                raise ImportError(f"transformers.models.{module_name} has no {path}; this version of transformers is "
                                  "not supported")
            setattr(owner, name, _on_cpu(ours, theirs))
            _undo.append((owner, name, theirs))
    return [name for _, name, _ in _undo]


def unpatch_transformers() -> None:
    """Undoes patch_transformers()."""
    while _undo:
        owner, name, theirs = _undo.pop()
        setattr(owner, name, theirs)
