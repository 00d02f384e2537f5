/* oracle_data.c - recorded outputs of other programs: Mamba's kernels, ONNX's operators. */
#include <math.h>
#include <string.h>

#include "lab/oracle_build.h"

/* ---- Mamba: channels before time, A as [channel][state] ---- */

/* The axis of x that is as long as the weight has rows are the channels. */
void lcsm_lab_cuda_conv(lcsm_lab *lab)
{
    const char *said = lcsm_lab_text(lab, "activation", strrchr(lab->c->name, '_'));
    bool        silu = said != NULL && strstr(said, "silu") != NULL;
    if (!silu && (said == NULL || strstr(said, "identity") == NULL))
        lcsm_graph_fail(lab->g, LCSM_ERR_UNSUPPORTED, "the case does not say its activation");
    const lcsm_conv_attr attr  = {.silu = silu};
    bool                 first = lcsm_lab_dim(lab, "x", 1) == lcsm_lab_dim(lab, "weight", 0);
    lcsm_tensor         *b     = lcsm_lab_has(lab, "bias") ? lcsm_lab_in(lab, "bias") : NULL;
    lcsm_tensor         *y     = lcsm_short_conv(lab->g, &attr,
                                     first ? lcsm_lab_in_swapped(lab, "x") : lcsm_lab_in(lab, "x"),
                                                 lcsm_lab_in(lab, "weight"), b, NULL);
    if (first) lcsm_lab_out_swapped(lab, "y", y);
    else lcsm_lab_out(lab, "y", y);
}

void lcsm_lab_cuda_rms_norm(lcsm_lab *lab)
{
    lcsm_lab_out(lab, "y",
                 lcsm_rms_norm(lab->g, lcsm_lab_in(lab, "x"), lcsm_lab_in(lab, "w"), 1e-6));
}

/* silu(first half) * second half. */
void lcsm_lab_cuda_swiglu(lcsm_lab *lab)
{
    lcsm_tensor *xy   = lcsm_lab_in(lab, "xy");
    ptrdiff_t    half = xy == NULL ? 1 : xy->cols / 2;
    lcsm_lab_out(lab, "y",
                 lcsm_glu(lab->g, LCSM_ACT_SILU, lcsm_lab_columns(lab, xy, 0, half),
                          lcsm_lab_columns(lab, xy, half, half)));
}

static void refuse(lcsm_lab *lab, const char *why)
{
    lcsm_graph_fail(lab->g, LCSM_ERR_UNSUPPORTED, "%s", why);
}

/* e or s: [dim][state] static, or [batch][state][len] per token. */
static void cuda_state(lcsm_lab *lab, lcsm_lab_eos *x, int j, const char *name)
{
    const lcsm_oracle_array *a = lcsm_lab_array(lab, name);
    if (a == NULL) return;
    if (a->rank > 3) refuse(lab, "B and C in groups are not supported");
    else if (a->rank == 3 && a->dim[2] != x->desc.T)
        refuse(lab, "packed complex B and C are not supported");
    else
        lcsm_lab_operand(x, j, lcsm_lab_in_swapped(lab, name),
                         a->rank == 2 ? LAB_K | LAB_D : LAB_T | LAB_K);
}

/* Whether delta goes through softplus: as the case says, or, as it does not in the recordings of
 * Mamba's kernels, as those were made. */
static bool has_softplus(lcsm_lab *lab)
{
    static const struct {
        const char *name;
        bool        softplus;
    } RECORDED[]       = {{"minimal", false},
                          {"minimal_bf16", false},
                          {"minimal_fp16", false},
                          {"time_varying_3d", true},
                          {"full", true}};
    const json_t *said = json_object_get(lab->c->config, "delta_softplus");
    if (json_is_boolean(said)) return json_is_true(said);
    for (size_t j = 0; j < COUNT(RECORDED); j++)
        if (strcmp(RECORDED[j].name, lab->c->name) == 0) return RECORDED[j].softplus;
    refuse(lab, "the case does not say whether delta_softplus is true");
    return false;
}

static lcsm_tensor *cuda_delta(lcsm_lab *lab)
{
    lcsm_tensor *d = lcsm_lab_in_swapped(lab, "delta");
    if (lcsm_lab_has(lab, "delta_bias")) d = lcsm_add(lab->g, d, lcsm_lab_in(lab, "delta_bias"));
    return has_softplus(lab) ? lcsm_activate(lab->g, LCSM_ACT_SOFTPLUS, d) : d;
}

/* o = exp(delta A), i = delta u; y + D u and silu(z) where the case has them. */
void lcsm_lab_cuda_scan(lcsm_lab *lab)
{
    ptrdiff_t    B = lcsm_lab_dim(lab, "u", 0), D = lcsm_lab_dim(lab, "u", 1);
    ptrdiff_t    T = lcsm_lab_dim(lab, "u", 2);
    lcsm_lab_eos x = lcsm_lab_eos_of(B, T, 1, lcsm_lab_dim(lab, "A", 1), D);
    lcsm_tensor *d = cuda_delta(lab), *u = lcsm_lab_in_swapped(lab, "u"), *last;
    x.desc.gen = LCSM_GEN_EXP;
    lcsm_lab_operand(&x, EOS_u, d, LAB_T | LAB_D);
    lcsm_lab_operand(&x, EOS_w, lcsm_lab_in_swapped(lab, "A"), LAB_K | LAB_D);
    lcsm_lab_operand(&x, EOS_i, lcsm_mul(lab->g, d, u), LAB_T | LAB_D);
    cuda_state(lab, &x, EOS_e, "B");
    cuda_state(lab, &x, EOS_s, "C");
    lcsm_tensor *y = lcsm_lab_eos_add(lab, &x, &last);
    if (lcsm_lab_has(lab, "D")) y = lcsm_add(lab->g, y, lcsm_mul(lab->g, u, lcsm_lab_in(lab, "D")));
    if (lcsm_lab_has(lab, "z"))
        y = lcsm_glu(lab->g, LCSM_ACT_SILU, lcsm_lab_in_swapped(lab, "z"), y);
    lcsm_lab_out_swapped(lab, "y", y);
    lcsm_lab_out_swapped(lab, "last_state", last);
}

/* One step from a given memory: dt = softplus(dt + dt_bias), y = (m^T C + D x) silu(z). */
void lcsm_lab_cuda_step(lcsm_lab *lab)
{
    lcsm_graph *g = lab->g;
    ptrdiff_t   B = lcsm_lab_dim(lab, "x", 0), D = lcsm_lab_dim(lab, "x", 1);
    if (lcsm_lab_array(lab, "x")->rank != 2) refuse(lab, "heads are not supported");
    lcsm_lab_eos s = lcsm_lab_eos_of(B, 1, 1, lcsm_lab_dim(lab, "A", 1), D);
    lcsm_tensor *last, *x = lcsm_lab_in(lab, "x");
    lcsm_tensor *raw = lcsm_add(g, lcsm_lab_in(lab, "dt"), lcsm_lab_in(lab, "dt_bias"));
    lcsm_tensor *dt  = lcsm_activate(g, LCSM_ACT_SOFTPLUS, raw);
    s.desc.gen       = LCSM_GEN_EXP;
    s.m0             = lcsm_lab_in_swapped(lab, "state");
    lcsm_lab_operand(&s, EOS_u, dt, LAB_T | LAB_D);
    lcsm_lab_operand(&s, EOS_w, lcsm_lab_in_swapped(lab, "A"), LAB_K | LAB_D);
    lcsm_lab_operand(&s, EOS_i, lcsm_mul(g, dt, x), LAB_T | LAB_D);
    lcsm_lab_operand(&s, EOS_e, lcsm_lab_in(lab, "B"), LAB_T | LAB_K);
    lcsm_lab_operand(&s, EOS_s, lcsm_lab_in(lab, "C"), LAB_T | LAB_K);
    lcsm_tensor *y = lcsm_lab_eos_add(lab, &s, &last);
    if (y == NULL) return;
    y = lcsm_add(g, lcsm_reshape(g, y, lcsm_dims(B, D)), lcsm_mul(g, x, lcsm_lab_in(lab, "D")));
    lcsm_lab_out(lab, "y", lcsm_glu(g, LCSM_ACT_SILU, lcsm_lab_in(lab, "z"), y));
    lcsm_lab_out_swapped(lab, "updated_state", last);
}

/* ---- ONNX: LinearAttention, CausalConvWithState ---- */

/* The rules of LinearAttention. */
static const struct {
    const char *name;
    bool        gated, delta;
} RULES[] = {{"linear", false, false},
             {"gated", true, false},
             {"delta", false, true},
             {"gated_delta", true, true}};

static size_t rule_of(lcsm_lab *lab)
{
    const char *said = lcsm_lab_text(lab, "update_rule", "gated_delta");
    for (size_t j = 0; j < COUNT(RULES); j++)
        if (strcmp(RULES[j].name, said) == 0) {
            if (RULES[j].gated != lcsm_lab_has(lab, "decay")
                || RULES[j].delta != lcsm_lab_has(lab, "beta"))
                refuse(lab, "decay and beta do not go with update_rule");
            return j;
        }
    lcsm_graph_fail(lab->g, LCSM_ERR_UNSUPPORTED, "update_rule %s is not known", said);
    return 0;
}

/* beta k, beta one number for each head or for all. */
static lcsm_tensor *written_key(lcsm_lab *lab, lcsm_tensor *key, const lcsm_eos_desc *d)
{
    ptrdiff_t    H = lcsm_lab_dim(lab, "beta", 2) == 1 ? 1 : d->H;
    lcsm_tensor *k = lcsm_reshape(lab->g, key, lcsm_dims(d->B, d->T, H, d->H * d->K / H));
    lcsm_tensor *b = lcsm_reshape(lab->g, lcsm_lab_in(lab, "beta"), lcsm_dims(d->B, d->T, H, 1));
    return lcsm_scale_rows(lab->g, k, b);
}

/* Query head j of each of `group` heads that read one memory. */
static lcsm_tensor *group_queries(lcsm_lab *lab, const lcsm_eos_desc *d, ptrdiff_t group,
                                  ptrdiff_t j)
{
    lcsm_tensor *q =
        lcsm_reshape(lab->g, lcsm_lab_in(lab, "query"), lcsm_dims(d->B * d->T * d->H, group, d->K));
    q = group == 1 ? q : lcsm_slice(lab->g, q, 1, j, 1);
    return lcsm_reshape(lab->g, lcsm_scale(lab->g, q, 1), lcsm_dims(d->B, d->T, d->H * d->K));
}

static void read_groups(lcsm_lab *lab, lcsm_lab_eos *x, ptrdiff_t group)
{
    enum { MOST = 8 };
    const lcsm_eos_desc *d    = &x->desc;
    lcsm_tensor         *last = NULL, *y[MOST];
    if (group > MOST) refuse(lab, "more than 8 query heads for a memory are not supported");
    for (ptrdiff_t j = 0; j < group && j < MOST; j++) {
        lcsm_lab_operand(x, EOS_s, group_queries(lab, d, group, j), LAB_T | LAB_K);
        y[j] = lcsm_reshape(lab->g, lcsm_lab_eos_add(lab, x, &last),
                            lcsm_dims(d->B, d->T, d->H, d->D));
    }
    lcsm_lab_out(lab, "output",
                 group == 1 ? y[0] : lcsm_concat(lab->g, y, (int)(group < MOST ? group : MOST)));
    lcsm_lab_out(lab, "present_state", last);
}

/* state *= exp(decay) if gated; v = beta (v - state^T k) if delta; state += k v^T; q^T state. */
void lcsm_lab_onnx_attention(lcsm_lab *lab)
{
    size_t    rule  = rule_of(lab);
    ptrdiff_t H     = (ptrdiff_t)lcsm_lab_number(lab, "kv_num_heads", NAN);
    ptrdiff_t Hq    = (ptrdiff_t)lcsm_lab_number(lab, "q_num_heads", NAN);
    double    scale = lcsm_lab_number(lab, "scale", 0);
    if (H < 1 || Hq < 1 || Hq % H != 0) {
        refuse(lab, "q_num_heads is not a multiple of kv_num_heads");
        return;
    }
    ptrdiff_t    B = lcsm_lab_dim(lab, "query", 0), T = lcsm_lab_dim(lab, "query", 1);
    ptrdiff_t    K = lcsm_lab_dim(lab, "key", 2) / H, D = lcsm_lab_dim(lab, "value", 2) / H;
    lcsm_lab_eos x   = lcsm_lab_eos_of(B, T, H, K, D);
    lcsm_tensor *key = lcsm_lab_in(lab, "key");
    lcsm_lab_operand(&x, EOS_i, lcsm_lab_in(lab, "value"), LAB_T | LAB_D);
    lcsm_lab_operand(&x, EOS_e, key, LAB_T | LAB_K);
    x.desc.scale = scale == 0 ? 1 / sqrt((double)K) : scale;
    if (RULES[rule].gated)
        lcsm_lab_operand(&x, EOS_row, lcsm_lab_in(lab, "decay"),
                         lcsm_lab_dim(lab, "decay", 2) == H ? LAB_T : LAB_T | LAB_K);
    if (RULES[rule].delta) {
        lcsm_lab_operand(&x, EOS_e, written_key(lab, key, &x.desc), LAB_T | LAB_K);
        lcsm_lab_operand(&x, EOS_erase, key, LAB_T | LAB_K);
    }
    if (lcsm_lab_has(lab, "past_state")) x.m0 = lcsm_lab_in(lab, "past_state");
    read_groups(lab, &x, Hq / H);
}

void lcsm_lab_onnx_conv(lcsm_lab *lab)
{
    ptrdiff_t   C = lcsm_lab_dim(lab, "weight", 0), W = lcsm_lab_dim(lab, "weight", 2);
    const char *said = lcsm_lab_text(lab, "activation", "none");
    bool        silu = strcmp(said, "silu") == 0 || strcmp(said, "swish") == 0;
    if (!silu && strcmp(said, "none") != 0)
        lcsm_graph_fail(lab->g, LCSM_ERR_UNSUPPORTED, "activation %s is not known", said);
    const lcsm_conv_attr attr = {.silu = silu};
    lcsm_tensor         *w    = lcsm_reshape(lab->g, lcsm_lab_in(lab, "weight"), lcsm_dims(C, W));
    lcsm_tensor         *b    = lcsm_lab_has(lab, "bias") ? lcsm_lab_in(lab, "bias") : NULL;
    lcsm_lab_out_swapped(
        lab, "output",
        lcsm_short_conv(lab->g, &attr, lcsm_lab_in_swapped(lab, "input"), w, b, NULL));
    lcsm_lab_carry(lab, lcsm_lab_has(lab, "past_state") ? "past_state" : NULL, "present_state");
}
