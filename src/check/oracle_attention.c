/* oracle_attention.c - methods with queries, keys and values: attention-like and fast weights. */
#include <math.h>
#include <string.h>

#include "check/oracle_build.h"
#include "eos/tables.h"

/* i = v, e = k, s = q of one head, as the inputs q, k, v of the case. */
static lcsm_lab_eos attention(lcsm_lab *lab)
{
    ptrdiff_t    n = lcsm_lab_dim(lab, "v", 0), d = lcsm_lab_dim(lab, "v", 1);
    lcsm_lab_eos x = lcsm_lab_eos_of(1, n, 1, lcsm_lab_dim(lab, "q", 1), d);
    lcsm_lab_operand(&x, EOS_i, lcsm_lab_seq(lab, "v"), LAB_T | LAB_D);
    lcsm_lab_operand(&x, EOS_s, lcsm_lab_seq(lab, "q"), LAB_T | LAB_K);
    if (lcsm_lab_has(lab, "k")) lcsm_lab_operand(&x, EOS_e, lcsm_lab_seq(lab, "k"), LAB_T | LAB_K);
    return x;
}

static void activate(lcsm_lab *lab, lcsm_lab_eos *x, int j, lcsm_act act)
{
    x->in[j] = lcsm_activate(lab->g, act, x->in[j]);
}

static void out_y(lcsm_lab *lab, const lcsm_lab_eos *x)
{
    lcsm_lab_out(lab, "y", lcsm_lab_eos_add(lab, x, NULL));
}

/* A column of ones beside v gives s . sum of e, the denominator; to it eps is added, or it is at
 * least eps. */
static void out_quotient(lcsm_lab *lab, lcsm_lab_eos *x, bool at_least, double eps)
{
    ptrdiff_t    n = x->desc.T, d = x->desc.D;
    lcsm_graph  *g   = lab->g;
    lcsm_tensor *one = lcsm_lab_fill(lab, lcsm_dims(1, n, 1), 1);
    x->desc.D        = d + 1;
    x->in[EOS_i]     = lcsm_lab_beside(lab, x->in[EOS_i], one);
    lcsm_tensor *y = lcsm_lab_eos_add(lab, x, NULL), *den = lcsm_lab_columns(lab, y, d, 1);
    lcsm_lab_out(lab, "y", lcsm_divide(g, lcsm_lab_columns(lab, y, 0, d), den, eps, at_least));
    /* max(den, eps) = relu(den - eps) + eps */
    lcsm_tensor *above = lcsm_affine(g, den, 1, at_least ? -eps : eps);
    if (at_least) above = lcsm_affine(g, lcsm_activate(g, LCSM_ACT_RELU, above), 1, eps);
    lcsm_lab_out(lab, "den", above);
}

/* ---- linear attention ---- */

void lcsm_lab_linear_attention(lcsm_lab *lab)
{
    lcsm_lab_eos x = attention(lab);
    out_y(lab, &x);
}

/* phi = 1 + elu; y = phi(q)^T m / (phi(q) . sum of phi(k) + eps). */
void lcsm_lab_linear_attention_denominator(lcsm_lab *lab)
{
    lcsm_lab_eos x = attention(lab);
    activate(lab, &x, EOS_e, LCSM_ACT_ELU1);
    activate(lab, &x, EOS_s, LCSM_ACT_ELU1);
    out_quotient(lab, &x, false, lcsm_lab_number(lab, "eps", 1e-6));
}

/* ---- RetNet, TNL ---- */

/* One log decay for each head. */
static void head_decays(lcsm_lab *lab, lcsm_lab_eos *x, const double *decay)
{
    double *log = lcsm_lab_take(lab, (size_t)x->desc.H, sizeof *log);
    if (log == NULL) return;
    for (ptrdiff_t h = 0; h < x->desc.H; h++) log[h] = log1p(decay[h] - 1);
    lcsm_lab_operand(x, EOS_row, lcsm_lab_constant(lab, lcsm_dims(x->desc.H), log), 0);
}

static lcsm_tensor *rotated(lcsm_lab *lab, lcsm_tensor *x, ptrdiff_t heads, const double *angle,
                            ptrdiff_t count)
{
    const lcsm_rotate_attr attr = {LCSM_ROTATE_PAIRS, heads};
    return lcsm_rotation(lab->g, &attr, x, lcsm_lab_constant(lab, lcsm_dims(count), angle));
}

/* o = lambda; with angles, q and k are rotated by position and k is scaled. */
void lcsm_lab_retention(lcsm_lab *lab)
{
    lcsm_lab_eos x      = attention(lab);
    double       lambda = lcsm_lab_number(lab, "lambda", NAN);
    head_decays(lab, &x, &lambda);
    if (json_object_get(lab->c->config, "angle") != NULL) {
        ptrdiff_t pairs = x.desc.K / 2;
        double   *angle = lcsm_lab_take(lab, (size_t)pairs, sizeof *angle);
        if (angle == NULL) return;
        lcsm_lab_list(lab, "angle", angle, (size_t)pairs);
        x.in[EOS_e] = lcsm_scale(lab->g, x.in[EOS_e], lcsm_lab_number(lab, "key_scale", 1));
        x.in[EOS_e] = rotated(lab, x.in[EOS_e], 1, angle, pairs);
        x.in[EOS_s] = rotated(lab, x.in[EOS_s], 1, angle, pairs);
    }
    out_y(lab, &x);
}

/* q, k, v projected from x, in heads. */
static lcsm_lab_eos mixer(lcsm_lab *lab, lcsm_tensor *x, ptrdiff_t heads)
{
    ptrdiff_t    n = lcsm_lab_dim(lab, "x", 0);
    ptrdiff_t    K = lcsm_lab_dim(lab, "Wk", 0) / heads, D = lcsm_lab_dim(lab, "Wv", 0) / heads;
    lcsm_lab_eos s = lcsm_lab_eos_of(1, n, heads, K, D);
    lcsm_lab_operand(&s, EOS_i, lcsm_lab_project(lab, x, "Wv", NULL), LAB_T | LAB_D);
    lcsm_lab_operand(&s, EOS_e, lcsm_lab_project(lab, x, "Wk", NULL), LAB_T | LAB_K);
    lcsm_lab_operand(&s, EOS_s, lcsm_lab_project(lab, x, "Wq", NULL), LAB_T | LAB_K);
    return s;
}

static ptrdiff_t heads_of(lcsm_lab *lab)
{
    double heads = lcsm_lab_number(lab, "heads", NAN);
    return heads >= 1 ? (ptrdiff_t)heads : 1;
}

/* Wo (silu(Wg x) * per-head RMS norm of the retention of rotated q and scaled k). */
void lcsm_lab_retnet_mixer(lcsm_lab *lab)
{
    ptrdiff_t    heads = heads_of(lab);
    lcsm_tensor *in    = lcsm_lab_seq(lab, "x");
    lcsm_lab_eos x     = mixer(lab, in, heads);
    double      *gamma = lcsm_lab_take(lab, (size_t)heads, sizeof *gamma);
    double      *angle = lcsm_lab_take(lab, (size_t)x.desc.K, sizeof *angle);
    if (gamma == NULL || angle == NULL) return;
    lcsm_retnet_gammas((size_t)heads, gamma);
    lcsm_retnet_angles((size_t)x.desc.K, angle);
    head_decays(lab, &x, gamma);
    x.in[EOS_e]    = lcsm_scale(lab->g, x.in[EOS_e], 1 / sqrt((double)x.desc.K));
    x.in[EOS_e]    = rotated(lab, x.in[EOS_e], heads, angle, x.desc.K / 2);
    x.in[EOS_s]    = rotated(lab, x.in[EOS_s], heads, angle, x.desc.K / 2);
    lcsm_tensor *y = lcsm_head_norm(lab->g, &(lcsm_norm_attr){LCSM_NORM_RMS, 1e-6, heads},
                                    lcsm_lab_eos_add(lab, &x, NULL), NULL, NULL);
    y              = lcsm_glu(lab->g, LCSM_ACT_SILU, lcsm_lab_project(lab, in, "Wg", NULL), y);
    lcsm_lab_out(lab, "y", lcsm_lab_project(lab, y, "Wo", NULL));
}

/* silu on q and k, decays by layer and head, Wo (Wu x * simple RMS norm over all heads). */
void lcsm_lab_tnl_mixer(lcsm_lab *lab)
{
    ptrdiff_t    heads = heads_of(lab);
    lcsm_tensor *in    = lcsm_lab_seq(lab, "x");
    lcsm_lab_eos x     = mixer(lab, in, heads);
    double      *decay = lcsm_lab_take(lab, (size_t)heads, sizeof *decay);
    if (decay == NULL) return;
    lcsm_tnl_decays((size_t)lcsm_lab_number(lab, "layer", NAN),
                    (size_t)lcsm_lab_number(lab, "layers", NAN), (size_t)heads, decay);
    head_decays(lab, &x, decay);
    activate(lab, &x, EOS_e, LCSM_ACT_SILU);
    activate(lab, &x, EOS_s, LCSM_ACT_SILU);
    lcsm_tensor *y = lcsm_rms_norm(lab->g, lcsm_lab_eos_add(lab, &x, NULL), NULL, 1e-6);
    y              = lcsm_mul(lab->g, lcsm_lab_project(lab, in, "Wu", NULL), y);
    lcsm_lab_out(lab, "y", lcsm_lab_project(lab, y, "Wo", NULL));
}

/* ---- cosFormer, LRPE ---- */

static lcsm_lab_eos cosformer(lcsm_lab *lab)
{
    lcsm_lab_eos x     = attention(lab);
    double       theta = lcsm_lab_number(lab, "theta", NAN);
    activate(lab, &x, EOS_e, LCSM_ACT_RELU);
    activate(lab, &x, EOS_s, LCSM_ACT_RELU);
    lcsm_lab_operand(&x, EOS_row_phase, lcsm_lab_constant(lab, lcsm_dims(1), &theta), 0);
    return x;
}

/* relu on q and k, o = exp(i theta), y = Re(m)^T q. */
void lcsm_lab_cosformer(lcsm_lab *lab)
{
    lcsm_lab_eos x = cosformer(lab);
    out_y(lab, &x);
}

void lcsm_lab_cosformer_denominator(lcsm_lab *lab)
{
    lcsm_lab_eos x = cosformer(lab);
    out_quotient(lab, &x, true, lcsm_lab_number(lab, "eps", 1e-6));
}

/* o = exp(i theta_a), learned. */
void lcsm_lab_lrpe(lcsm_lab *lab)
{
    lcsm_lab_eos x = attention(lab);
    lcsm_lab_operand(&x, EOS_row_phase, lcsm_lab_in(lab, "theta"), LAB_K);
    out_y(lab, &x);
}

/* ---- GLA, GateLoop ---- */

/* o = g 1^T, g = sigmoid(z)^(1/tau); y scaled. */
void lcsm_lab_gla(lcsm_lab *lab)
{
    lcsm_lab_eos x   = attention(lab);
    lcsm_tensor *log = lcsm_gate(lab->g, lcsm_lab_seq(lab, "z"), lcsm_lab_number(lab, "tau", 16));
    x.desc.scale     = lcsm_lab_number(lab, "scale", 1);
    lcsm_lab_operand(&x, EOS_row, log, LAB_T | LAB_K);
    out_y(lab, &x);
    lcsm_lab_out(lab, "g", lcsm_activate(lab->g, LCSM_ACT_EXP, log));
}

/* o = sigmoid(alpha) exp(i beta) 1^T. */
void lcsm_lab_gateloop(lcsm_lab *lab)
{
    lcsm_lab_eos x = attention(lab);
    lcsm_lab_operand(&x, EOS_row, lcsm_gate(lab->g, lcsm_lab_seq(lab, "alpha"), 1), LAB_T | LAB_K);
    lcsm_lab_operand(&x, EOS_row_phase, lcsm_lab_seq(lab, "beta"), LAB_T | LAB_K);
    out_y(lab, &x);
}

/* Gates of low rank, per-head RMS norm with one weight, silu gate, output projection. */
void lcsm_lab_gla_mixer(lcsm_lab *lab)
{
    ptrdiff_t    heads = heads_of(lab);
    lcsm_tensor *in    = lcsm_lab_seq(lab, "x");
    lcsm_lab_eos x     = mixer(lab, in, heads);
    lcsm_tensor *z     = lcsm_lab_project(lab, lcsm_lab_project(lab, in, "Wz1", NULL), "Wz2", "bz");
    x.desc.scale       = 1 / sqrt((double)x.desc.K);
    lcsm_lab_operand(&x, EOS_row, lcsm_gate(lab->g, z, lcsm_lab_number(lab, "tau", 16)),
                     LAB_T | LAB_K);
    const lcsm_norm_attr norm = {LCSM_NORM_RMS, lcsm_lab_number(lab, "norm_eps", 1e-5), heads};
    lcsm_tensor         *y    = lcsm_head_norm(lab->g, &norm, lcsm_lab_eos_add(lab, &x, NULL),
                                               lcsm_lab_in(lab, "norm_g"), NULL);
    y = lcsm_glu(lab->g, LCSM_ACT_SILU, lcsm_lab_project(lab, in, "Wg", NULL), y);
    lcsm_lab_out(lab, "y", lcsm_lab_project(lab, y, "Wo", NULL));
}

/* ---- decaying and gated fast weights ---- */

/* o = g h^T with sigmoid gates. */
void lcsm_lab_dur(lcsm_lab *lab)
{
    lcsm_lab_eos x = attention(lab);
    lcsm_lab_operand(&x, EOS_row, lcsm_gate(lab->g, lcsm_lab_seq(lab, "zg"), 1), LAB_T | LAB_K);
    lcsm_lab_operand(&x, EOS_col, lcsm_gate(lab->g, lcsm_lab_seq(lab, "zh"), 1), LAB_T | LAB_D);
    out_y(lab, &x);
}

/* m = (1 - g h^T) m + (g k) (h v)^T. */
void lcsm_lab_gfw(lcsm_lab *lab)
{
    lcsm_lab_eos x = attention(lab);
    lcsm_tensor *g = lcsm_activate(lab->g, LCSM_ACT_SIGMOID, lcsm_lab_seq(lab, "zg"));
    lcsm_tensor *h = lcsm_activate(lab->g, LCSM_ACT_SIGMOID, lcsm_lab_seq(lab, "zh"));
    x.desc.gen     = LCSM_GEN_COMPLEMENT;
    lcsm_lab_operand(&x, EOS_u, g, LAB_T | LAB_K);
    lcsm_lab_operand(&x, EOS_w, h, LAB_T | LAB_D);
    x.in[EOS_e] = lcsm_mul(lab->g, g, x.in[EOS_e]);
    x.in[EOS_i] = lcsm_mul(lab->g, h, x.in[EOS_i]);
    out_y(lab, &x);
}

/* ---- the delta rule ---- */

/* W_t = W_{t-1} + beta k (v - W^T k)^T, beta = sigmoid(b); keys 1 + elu over their sum (queries
 * too), or keys of length 1. */
void lcsm_lab_fwp(lcsm_lab *lab)
{
    bool                 l2   = strstr(lab->c->name, "l2norm") != NULL;
    const lcsm_norm_attr norm = {l2 ? LCSM_NORM_L2 : LCSM_NORM_SUM, 0, 1};
    lcsm_tensor         *last;
    lcsm_lab_eos         x = attention(lab);
    for (int j = EOS_e; !l2 && j <= EOS_s; j++) activate(lab, &x, j, LCSM_ACT_ELU1);
    lcsm_tensor *key = lcsm_head_norm(lab->g, &norm, x.in[EOS_e], NULL, NULL);
    if (!l2) x.in[EOS_s] = lcsm_head_norm(lab->g, &norm, x.in[EOS_s], NULL, NULL);
    lcsm_tensor *b    = lcsm_reshape(lab->g, lcsm_lab_in(lab, "b"), lcsm_dims(1, x.desc.T, 1));
    lcsm_tensor *beta = lcsm_activate(lab->g, LCSM_ACT_SIGMOID, b);
    x.in[EOS_e]       = lcsm_scale_rows(lab->g, key, beta);
    lcsm_lab_operand(&x, EOS_erase, key, LAB_T | LAB_K);
    lcsm_lab_out(lab, "y", lcsm_lab_eos_add(lab, &x, &last));
    lcsm_lab_out(lab, "W_final", last);
}

/* W_t = W_{t-1} + e u^T, u = v - W_{t-1}^T kbar, y = W_t^T q. */
void lcsm_lab_delta_core(lcsm_lab *lab)
{
    lcsm_tensor *last;
    lcsm_lab_eos x = attention(lab);
    lcsm_lab_operand(&x, EOS_e, lcsm_lab_seq(lab, "e"), LAB_T | LAB_K);
    lcsm_lab_operand(&x, EOS_erase, lcsm_lab_seq(lab, "kbar"), LAB_T | LAB_K);
    x.m0 = lcsm_lab_in(lab, "W0");
    lcsm_lab_out(lab, "y", lcsm_lab_eos_add(lab, &x, &last));
    lcsm_lab_out(lab, "W_final", last);
    lcsm_lab_out_erased(lab, "u", &x);
}

/* O = I - k k^T, or I - k kbar^T with separate keys. */
void lcsm_lab_m12(lcsm_lab *lab)
{
    lcsm_lab_eos x = attention(lab);
    lcsm_lab_operand(&x, EOS_erase, lcsm_lab_seq(lab, lcsm_lab_has(lab, "kbar") ? "kbar" : "k"),
                     LAB_T | LAB_K);
    out_y(lab, &x);
}

/* O = I - diag(k), k = sigmoid(z) or given. */
void lcsm_lab_m3(lcsm_lab *lab)
{
    lcsm_lab_eos x = attention(lab);
    if (lcsm_lab_has(lab, "z"))
        lcsm_lab_operand(&x, EOS_e, lcsm_activate(lab->g, LCSM_ACT_SIGMOID, lcsm_lab_seq(lab, "z")),
                         LAB_T | LAB_K);
    lcsm_tensor *o = lcsm_affine(lab->g, x.in[EOS_e], -1, 1);
    lcsm_lab_operand(&x, EOS_row, lcsm_activate(lab->g, LCSM_ACT_LOG, o), LAB_T | LAB_K);
    out_y(lab, &x);
}
