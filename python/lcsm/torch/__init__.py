"""lcsm.torch: the EOS operator and the functions people already call, for PyTorch on CPUs, with gradients.

    from lcsm.torch import chunk_gla            # as fla's, on CPU tensors
    from lcsm.torch import selective_scan_fn    # as mamba_ssm's
    import lcsm.torch
    lcsm.torch.patch_transformers()             # Mamba, Mamba-2, Falcon-Mamba, Qwen3-Next, RecurrentGemma
"""

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError("lcsm.torch needs PyTorch: pip install torch") from error

from ._eos import eos
from ._fla import (chunk_delta_rule, chunk_gated_delta_rule, chunk_gla, chunk_hgrn, chunk_kda, chunk_linear_attn,
                   chunk_retention, chunk_rwkv6, chunk_rwkv7, chunk_simple_gla, fused_mul_recurrent_rwkv7,
                   fused_recurrent_delta_rule, fused_recurrent_gated_delta_rule, fused_recurrent_gla,
                   fused_recurrent_hgrn, fused_recurrent_kda, fused_recurrent_linear_attn, fused_recurrent_retention,
                   fused_recurrent_rwkv6, fused_recurrent_rwkv7, fused_recurrent_simple_gla)
from ._mamba import causal_conv1d_fn, mamba_chunk_scan_combined, selective_scan_fn
from ._patch import patch_transformers, unpatch_transformers

__all__ = [name for name in dir() if not name.startswith("_")]
