"""Hugging Face's recurrent models with the operator instead of their slow path, until told otherwise."""

from __future__ import annotations

import functools
import importlib
from typing import Any, Callable, Dict, List, Tuple

import torch
from torch import Tensor

from . import _layers
from ._eos import eos
from ._fla import chunk_gated_delta_rule
from ._mamba import causal_conv1d_fn, mamba_chunk_scan_combined, selective_scan_fn
from ._parts import Arena, Unfit, local

_NONE = object()
_undo: List[Tuple[Any, str, Any]] = []
_names: List[str] = []


def _on_cpu(ours: Callable[..., Any], theirs: Callable[..., Any]) -> Callable[..., Any]:
    """Ours for tensors on the CPU, theirs for others. Single steps of RecurrentGemma stay theirs, as those of the
    other models do: one token in torch costs less than the call. A convolution is ours for packed sequences, whose
    borders theirs does not know."""
    @functools.wraps(theirs)
    def chosen(*arguments: Any, **keys: Any) -> Any:
        first = next(x for x in (*arguments, *keys.values()) if isinstance(x, Tensor))
        use = first.device.type == "cpu" and not (ours is _rnn_scan and first.shape[1] == 1)
        use = use and not (ours is _convolution and keys.get("seq_idx") is None)
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


# ---- whole layers ---------------------------------------------------------------------------

def _is_hooked(module: Any) -> bool:
    return bool(module._forward_hooks or module._forward_pre_hooks or module._backward_hooks or "forward" in module.__dict__)


def _layer(ours: Callable[..., Any]) -> Callable[..., Any]:
    """A call of a module: ours where it can, else what it would be."""
    def __call__(self: Any, *arguments: Any, **keys: Any) -> Any:
        if not torch.is_grad_enabled() and not torch.compiler.is_compiling() and not _is_hooked(self):
            try:
                y = ours(self, *arguments, **keys)
            except Unfit:
                y = NotImplemented
            if y is not NotImplemented:
                return y
        return torch.nn.Module.__call__(self, *arguments, **keys)
    return __call__


def _model(self: Any, *arguments: Any, **keys: Any) -> Any:
    """A call of a model, inside of which linear maps are ours."""
    if torch.compiler.is_compiling():
        return torch.nn.Module.__call__(self, *arguments, **keys)
    local.models += 1
    try:
        return torch.nn.Module.__call__(self, *arguments, **keys)
    finally:
        local.models -= 1


def _linear(theirs: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(theirs)
    def linear(input: Tensor, weight: Tensor, bias: Any = None) -> Tensor:
        if not torch.compiler.is_compiling() and local.models and not torch.is_grad_enabled():
            y = _layers.linear(input, weight, bias)
            if y is not NotImplemented:
                return y  # type: ignore[no-any-return]
        return theirs(input, weight, bias)  # type: ignore[no-any-return]
    return linear


# ---- what is replaced -----------------------------------------------------------------------

_convolution = _named(causal_conv1d_fn, hidden_states="x")
_QWEN = dict(query="q", key="k", value="v")
_Names = Dict[str, Dict[str, Callable[..., Any]]]
#: module of transformers.models: {function: ours}
_REPLACEMENTS: _Names = {
    "mamba.modeling_mamba": {"mamba_selective_scan": _named(selective_scan_fn, hidden_states="u", dt="delta")},
    "falcon_mamba.modeling_falcon_mamba": {
        "mamba_selective_scan": _named(selective_scan_fn, hidden_states="u", dt="delta")},
    "mamba2.modeling_mamba2": {"mamba2_chunk_scan": _named(mamba_chunk_scan_combined, hidden_states="x"),
                               "causal_conv1d_fn": _convolution},
    "qwen3_next.modeling_qwen3_next": {"torch_chunk_gated_delta_rule": _named(chunk_gated_delta_rule, **_QWEN),
                                       "causal_conv1d_fn": _convolution},
    "recurrent_gemma.modeling_recurrent_gemma": {"RecurrentGemmaRglru._rnn_scan": _rnn_scan},
}
#: module of transformers.models: {class: ours}
_LAYERS: _Names = {
    "mamba.modeling_mamba": {"MambaBlock": _layers.mamba_block},
    "falcon_mamba.modeling_falcon_mamba": {"FalconMambaBlock": _layers.mamba_block},
    "mamba2.modeling_mamba2": {"Mamba2Block": _layers.mamba2_block},
    "qwen3_next.modeling_qwen3_next": {"Qwen3NextGatedDeltaNet": _layers.delta_net, "Qwen3NextMLP": _layers.mlp,
                                       "Qwen3NextRMSNorm": _layers.rms_norm, "Qwen3NextExperts": _layers.experts},
    "recurrent_gemma.modeling_recurrent_gemma": {"RecurrentGemmaRecurrentBlock": _layers.rglru_block,
                                                 "RecurrentGemmaMlp": _layers.mlp, "RecurrentGemmaRMSNorm": _layers.rms_norm},
}
_MODELS = {"mamba.modeling_mamba": "Mamba", "falcon_mamba.modeling_falcon_mamba": "FalconMamba",
           "mamba2.modeling_mamba2": "Mamba2", "qwen3_next.modeling_qwen3_next": "Qwen3Next",
           "recurrent_gemma.modeling_recurrent_gemma": "RecurrentGemma"}


def _replace(owner: Any, name: str, ours: Any) -> None:
    _undo.append((owner, name, vars(owner).get(name, _NONE)))
    setattr(owner, name, ours)


def _patch_module(module_name: str) -> List[str]:
    module = importlib.import_module(f"transformers.models.{module_name}")
    for path, ours in _REPLACEMENTS[module_name].items():
        owner: Any = module
        *parents, name = path.split(".")
        for parent in parents:
            owner = getattr(owner, parent)
        _replace(owner, name, _on_cpu(ours, getattr(owner, name)))
    for name, ours in _LAYERS[module_name].items():
        _replace(getattr(module, name), "__call__", _layer(ours))
    for name in ("Model", "ForCausalLM"):
        _replace(getattr(module, _MODELS[module_name] + name), "__call__", _model)
    return [*_REPLACEMENTS[module_name], *_LAYERS[module_name]]


def patch_transformers() -> List[str]:
    """Makes Hugging Face's Mamba, Mamba-2, Falcon-Mamba, Qwen3-Next and RecurrentGemma use the library for tensors
    on the CPU: with gradients their scans, without gradients and in float32 whole layers and large linear maps. Layers
    that somebody has hooked or adapted keep their own code. Returns what was replaced; unpatch_transformers() undoes it.
    Calling it twice changes nothing."""
    if not _undo:
        try:
            _names[:] = [name for module_name in _MODELS for name in _patch_module(module_name)]
        except AttributeError as error:
            unpatch_transformers()
            raise ImportError(f"this version of transformers is not supported: {error}") from error
        _replace(torch.nn.functional, "linear", _linear(torch.nn.functional.linear))
    return list(_names)


def unpatch_transformers() -> None:
    """Undoes patch_transformers()."""
    while _undo:
        owner, name, theirs = _undo.pop()
        if theirs is _NONE:
            delattr(owner, name)
        else:
            setattr(owner, name, theirs)
    local.kept.clear()
    local.arena = Arena()
