/* s5.c - S5: one memory of P complex states, driven and read by all channels; and the form of the
 * paper's table. */
#include <math.h>
#include <stdlib.h>

#include "base/rng.h"
#include "eos/method.h"
#include "eos/tables.h"

/* ---- first values: HiPPO in blocks ------------------------------------------------------ */

/* J blocks of the N states, an even number each. */
static size_t block_count(size_t N)
{
    return N % 16 == 0 && N >= 64 ? 8 : 1;
}

/* The eigenvectors of a block, and of their eigenvalues the lower half. */
typedef struct {
    size_t  N, J, size; /* states, blocks, states of a block */
    double *w, *v;      /* NULL: no memory */
} basis;

static basis basis_new(size_t N)
{
    basis b = {.N = N, .J = block_count(N)};
    b.size  = N / b.J;
    b.w     = malloc((b.size + 2 * b.size * b.size) * sizeof *b.w);
    b.v     = b.w == NULL ? NULL : b.w + b.size;
    if (b.w != NULL && lcsm_hippo_eigen(b.size, b.w, b.v, NULL) != LCSM_OK) {
        free(b.w);
        b.w = NULL;
    }
    return b;
}

/* Im lambda of P states. */
LCSM_FILL(fill_lambda)
{
    basis b = basis_new(2 * count);
    for (size_t p = 0; p < count; p++) v[p] = b.w == NULL ? NAN : b.w[p % (b.size / 2)];
    free(b.w);
}

/* Element j of a normal distribution that is cut at two deviations, with deviation 1 after that. */
static double cut_normal(uint64_t seed, uint32_t purpose, uint64_t j)
{
    const double deviation = 0.87962566103423978;
    for (uint32_t round = 0;; round++) {
        double x = lcsm_rng_normal(seed, purpose + round * 0x9E3779B9u, j);
        if (fabs(x) <= 2) return x / deviation;
    }
}

/* V^* B of a real random B (N, H): [2, P, H], planes of real and imaginary parts. */
LCSM_FILL(fill_B)
{
    size_t P = (size_t)shape->dim[1], H = (size_t)shape->dim[2];
    basis  b     = basis_new(2 * P);
    double scale = 1 / sqrt(2 * (double)P);
    for (size_t j = 0; j < count; j++) v[j] = b.w == NULL ? NAN : 0;
    for (size_t p = 0; p < P && b.w != NULL; p++) {
        size_t        block = p / (b.size / 2);
        const double *row   = b.v + 2 * b.size * (p % (b.size / 2));
        for (size_t n = 0; n < b.size; n++)
            for (size_t h = 0; h < H; h++) {
                double x = scale * cut_normal(seed, purpose, (block * b.size + n) * H + h);
                v[p * H + h] += row[2 * n] * x;
                v[(P + p) * H + h] -= row[2 * n + 1] * x;
            }
    }
    free(b.w);
}

/* 2 Re and -2 Im, side by side, of C V for a complex random C (H, N): [H, 2 P]. */
LCSM_FILL(fill_C)
{
    size_t H = (size_t)shape->dim[0], P = (size_t)shape->dim[1] / 2;
    basis  b     = basis_new(2 * P);
    double scale = 2 / sqrt(2 * (double)P);
    for (size_t j = 0; j < count; j++) v[j] = b.w == NULL ? NAN : 0;
    for (size_t p = 0; p < P && b.w != NULL; p++) {
        size_t        block = p / (b.size / 2);
        const double *row   = b.v + 2 * b.size * (p % (b.size / 2));
        for (size_t h = 0; h < H; h++)
            for (size_t n = 0; n < b.size; n++) {
                uint64_t at = 2 * (h * b.N + block * b.size + n);
                double   re = scale * cut_normal(seed, purpose, at);
                double   im = scale * cut_normal(seed, purpose, at + 1);
                v[h * 2 * P + p] += re * row[2 * n] - im * row[2 * n + 1];
                v[h * 2 * P + P + p] -= re * row[2 * n + 1] + im * row[2 * n];
            }
    }
    free(b.w);
}

static lcsm_tensor *space_fill(const lcsm_mixer *m, const char *name, lcsm_shape shape,
                               lcsm_init init, unsigned flags)
{
    init.kind = LCSM_INIT_FILL;
    return lcsm_mix_param(m, name, shape, init, flags);
}

/* ---- S5 --------------------------------------------------------------------------------- */

/* Memory of P pairs from B_bar u, in one direction of time or in both; the step itself counts
 * once. */
static lcsm_tensor *memory(const lcsm_mixer *m, lcsm_tensor *e, const lcsm_discrete *d)
{
    lcsm_states  s = lcsm_mix_channels(m, e, lcsm_static(d->log, LCSM_AXIS_D), d->phase);
    lcsm_tensor *h = lcsm_recurrence(m->g, &s, NULL);
    if (!m->cfg->bidirectional) return h;
    if (!lcsm_mix_both_ways(m)) return NULL;
    s.reverse         = true;
    lcsm_tensor *back = lcsm_recurrence(m->g, &s, NULL);
    return lcsm_add(m->g, lcsm_add(m->g, h, back), lcsm_scale(m->g, e, -1));
}

/* x = L_bar x + B_bar u, y = 2 Re(C x). */
static lcsm_tensor *s5_output(const lcsm_mixer *m)
{
    bool                       middle = m->cfg->disc == LCSM_DISC_BILINEAR;
    const lcsm_discretise_attr a = {.kind = middle ? LCSM_DISCRETISE_BILINEAR : LCSM_DISCRETISE_ZOH,
                                    .rows = true,
                                    .margin = 1e-4};

    ptrdiff_t    P = lcsm_mix_even(m, "state_size", lcsm_mix_or(m->cfg->state_size, 256)) / 2;
    ptrdiff_t    H = m->D;
    lcsm_tensor *re =
        lcsm_mix_param(m, "Lambda_re", lcsm_dims(P), lcsm_init_constant(-0.5), LCSM_MIX_SPACE);
    lcsm_tensor *im =
        space_fill(m, "Lambda_im", lcsm_dims(P), (lcsm_init){.fill = fill_lambda}, LCSM_MIX_SPACE);
    lcsm_tensor *B =
        space_fill(m, "B", lcsm_dims(2, P, H), (lcsm_init){.fill = fill_B}, LCSM_MIX_SPACE);
    lcsm_tensor  *C = space_fill(m, "C", lcsm_dims(H, 2 * P), (lcsm_init){.fill = fill_C}, 0);
    lcsm_discrete d = lcsm_discretise(m->g, &a, re, im, lcsm_mix_log_dt(m, P), B);
    lcsm_tensor  *e =
        lcsm_linear(m->g, lcsm_mix_input(m), lcsm_reshape(m->g, d.coef, lcsm_dims(2 * P, H)), NULL);
    return lcsm_linear(m->g, memory(m, e, &d), C, NULL);
}

/* x sigmoid(W x) of x = gelu(y + D u). */
lcsm_tensor *lcsm_s5_mixer(const lcsm_mixer *m)
{
    lcsm_tensor *x = lcsm_mix_gelu(m, lcsm_mix_skip(m, s5_output(m)));
    return lcsm_glu(m->g, LCSM_ACT_SIGMOID, lcsm_mix_project(m, x, "gate", m->D, true), x);
}

lcsm_tensor *lcsm_s5_bare(const lcsm_mixer *m)
{
    return lcsm_mix_bare_end(m, s5_output(m));
}

/* ---- the table's form ------------------------------------------------------------------- */

/* log(dt / 2), so that o = exp(-dt / 2) before the phase. */
LCSM_FILL(fill_log_rate)
{
    for (size_t j = 0; j < count; j++)
        v[j] = log(0.5e-3) + log(100) * lcsm_rng_uniform(seed, purpose, j);
}

/* dt Im lambda with a dt in the middle of its range. */
LCSM_FILL(fill_angle)
{
    fill_lambda(v, shape, count, init, seed, purpose);
    for (size_t j = 0; j < count; j++) v[j] *= 1e-2;
}

/* K x D matrices E and S, and o = exp(-exp(log_rate) + i angle) for each row. */
bool lcsm_s5_table_states(const lcsm_mixer *m, lcsm_states *s)
{
    ptrdiff_t    K = lcsm_mix_or(m->cfg->state_size, 64), D = m->D;
    lcsm_tensor *u    = lcsm_mix_project(m, m->x, "i", D, false);
    lcsm_tensor *rate = space_fill(m, "log_rate", lcsm_dims(1, K),
                                   (lcsm_init){.fill = fill_log_rate}, LCSM_MIX_SPACE);
    lcsm_tensor *angle =
        space_fill(m, "angle", lcsm_dims(1, K), (lcsm_init){.fill = fill_angle}, LCSM_MIX_SPACE);
    lcsm_tensor *E = lcsm_mix_param(m, "E", lcsm_dims(1, K, D), lcsm_init_normal(0.1), 0);
    lcsm_tensor *S = lcsm_mix_param(m, "S", lcsm_dims(1, K, D), lcsm_init_normal(0.1), 0);
    *s             = (lcsm_states){
                    .H         = 1,
                    .K         = K,
                    .D         = D,
                    .i         = lcsm_per_token_d(u),
                    .e         = lcsm_static(E, LCSM_AXIS_K | LCSM_AXIS_D),
                    .s         = lcsm_static(S, LCSM_AXIS_K | LCSM_AXIS_D),
                    .row       = lcsm_static(lcsm_activate_scaled(m->g, LCSM_ACT_EXP, rate, -1), LCSM_AXIS_K),
                    .row_phase = lcsm_static(angle, LCSM_AXIS_K)};
    return u != NULL && s->row.x != NULL;
}
