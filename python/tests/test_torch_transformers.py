"""Hugging Face's recurrent models give the same logits and the same text with the operator, and can be given back."""

import importlib

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

import lcsm.torch as lt  # noqa: E402
from lcsm.torch import _patch  # noqa: E402

SMALL = dict(vocab_size=64, hidden_size=32, num_hidden_layers=2)


def models():
    t = transformers
    yield "mamba", t.MambaForCausalLM, t.MambaConfig(**SMALL, state_size=8)
    yield "falcon_mamba", t.FalconMambaForCausalLM, t.FalconMambaConfig(**SMALL, state_size=8)
    yield "mamba2", t.Mamba2ForCausalLM, t.Mamba2Config(**SMALL, state_size=8, num_heads=4, head_dim=16, n_groups=2, chunk_size=8)
    yield "qwen3_next", t.Qwen3NextForCausalLM, t.Qwen3NextConfig(
        **SMALL, intermediate_size=32, num_attention_heads=2, num_key_value_heads=1, head_dim=16, linear_num_key_heads=2,
        linear_num_value_heads=4, linear_key_head_dim=8, linear_value_head_dim=8, num_experts=2, num_experts_per_tok=1,
        moe_intermediate_size=16, shared_expert_intermediate_size=16, layer_types=["linear_attention", "full_attention"])
    yield "recurrent_gemma", t.RecurrentGemmaForCausalLM, t.RecurrentGemmaConfig(
        **SMALL, lru_width=32, num_attention_heads=2, num_key_value_heads=1, intermediate_size=64,
        attention_window_size=16, block_types=["recurrent", "attention"])


@pytest.mark.parametrize("name", ["mamba", "falcon_mamba", "mamba2", "qwen3_next", "recurrent_gemma"])
def test_patched_models_have_the_same_logits_gradients_and_text(name):
    _, kind, config = next(m for m in models() if m[0] == name)
    torch.manual_seed(0)
    model, ids = kind(config).eval(), torch.randint(3, 60, (2, 21))

    def all_of():
        model.zero_grad()
        out = model(ids, use_cache=False).logits
        out.square().mean().backward()
        gradients = {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}
        with torch.no_grad():
            text = model.generate(ids[:, :9], max_new_tokens=6, do_sample=False, pad_token_id=0)
        return out.detach(), gradients, text
    want = all_of()
    assert lt.patch_transformers() == lt.patch_transformers()
    try:
        found = all_of()
    finally:
        lt.unpatch_transformers()
    assert (found[0] - want[0]).abs().max() < 1e-4
    for n, g in want[1].items():
        assert (found[1][n] - g).abs().max() < 1e-4 * max(1.0, float(g.abs().max())), n
    assert torch.equal(found[2], want[2])


def test_patching_replaces_and_gives_back():
    before = {}
    for module_name, functions in _patch._REPLACEMENTS.items():
        module = importlib.import_module(f"transformers.models.{module_name}")
        for path in functions:
            owner = module
            for part in path.split("."):
                owner = getattr(owner, part)
            before[module_name, path] = owner
    names = lt.patch_transformers()
    assert len(names) == len(before)
    mamba = importlib.import_module("transformers.models.mamba.modeling_mamba")
    assert mamba.mamba_selective_scan is not before["mamba.modeling_mamba", "mamba_selective_scan"]
    lt.unpatch_transformers()
    assert mamba.mamba_selective_scan is before["mamba.modeling_mamba", "mamba_selective_scan"]
