/* config.c - the table of a model's settings. */
#include "model/config.h"

#include <stdio.h>
#include <string.h>

#include "eos/code.h"
#include "eos/method.h"
#include "model/pattern.h"

#define LCSM_KEY_OWNER lcsm_model_config
#define INT            LCSM_INT_ROW
#define REAL           LCSM_REAL_ROW
#define BOOL           LCSM_BOOL_ROW
#define TEXT           LCSM_TEXT_ROW
#define WORD           LCSM_WORD_ROW

#define SOURCES "data|static|fixed"

/* clang-format off */
static const lcsm_key ROWS[] = {
    TEXT("method",         method,         "gla",  "a name from lcsm methods, or custom"),
    TEXT("code",           code,           "",     "code e-o-s-a instead of a method, e.g. 1-1-1-0; 0 = the SSM"),
    TEXT("layers_pattern", layers_pattern, "",     "mixer of each layer, repeated over the depth, e.g. gla*3,attention"),
    WORD("flavour",        flavour,        "native", "native|bare", "the method's own block, or the same plain block for all"),
    WORD("wiring",         wiring,         "lm",   "lm|mqar|mqar-plain|autoencoder|stacked", "how blocks are connected"),
    INT ("vocab",          vocab,          0, 1 << 24, "0",   "vocabulary size; 0 = the tokenizer's, or 256 (bytes)"),
    INT ("d_model",        d_model,        1, 1 << 16, "128", "model width"),
    INT ("layers",         layers,         0, 1024,    "2",   "number of blocks; 0 = as in the paper, 9 to 11 depending on the code"),
    INT ("heads",          heads,          0, 4096,    "0",   "number of heads; 0 = the method's default"),
    INT ("expand",         expand,         0, 1 << 16, "0",   "memory rows K per head; 0 = the method's default"),
    REAL("tau",            tau,            1e-3, 1e6,  "16",  "gates are sigmoid(z)^(1/tau)"),
    WORD("activation",     activation,     "none", "none|relu|sigmoid|1+elu|silu|elu|relu2|square", "activation of e and s (custom models)"),
    WORD("expand.from",    expand_from,    "data", "data|static", "origin of e (custom models)"),
    WORD("shrink.from",    shrink_from,    "data", "data|static", "origin of s (custom models)"),
    WORD("oscillation",    oscillation,    "outer", "ones|scalar|row|col|outer|full|product", "structure of o (custom models)"),
    WORD("oscillation.k",  oscillation_k,  "data", SOURCES, "origin of the row part of o"),
    WORD("oscillation.d",  oscillation_d,  "data", SOURCES, "origin of the column part of o"),
    WORD("oscillation.kd", oscillation_kd, "static", "static|fixed", "origin of the matrix part of o"),
    WORD("phase",          phase,          "none", "none|fixed|learned|data", "phase of o; makes the memory complex"),
    WORD("memory_type",    memory_type,    "float32", "float32|bfloat16", "numbers of the recurrence in training; bfloat16 = o, e, i, s and the memory rounded at every step"),
    WORD("o_init",         o_init,         "randn", "randn|alibi", "initial values of a learned static o"),
    WORD("theta_init",     theta_init,     "powers", "powers|even", "angles of a complex code: 10000^(-2a/d_model), or pi (a + 1/2)/K"),
    BOOL("o_learned",      o_learned,      "true", "learn a static o; false = fixed ALiBi decays"),
    BOOL("o_trained",      o_trained,      "true", "train what makes o; false = its initial values stay, without gradient, decay or step"),
    WORD("channel_mixer",  channel_mixer,  "auto", "auto|glu|sglu|ffn|rwkv|rwkv6|rwkv7|none|geglu", "second half of a block"),
    INT ("hidden",         hidden,         0, 1 << 20, "0",   "width of the channel mixer; 0 = default (GLU: 4/3 d_model)"),
    BOOL("channel_bias",   channel_bias,   "false", "the channel mixers glu and geglu have biases"),
    WORD("norm",           norm,           "auto", "auto|layer|rms|simple", "normalisation of the blocks"),
    REAL("norm_eps",       norm_eps,       0, 1,       "0",   "epsilon of the norms; 0 = the norm's default"),
    REAL("final_norm_eps", final_norm_eps, 0, 1,       "0",   "epsilon of the final norm; 0 = norm_eps"),
    BOOL("tied",           tied,           "true", "tie input and output embeddings"),
    REAL("embed_scale",    embed_scale,    0, 1e6,     "0",   "scale of the input embedding; 0 = sqrt(d_model) in lm, 1 in mqar"),
    BOOL("residual.normed",          residual_normed,   "false", "the residual stream is the normed input of a branch (MiniMax)"),
    REAL("residual.alpha",           residual_alpha[0], 0, 1e6, "1", "factor of the residual stream beside a mixer"),
    REAL("residual.beta",            residual_beta[0],  0, 1e6, "1", "factor of a mixer's branch"),
    REAL("residual.attention_alpha", residual_alpha[1], 0, 1e6, "1", "factor of the residual stream beside softmax attention"),
    REAL("residual.attention_beta",  residual_beta[1],  0, 1e6, "1", "factor of the branch of softmax attention"),
    REAL("residual.channel_alpha",   residual_alpha[2], 0, 1e6, "1", "factor of the residual stream beside a channel mixer"),
    REAL("residual.channel_beta",    residual_beta[2],  0, 1e6, "1", "factor of a channel mixer's branch"),
    REAL("soft_cap",       soft_cap,       0, 1e6,     "0",   "logits are c tanh(logits / c); 0 = off"),
    REAL("dropout",        dropout,        0, 0.99,    "0",   "dropout rate on embedding and branches"),
    BOOL("bidirectional",  bidirectional,  "false", "run in both directions of time"),
    BOOL("denominator",    denominator,    "true", "divide by the sum of scores (linear attention, cosFormer)"),
    BOOL("complex",        is_complex,        "true", "complex version of HGRN"),
    BOOL("raw",            raw,            "false", "m1, m2, m3 exactly as in the paper's table"),
    BOOL("complement",     complement,     "false", "gates 1 - g h^T and g h^T (gated fast weights)"),
    WORD("feature",        feature,        "auto", "auto|elu1|dpfp|l2|product|none|relu", "feature map of fast weights (elu1, dpfp, l2) and of linear attention (elu1, product, none, relu)"),
    WORD("s4_kind",        s4_kind,        "dplr", "diagonal|dplr|dense", "structure of S4's matrix"),
    WORD("s4_init",        s4_init,        "legs", "legs|lin|inv|real", "initial values of S4D's matrix"),
    WORD("dss_kind",       dss_kind,       "exp",  "exp|softmax", "DSS's kernel"),
    WORD("disc",           disc,           "zoh",  "zoh|bilinear", "S5's discretisation"),
    INT ("state_size",     state_size,     0, 1 << 16, "0",   "state size N of SSMs; 0 = the method's default"),
    INT ("rank",           rank,           0, 1 << 16, "0",   "rank of low-rank projections; 0 = the method's default"),
    INT ("conv_width",     conv_width,     0, 64,      "4",   "width of the short convolution; 0 = none"),
    INT ("max_length",     max_length,     1, 1 << 24, "512", "maximum length for cosFormer, TNN, DSS-softmax and attention"),
    REAL("inner_ratio",    inner_ratio,    0, 16,      "0",   "inner width / d_model of Mamba and TNN; 0 = 2 and 3"),
    INT ("rpe_layers",     rpe_layers,     0, 64,      "6",   "layers of TNN's position network"),
    REAL("value_ratio",    value_ratio,    0.125, 16,  "1",   "value width / d_model"),
    BOOL("norm_weight",    norm_weight,    "false", "norms inside RetNet and Falcon-Mamba have weights"),
    BOOL("head_norm",      head_norm,      "false", "linear attention and real HGRN without biases and with RMSNorm (of each head, and q / sqrt(K))"),
    BOOL("rotation",       rotation,       "true", "rotate q and k of RetNet by position; false = as in the paper's table"),
    INT ("groups",         groups,         0, 4096,    "0",   "heads of B and C (Mamba-2) or of q and k (gated DeltaNet, KDA); 0 = 1 and heads"),
    INT ("householders",   householders,   1, 16,      "2",   "delta-rule steps per token of DeltaProduct"),
    INT ("slots",          slots,          0, 1 << 16, "0",   "memory slots per head of GSA; 0 = 64"),
    REAL("slot_tau",       slot_tau,       1, 65536,   "8",   "gates of GSA are sigmoid(z)^(1/slot_tau)"),
    INT ("rwkv.mix_rank",  rwkv_mix_rank,  0, 1 << 16, "0",   "rank of RWKV-6's token mixing; 0 = 32"),
    INT ("rwkv.decay_rank",rwkv_decay_rank,0, 1 << 16, "0",   "rank of the decay; 0 = 64 (RWKV-6), by width (RWKV-7)"),
    INT ("rwkv.a_rank",    rwkv_a_rank,    0, 1 << 16, "0",   "rank of RWKV-7's removal rates; 0 = by width"),
    INT ("rwkv.v_rank",    rwkv_v_rank,    0, 1 << 16, "0",   "rank of RWKV-7's mixing of values; 0 = by width"),
    INT ("rwkv.g_rank",    rwkv_g_rank,    0, 1 << 16, "0",   "rank of RWKV-7's output gate; 0 = by width"),
    REAL("beta_max",       beta_max,       0.125, 2,   "1",   "write strengths are in [0, beta_max]; 2 allows negative eigenvalues"),
    REAL("gate_bound",     gate_bound,     0, 64,      "0",   "KDA's log gate is above -gate_bound; 0 = unbounded"),
    REAL("gate_cap",       gate_cap,       0, 1e6,     "15",  "mLSTM's gates are within this by a tanh; 0 = unbounded"),
    REAL("normaliser_eps", normaliser_eps, 0, 1,       "1e-30", "added to the divisor of mLSTM; released models have 1e-6"),
    REAL("state_rotary",   state_rotary,   0, 1,       "0.5", "part of Mamba-3's state that turns"),
    REAL("dt_min",         dt_min,         0, 1e6,     "0",   "Mamba-2: lower limit of dt"),
    REAL("dt_max",         dt_max,         0, 1e6,     "0",   "Mamba-2: upper limit of dt; 0 = none"),
    WORD("output_gate",    output_gate,    "auto", "auto|none|silu|sigmoid", "gate on the output of the delta rules; auto = the method's own"),
    BOOL("forget_gate",    forget_gate,    "true",  "DeltaProduct has a forget gate"),
    BOOL("signed_gates",   signed_gates,   "false", "Mamba's gates are 2 o - 1, in [-1, 1]: states that change their sign"),
    BOOL("log_space",      log_space,      "false", "minGRU, minLSTM: positive candidates g(W x)"),
    REAL("mixer_eps",      mixer_eps,      0, 1,       "0",   "epsilon of the norms inside a mixer; 0 = the method's default"),
    BOOL("conv_bias",      conv_bias,      "true",  "Mamba's convolution has a bias"),
    BOOL("proj_bias",      proj_bias,      "false", "Mamba's input and output projections have a bias"),
    INT ("attention.heads",      attention_heads,      0, 4096,    "0", "query heads of softmax attention; 0 = heads, or one per 64 channels"),
    INT ("attention.kv_heads",   attention_kv_heads,   0, 4096,    "0", "key and value heads, each shared by as many query heads; 0 = one per query head"),
    INT ("attention.head_dim",   attention_head_dim,   0, 1 << 16, "0", "width of a head; 0 = d_model / heads"),
    INT ("attention.window",     attention_window,     0, 1 << 24, "0", "tokens that a query sees, itself included; bounds the decoding cache; 0 = all, up to max_length"),
    REAL("attention.rotary",     attention_rotary,     0, 1,       "1", "part of a head that is rotated by position (RoPE); 0 = none"),
    REAL("attention.rope_base",  attention_rope_base,  1, 1e12,    "10000", "base of the rotation's angles"),
    REAL("attention.rope_scale", attention_rope_scale, 1e-3, 1e6,  "1", "divide positions by this in the rotation (linear scaling)"),
    BOOL("attention.gate",       attention_gate,       "false", "multiply the result by sigmoid(W x) before the output projection"),
    BOOL("attention.qk_norm",    attention_qk_norm,    "false", "RMSNorm over each head of q and k, before the rotation"),
    BOOL("attention.bias",       attention_bias,       "false", "the projections to q, k, v and the gate have biases"),
    BOOL("attention.out_bias",   attention_out_bias,   "false", "the output projection has a bias"),
    INT ("attention.latent",     attention_latent,     0, 1 << 16, "0", "latent attention: width that keys and values are made from; 0 = off"),
    INT ("attention.shared_dim", attention_shared_dim, 0, 1 << 16, "0", "latent attention: width of a key part that all heads share, beside head_dim"),
    INT ("attention.value_dim",  attention_value_dim,  0, 1 << 16, "0", "latent attention: width of a head's values; 0 = head_dim"),
    INT ("experts",             experts,             0, 4096,    "0", "experts of the channel mixer glu; 0 = none"),
    INT ("experts.used",        experts_used,        1, 4096,    "1", "experts used per token"),
    INT ("experts.hidden",      experts_hidden,      0, 1 << 20, "0", "width of an expert; 0 = 4/3 d_model"),
    INT ("experts.shared",      experts_shared,      0, 1 << 20, "0", "width of an expert that every token uses; 0 = none"),
    BOOL("experts.shared_gate", experts_shared_gate, "false", "multiply the shared expert by sigmoid(w x)"),
    WORD("experts.router",      experts_router,      "softmax", "softmax|sigmoid", "weights of the experts; sigmoid has a bias that only chooses"),
    BOOL("experts.norm",        experts_norm,        "true", "divide the weights of the used experts by their sum"),
    REAL("experts.scale",       experts_scale,       0, 1e6,     "1", "multiply the weights of the experts by this"),
    INT ("experts.first",       experts_first,       0, 1024,    "0", "first layer with experts"),
    INT ("experts.period",      experts_period,      1, 1024,    "1", "every so many layers from the first have experts"),
    INT ("adapter",        adapter,        0, 4096,    "0",   "rank of low-rank adapters beside the matrices; the rest of the model is then frozen in training; 0 = none"),
    REAL("adapter_scale",  adapter_scale,  0, 1e6,     "1",   "factor of the adapters (alpha / rank of others)"),
    TEXT("adapter_matrices", adapter_matrices, "",     "which matrices have one: parts of their names (lcsm describe lists them), e.g. q,v; default: all of the layers"),
    BOOL("initial_memory", initial_memory, "false", "a memory that sequences begin with; it is trained, and the rest of the model frozen (state tuning)"),
    INT ("eos_token_id",   eos_token_id,   -1, 1 << 24, "-1", "end-of-text token; -1 = the tokenizer's"),
};
/* clang-format on */

const lcsm_keys LCSM_MODEL_KEYS = {"model", ROWS, COUNT(ROWS)};

void lcsm_model_config_defaults(lcsm_model_config *cfg)
{
    *cfg = (lcsm_model_config){0};
    lcsm_keys_defaults(&LCSM_MODEL_KEYS, cfg);
}

/* A method, a code or a pattern: what is said last counts. */
static void take_last(lcsm_model_config *cfg, const char *key, const char *value)
{
    bool method = strcmp(key, "method") == 0, code = strcmp(key, "code") == 0 && *value != 0;
    bool pattern = *value != 0
                && lcsm_keys_find(&LCSM_MODEL_KEYS, key)
                       == lcsm_keys_find(&LCSM_MODEL_KEYS, "layers_pattern");
    if (method || pattern) cfg->code[0] = 0;
    if (method || code) cfg->layers_pattern[0] = 0;
}

lcsm_status lcsm_model_config_set(lcsm_model_config *cfg, const char *key, const char *value,
                                  lcsm_error *err)
{
    lcsm_status st = lcsm_keys_set(&LCSM_MODEL_KEYS, cfg, key, value, err);
    if (st == LCSM_OK) take_last(cfg, key, value);
    return st;
}

const char *lcsm_model_config_kind(const lcsm_model_config *cfg)
{
    if (cfg->layers_pattern[0] != 0) return "layers_pattern";
    return cfg->code[0] != 0 ? "code" : "method";
}

const char *lcsm_model_config_name(const lcsm_model_config *cfg)
{
    if (cfg->layers_pattern[0] != 0) return cfg->layers_pattern;
    return cfg->code[0] != 0 ? cfg->code : cfg->method;
}

ptrdiff_t lcsm_model_config_layers(const lcsm_model_config *cfg)
{
    lcsm_code_states c;
    if (cfg->layers > 0) return cfg->layers;
    bool code = cfg->code[0] != 0 && cfg->layers_pattern[0] == 0
             && lcsm_code_parse(cfg->code, &c, NULL) == LCSM_OK;
    return code ? lcsm_code_depth(&c) : 10;
}

ptrdiff_t lcsm_model_config_vocab(const lcsm_model_config *cfg, size_t tokenizer)
{
    enum { BYTES = 256 };
    if (cfg->vocab > 0) return cfg->vocab;
    return tokenizer > 0 ? (ptrdiff_t)tokenizer : BYTES;
}

lcsm_channel lcsm_model_config_channel(const lcsm_model_config *cfg)
{
    const lcsm_method *method = lcsm_method_find(cfg->code[0] != 0 ? "code" : cfg->method);
    if (cfg->wiring == LCSM_WIRING_MQAR) return LCSM_CHANNEL_NONE;
    if (cfg->channel_mixer != LCSM_CHANNEL_AUTO) return (lcsm_channel)cfg->channel_mixer;
    if (!lcsm_wiring_is_lm(cfg)) return LCSM_CHANNEL_NONE;
    bool bare = cfg->flavour == LCSM_FLAVOUR_BARE || method == NULL;
    return bare ? LCSM_CHANNEL_GLU : (lcsm_channel)method->channel;
}

/* Whether `true_of` holds for some mixer of a layer. */
static bool some_mixer(const lcsm_model_config *cfg, const void *user,
                       bool (*true_of)(const lcsm_model_config *layer, const void *user))
{
    lcsm_model_config layer;
    for (ptrdiff_t j = 0; j < lcsm_pattern_length(cfg); j++)
        for (int mixer = 0; lcsm_pattern_layer(&layer, cfg, j, mixer); mixer++)
            if (true_of(&layer, user)) return true;
    return false;
}

/* ---- settings that do nothing ----------------------------------------------------------- */

static bool layer_has_channel_mixer(const lcsm_model_config *layer, const void *user)
{
    (void)user;
    return lcsm_model_config_channel(layer) != LCSM_CHANNEL_NONE;
}

static bool has_channel_mixer(const lcsm_model_config *cfg)
{
    return some_mixer(cfg, NULL, layer_has_channel_mixer);
}

static bool not_mqar(const lcsm_model_config *cfg)
{
    return cfg->wiring != LCSM_WIRING_MQAR;
}

static bool layer_is_attention(const lcsm_model_config *layer, const void *user)
{
    (void)user;
    return layer->code[0] == 0 && strcmp(layer->method, "attention") == 0;
}

static bool has_attention(const lcsm_model_config *cfg)
{
    return not_mqar(cfg) && some_mixer(cfg, NULL, layer_is_attention);
}

static bool layer_has_glu(const lcsm_model_config *layer, const void *user)
{
    (void)user;
    lcsm_channel kind = lcsm_model_config_channel(layer);
    return kind == LCSM_CHANNEL_GLU || kind == LCSM_CHANNEL_GEGLU;
}

static bool has_adapter(const lcsm_model_config *cfg)
{
    return cfg->adapter > 0;
}

static bool has_glu(const lcsm_model_config *cfg)
{
    return some_mixer(cfg, NULL, layer_has_glu);
}

static bool has_experts(const lcsm_model_config *cfg)
{
    return cfg->experts > 0 && has_glu(cfg);
}

/* Settings whose readers are not a matter of the method. Those of methods stand in their rows. A
 * key with a dot at its end is all that begin so. */
static const struct {
    const char *key, *models;
    bool (*read)(const lcsm_model_config *cfg);
} OTHERS[] = {
    {"adapter_scale", "models with an adapter", has_adapter},
    {"adapter_matrices", "models with an adapter", has_adapter},
    {"channel_mixer", "every wiring but mqar", not_mqar},
    {"hidden", "models with a channel_mixer (by default not mamba, and not the wiring mqar)",
     has_channel_mixer},
    {"residual.normed", "every wiring but mqar", not_mqar},
    {"residual.alpha", "every wiring but mqar", not_mqar},
    {"residual.beta", "every wiring but mqar", not_mqar},
    {"residual.attention_alpha", "models with softmax attention", has_attention},
    {"residual.attention_beta", "models with softmax attention", has_attention},
    {"residual.channel_alpha", "models with a channel_mixer", has_channel_mixer},
    {"residual.channel_beta", "models with a channel_mixer", has_channel_mixer},
    {"channel_bias", "models with the channel_mixer glu or geglu", has_glu},
    {"experts", "models with the channel_mixer glu", has_glu},
    {"experts.", "models with experts", has_experts},
};

static bool is_row(const char *row, const char *key)
{
    size_t n = strlen(row);
    return row[n - 1] == '.' ? strncmp(row, key, n) == 0 : strcmp(row, key) == 0;
}

static size_t other(const char *key)
{
    size_t j = 0;
    while (j < COUNT(OTHERS) && !is_row(OTHERS[j].key, key)) j++;
    return j;
}

/* Sizes that a comparison gives to all its models: not refused where they do nothing. */
static bool is_size(const char *key)
{
    return strcmp(key, "heads") == 0 || strcmp(key, "expand") == 0 || strcmp(key, "hidden") == 0;
}

static bool layer_reads(const lcsm_model_config *layer, const void *key)
{
    const lcsm_method *method = lcsm_method_find(layer->code[0] != 0 ? "code" : layer->method);
    return method != NULL && lcsm_method_reads(method, key);
}

static bool reads(const lcsm_model_config *cfg, const char *key)
{
    size_t j = other(key);
    if (j < COUNT(OTHERS)) return OTHERS[j].read(cfg);
    return !lcsm_method_owns(key) || some_mixer(cfg, key, layer_reads);
}

bool lcsm_model_config_reads(const lcsm_model_config *cfg, const char *key)
{
    const lcsm_key *k = lcsm_keys_find(&LCSM_MODEL_KEYS, key);
    return k == NULL || reads(cfg, k->name);
}

/* The names of the methods that read a key, "one, two"; what has no room is "...". */
static void list_methods(const char *key, char *text, size_t size)
{
    size_t used = 0;
    for (size_t j = 0; j < LCSM_METHOD_COUNT; j++) {
        const char *name = LCSM_METHODS[j].name, *comma = used > 0 ? ", " : "";
        if (!lcsm_method_reads(&LCSM_METHODS[j], key)) continue;
        bool fits = used + strlen(comma) + strlen(name) + strlen(", ...") < size;
        used += (size_t)snprintf(text + used, size - used, "%s%s", comma, fits ? name : "...");
        if (!fits) return;
    }
}

void lcsm_model_config_readers(const char *key, char text[LCSM_READERS_SIZE])
{
    size_t j = other(key);
    text[0]  = 0;
    if (j < COUNT(OTHERS)) (void)snprintf(text, LCSM_READERS_SIZE, "%s", OTHERS[j].models);
    else list_methods(key, text, LCSM_READERS_SIZE);
}

void lcsm_model_config_drop_unused(lcsm_model_config *cfg)
{
    for (size_t j = 0; j < COUNT(ROWS); j++)
        if (!reads(cfg, ROWS[j].name)) lcsm_keys_reset(&LCSM_MODEL_KEYS, cfg, ROWS[j].name);
}

static bool same_model(const lcsm_model_config *a, const lcsm_model_config *b)
{
    if (strcmp(a->layers_pattern, b->layers_pattern) != 0) return false;
    if (a->layers_pattern[0] != 0) return true;
    return strcmp(a->code, b->code) == 0 && (a->code[0] != 0 || strcmp(a->method, b->method) == 0);
}

lcsm_status lcsm_model_config_unused(const lcsm_model_config *cfg, const lcsm_model_config *shared,
                                     lcsm_error *err)
{
    const char       *kind = lcsm_model_config_kind(cfg);
    lcsm_model_config standard;
    char              readers[LCSM_READERS_SIZE];
    lcsm_model_config_defaults(&standard);
    if (shared == NULL || same_model(cfg, shared)) shared = &standard;
    for (size_t j = 0; j < COUNT(ROWS); j++) {
        const char *key = ROWS[j].name;
        if (is_size(key) || reads(cfg, key) || lcsm_key_same(&ROWS[j], cfg, shared)) continue;
        lcsm_model_config_readers(key, readers);
        return lcsm_fail(err, LCSM_ERR_CONFIG, "%s is unused in %s %s; it applies to %s", key, kind,
                         lcsm_model_config_name(cfg), readers);
    }
    return LCSM_OK;
}

/* Ranges, and a code or a method that exists; what only the sizes can show comes from the builders.
 */
lcsm_status lcsm_model_config_check(const lcsm_model_config *cfg, lcsm_error *err)
{
    lcsm_code_states c;
    char             hint[LCSM_METHOD_HINT];
    lcsm_status      st = lcsm_keys_check(&LCSM_MODEL_KEYS, cfg, err);
    if (st != LCSM_OK) return st;
    if (cfg->layers_pattern[0] != 0) return lcsm_pattern_check(cfg, err);
    if (cfg->code[0] != 0) return lcsm_code_parse(cfg->code, &c, err);
    if (lcsm_method_find(cfg->method) == NULL)
        return lcsm_fail(err, LCSM_ERR_CONFIG, "\"%s\" is not a method%s", cfg->method,
                         lcsm_method_hint(cfg->method, hint));
    return LCSM_OK;
}
