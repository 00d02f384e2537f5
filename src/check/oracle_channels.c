/* oracle_channels.c - one memory row for each channel: HGRN, LRN, RWKV-4; and Mamba. */
#include "check/oracle_build.h"

/* K = 1, e = s = 1: h_t = o_t h_{t-1} + i_t for each channel. */
static lcsm_lab_eos channels(lcsm_lab *lab, lcsm_tensor *i, lcsm_tensor *log_o)
{
    ptrdiff_t    T = i == NULL ? 1 : i->shape.dim[1], D = i == NULL ? 1 : i->cols;
    lcsm_lab_eos x = lcsm_lab_eos_of(1, T, 1, 1, D);
    lcsm_lab_operand(&x, EOS_i, i, LAB_T | LAB_D);
    lcsm_lab_operand(&x, EOS_e, lcsm_lab_fill(lab, lcsm_dims(1), 1), LAB_K);
    lcsm_lab_operand(&x, EOS_s, lcsm_lab_fill(lab, lcsm_dims(1), 1), LAB_K);
    lcsm_lab_operand(&x, EOS_col, log_o, LAB_T | LAB_D);
    return x;
}

/* ---- HGRN, LRN ---- */

/* lower + (1 - lower) sigmoid(mu). */
static lcsm_tensor *forget(lcsm_lab *lab, lcsm_tensor *mu)
{
    lcsm_tensor *s = lcsm_activate(lab->g, LCSM_ACT_SIGMOID, mu);
    if (s == NULL) return NULL;
    lcsm_tensor *one = lcsm_lab_fill(lab, s->shape, 1);
    return lcsm_lerp(lab->g, s, one, lcsm_lab_in(lab, "lower"));
}

/* h = lam h + (1 - lam) c, as the log decay and the input. */
static lcsm_lab_eos leaky(lcsm_lab *lab, lcsm_tensor *lam, lcsm_tensor *c)
{
    lcsm_tensor *log = lcsm_activate(lab->g, LCSM_ACT_LOG, lam);
    return channels(lab, lcsm_mul(lab->g, lcsm_affine(lab->g, lam, -1, 1), c), log);
}

/* y = silu(gate) h, h = lam h + (1 - lam) silu(c). */
void lcsm_lab_hgrn_real(lcsm_lab *lab)
{
    lcsm_tensor *lam  = forget(lab, lcsm_lab_seq(lab, "mu"));
    lcsm_tensor *c    = lcsm_activate(lab->g, LCSM_ACT_SILU, lcsm_lab_seq(lab, "c"));
    lcsm_lab_eos x    = leaky(lab, lam, c);
    lcsm_tensor *h    = lcsm_lab_eos_add(lab, &x, NULL);
    lcsm_tensor *gate = lcsm_lab_seq(lab, "gate");
    lcsm_lab_out(lab, "y", lcsm_glu(lab->g, LCSM_ACT_SILU, gate, h));
    lcsm_lab_out(lab, "h", h);
    lcsm_lab_out(lab, "lam", lam);
}

/* h = lam exp(i theta) h + (1 - lam) c with complex c, all in parts side by side. */
static lcsm_tensor *complex_leaky(lcsm_lab *lab, lcsm_tensor *lam, lcsm_tensor *c)
{
    lcsm_tensor *in =
        lcsm_mul(lab->g, lcsm_affine(lab->g, lcsm_lab_beside(lab, lam, lam), -1, 1), c);
    lcsm_tensor *log = lcsm_activate(lab->g, LCSM_ACT_LOG, lam);
    return lcsm_cscan(lab->g, &(lcsm_cscan_attr){0}, in, log, lcsm_lab_in(lab, "theta"), NULL);
}

void lcsm_lab_hgrn_complex(lcsm_lab *lab)
{
    lcsm_tensor *c   = lcsm_activate(lab->g, LCSM_ACT_SILU, lcsm_lab_seq(lab, "c"));
    lcsm_tensor *lam = forget(lab, lcsm_lab_seq(lab, "mu"));
    lcsm_lab_out(lab, "y", complex_leaky(lab, lam, lcsm_halves(lab->g, c)));
}

/* Wo (LayerNorm(h) silu(Wg x)) + bo. */
void lcsm_lab_hgrn_mixer(lcsm_lab *lab)
{
    lcsm_tensor *x   = lcsm_lab_seq(lab, "x");
    lcsm_tensor *c   = lcsm_activate(lab->g, LCSM_ACT_SILU, lcsm_lab_project(lab, x, "Win", "bin"));
    lcsm_tensor *lam = forget(lab, lcsm_lab_project(lab, x, "Wl", "bl"));
    lcsm_tensor *h   = complex_leaky(lab, lam, lcsm_halves(lab->g, c));
    h = lcsm_layer_norm(lab->g, h, lcsm_lab_in(lab, "ln_g"), lcsm_lab_in(lab, "ln_b"), 1e-5);
    h = lcsm_glu(lab->g, LCSM_ACT_SILU, lcsm_lab_project(lab, x, "Wg", "bg"), h);
    lcsm_lab_out(lab, "y", lcsm_lab_project(lab, h, "Wo", "bo"));
}

/* h = g h + (1 - g) tanh(c). */
void lcsm_lab_lrn(lcsm_lab *lab)
{
    lcsm_tensor *pre = lcsm_lab_seq(lab, "pre_g");
    lcsm_tensor *g   = lcsm_activate(lab->g, LCSM_ACT_SIGMOID, pre);
    lcsm_tensor *c   = lcsm_activate(lab->g, LCSM_ACT_TANH, lcsm_lab_seq(lab, "pre_i"));
    lcsm_tensor *i   = lcsm_mul(lab->g, lcsm_affine(lab->g, g, -1, 1), c);
    lcsm_lab_eos x   = channels(lab, i, lcsm_gate(lab->g, pre, 1));
    lcsm_lab_out(lab, "y", lcsm_lab_eos_add(lab, &x, NULL));
}

/* ---- RWKV-4 ---- */

/* wkv_t = (p_{t-1} + exp(u + k_t) v_t) / (q_{t-1} + exp(u + k_t)), p and q decaying. */
static lcsm_tensor *wkv(lcsm_lab *lab, lcsm_tensor *k, lcsm_tensor *v)
{
    return lcsm_wkv(lab->g, &(lcsm_wkv_attr){0}, k, v, lcsm_lab_in(lab, "decay"),
                    lcsm_lab_in(lab, "first"), NULL);
}

/* y = sigmoid(r) wkv. */
void lcsm_lab_wkv(lcsm_lab *lab)
{
    lcsm_tensor *x = wkv(lab, lcsm_lab_seq(lab, "k"), lcsm_lab_seq(lab, "v"));
    lcsm_lab_out(lab, "y", lcsm_glu(lab->g, LCSM_ACT_SIGMOID, lcsm_lab_seq(lab, "r"), x));
    lcsm_lab_out(lab, "wkv", x);
}

/* m = exp(-w) m + exp(k) v, y = sigmoid(r) m. */
void lcsm_lab_wkv_simple(lcsm_lab *lab)
{
    lcsm_tensor *e = lcsm_activate(lab->g, LCSM_ACT_EXP, lcsm_lab_seq(lab, "k"));
    lcsm_lab_eos x = channels(lab, lcsm_mul(lab->g, e, lcsm_lab_seq(lab, "v")), NULL);
    lcsm_lab_operand(&x, EOS_col, lcsm_scale(lab->g, lcsm_lab_in(lab, "w"), -1), LAB_D);
    lcsm_lab_out(lab, "y",
                 lcsm_glu(lab->g, LCSM_ACT_SIGMOID, lcsm_lab_seq(lab, "r"),
                          lcsm_lab_eos_add(lab, &x, NULL)));
}

static lcsm_tensor *shifted(lcsm_lab *lab, const char *mix, const char *w)
{
    lcsm_tensor *x = lcsm_token_shift(lab->g, &(lcsm_shift_attr){0}, lcsm_lab_seq(lab, "x"),
                                      lcsm_lab_in(lab, mix), NULL);
    return lcsm_lab_project(lab, x, w, NULL);
}

void lcsm_lab_time_mix(lcsm_lab *lab)
{
    lcsm_tensor *x = wkv(lab, shifted(lab, "mix_k", "Wk"), shifted(lab, "mix_v", "Wv"));
    x              = lcsm_glu(lab->g, LCSM_ACT_SIGMOID, shifted(lab, "mix_r", "Wr"), x);
    lcsm_lab_out(lab, "y", lcsm_lab_project(lab, x, "Wo", NULL));
}

/* sigmoid(Wr xr) * Wv relu(Wk xk)^2. */
void lcsm_lab_channel_mix(lcsm_lab *lab)
{
    lcsm_tensor *k = lcsm_activate(lab->g, LCSM_ACT_RELU2, shifted(lab, "mix_k", "Wk"));
    lcsm_lab_out(lab, "y",
                 lcsm_glu(lab->g, LCSM_ACT_SIGMOID, shifted(lab, "mix_r", "Wr"),
                          lcsm_lab_project(lab, k, "Wv", NULL)));
}

/* ---- Mamba ---- */

/* o = exp(dt A), A = -exp(A_log) given as [D][K]; y = m^T C + D u. */
static lcsm_tensor *mamba(lcsm_lab *lab, lcsm_lab_eos *x, lcsm_tensor *u, lcsm_tensor *dt,
                          lcsm_tensor *B, lcsm_tensor *C)
{
    ptrdiff_t T = u == NULL ? 1 : u->shape.dim[1], D = u == NULL ? 1 : u->cols;
    *x          = lcsm_lab_eos_of(1, T, 1, lcsm_lab_dim(lab, "A_log", 1), D);
    x->desc.gen = LCSM_GEN_EXP;
    lcsm_lab_operand(x, EOS_i, lcsm_mul(lab->g, dt, u), LAB_T | LAB_D);
    lcsm_lab_operand(x, EOS_e, B, LAB_T | LAB_K);
    lcsm_lab_operand(x, EOS_s, C, LAB_T | LAB_K);
    lcsm_lab_operand(x, EOS_u, dt, LAB_T | LAB_D);
    lcsm_lab_operand(
        x, EOS_w, lcsm_activate_scaled(lab->g, LCSM_ACT_EXP, lcsm_lab_in_swapped(lab, "A_log"), -1),
        LAB_K | LAB_D);
    return lcsm_add(lab->g, lcsm_lab_eos_add(lab, x, NULL),
                    lcsm_mul(lab->g, u, lcsm_lab_in(lab, "D")));
}

void lcsm_lab_selective_scan(lcsm_lab *lab)
{
    lcsm_lab_eos x;
    lcsm_tensor *raw = lcsm_add(lab->g, lcsm_lab_seq(lab, "dt_raw"), lcsm_lab_in(lab, "dt_bias"));
    lcsm_tensor *dt  = lcsm_activate(lab->g, LCSM_ACT_SOFTPLUS, raw);
    lcsm_tensor *y =
        mamba(lab, &x, lcsm_lab_seq(lab, "u"), dt, lcsm_lab_seq(lab, "B"), lcsm_lab_seq(lab, "C"));
    lcsm_lab_out(lab, "y", lcsm_glu(lab->g, LCSM_ACT_SILU, lcsm_lab_seq(lab, "z"), y));
    lcsm_lab_out(lab, "dt", dt);
    lcsm_lab_out_oscillation(lab, "o", &x);
}

/* In, convolution, silu, projections of dt, B and C, the scan, the gate, out. */
void lcsm_lab_mamba_mixer(lcsm_lab *lab)
{
    const lcsm_conv_attr silu = {.silu = true};
    lcsm_lab_eos         x;
    ptrdiff_t            K = lcsm_lab_dim(lab, "A_log", 1), Di = lcsm_lab_dim(lab, "A_log", 0);
    ptrdiff_t            R  = lcsm_lab_dim(lab, "W_dt", 1);
    lcsm_tensor         *in = lcsm_lab_project(lab, lcsm_lab_seq(lab, "x"), "W_in", NULL);
    lcsm_tensor         *u  = lcsm_short_conv(lab->g, &silu, lcsm_lab_columns(lab, in, 0, Di),
                                              lcsm_lab_in(lab, "conv_w"), lcsm_lab_in(lab, "conv_b"), NULL);
    lcsm_tensor         *p  = lcsm_lab_project(lab, u, "W_x", NULL);
    lcsm_tensor         *dt =
        lcsm_activate(lab->g, LCSM_ACT_SOFTPLUS,
                      lcsm_lab_project(lab, lcsm_lab_columns(lab, p, 0, R), "W_dt", "b_dt"));
    lcsm_tensor *y =
        mamba(lab, &x, u, dt, lcsm_lab_columns(lab, p, R, K), lcsm_lab_columns(lab, p, R + K, K));
    y = lcsm_glu(lab->g, LCSM_ACT_SILU, lcsm_lab_columns(lab, in, Di, Di), y);
    lcsm_lab_out(lab, "y", lcsm_lab_project(lab, y, "W_out", NULL));
    lcsm_lab_out(lab, "u", u);
    lcsm_lab_out(lab, "dt", dt);
}
