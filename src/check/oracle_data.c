/* oracle_data.c - recorded outputs of other programs: Mamba's kernels, ONNX's operators. */
#include <math.h>
#include <string.h>

#include "check/oracle_build.h"

/* ---- Mamba: channels before time, A as [channel][state] ---- */

void lcsm_lab_cuda_conv(lcsm_lab *lab)
{
    const lcsm_conv_attr attr = {.silu = strstr(lab->c->name, "silu") != NULL};
    lcsm_lab_out_swapped(lab, "y",
                         lcsm_short_conv(lab->g, &attr, lcsm_lab_in_swapped(lab, "x"),
                                         lcsm_lab_in(lab, "weight"), lcsm_lab_in(lab, "bias"),
                                         NULL));
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

/* e or s: [dim][state] static, or [batch][state][len] per token. */
static void cuda_state(lcsm_lab *lab, lcsm_lab_eos *x, int j, const char *name)
{
    const lcsm_oracle_array *a = lcsm_lab_array(lab, name);
    if (a == NULL) return;
    lcsm_lab_operand(x, j, lcsm_lab_in_swapped(lab, name),
                     a->rank == 2 ? LAB_K | LAB_D : LAB_T | LAB_K);
}

/* o = exp(delta A), i = delta u; delta through softplus except in the minimal case. */
void lcsm_lab_cuda_scan(lcsm_lab *lab)
{
    ptrdiff_t    B = lcsm_lab_dim(lab, "u", 0), D = lcsm_lab_dim(lab, "u", 1);
    ptrdiff_t    T = lcsm_lab_dim(lab, "u", 2);
    lcsm_lab_eos x = lcsm_lab_eos_of(B, T, 1, lcsm_lab_dim(lab, "A", 1), D);
    lcsm_tensor *d = lcsm_lab_in_swapped(lab, "delta");
    if (strcmp(lab->c->name, "minimal") != 0) d = lcsm_activate(lab->g, LCSM_ACT_SOFTPLUS, d);
    x.desc.gen = LCSM_GEN_EXP;
    lcsm_lab_operand(&x, EOS_u, d, LAB_T | LAB_D);
    lcsm_lab_operand(&x, EOS_w, lcsm_lab_in_swapped(lab, "A"), LAB_K | LAB_D);
    lcsm_lab_operand(&x, EOS_i, lcsm_mul(lab->g, d, lcsm_lab_in_swapped(lab, "u")), LAB_T | LAB_D);
    cuda_state(lab, &x, EOS_e, "B");
    cuda_state(lab, &x, EOS_s, "C");
    lcsm_lab_out_swapped(lab, "y", lcsm_lab_eos_add(lab, &x, NULL));
}

/* One step from a given memory: dt = softplus(dt + dt_bias), y = (m^T C + D x) silu(z). */
void lcsm_lab_cuda_step(lcsm_lab *lab)
{
    lcsm_graph  *g = lab->g;
    ptrdiff_t    B = lcsm_lab_dim(lab, "x", 0), D = lcsm_lab_dim(lab, "x", 1);
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

/* state *= exp(decay) if gated; v = beta (v - state^T k) if delta; state += k v^T; q^T state. */
void lcsm_lab_onnx_attention(lcsm_lab *lab)
{
    const char  *rule  = lcsm_lab_text(lab, "update_rule", "gated_delta");
    double       heads = lcsm_lab_number(lab, "kv_num_heads", NAN);
    ptrdiff_t    H     = heads >= 1 ? (ptrdiff_t)heads : 1;
    ptrdiff_t    B = lcsm_lab_dim(lab, "query", 0), T = lcsm_lab_dim(lab, "query", 1);
    ptrdiff_t    K = lcsm_lab_dim(lab, "key", 2) / H, D = lcsm_lab_dim(lab, "value", 2) / H;
    lcsm_lab_eos x = lcsm_lab_eos_of(B, T, H, K, D);
    lcsm_tensor *last, *key = lcsm_lab_in(lab, "key");
    if (lcsm_lab_number(lab, "q_num_heads", NAN) != heads)
        lcsm_graph_fail(lab->g, LCSM_ERR_UNSUPPORTED, "queries and keys differ in heads");
    lcsm_lab_operand(&x, EOS_i, lcsm_lab_in(lab, "value"), LAB_T | LAB_D);
    lcsm_lab_operand(&x, EOS_s, lcsm_lab_in(lab, "query"), LAB_T | LAB_K);
    lcsm_lab_operand(&x, EOS_e, key, LAB_T | LAB_K);
    x.desc.scale = lcsm_lab_number(lab, "scale", 1 / sqrt((double)K));
    if (strstr(rule, "gated") != NULL)
        lcsm_lab_operand(&x, EOS_row, lcsm_lab_in(lab, "decay"),
                         lcsm_lab_dim(lab, "decay", 2) == H ? LAB_T : LAB_T | LAB_K);
    if (strstr(rule, "delta") != NULL) {
        lcsm_tensor *k    = lcsm_reshape(lab->g, key, lcsm_dims(B, T, H, K));
        lcsm_tensor *beta = lcsm_reshape(lab->g, lcsm_lab_in(lab, "beta"), lcsm_dims(B, T, H, 1));
        lcsm_lab_operand(&x, EOS_e, lcsm_scale_rows(lab->g, k, beta), LAB_T | LAB_K);
        lcsm_lab_operand(&x, EOS_erase, key, LAB_T | LAB_K);
    }
    if (lcsm_lab_has(lab, "past_state")) x.m0 = lcsm_lab_in(lab, "past_state");
    lcsm_lab_out(lab, "output", lcsm_lab_eos_add(lab, &x, &last));
    lcsm_lab_out(lab, "present_state", last);
}

void lcsm_lab_onnx_conv(lcsm_lab *lab)
{
    ptrdiff_t            C = lcsm_lab_dim(lab, "weight", 0), W = lcsm_lab_dim(lab, "weight", 2);
    const lcsm_conv_attr attr = {.silu =
                                     strcmp(lcsm_lab_text(lab, "activation", "none"), "silu") == 0};
    lcsm_tensor         *w    = lcsm_reshape(lab->g, lcsm_lab_in(lab, "weight"), lcsm_dims(C, W));
    lcsm_tensor         *b    = lcsm_lab_has(lab, "bias") ? lcsm_lab_in(lab, "bias") : NULL;
    lcsm_lab_out_swapped(
        lab, "output",
        lcsm_short_conv(lab->g, &attr, lcsm_lab_in_swapped(lab, "input"), w, b, NULL));
    lcsm_lab_carry(lab, lcsm_lab_has(lab, "past_state") ? "past_state" : NULL, "present_state");
}
