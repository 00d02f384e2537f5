/*
 * rwkv7.c - RWKV-7 (Goose): a decay for each row and token, and the removal of what is stored under
 * another key than the one that is written.
 *
 *     m_t = diag(w_t) m_{t-1} - (kappa a_t) (kappa^T m_{t-1}) + k_t v_t^T        y_t = m_t^T r_t
 *
 * kappa is k k_k with length 1 in each head, k_t is k (1 + (a_t - 1) k_a). Values are mixed with
 * those of the model's first such layer. Bare models have neither token shift, mixing of values nor
 * gate.
 */
#include <math.h>

#include "base/rng.h"
#include "eos/method.h"

static bool bare(const lcsm_mixer *m)
{
    return m->cfg->flavour == LCSM_FLAVOUR_BARE;
}

/* ---- initial values ---------------------------------------------------------------------- */

static double depth(const lcsm_init *init)
{
    return init->b == 1 ? 0 : init->a / (init->b - 1);
}

/* 1 - (c / D)^(power rest), rest the share of the layers that follow this one or are it. */
LCSM_FILL(fill_mix)
{
    double rest = 1 - init->a / init->b;
    for (size_t c = 0; c < count; c++) v[c] = 1 - pow((double)c / (double)count, init->c * rest);
}

static double line(size_t c, size_t count)
{
    return count == 1 ? -0.5 : (double)c / (double)(count - 1) - 0.5;
}

/* From -1 to 1 in each head of c channels, the square with its sign. */
static double zigzag(size_t c, size_t K)
{
    if (K == 1) return 0;
    double half = ((double)K - 1) / 2, z = ((double)(c % K) - half) / half;
    return z * fabs(z);
}

/* c is the width of a head. */
LCSM_FILL(fill_w0)
{
    double power = 1 + pow(depth(init), 0.3);
    for (size_t j = 0; j < count; j++)
        v[j] = -5.5 + 6 * pow(line(j, count) + 0.5, power) + 2.5 * zigzag(j, (size_t)init->c);
}

LCSM_FILL(fill_a0)
{
    for (size_t j = 0; j < count; j++)
        v[j] = -0.19 + 0.3 * zigzag(j, (size_t)init->c) + 0.4 * line(j, count);
}

/* a + b line. */
LCSM_FILL(fill_line)
{
    for (size_t j = 0; j < count; j++) v[j] = init->a + init->b * line(j, count);
}

/* Vectors in a matrix: number r has n numbers, r `next` apart and each `step`. */
typedef struct {
    double *v;
    size_t  n, next, step;
} vectors;

static double dot(const vectors *x, size_t a, size_t b)
{
    double sum = 0;
    for (size_t j = 0; j < x->n; j++)
        sum += x->v[a * x->next + j * x->step] * x->v[b * x->next + j * x->step];
    return sum;
}

/* x_a += factor x_b. */
static void add(const vectors *x, size_t a, double factor, size_t b)
{
    for (size_t j = 0; j < x->n; j++)
        x->v[a * x->next + j * x->step] += factor * x->v[b * x->next + j * x->step];
}

/* [out, in] of orthogonal columns, or rows where those are fewer, all of one length. */
LCSM_FILL(fill_orthogonal)
{
    size_t  out = (size_t)shape->dim[0], in = (size_t)shape->dim[1], fewer = out < in ? out : in;
    vectors x      = out < in ? (vectors){v, in, in, 1} : (vectors){v, out, 1, in};
    double  length = 0.1 * sqrt(fmax(1, (double)in / (double)out));
    lcsm_rng_fill_normal_f64(v, count, seed, purpose, 0);
    for (size_t a = 0; a < fewer; a++) {
        for (size_t b = 0; b < a; b++) add(&x, a, -dot(&x, a, b) / (length * length), b);
        add(&x, a, length / sqrt(dot(&x, a, a)) - 1, a);
    }
}

/* ---- parts ------------------------------------------------------------------------------- */

static lcsm_tensor *vector(const lcsm_mixer *m, const char *name, lcsm_init init)
{
    return lcsm_mix_param(m, name, lcsm_dims(m->D), init, LCSM_PARAM_NO_DECAY);
}

static lcsm_init line_from(double centre, double slope)
{
    return (lcsm_init){.kind = LCSM_INIT_FILL, .a = centre, .b = slope, .fill = fill_line};
}

static lcsm_init by_layer(const lcsm_mixer *m, double c, lcsm_fill_fn *fill)
{
    return (lcsm_init){.kind = LCSM_INIT_FILL, .a = m->layer, .b = m->layers, .c = c, .fill = fill};
}

/* x_t + mu (x_{t-1} - x_t); bare: x itself. */
static lcsm_tensor *mixed(const lcsm_mixer *m, lcsm_tensor *past, const char *name, lcsm_init init)
{
    return bare(m) ? m->x : lcsm_lerp(m->g, m->x, past, vector(m, name, init));
}

/* W x with weights up to bound / sqrt(D). */
static lcsm_tensor *project(const lcsm_mixer *m, lcsm_tensor *x, const char *name, double bound)
{
    bound /= sqrt((double)m->D);
    return lcsm_mix_project_init(m, x, name, m->D, false, lcsm_init_uniform(-bound, bound));
}

/* The larger of 32 and the multiple of 32 that is next to factor sqrt(D). */
static ptrdiff_t rank_of(const lcsm_mixer *m, ptrdiff_t given, double factor)
{
    ptrdiff_t rank = 32 * (ptrdiff_t)floor(factor * sqrt((double)m->D) / 32 + 0.5);
    return lcsm_mix_or(given, rank > 32 ? rank : 32);
}

/* W2 act(W1 x). */
static lcsm_tensor *low_rank(const lcsm_mixer *m, lcsm_tensor *x, const char *down, const char *up,
                             ptrdiff_t rank, lcsm_act act)
{
    lcsm_init    orthogonal = {.kind = LCSM_INIT_FILL, .fill = fill_orthogonal};
    lcsm_tensor *low        = lcsm_mix_project_init(m, x, down, rank, false, lcsm_init_constant(0));
    if (act != LCSM_ACT_NONE) low = lcsm_activate(m->g, act, low);
    return lcsm_mix_project_init(m, low, up, m->D, false, orthogonal);
}

/* sigmoid(bias + x). */
static lcsm_tensor *rate(const lcsm_mixer *m, lcsm_tensor *x, const char *bias, lcsm_init init)
{
    return lcsm_activate(m->g, LCSM_ACT_SIGMOID, lcsm_add(m->g, x, vector(m, bias, init)));
}

/* The value of the first layer, which leaves it there, and in later ones v on its way to it. */
static lcsm_tensor *value(const lcsm_mixer *m, lcsm_tensor *x)
{
    lcsm_tensor *v = project(m, x, "value", 0.5);
    if (bare(m) || m->first == NULL) return v;
    if (*m->first == NULL) return *m->first = v;
    lcsm_tensor *z =
        low_rank(m, x, "v1", "v2", rank_of(m, m->cfg->rwkv_v_rank, 1.7), LCSM_ACT_NONE);
    return lcsm_lerp(m->g, v, *m->first, rate(m, z, "v0", line_from(0.73, -0.4)));
}

/* ---- states ------------------------------------------------------------------------------ */

typedef struct {
    lcsm_tensor *r, *w, *k, *v, *a, *g;
} inputs;

static inputs inputs_of(const lcsm_mixer *m)
{
    lcsm_tensor *past = bare(m) ? NULL : lcsm_mix_previous(m);
    lcsm_init    edge = by_layer(m, 0.2, fill_mix);
    return (inputs){.r = mixed(m, past, "x_r", edge),
                    .w = mixed(m, past, "x_w", by_layer(m, 0.9, fill_mix)),
                    .k = mixed(m, past, "x_k", by_layer(m, 0.7, fill_mix)),
                    .v = mixed(m, past, "x_v", by_layer(m, 0.7, fill_mix)),
                    .a = mixed(m, past, "x_a", by_layer(m, 0.9, fill_mix)),
                    .g = bare(m) ? NULL : mixed(m, past, "x_g", edge)};
}

/* -exp(-1/2) sigmoid(w0 + W2 tanh(W1 x)): log gates above -0.61. */
static lcsm_tensor *decay(const lcsm_mixer *m, lcsm_tensor *x, ptrdiff_t K)
{
    ptrdiff_t    rank = rank_of(m, m->cfg->rwkv_decay_rank, 2.5);
    lcsm_tensor *z    = low_rank(m, x, "w1", "w2", rank, LCSM_ACT_TANH);
    lcsm_tensor *w    = rate(m, z, "w0", by_layer(m, (double)K, fill_w0));
    return lcsm_scale(m->g, w, -exp(-0.5));
}

static lcsm_tensor *output_gate(const lcsm_mixer *m, lcsm_tensor *x)
{
    return low_rank(m, x, "g1", "g2", rank_of(m, m->cfg->rwkv_g_rank, 5), LCSM_ACT_SIGMOID);
}

/* Side: r, the key that is written, v and the gate. */
bool lcsm_rwkv7_states(const lcsm_mixer *m, lcsm_states *s)
{
    ptrdiff_t    H = lcsm_mix_rwkv_heads(m), K = lcsm_mix_split(m, "d_model", m->D, H);
    inputs       x = inputs_of(m);
    lcsm_tensor *r = project(m, x.r, "receptance", 0.5), *k = project(m, x.k, "key", 0.05);
    lcsm_tensor *v = value(m, x.v);
    lcsm_tensor *z =
        low_rank(m, x.a, "a1", "a2", rank_of(m, m->cfg->rwkv_a_rank, 2.5), LCSM_ACT_NONE);
    lcsm_tensor *a = rate(m, z, "a0", by_layer(m, (double)K, fill_a0));
    /* the root of |k|^2 + 1e-24 for the larger of |k| and 1e-12 */
    lcsm_tensor *kappa =
        lcsm_mix_unit(m, lcsm_mul(m->g, k, vector(m, "k_k", line_from(0.71, -0.1))), H, 1e-24);
    lcsm_tensor *share =
        lcsm_mul(m->g, lcsm_affine(m->g, a, 1, -1), vector(m, "k_a", lcsm_init_constant(1.02)));
    k      = lcsm_mul(m->g, k, lcsm_affine(m->g, share, 1, 1));
    *s     = (lcsm_states){.H = H, .K = K, .D = K};
    s->i   = lcsm_per_token_d(v);
    s->e   = lcsm_per_token_k(k);
    s->s   = lcsm_per_token_k(r);
    s->row = lcsm_per_token_k(decay(m, x.w, K));
    s->a   = lcsm_per_token_k(lcsm_mul(m->g, kappa, a));
    s->b   = lcsm_per_token_k(lcsm_scale(m->g, kappa, -1));
    if (m->side != NULL) {
        m->side[0] = r;
        m->side[1] = k;
        m->side[2] = v;
        m->side[3] = x.g == NULL ? NULL : output_gate(m, x.g);
    }
    return s->b.x != NULL;
}

/* (sum_k r k r_k) v in each head. */
static lcsm_tensor *bonus(const lcsm_mixer *m, ptrdiff_t H, lcsm_tensor *const side[4])
{
    ptrdiff_t    K = m->D / H;
    lcsm_tensor *r_k =
        lcsm_mix_param(m, "r_k", lcsm_dims(H, K), lcsm_init_constant(-0.04), LCSM_PARAM_NO_DECAY);
    lcsm_tensor *x = lcsm_mul(m->g, side[0], side[1]);
    x              = lcsm_mul(m->g, x, lcsm_reshape(m->g, r_k, lcsm_dims(m->D)));
    x              = lcsm_reshape(m->g, x, lcsm_dims(m->B, m->T, H, K));
    x              = lcsm_linear(m->g, x, lcsm_constant(m->g, lcsm_dims(1, K), 1), NULL);
    x              = lcsm_reshape(m->g, x, lcsm_dims(m->B, m->T, H));
    return lcsm_mix_by_head(m, side[2], x);
}

/* W ((norm(y) + bonus) * gate), the norm in heads. */
lcsm_tensor *lcsm_rwkv7_mixer(const lcsm_mixer *m)
{
    ptrdiff_t    H       = lcsm_mix_rwkv_heads(m);
    lcsm_tensor *side[4] = {0};
    lcsm_mixer   own     = *m;
    own.side             = side;
    lcsm_tensor *y       = lcsm_mix_recurrence(&own, lcsm_rwkv7_states);
    double       weight  = pow((double)(m->layer + 1) / (double)m->layers, 0.7);
    y                    = lcsm_mix_rwkv_norm(m, y, H, lcsm_init_constant(weight));
    y                    = lcsm_mul(m->g, lcsm_add(m->g, y, bonus(m, H, side)), side[3]);
    return lcsm_mix_project_init(m, y, "output", m->D, false, lcsm_init_constant(0));
}
