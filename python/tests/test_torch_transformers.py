"""Hugging Face's recurrent models give the same logits and the same text with the operator, and can be given back."""

import importlib

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

import lcsm  # noqa: E402
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
    assert len(names) == len(before) + sum(len(layers) for layers in _patch._LAYERS.values())
    mamba = importlib.import_module("transformers.models.mamba.modeling_mamba")
    assert mamba.mamba_selective_scan is not before["mamba.modeling_mamba", "mamba_selective_scan"]
    lt.unpatch_transformers()
    assert mamba.mamba_selective_scan is before["mamba.modeling_mamba", "mamba_selective_scan"]


@pytest.fixture
def patched():
    lt.patch_transformers()
    yield
    lt.unpatch_transformers()


def small(name):
    torch.manual_seed(1)
    _, kind, config = next(m for m in models() if m[0] == name)
    model = kind(config).eval()
    with torch.no_grad():
        for p in model.parameters():
            if p.dim() == 1:
                p += 0.1 * torch.randn_like(p)
    return model


NAMES = ["mamba", "falcon_mamba", "mamba2", "qwen3_next", "recurrent_gemma"]


def both(work):
    """What transformers and the library come to."""
    lt.unpatch_transformers()
    want = work()
    lt.patch_transformers()
    return want, work()


def layers_ran():
    return len(_patch.local.kept)


@pytest.mark.parametrize("name", NAMES)
@torch.no_grad()
def test_whole_layers_without_gradients(name, patched):
    model, ids = small(name), torch.randint(3, 60, (3, 33))

    def work():
        logits = [model(ids[:, :n], use_cache=False).logits for n in (33, 7)]
        out = model.generate(ids[:, :5], max_new_tokens=7, do_sample=False, pad_token_id=0, output_logits=True,
                             return_dict_in_generate=True)
        return [*logits, *out.logits], out.sequences
    (want, text), (found, again) = both(work)
    assert layers_ran() > 0
    assert max(float((a - b).abs().max()) for a, b in zip(want, found)) < 1e-5
    assert torch.equal(text, again)


@pytest.mark.parametrize("isa", ["portable", "avx2"])
def test_whole_layers_with_slower_kernels(isa, patched):
    lcsm.set_threads(0, isa)
    try:
        for name in NAMES:
            test_whole_layers_without_gradients(name, patched)
        test_experts(7, 3, patched)
    finally:
        lcsm.set_threads(0)


@pytest.mark.parametrize("name", NAMES)
@torch.no_grad()
def test_masked_sequences_and_beams(name, patched):
    model, ids = small(name), torch.randint(3, 60, (2, 9))
    mask = torch.ones_like(ids)
    mask[0, :3] = 0

    def work():
        return (model(ids, attention_mask=mask).logits[:, 3:],
                model.generate(ids, attention_mask=mask, max_new_tokens=4, do_sample=False, pad_token_id=0),
                model.generate(ids, max_new_tokens=4, num_beams=3, do_sample=False, pad_token_id=0))
    want, found = both(work)
    assert (want[0] - found[0]).abs().max() < 1e-5
    assert torch.equal(want[1], found[1]) and torch.equal(want[2], found[2])


@torch.no_grad()
def test_weights_that_change_are_seen(patched):
    model, ids = small("mamba"), torch.randint(3, 60, (1, 9))
    keys = dict(max_new_tokens=4, do_sample=False, pad_token_id=0, output_logits=True, return_dict_in_generate=True)
    before = torch.stack(model.generate(ids, **keys).logits)
    mixer = model.backbone.layers[0].mixer
    mixer.A_log.data.mul_(0.5)                          # in place, and unseen by version counters
    model.backbone.layers[1].mixer.in_proj.weight = torch.nn.Parameter(mixer.in_proj.weight * 1.5)
    want, found = both(lambda: torch.stack(model.generate(ids, **keys).logits))
    assert (want - found).abs().max() < 1e-5 < (want - before).abs().max()


@torch.no_grad()
def test_hooks_and_adapters_keep_their_own_code(patched):
    model, ids = small("mamba"), torch.randint(3, 60, (1, 9))
    seen = []
    mixer = model.backbone.layers[0].mixer
    handle = mixer.x_proj.register_forward_hook(lambda m, x, y: seen.append(1) or y * 2)

    class Twice(torch.nn.Linear):
        def forward(self, x):
            return 2 * super().forward(x)
    other = model.backbone.layers[1].mixer
    twice = Twice(other.in_proj.in_features, other.in_proj.out_features, bias=False)
    twice.weight = other.in_proj.weight
    other.in_proj = twice
    want, found = both(lambda: model.generate(ids, max_new_tokens=3, do_sample=False, pad_token_id=0))
    assert torch.equal(want, found) and len(seen) == 6
    handle.remove()


@torch.no_grad()
def test_other_types_keep_their_own_code(patched):
    ids = torch.randint(3, 60, (1, 9))
    for kind in (torch.float64, torch.bfloat16):
        model = small("mamba2").to(kind)
        want, found = both(lambda: model(ids).logits)
        assert found.dtype == want.dtype and (want - found).abs().max() < (1e-5 if kind == torch.float64 else 0.1)


@torch.no_grad()
def test_threads_have_their_own_buffers(patched):
    import threading
    model, ids = small("mamba"), torch.randint(3, 60, (8, 12))
    one = [model.generate(row[None], max_new_tokens=6, do_sample=False, pad_token_id=0) for row in ids]
    found = [None] * len(ids)

    def work(j):
        with torch.no_grad():
            for _ in range(3):
                found[j] = model.generate(ids[j][None], max_new_tokens=6, do_sample=False, pad_token_id=0)
    threads = [threading.Thread(target=work, args=(j,)) for j in range(len(ids))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert all(torch.equal(a, b) for a, b in zip(one, found))


def test_patched_models_are_copied_pickled_and_compiled(patched):
    import copy
    import pickle
    model, ids = small("mamba2"), torch.randint(3, 60, (1, 9))
    with torch.no_grad():
        want = model(ids, use_cache=False).logits
        for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), torch.compile(model, backend="eager")):
            assert (other(ids, use_cache=False).logits - want).abs().max() < 1e-4


def test_nothing_is_left_after_unpatching():
    import torch.nn.functional as F
    before = F.linear, dict(vars(transformers.models.mamba.modeling_mamba.MambaBlock))
    lt.patch_transformers()
    assert F.linear is not before[0]
    lt.unpatch_transformers()
    assert F.linear is before[0] and dict(vars(transformers.models.mamba.modeling_mamba.MambaBlock)) == before[1]


def with_experts(experts, chosen, layers):
    torch.manual_seed(2)
    config = transformers.Qwen3NextConfig(
        **SMALL, intermediate_size=32, num_attention_heads=2, num_key_value_heads=1, head_dim=16, linear_num_key_heads=2,
        linear_num_value_heads=4, linear_key_head_dim=8, linear_value_head_dim=8, num_experts=experts,
        num_experts_per_tok=chosen, moe_intermediate_size=24, shared_expert_intermediate_size=40, layer_types=layers)
    return transformers.Qwen3NextForCausalLM(config).eval()


@pytest.mark.parametrize("experts, chosen", [(1, 1), (7, 3), (33, 5)])
@torch.no_grad()
def test_experts(experts, chosen, patched):
    model = with_experts(experts, chosen, ["linear_attention", "full_attention"])
    for batch, steps in ((1, 1), (1, 2), (2, 1), (3, 40)):
        ids = torch.randint(3, 60, (batch, steps))
        want, found = both(lambda: model(ids, use_cache=False).logits)
        assert (want - found).abs().max() < 1e-5
    keys = dict(max_new_tokens=9, do_sample=False, pad_token_id=0, output_logits=True, return_dict_in_generate=True)
    want, found = both(lambda: model.generate(ids[:1, :6], **keys))
    assert torch.equal(want.sequences, found.sequences)
    assert max(float((a - b).abs().max()) for a, b in zip(want.logits, found.logits)) < 1e-5
    assert any(type(m).__name__ == "Qwen3NextExperts" for m in _patch.local.kept)


@torch.no_grad()
def test_experts_whose_weights_change_are_seen(patched):
    model, ids = with_experts(4, 2, ["linear_attention", "full_attention"]), torch.randint(3, 60, (1, 5))
    keys = dict(max_new_tokens=3, do_sample=False, pad_token_id=0, output_logits=True, return_dict_in_generate=True)
    before = torch.stack(model.generate(ids, **keys).logits)
    experts = model.model.layers[0].mlp.experts
    experts.down_proj.data.mul_(30)
    model.model.layers[1].mlp.experts.gate_up_proj = torch.nn.Parameter(experts.gate_up_proj * 20)
    want, found = both(lambda: torch.stack(model.generate(ids, **keys).logits))
    assert (want - found).abs().max() < 1e-5 < (want - before).abs().max()


@pytest.mark.parametrize("name", ["mamba2", "qwen3_next"])
def test_packed_sequences_do_not_see_each_other(name, patched):
    """Packed rows give what each sequence gives by itself, with gradients and without."""
    model = (with_experts(4, 2, ["linear_attention"] * 2) if name == "qwen3_next" else small(name)).base_model
    lengths, ids = [7, 1, 12], torch.randint(3, 60, (1, 20))
    index = torch.repeat_interleave(torch.arange(3, dtype=torch.int32), torch.tensor(lengths))[None]
    keys = dict(seq_idx=index, use_cache=False)
    if name == "qwen3_next":
        keys["cu_seq_lens_q"] = torch.tensor([0, 7, 8, 20])
    for gradients in (False, True):
        with torch.set_grad_enabled(gradients):
            want = torch.cat([model(part, use_cache=False).last_hidden_state for part in ids.split(lengths, 1)], 1)
            assert (model(ids, **keys).last_hidden_state - want).abs().max() < 1e-5


@pytest.mark.parametrize("name", NAMES)
@torch.no_grad()
def test_several_tokens_continue_a_cache(name, patched):
    """A prompt that is read in pieces: memory and convolution go on from where they were."""
    model, ids = small(name), torch.randint(3, 60, (2, 24))

    def work():
        if name == "recurrent_gemma":
            return model(ids, use_cache=True).logits
        state, cache, logits = "cache_params" if "mamba" in name else "past_key_values", None, []
        for first, last in ((0, 9), (9, 10), (10, 17), (17, 24)):
            out = model(ids[:, first:last], use_cache=True, **{state: cache})
            cache = out[state]
            logits.append(out.logits)
        return torch.cat(logits, 1)
    want, found = both(work)
    assert (want - found).abs().max() < 1e-5
