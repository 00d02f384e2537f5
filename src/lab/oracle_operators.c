/*
 * oracle_operators.c - cases that are operators by themselves. No builder of a method can run them:
 *
 * - selective_scan: u, dt, B and C are independent; in Mamba all are projections of one x.
 * - fwp_l2norm: keys of length 1 as they are; those of FWP and DeltaNet go through silu first.
 * - dss_softmax: the denominator without the method's eps.
 * - rpe_network: the network alone; TNN shows it only times gamma^lag.
 *
 * What the builders make of the same parts is checked by the mixers' cases and by tests/golden/.
 */
#include <math.h>
#include <string.h>

#include "base/toeplitz.h"
#include "lab/oracle_build.h"

/* ---- the delta rule ---- */

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

/* W_t = W_{t-1} + beta k (v - W^T k)^T, beta = sigmoid(b), keys of length 1. */
void lcsm_lab_delta_l2(lcsm_lab *lab)
{
    const lcsm_norm_attr norm = {LCSM_NORM_L2, 0, 1};
    lcsm_tensor         *last;
    lcsm_lab_eos         x   = attention(lab);
    lcsm_tensor         *key = lcsm_head_norm(lab->g, &norm, x.in[EOS_e], NULL, NULL);
    lcsm_tensor         *b = lcsm_reshape(lab->g, lcsm_lab_in(lab, "b"), lcsm_dims(1, x.desc.T, 1));
    lcsm_tensor         *beta = lcsm_activate(lab->g, LCSM_ACT_SIGMOID, b);
    x.in[EOS_e]               = lcsm_scale_rows(lab->g, key, beta);
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

/* ---- the selective scan ---- */

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

/* ---- S4 by its low rank ---- */

/* The kernel of A = diag(Lambda) - P P^* is its response to 1 at the first step. */
void lcsm_lab_s4_dplr(lcsm_lab *lab)
{
    ptrdiff_t    M       = lcsm_lab_dim(lab, "Lambda", 0);
    ptrdiff_t    L       = (ptrdiff_t)lcsm_lab_number(lab, "L", NAN);
    double      *impulse = lcsm_lab_take(lab, (size_t)L + 1, sizeof *impulse);
    const char  *names[] = {"Lambda", "P", "B", "C"};
    lcsm_tensor *in[COUNT(names)];
    if (impulse == NULL) return;
    for (size_t j = 0; j < COUNT(names); j++)
        in[j] = lcsm_reshape(lab->g, lcsm_lab_in(lab, names[j]), lcsm_dims(1, M, 2));
    impulse[0]              = 1;
    lcsm_tensor          *u = lcsm_lab_constant(lab, lcsm_dims(1, L, 1), impulse);
    lcsm_low_rank_tensors x = lcsm_low_rank(lab->g, &(lcsm_low_rank_attr){0}, in[0], in[1], in[2],
                                            lcsm_lab_in(lab, "log_dt"));
    lcsm_eos_operands     o = lcsm_low_rank_operands(&x, u, in[3]);
    lcsm_lab_out(lab, "kernel", lcsm_recurrence(lab->g, &o, NULL));
}

/* ---- DSS by the softmax ---- */

/* Shared Lambda, e = 1, s = W times the factor of the softmax over L lags, exactly: the method adds
 * an eps to its denominator. */
void lcsm_lab_dss_softmax(lcsm_lab *lab)
{
    ptrdiff_t                  K = lcsm_lab_dim(lab, "Lre", 0), D = lcsm_lab_dim(lab, "u", 1);
    ptrdiff_t                  L    = (ptrdiff_t)lcsm_lab_number(lab, "L", NAN);
    const lcsm_discretise_attr attr = {.kind = LCSM_DISCRETISE_SOFTMAX, .length = L};
    lcsm_discrete              d =
        lcsm_discretise(lab->g, &attr, lcsm_lab_in(lab, "Lre"), lcsm_lab_in(lab, "Lim"),
                        lcsm_lab_in(lab, "log_dt"), lcsm_lab_in_swapped(lab, "W"));
    lcsm_tensor *u = lcsm_lab_seq(lab, "u");
    lcsm_lab_eos x = lcsm_lab_eos_of(1, lcsm_lab_dim(lab, "u", 0), 1, K, D);
    lcsm_lab_operand(&x, EOS_i, u, LAB_T | LAB_D);
    lcsm_lab_operand(&x, EOS_full, d.log, LAB_K | LAB_D);
    lcsm_lab_operand(&x, EOS_full_phase, d.phase, LAB_K | LAB_D);
    lcsm_lab_operand(&x, EOS_e, lcsm_lab_fill(lab, lcsm_dims(K), 1), LAB_K);
    lcsm_lab_operand_complex(&x, EOS_s, d.coef, LAB_K | LAB_D);
    lcsm_lab_out(lab, "y",
                 lcsm_add(lab->g, lcsm_lab_eos_add(lab, &x, NULL),
                          lcsm_mul(lab->g, u, lcsm_lab_in(lab, "D"))));
    if (lcsm_lab_wants(lab, "kernel"))
        lcsm_lab_out_swapped(lab, "kernel", lcsm_lab_impulse(lab, &x, L));
}

/* ---- TNN ---- */

/* Toeplitz lags as a recurrence: of each conjugate pair the conversion keeps one, doubled. Its
 * output is that of the method. */
void lcsm_lab_etsc(lcsm_lab *lab)
{
    ptrdiff_t  n = lcsm_lab_dim(lab, "t", 0), D = lcsm_lab_dim(lab, "t", 1);
    ptrdiff_t  K     = (ptrdiff_t)lcsm_toeplitz_rows((size_t)n);
    double     gamma = lcsm_lab_number(lab, "gamma", NAN);
    double    *phase = lcsm_lab_take(lab, (size_t)K, sizeof *phase);
    double    *E     = lcsm_lab_take(lab, (size_t)(2 * K * D), sizeof *E);
    double    *b     = lcsm_lab_take(lab, (size_t)(2 * n * D), sizeof *b);
    double    *o     = lcsm_lab_take(lab, (size_t)(2 * n * D), sizeof *o);
    lcsm_error err;
    if (phase == NULL || E == NULL || b == NULL || o == NULL) return;
    if (lcsm_toeplitz_convert((size_t)n, (size_t)D, lcsm_lab_array(lab, "t")->data, phase, E, &err)
        != LCSM_OK) {
        lcsm_graph_fail(lab->g, err.status, "%s", err.text);
        return;
    }
    for (ptrdiff_t d = 0; d < D; d++)
        for (ptrdiff_t j = 1; j <= n; j++) {
            ptrdiff_t k = (j <= K ? j : n + 1 - j) - 1, at = 2 * (d * n + j - 1);
            double    half = 2 * (k + 1) == n + 1 ? 1 : 0.5, sign = j <= K ? 1 : -1;
            b[at]     = half * E[2 * (k * D + d)];
            b[at + 1] = half * sign * E[2 * (k * D + d) + 1];
            o[at]     = gamma * cos(phase[k]);
            o[at + 1] = gamma * sign * sin(phase[k]);
        }
    lcsm_lab_out_numbers(lab, "b", b, (size_t)(2 * n * D));
    lcsm_lab_out_numbers(lab, "lambda", o, (size_t)(2 * n * D));
    lcsm_lab_method(lab);
}

/* Position -> Linear, then [norm, relu, Linear] for each further layer w1, w2 ... and wo. */
void lcsm_lab_rpe(lcsm_lab *lab)
{
    const lcsm_oracle_array  *y  = lcsm_oracle_find(&lab->c->outputs, "y");
    ptrdiff_t                 n  = y != NULL && y->rank == 2 ? y->dim[0] : 1;
    const lcsm_positions_attr at = {.count = n, .first = 0, .step = 1};
    ptrdiff_t                 r  = lcsm_lab_dim(lab, "w0", 0);
    lcsm_tensor              *w0 = lcsm_reshape(lab->g, lcsm_lab_in(lab, "w0"), lcsm_dims(r));
    lcsm_tensor              *h  = lcsm_positions(lab->g, &at, w0, lcsm_lab_in(lab, "b0"));
    for (int layer = 1; layer <= 9; layer++) {
        char w[] = {'w', (char)('0' + layer), 0}, b[] = {'b', (char)('0' + layer), 0};
        if (!lcsm_lab_has(lab, w)) break;
        h = lcsm_activate(lab->g, LCSM_ACT_RELU, lcsm_rms_norm(lab->g, h, NULL, 0));
        h = lcsm_lab_project(lab, h, w, b);
    }
    h = lcsm_activate(lab->g, LCSM_ACT_RELU, lcsm_rms_norm(lab->g, h, NULL, 0));
    lcsm_lab_out(lab, "y", lcsm_lab_project(lab, h, "wo", "bo"));
}
