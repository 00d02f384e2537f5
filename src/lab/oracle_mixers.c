/*
 * oracle_mixers.c - cases of whole mixers whose parameters have the names of other libraries.
 *
 * config.layer names the mixer. A row says which method it is, how its settings follow from the
 * shapes, and which of their parameters is which of ours.
 */
#include <fnmatch.h>
#include <math.h>
#include <string.h>

#include "lab/oracle_method_rig.h"

typedef void mixer_step(lcsm_rig *r);

typedef struct {
    const char *name, *method;
    mixer_step *settings;
    const char *params;
    mixer_step *more; /* what is not one parameter each; may be NULL */
    bool        cell; /* y is that of the recurrence */
} mixer_row;

static ptrdiff_t size_of(lcsm_rig *r, const char *key, ptrdiff_t fallback)
{
    return (ptrdiff_t)lcsm_lab_number(r->lab, key, (double)fallback);
}

static bool is_set(const lcsm_rig *r, const char *key)
{
    return json_is_true(json_object_get(r->lab->c->config, key));
}

static ptrdiff_t rows_of(lcsm_rig *r, const char *name)
{
    return lcsm_lab_dim(r->lab, name, 0);
}

/* [C, 1, W]; without it there is no convolution. */
static void conv_width(lcsm_rig *r, const char *name)
{
    r->cfg.conv_width = lcsm_lab_has(r->lab, name) ? lcsm_lab_dim(r->lab, name, 2) : 0;
}

/* ---- HGRN2 ---- */

/* The bound of layer 1 of 3, from the parameter that all layers share: 0 in the other two. */
static void hgrn2(lcsm_rig *r)
{
    r->m.layer       = 1;
    r->m.layers      = 3;
    r->cfg.mixer_eps = lcsm_lab_number(r->lab, "norm_eps", 1e-5);
}

static void lower_bound(lcsm_rig *r)
{
    lcsm_rig_fill(r, "lower_bounds", 0);
    lcsm_lab_in_param_as(r->lab, "lower_bound", "lower_bounds", LOGIT_OF_THREE, 1, (size_t)r->m.D);
}

/* ---- delta rules ---- */

static void delta(lcsm_rig *r)
{
    ptrdiff_t J         = size_of(r, "householders", 1);
    r->cfg.groups       = size_of(r, "heads", 1);
    r->cfg.heads        = size_of(r, "v_heads", r->cfg.groups);
    r->cfg.householders = J;
    r->cfg.expand       = rows_of(r, "q_proj.weight") / r->cfg.groups;
    r->cfg.value_ratio  = (double)rows_of(r, "v_proj.weight") / (double)(J * r->m.D);
    r->cfg.beta_max     = is_set(r, "neg_eig") ? 2 : 1;
    r->cfg.mixer_eps    = lcsm_lab_number(r->lab, "norm_eps", 1e-5);
    r->cfg.forget_gate  = lcsm_lab_has(r->lab, "a_proj.weight");
    r->cfg.output_gate =
        lcsm_lab_has(r->lab, "g_proj.weight") ? LCSM_OUTPUT_GATE_SILU : LCSM_OUTPUT_GATE_NONE;
    conv_width(r, "q_conv1d.weight");
}

static void qwen3_next(lcsm_rig *r)
{
    r->cfg.groups      = size_of(r, "k_heads", 1);
    r->cfg.heads       = size_of(r, "v_heads", 1);
    r->cfg.expand      = size_of(r, "k_dim", 1);
    r->cfg.value_ratio = (double)(r->cfg.heads * size_of(r, "v_dim", 1)) / (double)r->m.D;
    r->cfg.mixer_eps   = lcsm_lab_number(r->lab, "eps", 1e-6);
    conv_width(r, "conv1d.weight");
}

/* Groups of `sizes` rows of a matrix, one after the other, dealt out to parameters. */
static void deal(lcsm_rig *r, const char *name, ptrdiff_t groups, const ptrdiff_t sizes[4],
                 const char *const params[4])
{
    size_t cols = (size_t)(lcsm_lab_dim(r->lab, name, 1)
                           * (strncmp(name, "conv", 4) == 0 ? lcsm_lab_dim(r->lab, name, 2) : 1));
    size_t at   = 0;
    for (ptrdiff_t g = 0; g < groups; g++)
        for (int j = 0; j < 4 && params[j] != NULL; j++) {
            size_t count = (size_t)sizes[j] * cols;
            lcsm_lab_in_part(r->lab, name, at, count, params[j], (size_t)g * count);
            at += count;
        }
}

/* q, k, v, z and b, a by key heads; one convolution of all q, all k, all v. */
static void qwen3_next_parts(lcsm_rig *r)
{
    ptrdiff_t G = r->cfg.groups, n = r->cfg.heads / G, K = r->cfg.expand;
    ptrdiff_t D = size_of(r, "v_dim", 1);
    deal(r, "in_proj_qkvz.weight", G, (ptrdiff_t[]){K, K, n * D, n * D},
         (const char *[]){"q.weight", "k.weight", "v.weight", "gate.weight"});
    deal(r, "in_proj_ba.weight", G, (ptrdiff_t[]){n, n, 0, 0},
         (const char *[]){"beta.weight", "decay.weight", NULL, NULL});
    deal(r, "conv1d.weight", 1, (ptrdiff_t[]){G * K, G * K, G * n * D, 0},
         (const char *[]){"q_conv.weight", "k_conv.weight", "v_conv.weight", NULL});
}

/* ---- state spaces ---- */

static void mamba2(lcsm_rig *r)
{
    r->cfg.groups      = size_of(r, "groups", 1);
    r->cfg.state_size  = size_of(r, "state", 1);
    r->cfg.inner_ratio = (double)lcsm_lab_dim(r->lab, "out_proj.weight", 1) / (double)r->m.D;
    r->cfg.dt_min      = lcsm_lab_number(r->lab, "dt_min", 0);
    r->cfg.dt_max      = lcsm_lab_number(r->lab, "dt_max", 0);
    r->cfg.mixer_eps   = lcsm_lab_number(r->lab, "eps", 1e-5);
    r->cfg.conv_bias   = lcsm_lab_has(r->lab, "conv1d.bias");
    conv_width(r, "conv1d.weight");
}

static void mamba(lcsm_rig *r)
{
    mamba2(r);
    r->cfg.rank      = size_of(r, "dt_rank", 1);
    r->cfg.mixer_eps = lcsm_lab_number(r->lab, "rms_eps", 1e-6);
}

/* ---- channels ---- */

static void min_rnn(lcsm_rig *r)
{
    r->cfg.inner_ratio = (double)rows_of(r, "linear_h.weight") / (double)r->m.D;
    r->cfg.log_space   = is_set(r, "log_space");
    r->cfg.conv_width  = 0;
}

static void griffin(lcsm_rig *r)
{
    r->cfg.inner_ratio = (double)rows_of(r, "linear_x.weight") / (double)r->m.D;
    conv_width(r, "conv_1d.weight");
}

/* ---- attention ---- */

static void attention(lcsm_rig *r)
{
    r->cfg.expand      = rows_of(r, "q_proj.weight") / r->cfg.heads;
    r->cfg.value_ratio = (double)rows_of(r, "v_proj.weight") / (double)r->m.D;
    r->cfg.slots       = size_of(r, "slots", 0);
    r->cfg.slot_tau    = lcsm_lab_number(r->lab, "normalizer", 8);
    r->cfg.mixer_eps   = lcsm_lab_number(r->lab, "norm_eps", lcsm_lab_number(r->lab, "eps", 0));
}

static void lightning(lcsm_rig *r)
{
    r->cfg.expand      = size_of(r, "head_dim", 1);
    r->cfg.value_ratio = (double)(r->cfg.heads * r->cfg.expand) / (double)r->m.D;
}

static void lightning_parts(lcsm_rig *r)
{
    ptrdiff_t K = r->cfg.expand;
    deal(r, "qkv_proj.weight", r->cfg.heads, (ptrdiff_t[]){K, K, K, 0},
         (const char *[]){"q.weight", "k.weight", "v.weight", NULL});
}

/* ---- RWKV ---- */

static void rwkv(lcsm_rig *r)
{
    r->cfg.mixer_eps = lcsm_lab_number(r->lab, "ln_x_eps", 64e-5);
}

static void rwkv6(lcsm_rig *r)
{
    rwkv(r);
    r->cfg.rwkv_mix_rank   = lcsm_lab_dim(r->lab, "time_maa_w2", 1);
    r->cfg.rwkv_decay_rank = lcsm_lab_dim(r->lab, "time_decay_w1", 1);
}

static void rwkv7(lcsm_rig *r)
{
    rwkv(r);
    r->cfg.rwkv_decay_rank = lcsm_lab_dim(r->lab, "w1", 1);
    r->cfg.rwkv_a_rank     = lcsm_lab_dim(r->lab, "a1", 1);
    r->cfg.rwkv_g_rank     = lcsm_lab_dim(r->lab, "g1", 1);
}

/* A layer that has the values of an earlier one. */
static void rwkv7_later(lcsm_rig *r)
{
    rwkv7(r);
    r->cfg.rwkv_v_rank = lcsm_lab_dim(r->lab, "v1", 1);
    r->first[0]        = lcsm_lab_seq(r->lab, "v_first");
}

static void mlstm(lcsm_rig *r)
{
    r->cfg.expand         = rows_of(r, "q.weight") / r->cfg.heads;
    r->cfg.value_ratio    = (double)rows_of(r, "v.weight") / (double)r->m.D;
    r->cfg.gate_cap       = lcsm_lab_number(r->lab, "soft_cap", 0);
    r->cfg.normaliser_eps = lcsm_lab_number(r->lab, "eps", 1e-6);
    r->cfg.mixer_eps      = lcsm_lab_number(r->lab, "norm_eps", 1e-6);
}

/* ---- the table ---- */

#define QKV                                                                                        \
    "q_proj.weight=q.weight k_proj.weight=k.weight v_proj.weight=v.weight "                        \
    "o_proj.weight=out.weight "
#define RWKV                                                                                       \
    "receptance.weight=receptance.weight key.weight=key.weight value.weight=value.weight "         \
    "gate.weight=gate.weight output.weight=output.weight time_decay=time_decay "                   \
    "time_faaaa=time_faaaa ln_x.weight=ln_x.weight ln_x.bias=ln_x.bias "
#define RWKV7                                                                                      \
    RWKV "x_r=x_r x_w=x_w x_k=x_k x_v=x_v x_a=x_a x_g=x_g w0=w0 ~w1=w1.weight ~w2=w2.weight "      \
         "a0=a0 ~a1=a1.weight ~a2=a2.weight ~g1=g1.weight ~g2=g2.weight k_k=k_k k_a=k_a r_k=r_k "
#define MAMBA                                                                                      \
    "in_proj.weight=in_proj.weight conv1d.weight=conv1d.weight conv1d.bias=conv1d.bias D=D "       \
    "out_proj.weight=out_proj.weight "
#define DELTA                                                                                      \
    QKV "q_conv1d.weight=q_conv.weight k_conv1d.weight=k_conv.weight "                             \
        "v_conv1d.weight=v_conv.weight b_proj.weight=beta.weight o_norm.weight=norm.weight "       \
        "g_proj.weight=gate.weight a_proj.weight=decay.weight A_log=A_log dt_bias=dt_bias "

/* clang-format off */
static const mixer_row ROWS[] = {
    {"hgrn2*", "hgrn2", hgrn2, "q_proj.weight=q.weight f_proj.weight=forget.weight i_proj.weight=v.weight g_norm.weight=norm.weight o_proj.weight=out.weight", lower_bound, false},
    {"delta_net*", "deltanet", delta, DELTA, NULL, false},
    {"gated_deltanet*", "gated-deltanet", delta, DELTA, NULL, false},
    {"qwen3_next*", "gated-deltanet", qwen3_next, "A_log=A_log dt_bias=dt_bias norm.weight=norm.weight out_proj.weight=out.weight", qwen3_next_parts, false},
    {"kda*", "kda", delta, DELTA "f_proj.0.weight=decay_down.weight f_proj.1.weight=decay_up.weight g_proj.0.weight=gate_down.weight g_proj.1.weight=gate_up.weight g_proj.1.bias=gate_up.bias", NULL, false},
    {"gated_deltaproduct*", "deltaproduct", delta, DELTA, NULL, false},
    {"deltaproduct*", "deltaproduct", delta, DELTA, NULL, false},
    {"mamba2*", "mamba2", mamba2, MAMBA "dt_bias=dt_bias A_log=A_log norm.weight=norm.weight", NULL, false},
    {"falcon_mamba*", "falcon-mamba", mamba, MAMBA "x_proj.weight=x_proj.weight dt_proj.weight=dt_proj.weight dt_proj.bias=dt_proj.bias ~A_log=A_log", NULL, false},
    {"longhorn*", "longhorn", mamba, MAMBA "x_proj.weight=x_proj.weight dt_head.weight=dt_head.weight dt_head.bias=dt_head.bias", NULL, false},
    {"griffin*", "rg-lru", griffin, "linear_y.weight=gate.weight linear_y.bias=gate.bias linear_x.weight=x.weight linear_x.bias=x.bias conv_1d.weight=conv1d.weight conv_1d.bias=conv1d.bias rg_lru.recurrent_param=lambda ~rg_lru.input_gate_weight=input_gate.weight rg_lru.input_gate_bias=input_gate.bias ~rg_lru.recurrent_gate_weight=recurrent_gate.weight rg_lru.recurrent_gate_bias=recurrent_gate.bias linear_out.weight=out.weight linear_out.bias=out.bias", NULL, false},
    {"rwkv5_time_mix", "rwkv5", rwkv, RWKV "time_mix_k=time_mix_k time_mix_v=time_mix_v time_mix_r=time_mix_r time_mix_g=time_mix_g", NULL, false},
    {"rwkv6_time_mix", "rwkv6", rwkv6, RWKV "time_maa_x=time_maa_x time_maa_w=time_maa_w time_maa_k=time_maa_k time_maa_v=time_maa_v time_maa_r=time_maa_r time_maa_g=time_maa_g ~time_maa_w1=time_maa_w1.weight ~time_maa_w2=time_maa_w2 ~time_decay_w1=time_decay_w1.weight ~time_decay_w2=time_decay_w2.weight", NULL, false},
    {"rwkv7_time_mix_later", "rwkv7", rwkv7_later, RWKV7 "v0=v0 ~v1=v1.weight ~v2=v2.weight", NULL, false},
    {"rwkv7_time_mix*", "rwkv7", rwkv7, RWKV7, NULL, false},
    {"mlstm*", "mlstm", mlstm, "q.weight=q.weight k.weight=k.weight v.weight=v.weight igate_preact.weight=input.weight igate_preact.bias=input.bias fgate_preact.weight=forget.weight fgate_preact.bias=forget.bias ogate_preact.weight=gate.weight multihead_norm.weight=norm.weight out_proj.weight=out.weight", NULL, false},
    {"lightning*", "lightning", lightning, "output_gate.weight=gate.weight norm.weight=norm.weight out_proj.weight=out.weight", lightning_parts, false},
    {"gsa*", "gsa", attention, QKV "f_proj.weight=forget.weight g_norm.weight=norm.weight", NULL, false},
    {"based*", "based", attention, QKV, NULL, false},
    {"rebased*", "rebased", attention, QKV "feature_map.gamma=feature.weight feature_map.beta=feature.bias", NULL, false},
    {"mingru*", "mingru", min_rnn, "linear_z.weight=update.weight linear_z.bias=update.bias linear_h.weight=candidate.weight linear_h.bias=candidate.bias", NULL, true},
    {"minlstm*", "minlstm", min_rnn, "linear_f.weight=forget.weight linear_f.bias=forget.bias linear_i.weight=input.weight linear_i.bias=input.bias linear_h.weight=candidate.weight linear_h.bias=candidate.bias", NULL, true},
};
/* clang-format on */

/* config.layer; where that is a number of a layer, the name of the case. */
static const mixer_row *row_of(const lcsm_oracle_case *c)
{
    const json_t *layer = json_object_get(c->config, "layer");
    const char   *name  = json_is_string(layer) ? json_string_value(layer) : c->name;
    for (size_t j = 0; layer != NULL && j < COUNT(ROWS); j++)
        if (fnmatch(ROWS[j].name, name, 0) == 0) return &ROWS[j];
    return NULL;
}

bool lcsm_lab_is_mixer(const lcsm_oracle_case *c)
{
    return row_of(c) != NULL;
}

void lcsm_lab_mixer(lcsm_lab *lab)
{
    const mixer_row *row = row_of(lab->c);
    lcsm_rig         r;
    lcsm_rig_open(&r, lab, row->method, "");
    lcsm_rig_input(&r, "x");
    row->settings(&r);
    lcsm_lab_out(lab, "y", row->cell ? lcsm_rig_recurrence(&r) : lcsm_rig_mixer(&r));
    lcsm_rig_params(&r, row->params);
    if (row->more != NULL) row->more(&r);
    lcsm_rig_close(&r, true);
}
