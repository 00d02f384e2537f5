/* rwkv4.c - RWKV-4, and the simplified form of the paper's table. */
#include <math.h>

#include "eos/method.h"

/* a is the layer, b the number of layers. */
LCSM_FILL(fill_decay)
{
    lcsm_rwkv4_decay(count, (size_t)init->a, (size_t)init->b, v);
}

LCSM_FILL(fill_first)
{
    lcsm_rwkv4_first(count, v);
}

static lcsm_tensor *shifted(const lcsm_mixer *m, const char *name, lcsm_rwkv4_mix mix)
{
    lcsm_shift_attr a = {0};
    return lcsm_token_shift(m->g, &a, m->x, lcsm_mix_rwkv_mu(m, name, mix), m->reset);
}

/* Channels of the recurrence. */
static ptrdiff_t width(const lcsm_mixer *m)
{
    return (ptrdiff_t)floor((double)m->D * m->cfg->value_ratio + 0.5);
}

static lcsm_tensor *decay(const lcsm_mixer *m)
{
    lcsm_init init = {.kind = LCSM_INIT_FILL, .a = m->layer, .b = m->layers, .fill = fill_decay};
    return lcsm_mix_param(m, "time_decay", lcsm_dims(width(m)), init, LCSM_PARAM_NO_DECAY);
}

/* k, v and r of the shifted input; k and r start at zero, as in the reference. */
static void receive(const lcsm_mixer *m, lcsm_tensor **k, lcsm_tensor **v, lcsm_tensor **r)
{
    lcsm_init zero = lcsm_init_constant(0);
    *k = lcsm_mix_project_init(m, shifted(m, "time_mix_k", LCSM_RWKV4_MIX_K), "key", width(m),
                               false, zero);
    *v = lcsm_mix_project(m, shifted(m, "time_mix_v", LCSM_RWKV4_MIX_V), "value", width(m), false);
    *r = lcsm_mix_project_init(m, shifted(m, "time_mix_r", LCSM_RWKV4_MIX_R), "receptance",
                               width(m), false, zero);
}

/* u of the bonus exp(u) for the token itself. */
static lcsm_tensor *bonus(const lcsm_mixer *m)
{
    lcsm_init init = {.kind = LCSM_INIT_FILL, .fill = fill_first};
    return lcsm_mix_param(m, "time_first", lcsm_dims(width(m)), init, LCSM_PARAM_NO_DECAY);
}

/* Every channel a head with K = D = 1: writes times exp(k) with their running maximum, the read
 * before the step with the bonus exp(u), divided by the sum of the weights. */
static lcsm_tensor *mean(const lcsm_mixer *m, lcsm_tensor **r)
{
    lcsm_tensor *k, *v;
    ptrdiff_t    H = width(m);
    receive(m, &k, &v, r);
    lcsm_tensor *u   = bonus(m);
    lcsm_tensor *one = lcsm_constant(m->g, lcsm_dims(H, 1), 1);
    lcsm_states  s   = {
           .H           = H,
           .K           = 1,
           .D           = 1,
           .i           = lcsm_per_token_d(v),
           .e           = lcsm_static(one, LCSM_AXIS_K),
           .s           = lcsm_static(one, LCSM_AXIS_K),
           .row         = lcsm_static(lcsm_activate_scaled(m->g, LCSM_ACT_EXP, decay(m), -1), 0),
           .bonus       = lcsm_static(lcsm_activate(m->g, LCSM_ACT_EXP, u), LCSM_AXIS_K),
           .read_before = true,
           .reset       = m->reset,
           .normaliser  = {.kind = LCSM_NORMALISER_PLAIN, .z = k, .start = LCSM_MAX_EMPTY}};
    return lcsm_recurrence(m->g, &s, NULL);
}

/* ---- both directions of time ------------------------------------------------------------ */

/* x one token later; 0 is first. */
static lcsm_tensor *later(const lcsm_mixer *m, lcsm_tensor *x)
{
    if (x == NULL) return NULL;
    lcsm_shift_attr a = {0};
    return lcsm_token_shift(m->g, &a, x, lcsm_constant(m->g, lcsm_dims(x->cols), 0), NULL);
}

/* z one token later; what comes first has no weight. */
static lcsm_tensor *later_weight(const lcsm_mixer *m, lcsm_tensor *z)
{
    lcsm_tensor *known = lcsm_constant(m->g, lcsm_dims(m->B, m->T, width(m)), 1);
    return lcsm_add(m->g, later(m, z), lcsm_affine(m->g, later(m, known), 1e30, -1e30));
}

/* Sums of v exp(z) and of exp(z) that decay by exp(row), for each channel. */
static lcsm_way sums(const lcsm_mixer *m, lcsm_tensor *v, lcsm_tensor *z, lcsm_tensor *row)
{
    lcsm_operand one = lcsm_static(lcsm_constant(m->g, lcsm_dims(width(m), 1), 1), LCSM_AXIS_K);
    lcsm_states  s   = {
           .H          = width(m),
           .K          = 1,
           .D          = 1,
           .i          = lcsm_per_token_d(v),
           .e          = one,
           .s          = one,
           .row        = lcsm_static(row, 0),
           .normaliser = {.kind = LCSM_NORMALISER_PLAIN, .z = z, .start = LCSM_MAX_EMPTY}};
    return lcsm_mix_way(m, &s);
}

/* The sums over what comes before each token. */
static lcsm_way earlier(const lcsm_mixer *m, lcsm_tensor *k, lcsm_tensor *v)
{
    lcsm_tensor *row = lcsm_activate_scaled(m->g, LCSM_ACT_EXP, decay(m), -1);
    return sums(m, later(m, v), later_weight(m, k), row);
}

/* What comes before, what comes after and the token itself, with the bonus exp(u), over the sum of
 * their weights. */
static lcsm_tensor *both_ways(const lcsm_mixer *m, lcsm_tensor **r)
{
    lcsm_mixer   back = *m;
    lcsm_tensor *k, *v, *k_b, *v_b, *r_b;
    if (!lcsm_mix_both_ways(m)) return NULL;
    back.x = lcsm_reverse(m->g, m->x);
    receive(m, &k, &v, r);
    receive(&back, &k_b, &v_b, &r_b);
    lcsm_tensor    *gone = lcsm_constant(m->g, lcsm_dims(width(m)), -1e30);
    lcsm_way        own  = sums(m, v, lcsm_add(m->g, k, bonus(m)), gone);
    lcsm_way        past = earlier(m, k, v), next = lcsm_mix_turned(m, earlier(&back, k_b, v_b));
    lcsm_way        all   = lcsm_mix_joined(m, lcsm_mix_joined(m, own, past), next);
    lcsm_normaliser plain = {.kind = LCSM_NORMALISER_PLAIN};
    return lcsm_normaliser_end(m->g, &plain, width(m), all.y, all.mu);
}

/* W (sigmoid(r) * mean). */
lcsm_tensor *lcsm_rwkv4_mixer(const lcsm_mixer *m)
{
    lcsm_tensor *r = NULL, *y = m->cfg->bidirectional ? both_ways(m, &r) : mean(m, &r);
    return lcsm_mix_project_init(m, lcsm_glu(m->g, LCSM_ACT_SIGMOID, r, y), "output", m->D, false,
                                 lcsm_init_constant(0));
}

/* m = exp(-w) m + exp(min(k, 10)) v for each channel: K = 1, the decay a static column. Without the
 * denominator nothing else holds exp(k) back. side: r. */
bool lcsm_rwkv4_eos_states(const lcsm_mixer *m, lcsm_states *s)
{
    lcsm_tensor *k, *v, *r;
    receive(m, &k, &v, &r);
    if (m->side != NULL) m->side[0] = r;
    lcsm_tensor *one = lcsm_mix_constant(m, "one", lcsm_dims(1, 1), lcsm_init_constant(1));
    lcsm_tensor *w   = lcsm_activate_scaled(m->g, LCSM_ACT_EXP, decay(m), -1);
    *s               = (lcsm_states){.H   = 1,
                                     .K   = 1,
                                     .D   = width(m),
                                     .e   = lcsm_static(one, LCSM_AXIS_K),
                                     .s   = lcsm_static(one, LCSM_AXIS_K),
                                     .col = lcsm_static(w, LCSM_AXIS_D)};
    s->i = lcsm_per_token_d(lcsm_mul(m->g, lcsm_activate(m->g, LCSM_ACT_EXP_HELD, k), v));
    return s->i.x != NULL;
}

static lcsm_tensor *eos_memory(const lcsm_mixer *m, lcsm_tensor **r)
{
    lcsm_tensor *side[4] = {0};
    lcsm_mixer   own     = *m;
    own.side             = side;
    lcsm_tensor *y       = lcsm_mix_recurrence(&own, lcsm_rwkv4_eos_states);
    *r                   = side[0];
    return y;
}

/* A norm keeps the size that the missing denominator would. */
lcsm_tensor *lcsm_rwkv4_eos_mixer(const lcsm_mixer *m)
{
    lcsm_tensor *r, *y = lcsm_rms_norm(m->g, eos_memory(m, &r), NULL, 1e-6);
    return lcsm_mix_project(m, lcsm_glu(m->g, LCSM_ACT_SIGMOID, r, y), "output", m->D, false);
}

/* The shrink state is sigmoid(r), one number for each channel. */
lcsm_tensor *lcsm_rwkv4_eos_bare(const lcsm_mixer *m)
{
    lcsm_tensor *r, *y = eos_memory(m, &r);
    return lcsm_mix_bare_end(m, lcsm_glu(m->g, LCSM_ACT_SIGMOID, r, y));
}
