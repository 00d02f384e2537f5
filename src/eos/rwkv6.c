/*
 * rwkv6.c - RWKV-5 (Eagle) and RWKV-6 (Finch): a decay for each memory row, fixed or by token, and
 * a read before the write with a bonus for the step itself.
 *
 *     m_t = diag(w_t) m_{t-1} + k_t v_t^T        y_t = m_{t-1}^T r_t + (sum_k u r_t k_t) v_t
 *
 * r, k, v and the gate come from x mixed with the x of the step before; bare models have neither
 * mixing nor gate.
 */
#include <math.h>

#include "eos/method.h"

typedef struct {
    ptrdiff_t H, K, D; /* heads, and a head's sizes */
} sizes;

static bool bare(const lcsm_mixer *m)
{
    return m->cfg->flavour == LCSM_FLAVOUR_BARE;
}

static sizes sizes_of(const lcsm_mixer *m)
{
    ptrdiff_t H     = lcsm_mix_rwkv_heads(m);
    ptrdiff_t width = (ptrdiff_t)((double)m->D * m->cfg->value_ratio + 0.5);
    sizes     z     = {.H = H, .D = lcsm_mix_split(m, "value width", width, H)};
    z.K             = lcsm_mix_expand(m, m->D / H > 0 ? m->D / H : 1);
    return z;
}

/* ---- initial values ---------------------------------------------------------------------- */

static double share(size_t c, size_t count)
{
    return count == 1 ? 0 : (double)c / (double)(count - 1);
}

static double depth(const lcsm_init *init)
{
    return init->b == 1 ? 0 : init->a / (init->b - 1);
}

/* a is the layer, b the number of layers. */
LCSM_FILL(fill_decay)
{
    double power = 0.7 + 1.3 * depth(init);
    for (size_t c = 0; c < count; c++) v[c] = -6 + 5 * pow(share(c, count), power);
}

LCSM_FILL(fill_bonus)
{
    for (size_t c = 0; c < count; c++)
        v[c] = depth(init) * (1 - share(c, count)) + 0.1 * ((double)((c + 1) % 3) - 1);
}

/* 1 - RWKV-4's weights; c is which. */
LCSM_FILL(fill_maa)
{
    lcsm_rwkv4_mixes((lcsm_rwkv4_mix)init->c, count, (size_t)init->a, (size_t)init->b, v);
    for (size_t c = 0; c < count; c++) v[c] = 1 - v[c];
}

static lcsm_init by_layer(const lcsm_mixer *m, lcsm_fill_fn *fill)
{
    return (lcsm_init){.kind = LCSM_INIT_FILL, .a = m->layer, .b = m->layers, .fill = fill};
}

static lcsm_init small(const lcsm_mixer *m)
{
    double bound = 0.1 / sqrt((double)m->D);
    return lcsm_init_uniform(-bound, bound);
}

/* ---- what both have ---------------------------------------------------------------------- */

/* The mixed inputs. */
typedef struct {
    lcsm_tensor *r, *k, *v, *g;
} inputs;

/* All states but the decay. Side: the gate's input, if there is a gate. */
static bool states_of(const lcsm_mixer *m, const sizes *z, const inputs *x, lcsm_states *s)
{
    lcsm_tensor *u = lcsm_mix_param(m, "time_faaaa", lcsm_dims(z->H, z->K), by_layer(m, fill_bonus),
                                    LCSM_PARAM_NO_DECAY);
    *s             = (lcsm_states){.H = z->H, .K = z->K, .D = z->D, .read_before = true};
    s->s           = lcsm_per_token_k(lcsm_mix_project(m, x->r, "receptance", z->H * z->K, false));
    s->e = lcsm_per_token_k(lcsm_mix_project_init(m, x->k, "key", z->H * z->K, false, small(m)));
    s->i = lcsm_per_token_d(lcsm_mix_project(m, x->v, "value", z->H * z->D, false));
    s->bonus = lcsm_static(u, LCSM_AXIS_K);
    if (x->g != NULL && m->side != NULL)
        m->side[0] = lcsm_mix_project_init(m, x->g, "gate", z->H * z->D, false, small(m));
    return s->i.x != NULL;
}

static bool gated(const lcsm_mixer *m)
{
    return !bare(m) && m->cfg->output_gate != LCSM_OUTPUT_GATE_NONE;
}

static lcsm_tensor *decay(const lcsm_mixer *m, const sizes *z)
{
    return lcsm_mix_param(m, "time_decay", lcsm_dims(z->H * z->K), by_layer(m, fill_decay),
                          LCSM_PARAM_NO_DECAY);
}

/* W (norm(y) * silu(gate)), the norm in heads. */
static lcsm_tensor *finish(const lcsm_mixer *m, lcsm_states_fn *states)
{
    sizes        z       = sizes_of(m);
    lcsm_tensor *side[4] = {0};
    lcsm_mixer   own     = *m;
    own.side             = side;
    lcsm_tensor *y       = lcsm_mix_recurrence(&own, states);
    y                    = lcsm_mix_rwkv_norm(m, y, z.H, lcsm_init_constant(1));
    if (gated(m)) y = lcsm_glu(m->g, LCSM_ACT_SILU, side[0], y);
    return lcsm_mix_project_init(m, y, "output", m->D, false, lcsm_init_constant(0));
}

/* ---- RWKV-5 ------------------------------------------------------------------------------ */

/* mu x_t + (1 - mu) x_{t-1}. */
static lcsm_tensor *mixed(const lcsm_mixer *m, lcsm_tensor *past, const char *name,
                          lcsm_rwkv4_mix mix)
{
    if (bare(m)) return m->x;
    return lcsm_lerp(m->g, past, m->x, lcsm_mix_rwkv_mu(m, name, mix));
}

bool lcsm_rwkv5_states(const lcsm_mixer *m, lcsm_states *s)
{
    sizes        z    = sizes_of(m);
    lcsm_tensor *past = bare(m) ? NULL : lcsm_mix_previous(m);
    inputs       x    = {.r = mixed(m, past, "time_mix_r", LCSM_RWKV4_MIX_R),
                         .k = mixed(m, past, "time_mix_k", LCSM_RWKV4_MIX_K),
                         .v = mixed(m, past, "time_mix_v", LCSM_RWKV4_MIX_V)};
    if (gated(m)) x.g = mixed(m, past, "time_mix_g", LCSM_RWKV4_MIX_R);
    if (!states_of(m, &z, &x, s)) return false;
    s->row = lcsm_static(lcsm_activate_scaled(m->g, LCSM_ACT_EXP, decay(m, &z), -1), LCSM_AXIS_K);
    return s->row.x != NULL;
}

lcsm_tensor *lcsm_rwkv5_mixer(const lcsm_mixer *m)
{
    return finish(m, lcsm_rwkv5_states);
}

/* ---- RWKV-6 ------------------------------------------------------------------------------ */

enum { MIXES = 5 };

/* One of the five, in the order of the released files. */
typedef struct {
    const char    *name;
    lcsm_rwkv4_mix mix;
} part;

static const part PARTS[MIXES] = {{"time_maa_w", LCSM_RWKV4_MIX_K},
                                  {"time_maa_k", LCSM_RWKV4_MIX_K},
                                  {"time_maa_v", LCSM_RWKV4_MIX_V},
                                  {"time_maa_r", LCSM_RWKV4_MIX_R},
                                  {"time_maa_g", LCSM_RWKV4_MIX_R}};

static lcsm_tensor *maa(const lcsm_mixer *m, const char *name, lcsm_rwkv4_mix mix)
{
    lcsm_init init = by_layer(m, fill_maa);
    init.c         = mix;
    return lcsm_mix_param(m, name, lcsm_dims(m->D), init, LCSM_PARAM_NO_DECAY);
}

/* x_t + (maa + W2 h) (x_{t-1} - x_t), h = tanh(W1 (x_t + maa_x (x_{t-1} - x_t))), of which each of
 * the five has its part. */
static void mix_by_token(const lcsm_mixer *m, lcsm_tensor *out[MIXES])
{
    ptrdiff_t    R    = lcsm_mix_or(m->cfg->rwkv_mix_rank, 32);
    lcsm_tensor *past = lcsm_mix_previous(m);
    lcsm_tensor *h    = lcsm_lerp(m->g, m->x, past, maa(m, "time_maa_x", LCSM_RWKV4_MIX_K));
    h = lcsm_mix_project_init(m, h, "time_maa_w1", MIXES * R, false, lcsm_init_constant(0));
    h = lcsm_activate(m->g, LCSM_ACT_TANH, h);
    lcsm_tensor *up = lcsm_mix_param(m, "time_maa_w2", lcsm_dims(MIXES, m->D, R),
                                     lcsm_init_uniform(-0.01, 0.01), 0);
    for (int j = 0; j < MIXES; j++) {
        lcsm_tensor *w  = lcsm_reshape(m->g, lcsm_slice(m->g, up, 0, j, 1), lcsm_dims(m->D, R));
        lcsm_tensor *mu = lcsm_linear(m->g, lcsm_slice(m->g, h, 2, j * R, R), w, NULL);
        mu              = lcsm_add(m->g, mu, maa(m, PARTS[j].name, PARTS[j].mix));
        out[j]          = lcsm_lerp(m->g, m->x, past, mu);
    }
}

/* -exp(decay + W2 tanh(W1 x)). */
static lcsm_tensor *decay_of(const lcsm_mixer *m, const sizes *z, lcsm_tensor *x)
{
    ptrdiff_t    R = lcsm_mix_or(m->cfg->rwkv_decay_rank, 64);
    lcsm_tensor *low =
        lcsm_mix_project_init(m, x, "time_decay_w1", R, false, lcsm_init_constant(0));
    low            = lcsm_activate(m->g, LCSM_ACT_TANH, low);
    lcsm_tensor *w = lcsm_mix_project_init(m, low, "time_decay_w2", z->H * z->K, false,
                                           lcsm_init_uniform(-0.01, 0.01));
    return lcsm_activate_scaled(m->g, LCSM_ACT_EXP, lcsm_add(m->g, w, decay(m, z)), -1);
}

bool lcsm_rwkv6_states(const lcsm_mixer *m, lcsm_states *s)
{
    sizes        z        = sizes_of(m);
    lcsm_tensor *x[MIXES] = {m->x, m->x, m->x, m->x, NULL};
    if (!bare(m)) mix_by_token(m, x);
    if (!states_of(m, &z, &(inputs){.k = x[1], .v = x[2], .r = x[3], .g = x[4]}, s)) return false;
    s->row = lcsm_per_token_k(decay_of(m, &z, x[0]));
    return s->row.x != NULL;
}

lcsm_tensor *lcsm_rwkv6_mixer(const lcsm_mixer *m)
{
    return finish(m, lcsm_rwkv6_states);
}
