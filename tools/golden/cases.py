"""Which models are recorded. A row is (name, settings); settings that it does not name are those of
model.DEFAULTS, of which the sizes are written into the files too. "wide" is no setting: it widens the
range of a parameter's values."""

SIZES = ("vocab", "d_model", "layers", "heads", "expand", "rank", "state_size", "max_length")

NATIVE_ONLY = ("rwkv4", "attention")
METHODS = (
    "s4", "s4d", "s5", "s5-table", "dss", "tnn", "linear-attention", "tnl", "retnet", "mamba",
    "rwkv4", "rwkv4-eos", "cosformer", "lrpe", "gla", "gateloop", "dur", "gfw", "hgrn", "lrn",
    "fwp", "m1", "m2", "m3", "attention",
)  # fmt: skip

# Those since 2024, in files of their own.
FAMILY = (
    "hgrn2", "deltanet", "gated-deltanet", "kda", "deltaproduct", "mamba2", "falcon-mamba",
    "longhorn", "gsa", "lightning", "based", "rebased", "rg-lru", "mingru", "minlstm",
)  # fmt: skip

# Those of 2025 and 2026, and mLSTM.
LATER = ("gated-deltanet-2", "complex-kda", "comba", "mlstm", "mamba3")
LATER_VARIANTS = (
    ("gated-deltanet-2", {"groups": 1, "beta_max": 2, "gate_bound": 5}),
    ("gated-deltanet-2", {"conv_width": 0, "value_ratio": 2, "mixer_eps": 0.01}),
    ("complex-kda", {"beta_max": 2, "gate_bound": 3, "groups": 1}),
    ("mlstm", {"gate_cap": 0, "value_ratio": 2, "mixer_eps": 0.01}),
    ("mlstm", {"gate_cap": 2, "wide": {"mixer.input.weight": 5, "mixer.input.bias": 5}}),
    ("mamba3", {"groups": 2, "state_rotary": 1, "proj_bias": True, "mixer_eps": 0.01}),
    ("mamba3", {"inner_ratio": 1, "state_rotary": 0, "heads": 3}),
    ("mamba", {"signed_gates": True, "wide": {"A_log": 2}}),
    ("mamba2", {"signed_gates": True, "wide": {"A_log": 2}}),
    ("comba", {"groups": 1, "output_gate": "silu", "beta_max": 2}),
)

RWKV = ("rwkv5", "rwkv6", "rwkv7")
RWKV_VARIANTS = (
    ("rwkv5", {"output_gate": "none", "value_ratio": 2, "layers": 1}),
    ("rwkv6", {"expand": 2, "mixer_eps": 0.01, "rwkv.mix_rank": 2, "rwkv.decay_rank": 3}),
    ("rwkv7", {"layers": 3, "heads": 3, "rwkv.v_rank": 2, "rwkv.a_rank": 2, "rwkv.decay_rank": 3, "rwkv.g_rank": 4}),
    ("gla", {"channel_mixer": "rwkv6", "hidden": 5}),
    ("gla", {"channel_mixer": "rwkv7", "hidden": 5}),
)

# Keys are turned in pairs, and softmax attention turns the model's own width.
EVEN = {
    "retnet": {"expand": 4},
    "attention": {"d_model": 8},
    "mlstm": {"normaliser_eps": 0},
    "rwkv6": {"rwkv.mix_rank": 2, "rwkv.decay_rank": 3},
    "rwkv7": {"rwkv.decay_rank": 2, "rwkv.a_rank": 3, "rwkv.v_rank": 2, "rwkv.g_rank": 4},
}

# Settings that are not the default, each tried in both flavours.
VARIANTS = (
    ("s4", {"s4_kind": "dense"}),
    ("s4", {"s4_kind": "diagonal"}),
    ("s4d", {"s4_init": "lin"}),
    ("s4d", {"s4_init": "inv"}),
    ("s4d", {"s4_init": "real"}),
    ("s5", {"disc": "bilinear"}),
    ("dss", {"dss_kind": "softmax"}),
    ("tnn", {"rpe_layers": 1, "inner_ratio": 2}),
    ("linear-attention", {"denominator": False}),
    ("cosformer", {"denominator": False}),
    ("tnl", {"layers": 1}),
    ("tnl", {"heads": 3, "layers": 3}),
    ("retnet", {"value_ratio": 2}),
    ("retnet", {"heads": 3, "expand": 2}),
    ("retnet", {"rotation": False}),
    ("mamba", {"conv_width": 3, "conv_bias": False, "proj_bias": True}),
    ("mamba", {"inner_ratio": 1}),
    ("rwkv4", {"layers": 1}),
    ("rwkv4", {"value_ratio": 1.5}),
    ("rwkv4-eos", {"wide": {"mixer.key.weight": 12}}),
    ("gla", {"tau": 4}),
    ("dur", {"complement": True}),
    ("hgrn", {"complex": False}),
    ("hgrn", {"layers": 3}),
    ("fwp", {"feature": "dpfp", "expand": 4}),
    ("fwp", {"feature": "dpfp", "expand": 1}),  # all features are 0
    ("fwp", {"feature": "l2"}),
    ("m1", {"raw": True}),
    ("m2", {"raw": True}),
    ("m3", {"raw": True}),
)

FAMILY_VARIANTS = (
    ("hgrn2", {"mixer_eps": 0.01, "layers": 3}),
    ("deltanet", {"beta_max": 2, "conv_width": 0, "output_gate": "silu"}),
    ("deltanet", {"value_ratio": 2, "conv_width": 3, "mixer_eps": 0.01}),
    ("gated-deltanet", {"groups": 1, "output_gate": "sigmoid"}),
    ("gated-deltanet", {"output_gate": "none", "beta_max": 2}),
    ("kda", {"gate_bound": 5, "groups": 1}),
    ("deltaproduct", {"householders": 3, "forget_gate": False}),
    ("deltaproduct", {"householders": 1, "beta_max": 2, "conv_width": 0}),
    ("mamba2", {"groups": 2, "conv_width": 3, "conv_bias": False, "proj_bias": True}),
    ("mamba2", {"dt_min": 0.4, "dt_max": 0.9, "inner_ratio": 1, "mixer_eps": 0.01}),
    ("falcon-mamba", {"conv_width": 0, "mixer_eps": 0.01}),
    ("gsa", {"slots": 3, "mixer_eps": 0.01}),
    ("gsa", {"value_ratio": 2, "slot_tau": 4}),
    ("based", {"value_ratio": 2}),
    ("rebased", {"value_ratio": 0.5, "heads": 3}),
    ("lightning", {"layers": 1, "value_ratio": 2}),
    ("rg-lru", {"heads": 3, "conv_width": 2}),
    ("rg-lru", {"inner_ratio": 2, "conv_width": 0}),
    ("mingru", {"log_space": True, "inner_ratio": 2}),
    ("minlstm", {"log_space": True, "conv_width": 0}),
)

# Blocks and wirings around one mixer.
BLOCKS = (
    {"channel_mixer": "glu", "hidden": 5},
    {"channel_mixer": "sglu"},
    {"channel_mixer": "ffn"},
    {"channel_mixer": "rwkv"},
    {"channel_mixer": "none"},
    {"norm": "layer", "norm_eps": 0.01},
    {"norm": "rms", "final_norm_eps": 0.02},
    {"norm": "simple", "norm_eps": 0.01, "final_norm_eps": 0.03},
    {"tied": False},
    {"embed_scale": 1.5},
)
WIRINGS = (
    {"wiring": "mqar"},
    {"wiring": "mqar", "tied": False, "embed_scale": 2},
    {"wiring": "mqar", "norm": "rms"},
    {"wiring": "mqar", "layers": 1},
    {"wiring": "mqar-plain"},
    {"wiring": "mqar-plain", "channel_mixer": "ffn"},
)


def label(*given):
    words = []
    for key, value in (item for part in given for item in part.items()):
        if key in ("method", "code"):
            words.append(value)
        elif key == "flavour":
            words.append("bare" if value == "bare" else "native")
        elif key == "wide":
            words += ["wide " + name for name in value]
        else:
            words.append("%s=%s" % (key, str(value).lower()))
    return " ".join(words)


def case(*given):
    settings = {}
    for part in given:
        settings.update(part)
    return label(*(part for part in given if part not in EVEN.values())), settings


def flavours(method):
    return [{"flavour": "native"}] + ([] if method in NATIVE_ONLY else [{"flavour": "bare"}])


def methods(both, list=METHODS):
    way = {"bidirectional": True} if both else {}
    for method in list:
        for flavour in flavours(method):
            yield case({"method": method}, flavour, EVEN.get(method, {}), way)


def variants(list=VARIANTS):
    for method, setting in list:
        for flavour in flavours(method):
            yield case({"method": method}, flavour, EVEN.get(method, {}), setting)


def blocks():
    for setting in BLOCKS:
        yield case({"method": "gla"}, {"flavour": "native"}, setting)
        if "channel_mixer" in setting or "norm" in setting:
            yield case({"method": "dur"}, {"flavour": "bare"}, setting)
    for setting in WIRINGS:
        for code in ("1-1-1-4", "0-6-1-2"):
            yield case({"code": code}, setting)
    yield case({"method": "gla"}, {"flavour": "native"}, {"wiring": "mqar"})
    yield case({"method": "mamba"}, {"flavour": "native"}, {"wiring": "mqar"})


def codes():
    yield case({"code": "0"})
    yield case({"code": "0"}, {"bidirectional": True})
    for o in range(12):
        for j, (e, s) in enumerate(((1, 1), (0, 0), (0, 1), (1, 0))):
            yield case({"code": "%d-%d-%d-%d" % (e, o, s, 0 if j == 0 else (o + 3 * j) % 8)})
    for a in range(1, 8):
        yield case({"code": "1-1-1-%d" % a})
    for o in (1, 6, 11):
        yield case({"code": "1-%d-1-3" % o}, {"bidirectional": True})
    yield case({"code": "0-0-0-4"}, {"bidirectional": True})
    for tau in (1, 2, 5, 64):
        for o in (1, 4, 9):
            yield case({"code": "1-%d-1-0" % o}, {"tau": tau})
    for o in (0, 4, 5):
        yield case({"code": "1-%d-1-4" % o}, {"o_learned": False})
        yield case({"code": "1-%d-1-4" % o}, {"o_init": "alibi", "tau": 3})
    yield case({"code": "1-11-1-4"}, {"theta_init": "even"})
    for phase in ("fixed", "learned", "data"):
        for o in (0, 1, 5, 10):
            yield case({"code": "1-%d-1-0" % o}, {"phase": phase})


def custom():
    yield case({"method": "custom"}, {"oscillation": "ones"}, {"activation": "silu"})
    for structure in ("scalar", "row"):
        for source in ("data", "static", "fixed"):
            yield case({"method": "custom"}, {"oscillation": structure, "oscillation.k": source, "activation": "relu2"})
    for source in ("data", "static", "fixed"):
        yield case({"method": "custom"}, {"oscillation": "col", "oscillation.d": source, "expand.from": "static"})
    for k, d in (("data", "data"), ("static", "data"), ("data", "fixed"), ("fixed", "static")):
        yield case({"method": "custom"}, {"oscillation": "outer", "oscillation.k": k, "oscillation.d": d})
    for k, d in (("data", "data"), ("static", "data"), ("static", "static")):
        yield case({"method": "custom"}, {"oscillation": "product", "oscillation.k": k, "oscillation.d": d, "tau": 4})
    for source in ("static", "fixed"):
        yield case({"method": "custom"}, {"oscillation": "full", "oscillation.kd": source, "shrink.from": "static"})
    yield case({"method": "custom"}, {"oscillation": "row", "phase": "data", "activation": "sigmoid"})
    yield case({"method": "custom"}, {"oscillation": "outer", "phase": "learned", "theta_init": "even"})
    yield case({"method": "custom"}, {"oscillation": "scalar", "phase": "fixed", "oscillation.k": "static"})


FILES = {
    "methods": ("every method and flavour", list(methods(False))),
    "both_ways": ("every method and flavour in both directions of time", list(methods(True))),
    "variants": ("settings of methods", list(variants())),
    "blocks": ("blocks, norms, wirings", list(blocks())),
    "family": (
        "the methods since 2024, one direction and both, and their settings",
        [*methods(False, FAMILY), *methods(True, FAMILY), *variants(FAMILY_VARIANTS)],
    ),
    "later": (
        "mLSTM and the methods of 2025 and 2026, one direction and both, and their settings",
        [*methods(False, LATER), *methods(True, LATER), *variants(LATER_VARIANTS)],
    ),
    "rwkv": (
        "RWKV-5 to 7, one direction and both, and their settings",
        [*methods(False, RWKV), *methods(True, RWKV), *variants(RWKV_VARIANTS)],
    ),
    "codes": ("models by code", list(codes())),
    "custom": ("custom models", list(custom())),
}
