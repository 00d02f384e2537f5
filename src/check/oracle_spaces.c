/* oracle_spaces.c - state spaces (S4, S4D, S5, DSS) and long convolutions (TNN). */
#include <math.h>
#include <string.h>

#include "base/toeplitz.h"
#include "check/oracle_build.h"

/* y + D u. */
static void out_with_skip(lcsm_lab *lab, lcsm_tensor *y)
{
    lcsm_tensor *skip = lcsm_mul(lab->g, lcsm_lab_seq(lab, "u"), lcsm_lab_in(lab, "D"));
    lcsm_lab_out(lab, "y", lcsm_add(lab->g, y, skip));
}

/* ---- dense S4 ---- */

/* A bank of channels, each a head with D = 1, a dense A_bar and its own step dt. */
void lcsm_lab_s4_dense(lcsm_lab *lab)
{
    ptrdiff_t             T = lcsm_lab_dim(lab, "u", 0), H = lcsm_lab_dim(lab, "u", 1);
    lcsm_bilinear_tensors bar = lcsm_bilinear(lab->g, lcsm_lab_in(lab, "A"), lcsm_lab_in(lab, "B"),
                                              lcsm_lab_in(lab, "log_dt"));
    lcsm_lab_eos          x   = lcsm_lab_eos_of(1, T, H, lcsm_lab_dim(lab, "A", 0), 1);
    lcsm_lab_operand(&x, EOS_i, lcsm_lab_seq(lab, "u"), LAB_T | LAB_D);
    lcsm_lab_operand(&x, EOS_e, bar.B, LAB_K);
    lcsm_lab_operand(&x, EOS_s, lcsm_lab_in(lab, "C"), LAB_K);
    lcsm_lab_operand(&x, EOS_dense, bar.A, LAB_KK);
    out_with_skip(lab, lcsm_lab_eos_add(lab, &x, NULL));
    lcsm_lab_out(lab, "A_bar", bar.A);
    lcsm_lab_out(lab, "B_bar", bar.B);
}

/* The kernel of A = diag(Lambda) - P P^* is its response to 1 at the first step. */
void lcsm_lab_s4_dplr(lcsm_lab *lab)
{
    ptrdiff_t         M       = lcsm_lab_dim(lab, "Lambda", 0);
    ptrdiff_t         L       = (ptrdiff_t)lcsm_lab_number(lab, "L", NAN);
    double           *impulse = lcsm_lab_take(lab, (size_t)L + 1, sizeof *impulse);
    lcsm_dplr_tensors x       = {.log_dt = lcsm_lab_in(lab, "log_dt")};
    if (impulse == NULL) return;
    const struct {
        const char   *name;
        lcsm_tensor **to;
    } inputs[] = {{"Lambda", &x.lambda}, {"P", &x.P}, {"B", &x.B}, {"C", &x.C}};
    for (size_t j = 0; j < COUNT(inputs); j++)
        *inputs[j].to = lcsm_reshape(lab->g, lcsm_lab_in(lab, inputs[j].name), lcsm_dims(1, M, 2));
    impulse[0]     = 1;
    lcsm_tensor *u = lcsm_lab_constant(lab, lcsm_dims(1, L, 1), impulse);
    lcsm_lab_out(lab, "kernel", lcsm_dplr(lab->g, &(lcsm_dplr_attr){0}, u, &x, NULL));
}

/* ---- diagonal state spaces ---- */

/* i = u and o of a discretised space, full and static. */
static lcsm_lab_eos diagonal(lcsm_lab *lab, ptrdiff_t K, const lcsm_discrete *d)
{
    ptrdiff_t    T = lcsm_lab_dim(lab, "u", 0), D = lcsm_lab_dim(lab, "u", 1);
    lcsm_lab_eos x = lcsm_lab_eos_of(1, T, 1, K, D);
    lcsm_lab_operand(&x, EOS_i, lcsm_lab_seq(lab, "u"), LAB_T | LAB_D);
    lcsm_lab_operand(&x, EOS_full, d->log, LAB_K | LAB_D);
    lcsm_lab_operand(&x, EOS_full_phase, d->phase, LAB_K | LAB_D);
    return x;
}

static void out_diagonal(lcsm_lab *lab, const lcsm_lab_eos *x, ptrdiff_t kernel)
{
    out_with_skip(lab, lcsm_lab_eos_add(lab, x, NULL));
    if (lcsm_lab_wants(lab, "kernel"))
        lcsm_lab_out_swapped(lab, "kernel", lcsm_lab_impulse(lab, x, kernel));
}

/* A = -exp(log_A_re) + i A_im, e = (exp(dt A) - 1) / A, s = C, y = 2 Re(.) + D u. */
void lcsm_lab_s4d(lcsm_lab *lab)
{
    const lcsm_discretise_attr zoh = {.kind = LCSM_DISCRETISE_ZOH, .log_re = true};
    lcsm_discrete              d =
        lcsm_discretise(lab->g, &zoh, lcsm_lab_in_swapped(lab, "log_A_re"),
                        lcsm_lab_in_swapped(lab, "A_im"), lcsm_lab_in(lab, "log_dt"), NULL);
    lcsm_lab_eos x = diagonal(lab, lcsm_lab_dim(lab, "A_im", 1), &d);
    x.desc.scale   = 2;
    lcsm_lab_operand_complex(&x, EOS_e, d.coef, LAB_K | LAB_D);
    lcsm_lab_operand_complex(&x, EOS_s, lcsm_lab_in_swapped(lab, "C"), LAB_K | LAB_D);
    out_diagonal(lab, &x, x.desc.T);
}

/* Shared Lambda; e = 1, s = W times the factor of the zero-order hold, or of the softmax. */
void lcsm_lab_dss(lcsm_lab *lab)
{
    bool                       softmax = strstr(lab->c->name, "softmax") != NULL;
    ptrdiff_t                  K       = lcsm_lab_dim(lab, "Lre", 0);
    ptrdiff_t                  L       = (ptrdiff_t)lcsm_lab_number(lab, "L", NAN);
    const lcsm_discretise_attr attr    = {
           .kind   = softmax ? LCSM_DISCRETISE_SOFTMAX : LCSM_DISCRETISE_ZOH,
           .length = L,
    };
    lcsm_discrete d =
        lcsm_discretise(lab->g, &attr, lcsm_lab_in(lab, "Lre"), lcsm_lab_in(lab, "Lim"),
                        lcsm_lab_in(lab, "log_dt"), lcsm_lab_in_swapped(lab, "W"));
    lcsm_lab_eos x = diagonal(lab, K, &d);
    lcsm_lab_operand(&x, EOS_e, lcsm_lab_fill(lab, lcsm_dims(K), 1), LAB_K);
    lcsm_lab_operand_complex(&x, EOS_s, d.coef, LAB_K | LAB_D);
    out_diagonal(lab, &x, L);
}

/* ---- S5 ---- */

/* One memory of P states driven and read by all channels: x = L_bar x + B_bar u, y = 2 Re(C x). */
void lcsm_lab_s5(lcsm_lab *lab)
{
    lcsm_graph                *g      = lab->g;
    bool                       middle = strstr(lab->c->name, "bilinear") != NULL;
    ptrdiff_t                  P = lcsm_lab_dim(lab, "B", 0), H = lcsm_lab_dim(lab, "B", 1);
    const lcsm_discretise_attr attr = {
        .kind = middle ? LCSM_DISCRETISE_BILINEAR : LCSM_DISCRETISE_ZOH, .rows = true};
    lcsm_discrete d = lcsm_discretise(g, &attr, lcsm_lab_in(lab, "Lre"), lcsm_lab_in(lab, "Lim"),
                                      lcsm_lab_in(lab, "log_dt"), lcsm_lab_in_planes(lab, "B"));
    if (d.coef == NULL) return;
    lcsm_tensor *e =
        lcsm_linear(g, lcsm_lab_seq(lab, "u"), lcsm_reshape(g, d.coef, lcsm_dims(2 * P, H)), NULL);
    lcsm_tensor *x = lcsm_cscan(g, &(lcsm_cscan_attr){0}, e, d.log, d.phase, NULL);
    lcsm_tensor *C = lcsm_reshape(g, lcsm_lab_in_planes(lab, "C"), lcsm_dims(2 * H, P));
    if (C == NULL) return;
    lcsm_tensor *read = lcsm_lab_beside(lab, lcsm_slice(g, C, 0, 0, H),
                                        lcsm_scale(g, lcsm_slice(g, C, 0, H, H), -1));
    out_with_skip(lab, lcsm_scale(g, lcsm_linear(g, x, read, NULL), 2));
}

/* The table's form: o = exp(-exp(log_re) + i im) 1^T, static E and S. */
void lcsm_lab_s5_table(lcsm_lab *lab)
{
    ptrdiff_t    T = lcsm_lab_dim(lab, "i", 0), D = lcsm_lab_dim(lab, "i", 1);
    lcsm_lab_eos x = lcsm_lab_eos_of(1, T, 1, lcsm_lab_dim(lab, "E", 0), D);
    lcsm_lab_operand(&x, EOS_i, lcsm_lab_seq(lab, "i"), LAB_T | LAB_D);
    lcsm_lab_operand(&x, EOS_e, lcsm_lab_in(lab, "E"), LAB_K | LAB_D);
    lcsm_lab_operand(&x, EOS_s, lcsm_lab_in(lab, "S"), LAB_K | LAB_D);
    lcsm_lab_operand(&x, EOS_row,
                     lcsm_activate_scaled(lab->g, LCSM_ACT_EXP, lcsm_lab_in(lab, "log_re"), -1),
                     LAB_K);
    lcsm_lab_operand(&x, EOS_row_phase, lcsm_lab_in(lab, "im"), LAB_K);
    lcsm_lab_out(lab, "y", lcsm_lab_eos_add(lab, &x, NULL));
}

/* ---- TNN ---- */

/* gamma^l t_l. */
static lcsm_tensor *decayed(lcsm_lab *lab)
{
    return lcsm_decay_rows(lab->g, lcsm_lab_in(lab, "t"), lcsm_lab_number(lab, "gamma", NAN));
}

void lcsm_lab_toeplitz(lcsm_lab *lab)
{
    lcsm_tensor *kernel = decayed(lab);
    lcsm_lab_out(lab, "y", lcsm_long_conv(lab->g, lcsm_lab_seq(lab, "x"), kernel));
    lcsm_lab_out(lab, "kernel", kernel);
}

/* Wo (silu(Wu x) * Toeplitz(silu(Wv x))). */
void lcsm_lab_gtu(lcsm_lab *lab)
{
    lcsm_tensor *x = lcsm_lab_seq(lab, "x");
    lcsm_tensor *v = lcsm_activate(lab->g, LCSM_ACT_SILU, lcsm_lab_project(lab, x, "Wv", NULL));
    lcsm_tensor *y = lcsm_glu(lab->g, LCSM_ACT_SILU, lcsm_lab_project(lab, x, "Wu", NULL),
                              lcsm_long_conv(lab->g, v, decayed(lab)));
    lcsm_lab_out(lab, "y", lcsm_lab_project(lab, y, "Wo", NULL));
}

/* Toeplitz lags as a recurrence; of each conjugate pair the conversion keeps one, doubled. */
void lcsm_lab_etsc(lcsm_lab *lab)
{
    ptrdiff_t  n = lcsm_lab_dim(lab, "t", 0), D = lcsm_lab_dim(lab, "t", 1);
    ptrdiff_t  K     = (ptrdiff_t)lcsm_toeplitz_rows((size_t)n);
    double     gamma = lcsm_lab_number(lab, "gamma", NAN), log_gamma = log(gamma);
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
    lcsm_lab_eos x = lcsm_lab_eos_of(1, lcsm_lab_dim(lab, "x", 0), 1, K, D);
    lcsm_lab_operand(&x, EOS_i, lcsm_lab_seq(lab, "x"), LAB_T | LAB_D);
    lcsm_lab_operand_complex(&x, EOS_e, lcsm_lab_constant(lab, lcsm_dims(K, 2 * D), E),
                             LAB_K | LAB_D);
    lcsm_lab_operand(&x, EOS_s, lcsm_lab_fill(lab, lcsm_dims(K), 1), LAB_K);
    lcsm_lab_operand(&x, EOS_row, lcsm_lab_constant(lab, lcsm_dims(1), &log_gamma), 0);
    lcsm_lab_operand(&x, EOS_row_phase, lcsm_lab_constant(lab, lcsm_dims(K), phase), LAB_K);
    lcsm_lab_out(lab, "y_recurrent", lcsm_lab_eos_add(lab, &x, NULL));
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
