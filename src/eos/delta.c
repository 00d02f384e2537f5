/*
 * delta.c - the delta rule with unit keys: DeltaNet, gated DeltaNet and its second version, KDA,
 * complex KDA, Comba and DeltaProduct.
 *
 *     m_t = (I - beta k k^T) (g_t * m_{t-1}) + beta k v^T        y_t = m_t^T q / sqrt(K)
 *
 * They differ in the gate g: none, a number, or one of each memory row, also negative; and in what
 * is read before a write. q, k and v go through short
 * convolutions and silu; bare models have neither convolution nor output gate.
 */
#include <math.h>

#include "base/rng.h"
#include "eos/method.h"

typedef struct {
    ptrdiff_t H, G, K, D; /* heads, heads of q and k, and a head's sizes */
} sizes;

static bool bare(const lcsm_mixer *m)
{
    return m->cfg->flavour == LCSM_FLAVOUR_BARE;
}

static sizes sizes_of(const lcsm_mixer *m)
{
    ptrdiff_t H = lcsm_mix_heads(m, m->D % 4 == 0 ? 4 : 1), G = lcsm_mix_or(m->cfg->groups, H);
    sizes z = {.H = H, .G = G, .D = lcsm_mix_split(m, "value width", lcsm_mix_value_width(m), H)};
    z.K     = lcsm_mix_expand(m, m->D / H > 0 ? m->D / H : 1);
    if (H % G != 0)
        lcsm_graph_fail(m->g, LCSM_ERR_CONFIG, "%td heads are not divisible by %td groups", H, G);
    return z;
}

/* silu(conv(W x)). */
static lcsm_tensor *short_term(const lcsm_mixer *m, const char *name, const char *conv,
                               ptrdiff_t width)
{
    lcsm_tensor *x = lcsm_mix_project(m, m->x, name, width, false);
    return bare(m) ? lcsm_activate(m->g, LCSM_ACT_SILU, x) : lcsm_mix_conv(m, x, conv, false, true);
}

/* beta_max sigmoid(W x), a number for each head. */
static lcsm_tensor *strength(const lcsm_mixer *m, ptrdiff_t n)
{
    lcsm_tensor *z = lcsm_mix_project(m, m->x, "beta", n, false);
    return lcsm_activate_scaled(m->g, LCSM_ACT_SIGMOID, z, m->cfg->beta_max);
}

/* The states but for the gate. */
static bool delta_states(const lcsm_mixer *m, const sizes *z, lcsm_states *s)
{
    lcsm_tensor *q = lcsm_mix_unit(m, short_term(m, "q", "q_conv", z->G * z->K), z->G, 1e-6);
    lcsm_tensor *k = lcsm_mix_unit(m, short_term(m, "k", "k_conv", z->G * z->K), z->G, 1e-6);
    lcsm_tensor *v = short_term(m, "v", "v_conv", z->H * z->D);
    k              = lcsm_mix_shared(m, k, z->G, z->H);
    *s       = (lcsm_states){.H = z->H, .K = z->K, .D = z->D, .scale = 1 / sqrt((double)z->K)};
    s->i     = lcsm_per_token_d(v);
    s->s     = lcsm_per_token_k(lcsm_mix_shared(m, q, z->G, z->H));
    s->erase = lcsm_per_token_k(k);
    s->e     = lcsm_per_token_k(lcsm_mix_by_head(m, k, strength(m, z->H)));
    return s->e.x != NULL;
}

bool lcsm_deltanet_states(const lcsm_mixer *m, lcsm_states *s)
{
    sizes z = sizes_of(m);
    return delta_states(m, &z, s);
}

bool lcsm_gated_deltanet_states(const lcsm_mixer *m, lcsm_states *s)
{
    sizes z = sizes_of(m);
    if (!delta_states(m, &z, s)) return false;
    lcsm_tensor *a = lcsm_mix_project(m, m->x, "decay", z.H, false);
    s->row         = (lcsm_operand){lcsm_mix_dt_gate(m, a, z.H), LCSM_AXIS_T};
    return s->row.x != NULL;
}

/* -bound sigmoid(exp(A_log) (z + dt_bias)). */
static lcsm_tensor *bounded_gate(const lcsm_mixer *m, lcsm_tensor *z, ptrdiff_t H)
{
    if (z == NULL) return NULL;
    lcsm_tensor *rate =
        lcsm_mix_param(m, "A_log", lcsm_dims(H), lcsm_init_constant(0), LCSM_PARAM_NO_DECAY);
    rate = lcsm_mix_spread(m, lcsm_activate(m->g, LCSM_ACT_EXP, rate), z->cols / H);
    z    = lcsm_add(m->g, z, lcsm_mix_dt_bias(m, "dt_bias", z->cols));
    return lcsm_activate_scaled(m->g, LCSM_ACT_SIGMOID, lcsm_mul(m->g, z, rate),
                                -m->cfg->gate_bound);
}

static lcsm_tensor *decay_gate(const lcsm_mixer *m, lcsm_tensor *z, ptrdiff_t H)
{
    return m->cfg->gate_bound > 0 ? bounded_gate(m, z, H) : lcsm_mix_dt_gate(m, z, H);
}

bool lcsm_kda_states(const lcsm_mixer *m, lcsm_states *s)
{
    sizes z = sizes_of(m);
    if (!delta_states(m, &z, s)) return false;
    lcsm_tensor *low = lcsm_mix_project(m, m->x, "decay_down", z.D, false);
    lcsm_tensor *a   = lcsm_mix_project(m, low, "decay_up", z.H * z.K, false);
    s->row           = lcsm_per_token_k(decay_gate(m, a, z.H));
    return s->row.x != NULL;
}

/* ---- gated DeltaNet-2: what is erased and what is written have gates of their own --------- */

/* m_t = (I - k (b k)^T) diag(g) m_{t-1} + k (w v)^T. */
bool lcsm_gated_deltanet_2_states(const lcsm_mixer *m, lcsm_states *s)
{
    sizes        z   = sizes_of(m);
    lcsm_tensor *q   = lcsm_mix_unit(m, short_term(m, "q", "q_conv", z.G * z.K), z.G, 1e-6);
    lcsm_tensor *k   = lcsm_mix_unit(m, short_term(m, "k", "k_conv", z.G * z.K), z.G, 1e-6);
    lcsm_tensor *v   = short_term(m, "v", "v_conv", z.H * z.D);
    lcsm_tensor *b   = lcsm_mix_project(m, m->x, "erase", z.G * z.K, false);
    lcsm_tensor *w   = lcsm_mix_project(m, m->x, "write", z.H * z.D, false);
    lcsm_tensor *low = lcsm_mix_project(m, m->x, "decay_down", z.D, false);
    lcsm_tensor *g   = decay_gate(m, lcsm_mix_project(m, low, "decay_up", z.G * z.K, false), z.G);
    b                = lcsm_activate_scaled(m->g, LCSM_ACT_SIGMOID, b, m->cfg->beta_max);
    *s               = (lcsm_states){.H = z.H, .K = z.K, .D = z.D, .scale = 1 / sqrt((double)z.K)};
    s->i             = lcsm_per_token_d(lcsm_glu(m->g, LCSM_ACT_SIGMOID, w, v));
    s->s             = lcsm_per_token_k(lcsm_mix_shared(m, q, z.G, z.H));
    s->e             = lcsm_per_token_k(lcsm_mix_shared(m, k, z.G, z.H));
    s->erase         = lcsm_per_token_k(lcsm_mix_shared(m, lcsm_mul(m->g, k, b), z.G, z.H));
    s->row           = lcsm_per_token_k(lcsm_mix_shared(m, g, z.G, z.H));
    return s->row.x != NULL;
}

/* ---- complex KDA: gates from -1 to 1, whose product with a reflection may turn ------------ */

enum { SIGNED_BOUND = 5 };

static double least_gate(const lcsm_mixer *m)
{
    return exp(-(m->cfg->gate_bound > 0 ? m->cfg->gate_bound : SIGNED_BOUND));
}

/* The bias at which the gate is exp(-dt), dt from 1e-3 to 1e-1; a is the least gate. */
LCSM_FILL(fill_signed_bias)
{
    for (size_t j = 0; j < count; j++) {
        double dt    = exp(log(1e-3) + log(100) * lcsm_rng_uniform(seed, purpose, j));
        double share = (exp(-dt) - init->a) / (1 - init->a);
        v[j]         = 2 * atanh(fmin(fmax(share, 1e-7), 1 - 1e-7));
    }
}

/* tanh(exp(A_log) (z + dt_bias) / 2). */
static lcsm_tensor *signed_share(const lcsm_mixer *m, lcsm_tensor *z, ptrdiff_t H)
{
    if (z == NULL) return NULL;
    lcsm_init    init = {.kind = LCSM_INIT_FILL, .a = least_gate(m), .fill = fill_signed_bias};
    lcsm_tensor *rate =
        lcsm_mix_param(m, "A_log", lcsm_dims(H), lcsm_init_constant(0), LCSM_PARAM_NO_DECAY);
    rate = lcsm_mix_spread(m, lcsm_activate(m->g, LCSM_ACT_EXP, rate), z->cols / H);
    z    = lcsm_add(m->g, z,
                    lcsm_mix_param(m, "dt_bias", lcsm_dims(z->cols), init, LCSM_PARAM_NO_DECAY));
    return lcsm_activate(m->g, LCSM_ACT_TANH, lcsm_scale(m->g, lcsm_mul(m->g, z, rate), 0.5));
}

/* A gate a of either sign: log(least + (1 - least) |a|), and its sign in the keys and queries. */
bool lcsm_complex_kda_states(const lcsm_mixer *m, lcsm_states *s)
{
    sizes  z     = sizes_of(m);
    double least = least_gate(m);
    if (!delta_states(m, &z, s)) return false;
    lcsm_tensor *low = lcsm_mix_project(m, m->x, "decay_down", z.D, false);
    lcsm_tensor *a   = signed_share(m, lcsm_mix_project(m, low, "decay_up", z.H * z.K, false), z.H);
    lcsm_tensor *signs = lcsm_running_signs(m->g, a);
    lcsm_tensor *size  = lcsm_affine(m->g, lcsm_mix_abs(m, a), 1 - least, least);
    s->row             = lcsm_per_token_k(lcsm_activate(m->g, LCSM_ACT_LOG, size));
    s->e.x             = lcsm_mul(m->g, s->e.x, signs);
    s->erase.x         = lcsm_mul(m->g, s->erase.x, signs);
    s->s.x             = lcsm_mul(m->g, s->s.x, signs);
    return s->s.x != NULL;
}

/* ---- Comba: a part of what the key reads, before the gate, is taken back ------------------ */

/* A number for each head of the keys, as a vector. */
static lcsm_tensor *by_key_head(const lcsm_mixer *m, const sizes *z, const char *name, bool share)
{
    lcsm_tensor *w =
        lcsm_mix_param(m, name, lcsm_dims(z->G), lcsm_init_constant(1), LCSM_PARAM_NO_DECAY);
    return lcsm_mix_spread(m, share ? lcsm_activate(m->g, LCSM_ACT_SIGMOID, w) : w, z->K);
}

/* m_t = g m_{t-1} + beta k (v - c (k^T m_{t-1}))^T, read along q - d c k. */
bool lcsm_comba_states(const lcsm_mixer *m, lcsm_states *s)
{
    sizes        z = sizes_of(m);
    lcsm_tensor *q = short_term(m, "q", "q_conv", z.G * z.K);
    lcsm_tensor *k = short_term(m, "k", "k_conv", z.G * z.K);
    lcsm_tensor *v = short_term(m, "v", "v_conv", z.H * z.D);
    lcsm_tensor *c = by_key_head(m, &z, "feedback", true);
    lcsm_tensor *back =
        lcsm_mul(m->g, lcsm_mul(m->g, k, c), by_key_head(m, &z, "correction", false));
    q                 = lcsm_add(m->g, q, lcsm_scale(m->g, back, -1));
    q                 = lcsm_mix_unit(m, q, z.G, 1e-6);
    k                 = lcsm_mix_unit(m, k, z.G, 1e-6);
    lcsm_tensor *read = lcsm_mix_shared(m, lcsm_mul(m->g, k, c), z.G, z.H);
    lcsm_tensor *a    = lcsm_mix_project(m, m->x, "decay", z.H, false);
    k                 = lcsm_mix_shared(m, k, z.G, z.H);
    *s                = (lcsm_states){.H = z.H, .K = z.K, .D = z.D, .scale = 1 / sqrt((double)z.K)};
    s->i              = lcsm_per_token_d(v);
    s->s              = lcsm_per_token_k(lcsm_mix_shared(m, q, z.G, z.H));
    s->e              = lcsm_per_token_k(lcsm_mix_by_head(m, k, strength(m, z.H)));
    s->a              = lcsm_per_token_k(lcsm_scale(m->g, s->e.x, -1));
    s->b              = lcsm_per_token_k(read);
    s->row            = (lcsm_operand){lcsm_mix_dt_gate(m, a, z.H), LCSM_AXIS_T};
    return s->row.x != NULL;
}

/* ---- ends ------------------------------------------------------------------------------- */

/* W (rmsnorm(y) * act(gate)). */
static lcsm_tensor *end(const lcsm_mixer *m, lcsm_tensor *y, lcsm_tensor *gate, lcsm_act act)
{
    if (y == NULL) return NULL;
    sizes          z    = sizes_of(m);
    lcsm_norm_attr norm = {.kind = LCSM_NORM_RMS, .eps = lcsm_mix_eps(m, 1e-5), .heads = z.H};
    lcsm_tensor   *w = lcsm_mix_param(m, "norm.weight", lcsm_dims(z.D), lcsm_init_constant(1), 0);
    y                = lcsm_head_norm(m->g, &norm, y, w, NULL);
    if (gate != NULL) y = lcsm_glu(m->g, act, gate, y);
    return lcsm_mix_project(m, y, "out", m->D, false);
}

/* With a gate W x of its own, or none. */
static lcsm_tensor *finish(const lcsm_mixer *m, lcsm_tensor *y, lcsm_output_gate standard)
{
    int   kind = m->cfg->output_gate != LCSM_OUTPUT_GATE_AUTO ? m->cfg->output_gate : (int)standard;
    sizes z    = sizes_of(m);
    if (kind == LCSM_OUTPUT_GATE_NONE) return end(m, y, NULL, LCSM_ACT_NONE);
    return end(m, y, lcsm_mix_project(m, m->x, "gate", z.H * z.D, false),
               kind == LCSM_OUTPUT_GATE_SILU ? LCSM_ACT_SILU : LCSM_ACT_SIGMOID);
}

lcsm_tensor *lcsm_deltanet_mixer(const lcsm_mixer *m)
{
    return finish(m, lcsm_mix_recurrence(m, lcsm_deltanet_states), LCSM_OUTPUT_GATE_NONE);
}

lcsm_tensor *lcsm_gated_deltanet_mixer(const lcsm_mixer *m)
{
    return finish(m, lcsm_mix_recurrence(m, lcsm_gated_deltanet_states), LCSM_OUTPUT_GATE_SILU);
}

lcsm_tensor *lcsm_comba_mixer(const lcsm_mixer *m)
{
    return finish(m, lcsm_mix_recurrence(m, lcsm_comba_states), LCSM_OUTPUT_GATE_SIGMOID);
}

/* The gate has a low rank, and a bias. */
static lcsm_tensor *finish_low(const lcsm_mixer *m, lcsm_states_fn *states)
{
    sizes        z   = sizes_of(m);
    lcsm_tensor *low = lcsm_mix_project(m, m->x, "gate_down", z.D, false);
    lcsm_tensor *up  = lcsm_mix_project(m, low, "gate_up", z.H * z.D, true);
    return end(m, lcsm_mix_recurrence(m, states), up, LCSM_ACT_SIGMOID);
}

lcsm_tensor *lcsm_kda_mixer(const lcsm_mixer *m)
{
    return finish_low(m, lcsm_kda_states);
}

lcsm_tensor *lcsm_complex_kda_mixer(const lcsm_mixer *m)
{
    return finish_low(m, lcsm_complex_kda_states);
}

lcsm_tensor *lcsm_gated_deltanet_2_mixer(const lcsm_mixer *m)
{
    return finish_low(m, lcsm_gated_deltanet_2_states);
}

/* ---- DeltaProduct ----------------------------------------------------------------------- */

static lcsm_tensor *micro(const lcsm_mixer *m, lcsm_tensor *x)
{
    return lcsm_mix_micro(m, x, m->cfg->householders);
}

/* The log gate of the first of a token's steps; the others do not decay. NULL: there is none. */
static lcsm_tensor *first_gate(const lcsm_mixer *m, ptrdiff_t H)
{
    lcsm_tensor *g = NULL;
    if (m->cfg->forget_gate)
        g = lcsm_mix_dt_gate(m, lcsm_mix_project(m, m->x, "decay", H, false), H);
    if (m->reset != NULL)
        g = g == NULL ? lcsm_mix_fresh(m, H) : lcsm_add(m->g, g, lcsm_mix_fresh(m, H));
    if (g == NULL || m->cfg->householders == 1) return g;
    ptrdiff_t    rest = (m->cfg->householders - 1) * H;
    lcsm_tensor *none = lcsm_constant(m->g, lcsm_dims(m->B, m->T, rest), 0);
    return micro(m, lcsm_concat(m->g, (lcsm_tensor *[]){g, none}, 2));
}

/* J steps of the delta rule for each token; it is read after the last. */
static lcsm_tensor *product(const lcsm_mixer *m)
{
    sizes        z = sizes_of(m);
    ptrdiff_t    J = m->cfg->householders, n = z.H * z.D;
    lcsm_tensor *q = lcsm_mix_unit(m, short_term(m, "q", "q_conv", z.H * z.K), z.H, 1e-6);
    lcsm_tensor *k = micro(m, short_term(m, "k", "k_conv", J * z.H * z.K));
    lcsm_tensor *v = micro(m, short_term(m, "v", "v_conv", J * n));
    k              = lcsm_mix_unit(m, k, z.H, 1e-6);
    lcsm_states s  = {.H = z.H, .K = z.K, .D = z.D, .scale = 1 / sqrt((double)z.K)};
    s.i            = lcsm_per_token_d(v);
    s.erase        = lcsm_per_token_k(k);
    s.e            = lcsm_per_token_k(lcsm_mix_by_head(m, k, micro(m, strength(m, J * z.H))));
    if (q == NULL || s.e.x == NULL) return NULL;
    q              = lcsm_repeat(m->g, lcsm_reshape(m->g, q, lcsm_dims(m->B, m->T, 1, q->cols)), J);
    s.s            = lcsm_per_token_k(lcsm_reshape(m->g, q, lcsm_dims(m->B, m->T * J, z.H * z.K)));
    s.row.x        = first_gate(m, z.H);
    s.row.axes     = LCSM_AXIS_T;
    lcsm_tensor *y = lcsm_recurrence(m->g, &s, NULL);
    if (y == NULL) return NULL;
    y = lcsm_reshape(m->g, y, lcsm_dims(m->B, m->T, J * n));
    return lcsm_slice(m->g, y, 2, (J - 1) * n, n);
}

lcsm_tensor *lcsm_deltaproduct_mixer(const lcsm_mixer *m)
{
    return finish(m, lcsm_mix_ways(m, product), LCSM_OUTPUT_GATE_SILU);
}

lcsm_tensor *lcsm_deltaproduct_bare(const lcsm_mixer *m)
{
    return lcsm_mix_bare_end(m, lcsm_mix_ways(m, product));
}
