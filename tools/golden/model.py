"""Whole models: embedding, blocks, final norm, head, loss."""

import numpy as np

from golden import attention, cells, codes, family, later, memories, rwkv, spaces
from golden.basics import *  # noqa: F403

MIXERS = {**attention.METHODS, **cells.METHODS, **codes.METHODS, **memories.METHODS, **spaces.METHODS, **family.METHODS, **rwkv.METHODS, **later.METHODS}

# What the native block of a method has besides its mixer: channel mixer and norm. All others have
# a GLU and LayerNorms.
CHANNELS = {"tnl": "sglu", "mamba": "none", "mamba2": "none", "falcon-mamba": "none", "longhorn": "none", "rwkv4": "rwkv", "rwkv4-eos": "rwkv", "rwkv5": "rwkv", "rwkv6": "rwkv6", "rwkv7": "rwkv7"}
NORMS = dict.fromkeys(("retnet", "mamba", "gla", "gateloop", "attention"), "rms")
NORMS.update(dict.fromkeys((*family.METHODS, *later.METHODS), "rms"))
NORMS.update(dict.fromkeys(("tnl", "tnn"), "simple"))
EMBED_NORM = ("rwkv4", "rwkv4-eos", *rwkv.METHODS)

DEFAULTS = {
    "method": "", "code": "", "flavour": "native", "wiring": "lm", "vocab": 7, "d_model": 6,
    "layers": 2, "heads": 2, "expand": 3, "tau": 16, "activation": "none", "expand.from": "data",
    "shrink.from": "data", "oscillation": "outer", "oscillation.k": "data",
    "oscillation.d": "data", "oscillation.kd": "static", "phase": "none", "o_init": "randn",
    "theta_init": "powers", "o_learned": True, "channel_mixer": "auto", "hidden": 0,
    "norm": "auto", "norm_eps": 0, "final_norm_eps": 0, "tied": True, "embed_scale": 0,
    "bidirectional": False, "denominator": True, "complex": True, "raw": False,
    "complement": False, "feature": "auto", "s4_kind": "dplr", "s4_init": "legs",
    "dss_kind": "exp", "disc": "zoh", "state_size": 4, "rank": 3, "conv_width": 4,
    "max_length": 16, "inner_ratio": 0, "rpe_layers": 6, "value_ratio": 1, "slot_tau": 8, "conv_bias": True,
    "proj_bias": False, "rotation": True, "groups": 0, "householders": 2, "slots": 0, "beta_max": 1,
    "gate_bound": 0, "dt_min": 0, "dt_max": 0, "output_gate": "auto", "forget_gate": True,
    "log_space": False, "mixer_eps": 0, "rwkv.mix_rank": 0, "rwkv.decay_rank": 0, "rwkv.a_rank": 0,
    "rwkv.v_rank": 0, "rwkv.g_rank": 0, "signed_gates": False, "gate_cap": 15, "state_rotary": 0.5, "normaliser_eps": 1e-30,
}  # fmt: skip


class Config(dict):
    """The settings of a model; layer is the block that is being computed, first what it finds
    of an earlier one."""

    def __init__(self, given):
        assert set(given) <= set(DEFAULTS), set(given) - set(DEFAULTS)
        super().__init__(DEFAULTS, layer=0, first={}, **given)

    def __getattr__(self, key):
        return self[key]

    @property
    def name(self):
        return "code" if self.code else self.method


def norm(p, cfg, name, x, eps=0):
    paper = cfg.wiring != "lm" or cfg.flavour == "bare"
    kind = cfg.norm if cfg.norm != "auto" else "layer" if paper else NORMS.get(cfg.name, "layer")
    eps = eps or (1e-5 if kind == "layer" else 1e-6)
    if kind == "simple":
        return rms_norm(x, 1, eps)
    if kind == "rms":
        return rms_norm(x, p(name + ".weight", cfg.d_model, centre=1.0, scale=0.3, init=1), eps)
    weight, bias = norm_parameters(p.inside(name), cfg.d_model)
    return layer_norm(x, weight, bias, eps)


# ---- channel mixers ----------------------------------------------------------------------------


def glu(p, cfg, x):
    hidden = cfg.hidden or 4 * cfg.d_model // 3
    return p.linear(silu(p.linear(x, "w1", hidden)) * p.linear(x, "w2", hidden), "w3", cfg.d_model)


def sglu(p, cfg, x):
    hidden = cfg.hidden or 2 * cfg.d_model
    return p.linear(p.linear(x, "w1", hidden) * p.linear(x, "w2", hidden), "w3", cfg.d_model)


def ffn(p, cfg, x):
    return p.linear(gelu(p.linear(x, "w1", cfg.hidden or 4 * cfg.d_model, True)), "w2", cfg.d_model, True)


def rwkv4(p, cfg, x):
    init = cells.mixes(cfg, cfg.d_model)["channel"]
    k = p.linear(cells.shifted(p, x, "mix_k", init), "key", cfg.hidden or 4 * cfg.d_model)
    r = p.linear(cells.shifted(p, x, "mix_r", init), "receptance", cfg.d_model)
    return sigmoid(r) * p.linear(relu(k) ** 2, "value", cfg.d_model)


CHANNEL_MIXERS = {"glu": glu, "sglu": sglu, "ffn": ffn, "rwkv": rwkv4, **rwkv.CHANNELS}


def channel_mixer(cfg):
    """The name of the second half of a block."""
    if cfg.wiring == "mqar":
        return "none"
    if cfg.channel_mixer != "auto":
        return cfg.channel_mixer
    if cfg.wiring != "lm":
        return "none"
    return "glu" if cfg.flavour == "bare" else CHANNELS.get(cfg.name, "glu")


# ---- the model ---------------------------------------------------------------------------------


def mixer(p, cfg, x):
    return MIXERS[cfg.name](p.inside("mixer"), cfg, x)


def block(p, cfg, x):
    """x += mixer(norm x); x += channel mixer(norm x)"""
    x = x + mixer(p, cfg, norm(p, cfg, "norm1", x, cfg.norm_eps))
    kind = channel_mixer(cfg)
    if kind == "none":
        return x
    return x + CHANNEL_MIXERS[kind](p.inside("channel"), cfg, norm(p, cfg, "norm2", x, cfg.norm_eps))


def recall_blocks(p, cfg, r):
    """The recall model of the paper: every layer also adds norm2(r) to the residual stream."""
    h = REAL(0)
    for layer in range(cfg.layers):
        cfg["layer"] = layer
        inside = p.inside("layers.%d" % layer)
        r = r + h
        r = r + mixer(inside, cfg, norm(inside, cfg, "norm1", r, cfg.norm_eps))
        h = norm(inside, cfg, "norm2", r, cfg.norm_eps)
    return r + h


def logits(p, cfg, tokens):
    """tokens (B, T) -> (B, T, V)"""
    V, D = cfg.vocab, cfg.d_model
    table = p("embedding.weight", V, D, scale=1.7 / float(D) ** 0.5)
    scale = cfg.embed_scale or (np.sqrt(REAL(D)) if cfg.wiring == "lm" else 1)
    x = scale * table[tokens]
    cfg["layer"], cfg["first"] = 0, {}
    if cfg.name in EMBED_NORM and cfg.flavour == "native":
        x = norm(p, cfg, "norm0", x, cfg.norm_eps)
    if cfg.wiring == "mqar":
        x = recall_blocks(p, cfg, x)
    else:
        for layer in range(cfg.layers):
            cfg["layer"] = layer
            x = block(p.inside("layers.%d" % layer), cfg, x)
    x = norm(p, cfg, "norm", x, cfg.final_norm_eps or cfg.norm_eps)
    head = table if cfg.tied else p("head.weight", V, D, scale=1.4 / float(D) ** 0.5)
    return x @ head.T


def loss(scores, targets):
    """Mean cross-entropy over the targets that are not -1."""
    kept = targets >= 0
    score = scores[kept]
    log = score - np.log(np.exp(score).sum(-1, keepdims=True))
    return -log[np.arange(len(score)), targets[kept]].mean()
