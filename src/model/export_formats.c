/* export_formats.c - which release a model is written as, and the keys of its config that the
 * tables of import leave to functions. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/import.h"
#include "model/model_weights.h"
#include "model/pattern.h"

typedef lcsm_export_plan plan;

/* ---- what restoring functions ask ------------------------------------------------------- */

static void put(plan *p, const char *key, json_t *value)
{
    (void)json_object_set_new(p->config, key, value);
}

static void put_int(plan *p, const char *key, ptrdiff_t x)
{
    put(p, key, json_integer((json_int_t)x));
}

static void put_flag(plan *p, const char *key, bool x)
{
    put(p, key, json_boolean(x));
}

/* The first parameter whose name ends so, or NULL. */
static const lcsm_param *find(const plan *p, const char *end)
{
    const lcsm_params *ps = p->model->params;
    for (size_t j = 0; j < ps->count; j++) {
        size_t n = strlen(ps->list[j].name), m = strlen(end);
        if (n >= m && strcmp(ps->list[j].name + n - m, end) == 0) return &ps->list[j];
    }
    return NULL;
}

static ptrdiff_t rows(const plan *p, const char *end)
{
    const lcsm_param *x = find(p, end);
    return x != NULL ? x->shape.dim[0] : 0;
}

static ptrdiff_t columns(const plan *p, const char *end)
{
    const lcsm_param *x = find(p, end);
    return x != NULL && x->shape.rank > 1 ? x->shape.dim[1] : 0;
}

/* What a setting of 0 stands for. */
static void settle(ptrdiff_t *setting, ptrdiff_t x)
{
    if (*setting == 0) *setting = x;
}

static ptrdiff_t quarter(const plan *p)
{
    return p->cfg.d_model % 4 == 0 ? 4 : 1;
}

static ptrdiff_t over(ptrdiff_t a, ptrdiff_t b)
{
    return b > 0 ? a / b : 0;
}

static double share(ptrdiff_t part, ptrdiff_t whole)
{
    return (double)part / (double)whole;
}

/* A factor whose product with the whole is not less than the part, as it is cut to a whole number.
 */
static json_t *factor(double part, double whole)
{
    double x = part / whole;
    while (floor(x * whole) < floor(part)) x = nextafter(x, INFINITY);
    return json_real(x);
}

/* ---- Mamba ------------------------------------------------------------------------------ */

static void settle_inner(plan *p)
{
    ptrdiff_t inner = columns(p, ".mixer.out_proj.weight");
    if (p->cfg.inner_ratio == 0) p->cfg.inner_ratio = share(inner, p->cfg.d_model);
}

static const char *restore_mamba(plan *p)
{
    settle_inner(p);
    settle(&p->cfg.rank, columns(p, ".mixer.dt_proj.weight"));
    settle(&p->cfg.state_size, rows(p, ".mixer.A_log"));
    put_int(p, "intermediate_size", columns(p, ".mixer.out_proj.weight"));
    return NULL;
}

/* Without limits of dt the format has its own, 0 and infinity. */
static void put_time_steps(plan *p)
{
    const lcsm_model_config *c = &p->cfg;
    if (c->dt_min == 0 && c->dt_max == 0) return;
    put(p, "time_step_limit",
        c->dt_max > 0 ? json_pack("[f, f]", c->dt_min, c->dt_max)
                      : json_pack("[f, {s:s}]", c->dt_min, "__float__", "Infinity"));
}

static void settle_mamba2(plan *p)
{
    settle_inner(p);
    settle(&p->cfg.heads, rows(p, ".mixer.A_log"));
    settle(&p->cfg.groups, 1);
    settle(&p->cfg.state_size, 128);
    put_time_steps(p);
}

static const char *restore_mamba2(plan *p)
{
    settle_mamba2(p);
    put_int(p, "head_dim", over(columns(p, ".mixer.out_proj.weight"), p->cfg.heads));
    return NULL;
}

/* ---- RWKV ------------------------------------------------------------------------------- */

static void put_widths(plan *p)
{
    put_int(p, "attention_hidden_size", rows(p, ".mixer.key.weight"));
    put_int(p, "intermediate_size", rows(p, ".channel.key.weight"));
    put_int(p, "rescale_every", 0);
}

static const char *restore_rwkv4(plan *p)
{
    settle(&p->cfg.hidden, rows(p, ".channel.key.weight"));
    put_widths(p);
    return NULL;
}

static const char *restore_rwkv_hf(plan *p)
{
    ptrdiff_t width = rows(p, ".mixer.key.weight");
    settle(&p->cfg.heads, rows(p, ".mixer.time_faaaa"));
    settle(&p->cfg.rwkv_mix_rank, rows(p, ".mixer.time_maa_w1.weight") / 5);
    settle(&p->cfg.rwkv_decay_rank, rows(p, ".mixer.time_decay_w1.weight"));
    settle(&p->cfg.hidden, rows(p, ".channel.key.weight"));
    put_int(p, "head_size", over(width, p->cfg.heads));
    put_int(p, "num_attention_heads", p->cfg.heads);
    put_int(p, "head_size_divisor", 8);
    put_widths(p);
    return NULL;
}

static const char *restore_fla_rwkv6(plan *p)
{
    lcsm_model_config *c = &p->cfg;
    settle(&c->heads, rows(p, ".mixer.time_faaaa"));
    settle(&c->expand, columns(p, ".mixer.time_faaaa"));
    settle(&c->rwkv_mix_rank, rows(p, ".mixer.time_maa_w1.weight") / 5);
    settle(&c->rwkv_decay_rank, rows(p, ".mixer.time_decay_w1.weight"));
    settle(&c->hidden, rows(p, ".channel.key.weight"));
    put_int(p, "num_heads", c->heads);
    put(p, "expand_k", factor((double)(c->heads * c->expand), (double)c->d_model));
    put(p, "expand_v", factor(round(c->value_ratio * (double)c->d_model), (double)c->d_model));
    put_int(p, "proj_low_rank_dim", c->rwkv_mix_rank);
    put_int(p, "gate_low_rank_dim", c->rwkv_decay_rank);
    return NULL;
}

static const char *restore_fla_rwkv7(plan *p)
{
    lcsm_model_config *c      = &p->cfg;
    json_t            *values = json_array();
    settle(&c->heads, rows(p, ".mixer.r_k"));
    settle(&c->rwkv_decay_rank, rows(p, ".mixer.w1.weight"));
    settle(&c->rwkv_a_rank, rows(p, ".mixer.a1.weight"));
    settle(&c->rwkv_g_rank, rows(p, ".mixer.g1.weight"));
    settle(&c->rwkv_v_rank, rows(p, "layers.1.mixer.v1.weight"));
    settle(&c->hidden, rows(p, ".channel.key.weight"));
    for (ptrdiff_t j = 0; j < c->layers; j++)
        (void)json_array_append_new(values, json_integer((json_int_t)c->d_model));
    put_int(p, "head_dim", over(c->d_model, c->heads));
    put_int(p, "num_heads", c->heads);
    put_int(p, "decay_low_rank_dim", c->rwkv_decay_rank);
    put_int(p, "a_low_rank_dim", c->rwkv_a_rank);
    put_int(p, "gate_low_rank_dim", c->rwkv_g_rank);
    put_int(p, "v_low_rank_dim", c->rwkv_v_rank);
    put(p, "value_dim", values);
    return c->layers > 1 ? NULL : "fewer than two layers";
}

/* ---- fla -------------------------------------------------------------------------------- */

/* Keys of expand_k H and values of expand_v H channels, in heads. */
static void put_expands(plan *p)
{
    lcsm_model_config *c = &p->cfg;
    settle(&c->expand, over(rows(p, ".mixer.q.weight"), c->heads));
    put(p, "expand_k", factor((double)(c->heads * c->expand), (double)c->d_model));
    put(p, "expand_v", factor(round(c->value_ratio * (double)c->d_model), (double)c->d_model));
}

/* Heads whose norm has one weight for each value. */
static void heads_by_norm(plan *p)
{
    settle(&p->cfg.heads, over(rows(p, ".mixer.v.weight"), rows(p, ".mixer.norm.weight")));
}

static const char *restore_gla(plan *p)
{
    heads_by_norm(p);
    settle(&p->cfg.rank, rows(p, ".mixer.gate_down.weight"));
    put_expands(p);
    return NULL;
}

static const char *restore_retnet(plan *p)
{
    settle(&p->cfg.heads, 4);
    put_expands(p);
    return NULL;
}

static const char *restore_hgrn2(plan *p)
{
    settle(&p->cfg.heads, quarter(p));
    put_int(p, "expand_ratio", over(p->cfg.d_model, p->cfg.heads));
    return NULL;
}

static const char *restore_hgrn(plan *p)
{
    put_int(p, "expand_ratio", 1);
    return NULL;
}

static const char *restore_gsa(plan *p)
{
    settle(&p->cfg.heads, quarter(p));
    settle(&p->cfg.slots, over(rows(p, ".mixer.forget.weight"), p->cfg.heads));
    put_expands(p);
    return NULL;
}

static const char *restore_linear_attn(plan *p)
{
    static const char *const NAMES[] = {[LCSM_FEATURE_PRODUCT] = "elementwise_product",
                                        [LCSM_FEATURE_ELU1]    = "elu",
                                        [LCSM_FEATURE_RELU]    = "relu",
                                        [LCSM_FEATURE_NONE]    = "identity"};
    int                     *f       = &p->cfg.feature;
    if (*f == LCSM_FEATURE_AUTO) *f = LCSM_FEATURE_ELU1;
    if ((size_t)*f >= COUNT(NAMES) || NAMES[*f] == NULL) return "this feature map";
    settle(&p->cfg.heads, 1);
    put(p, "feature_map", json_string(NAMES[*f]));
    put_expands(p);
    return NULL;
}

/* What all delta rules have; gate is the name of the switch of the output gate, or NULL. */
static void put_delta(plan *p, int standard, const char *gate)
{
    lcsm_model_config *c = &p->cfg;
    if (c->output_gate == LCSM_OUTPUT_GATE_AUTO) c->output_gate = standard;
    settle(&c->heads, rows(p, ".mixer.A_log"));
    settle(&c->heads, rows(p, ".mixer.beta.weight"));
    put_flag(p, "use_short_conv", c->conv_width > 0);
    if (c->conv_width == 0) put_int(p, "conv_size", 4);
    put_flag(p, "allow_neg_eigval", c->beta_max == 2);
    if (gate == NULL) return;
    put_flag(p, gate, c->output_gate != LCSM_OUTPUT_GATE_NONE);
    if (c->output_gate == LCSM_OUTPUT_GATE_SIGMOID)
        put(p, "output_gate_activation", json_string("sigmoid"));
    else if (c->output_gate == LCSM_OUTPUT_GATE_SILU)
        put(p, "output_gate_activation", json_string("swish"));
}

static const char *restore_deltanet(plan *p)
{
    put_delta(p, LCSM_OUTPUT_GATE_NONE, "use_gate");
    put_expands(p);
    if (p->cfg.output_gate != LCSM_OUTPUT_GATE_SILU)
        (void)json_object_del(p->config, "output_gate_activation");
    return p->cfg.output_gate == LCSM_OUTPUT_GATE_SIGMOID ? "an output gate of sigmoid" : NULL;
}

/* Heads of head_dim keys and expand_v head_dim values. */
static void put_heads(plan *p, bool grouped)
{
    lcsm_model_config *c = &p->cfg;
    settle(&c->groups, grouped ? c->heads : 0);
    settle(&c->expand, over(rows(p, ".mixer.q.weight"), grouped ? c->groups : c->heads));
    put_int(p, "head_dim", c->expand);
    put_int(p, "num_heads", grouped ? c->groups : c->heads);
    if (grouped && c->groups != c->heads) put_int(p, "num_v_heads", c->heads);
    double values = round(c->value_ratio * (double)c->d_model);
    put(p, "expand_v",
        factor(round(values / (double)(c->heads > 0 ? c->heads : 1)),
               (double)(c->expand > 0 ? c->expand : 1)));
}

static const char *restore_gated_deltanet(plan *p)
{
    put_delta(p, LCSM_OUTPUT_GATE_SILU, "use_gate");
    put_heads(p, true);
    return NULL;
}

static const char *restore_deltaproduct(plan *p)
{
    put_delta(p, LCSM_OUTPUT_GATE_SILU, "use_output_gate");
    settle(&p->cfg.heads, over(rows(p, ".mixer.beta.weight"), p->cfg.householders));
    if (rows(p, ".mixer.A_log") == 0 && p->model->cfg.heads == 0)
        p->cfg.heads = over(rows(p, ".mixer.beta.weight"), p->cfg.householders);
    put_heads(p, false);
    return NULL;
}

static const char *restore_kda(plan *p)
{
    put_delta(p, LCSM_OUTPUT_GATE_AUTO, NULL);
    put_heads(p, true);
    put_flag(p, "safe_gate", p->cfg.gate_bound > 0);
    if (p->cfg.gate_bound > 0) put(p, "lower_bound", json_real(-p->cfg.gate_bound));
    return NULL;
}

/* ---- xLSTM ------------------------------------------------------------------------------ */

static const char *restore_xlstm(plan *p)
{
    lcsm_model_config *c    = &p->cfg;
    ptrdiff_t          step = 64;
    settle(&c->heads, rows(p, ".mixer.input.weight"));
    settle(&c->expand, over(rows(p, ".mixer.q.weight"), c->heads));
    while (step > 1 && c->hidden % step != 0) step /= 2;
    put(p, "qk_dim_factor", json_real(share(c->heads * c->expand, c->d_model)));
    put(p, "v_dim_factor", json_real(c->value_ratio));
    /* both ways of rounding up come to it: from half a step below, or from just above it */
    put(p, "ffn_proj_factor",
        json_real(step > 1 ? ((double)c->hidden - (double)step / 2) / (double)c->d_model
                           : nextafter(share(c->hidden, c->d_model), INFINITY)));
    put_int(p, "ffn_round_up_to_multiple_of", step);
    put_int(p, "embedding_dim", c->d_model);
    put_int(p, "num_blocks", c->layers);
    put(p, "weight_mode", json_string("single"));
    put(p, "chunkwise_kernel", json_string("chunkwise--native_autograd"));
    put(p, "sequence_kernel", json_string("native_sequence__native"));
    put(p, "step_kernel", json_string("native"));
    return c->soft_cap > 0 && c->gate_cap > 0 ? NULL : "soft_cap 0 or gate_cap 0";
}

/* ---- hybrids ---------------------------------------------------------------------------- */

static bool is_attention(const plan *p, ptrdiff_t layer)
{
    lcsm_model_config own;
    return lcsm_pattern_layer(&own, &p->cfg, layer, 0) && strcmp(own.method, "attention") == 0;
}

static void put_kinds(plan *p, const char *key, const char *mixer, const char *attention)
{
    json_t *list = json_array();
    for (ptrdiff_t j = 0; j < p->cfg.layers; j++)
        (void)json_array_append_new(list, json_string(is_attention(p, j) ? attention : mixer));
    put(p, key, list);
}

void lcsm_export_settle_attention(lcsm_model_config *c)
{
    ptrdiff_t standard = c->d_model % 64 == 0 ? c->d_model / 64 : 1;
    settle(&c->attention_heads, c->heads > 0 ? c->heads : standard);
    settle(&c->attention_kv_heads, c->attention_heads);
    settle(&c->attention_head_dim, over(c->d_model, c->attention_heads));
    settle(&c->attention_value_dim, c->attention_head_dim);
}

static void settle_attention(plan *p)
{
    lcsm_export_settle_attention(&p->cfg);
    put_int(p, "max_position_embeddings", p->cfg.max_length);
}

static void put_rope(plan *p, bool partial)
{
    const lcsm_model_config *c = &p->cfg;
    json_t                  *rope =
        json_pack("{s:f, s:s}", "rope_theta", c->attention_rope_base, "rope_type", "default");
    if (partial)
        (void)json_object_set_new(rope, "partial_rotary_factor", json_real(c->attention_rotary));
    put(p, "rope_parameters", rope);
}

static const char *restore_gemma(plan *p)
{
    lcsm_model_config *c = &p->cfg;
    settle(&c->heads, rows(p, ".mixer.input_gate.weight"));
    settle_attention(p);
    if (c->inner_ratio == 0) c->inner_ratio = 1;
    p->embed_scale = lcsm_gemma_scale(c->d_model);
    put_int(p, "lru_width", rows(p, ".mixer.lambda"));
    put_int(p, "intermediate_size", 2 * c->hidden);
    put_kinds(p, "block_types", "recurrent", "attention");
    put_rope(p, true);
    return NULL;
}

static void put_qwen_experts(plan *p)
{
    const lcsm_model_config *c = &p->cfg;
    put_int(p, "num_experts", c->experts);
    put_int(p, "decoder_sparse_step", c->experts_period);
    put(p, "mlp_only_layers", json_array());
    if (c->experts == 0) return;
    put_int(p, "num_experts_per_tok", c->experts_used);
    put_int(p, "moe_intermediate_size", c->experts_hidden);
    put_int(p, "shared_expert_intermediate_size", c->experts_shared);
    put_flag(p, "norm_topk_prob", c->experts_norm);
}

static const char *restore_qwen(plan *p)
{
    lcsm_model_config *c = &p->cfg;
    if (c->output_gate == LCSM_OUTPUT_GATE_AUTO) c->output_gate = LCSM_OUTPUT_GATE_SILU;
    settle(&c->heads, rows(p, ".mixer.A_log"));
    settle(&c->groups, c->heads);
    settle(&c->expand, over(c->d_model, c->heads));
    settle_attention(p);
    put_int(p, "linear_value_head_dim", over(rows(p, ".mixer.v_conv.weight"), c->heads));
    put_kinds(p, "layer_types", "linear_attention", "full_attention");
    put_rope(p, true);
    put_qwen_experts(p);
    return NULL;
}

static const char *restore_bamba(plan *p)
{
    json_t *list = json_array();
    settle_mamba2(p);
    settle_attention(p);
    for (ptrdiff_t j = 0; j < p->cfg.layers; j++)
        if (is_attention(p, j)) (void)json_array_append_new(list, json_integer((json_int_t)j));
    put_int(p, "mamba_d_head", over(columns(p, ".mixer.out_proj.weight"), p->cfg.heads));
    put(p, "attn_layer_indices", list);
    put_rope(p, true);
    return NULL;
}

/* Scores and logits have no factors of their own here: those of attention are as usual. */
static const char *restore_granite(plan *p)
{
    lcsm_model_config *c = &p->cfg;
    settle_mamba2(p);
    settle_attention(p);
    if (c->embed_scale == 0) c->embed_scale = sqrt((double)c->d_model);
    p->embed_scale = c->embed_scale;
    if (c->experts > 0) c->hidden = c->experts_shared;
    put_int(p, "mamba_d_head", over(columns(p, ".mixer.out_proj.weight"), c->heads));
    put_int(p, "intermediate_size", c->experts > 0 ? c->experts_hidden : c->hidden);
    put_int(p, "num_local_experts", c->experts);
    put_int(p, "num_experts_per_tok", c->experts > 0 ? c->experts_used : 0);
    put(p, "attention_multiplier", json_real(1 / sqrt((double)c->attention_head_dim)));
    put(p, "logits_scaling", json_integer(1));
    put(p, "position_embedding_type", json_string(c->attention_rotary > 0 ? "rope" : "nope"));
    put_kinds(p, "layer_types", "linear_attention", "full_attention");
    put_rope(p, false);
    return c->channel_bias ? "biases of the channel mixer" : NULL;
}

/* Every so many layers, from one on: other patterns come back otherwise, and are refused. */
static const char *restore_jamba(plan *p)
{
    lcsm_model_config *c     = &p->cfg;
    ptrdiff_t          first = c->layers, second = -1;
    for (ptrdiff_t j = c->layers; j-- > 0;)
        if (is_attention(p, j)) second = first, first = j;
    settle_inner(p);
    settle(&c->rank, columns(p, ".mixer.dt_proj.weight"));
    settle(&c->state_size, rows(p, ".mixer.A_log"));
    settle_attention(p);
    ptrdiff_t period = second >= 0 && second < c->layers ? second - first : c->layers + 1;
    put_int(p, "attn_layer_offset", first);
    put_int(p, "attn_layer_period", period);
    put_int(p, "num_experts", c->experts > 0 ? c->experts : 1);
    put_int(p, "expert_layer_offset", c->experts > 0 ? c->experts_first : 0);
    put_int(p, "expert_layer_period", c->experts > 0 ? c->experts_period : 1);
    return NULL;
}

static void put_kimi_mlps(plan *p)
{
    const lcsm_model_config *c    = &p->cfg;
    json_t                  *list = json_array();
    for (ptrdiff_t j = 0; j < c->layers; j++)
        (void)json_array_append_new(
            list, json_string(c->experts == 0 || j < c->experts_first ? "dense" : "sparse"));
    put(p, "mlp_layer_types", list);
    put_int(p, "first_k_dense_replace", c->experts_first);
    put_int(p, "num_shared_experts", over(c->experts_shared, c->experts_hidden));
}

static const char *restore_kimi(plan *p)
{
    lcsm_model_config *c = &p->cfg;
    settle(&c->heads, rows(p, ".mixer.beta.weight"));
    settle(&c->expand, over(rows(p, ".mixer.q_conv.weight"), c->heads));
    settle_attention(p);
    put_int(p, "linear_num_heads", c->heads);
    put_int(p, "linear_head_dim", c->expand);
    put_int(p, "linear_conv_kernel_dim", c->conv_width);
    put_int(p, "num_key_value_heads", c->attention_heads);
    put_int(p, "head_dim", c->attention_shared_dim);
    put_int(p, "qk_head_dim", c->attention_head_dim + c->attention_shared_dim);
    put_kinds(p, "layer_types", "linear_attention", "full_attention");
    put_kimi_mlps(p);
    return c->experts > 0 ? NULL : "models without experts";
}

static const char *restore_minimax(plan *p)
{
    lcsm_model_config *c = &p->cfg;
    settle(&c->heads, over(rows(p, ".mixer.gate.weight"), c->attention_head_dim));
    settle(&c->expand, over(rows(p, ".mixer.norm.weight"), c->heads));
    settle_attention(p);
    put_kinds(p, "layer_types", "linear_attention", "full_attention");
    put_rope(p, false);
    return c->experts > 0 ? NULL : "models without experts";
}

/* ---- the table -------------------------------------------------------------------------- */

/* clang-format off */
const lcsm_export_format LCSM_EXPORT_FORMATS[] = {
/*   method              architecture                   hybrid  eps    restore */
    {"mamba",            "MambaForCausalLM",             false, 0,     restore_mamba},
    {"falcon-mamba",     "FalconMambaForCausalLM",       false, 1e-6,  restore_mamba},
    {"mamba2",           "Mamba2ForCausalLM",            false, 1e-5,  restore_mamba2},
    {"rwkv4",            "RwkvForCausalLM",              false, 0,     restore_rwkv4},
    {"rwkv5",            "Rwkv5ForCausalLM",             false, 64e-5, restore_rwkv_hf},
    {"rwkv6",            "RWKV6ForCausalLM",             false, 64e-5, restore_fla_rwkv6},
    {"rwkv6",            "Rwkv6ForCausalLM",             false, 64e-5, restore_rwkv_hf},
    {"rwkv7",            "RWKV7ForCausalLM",             false, 64e-5, restore_fla_rwkv7},
    {"gla",              "GLAForCausalLM",               false, 1e-5,  restore_gla},
    {"retnet",           "RetNetForCausalLM",            false, 1e-6,  restore_retnet},
    {"hgrn",             "HGRNForCausalLM",              false, 1e-5,  restore_hgrn},
    {"hgrn2",            "HGRN2ForCausalLM",             false, 1e-5,  restore_hgrn2},
    {"linear-attention", "LinearAttentionForCausalLM",   false, 1e-5,  restore_linear_attn},
    {"gsa",              "GSAForCausalLM",               false, 1e-5,  restore_gsa},
    {"deltanet",         "DeltaNetForCausalLM",          false, 1e-5,  restore_deltanet},
    {"gated-deltanet",   "GatedDeltaNetForCausalLM",     false, 1e-5,  restore_gated_deltanet},
    {"deltaproduct",     "GatedDeltaProductForCausalLM", false, 1e-5,  restore_deltaproduct},
    {"kda",              "KDAForCausalLM",               false, 1e-5,  restore_kda},
    {"mlstm",            "xLSTMForCausalLM",             false, 1e-6,  restore_xlstm},
    {"rg-lru",           "RecurrentGemmaForCausalLM",    true,  0,     restore_gemma},
    {"gated-deltanet",   "Qwen3NextForCausalLM",         true,  1e-5,  restore_qwen},
    {"gated-deltanet",   "Qwen3_5ForCausalLM",           true,  1e-5,  restore_qwen},
    {"gated-deltanet",   "Qwen3_5MoeForCausalLM",        true,  1e-5,  restore_qwen},
    {"mamba2",           "BambaForCausalLM",             true,  1e-5,  restore_bamba},
    {"mamba2",           "GraniteMoeHybridForCausalLM",  true,  1e-5,  restore_granite},
    {"falcon-mamba",     "JambaForCausalLM",             true,  1e-6,  restore_jamba},
    {"kda",              "KimiLinearForCausalLM",        true,  1e-5,  restore_kimi},
    {"lightning",        "MiniMaxForCausalLM",           true,  1e-6,  restore_minimax},
};
/* clang-format on */
const size_t LCSM_EXPORT_FORMAT_COUNT = COUNT(LCSM_EXPORT_FORMATS);
