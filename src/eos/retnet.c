/* retnet.c - RetNet and TransNormerLLM: one fixed decay a head. */
#include <math.h>

#include "eos/method.h"
#include "eos/tables.h"

/* log of RetNet's decays. */
LCSM_FILL(fill_retnet)
{
    lcsm_retnet_gammas(count, v);
    for (size_t j = 0; j < count; j++) v[j] = log(v[j]);
}

LCSM_FILL(fill_retnet_angles)
{
    lcsm_retnet_angles(2 * count, v);
}

/* log of TNL's decays; a is the layer, b the number of layers. */
LCSM_FILL(fill_tnl)
{
    lcsm_tnl_decays((size_t)init->a, (size_t)init->b, count, v);
    for (size_t j = 0; j < count; j++) v[j] = log(v[j]);
}

static lcsm_init narrow(const lcsm_mixer *m, ptrdiff_t out)
{
    return lcsm_mix_xavier(m->D, out, exp2(-2.5));
}

/* Turned by its position, in pairs; as it is where the model has no rotation, as in the paper's
 * table. */
static lcsm_tensor *turned(const lcsm_mixer *m, lcsm_tensor *x, ptrdiff_t H, ptrdiff_t K)
{
    lcsm_init        angles = {.kind = LCSM_INIT_FILL, .fill = fill_retnet_angles};
    lcsm_rotate_attr turn   = {.kind = LCSM_ROTATE_PAIRS, .heads = H};
    if (!m->cfg->rotation) return x;
    return lcsm_rotation(m->g, &turn, x, lcsm_mix_constant(m, "theta", lcsm_dims(K / 2), angles));
}

/* q, k turned by their position, k / sqrt(K). */
bool lcsm_retnet_states(const lcsm_mixer *m, lcsm_states *s)
{
    ptrdiff_t H = lcsm_mix_heads(m, 4), Dv = lcsm_mix_value_width(m);
    ptrdiff_t K = lcsm_mix_expand(m, lcsm_mix_split(m, "d_model", m->D, H));
    if (m->cfg->rotation) K = lcsm_mix_even(m, "the key width of a head (rotated in pairs)", K);
    lcsm_init    decays = {.kind = LCSM_INIT_FILL, .fill = fill_retnet};
    lcsm_tensor *q      = lcsm_mix_project_init(m, m->x, "q", H * K, false, narrow(m, H * K));
    lcsm_tensor *k      = lcsm_mix_project_init(m, m->x, "k", H * K, false, narrow(m, H * K));
    lcsm_tensor *v      = lcsm_mix_project_init(m, m->x, "v", Dv, false, narrow(m, Dv));
    q                   = turned(m, q, H, K);
    k                   = turned(m, lcsm_scale(m->g, k, 1 / sqrt((double)K)), H, K);
    *s                  = (lcsm_states){.H = H,
                                        .K = K,
                                        .D = lcsm_mix_split(m, "value width", Dv, H),
                                        .i = lcsm_per_token_d(v),
                                        .e = lcsm_per_token_k(k),
                                        .s = lcsm_per_token_k(q)};
    s->row              = lcsm_static(lcsm_mix_constant(m, "log_decay", lcsm_dims(H), decays), 0);
    return s->row.x != NULL;
}

lcsm_tensor *lcsm_retnet_mixer(const lcsm_mixer *m)
{
    ptrdiff_t      Dv   = lcsm_mix_value_width(m);
    lcsm_norm_attr norm = {
        .kind = LCSM_NORM_RMS, .eps = lcsm_mix_eps(m, 1e-6), .heads = lcsm_mix_heads(m, 4)};
    lcsm_tensor *gate = lcsm_mix_project_init(m, m->x, "gate", Dv, false, narrow(m, Dv));
    return lcsm_mix_gated_end(m, lcsm_mix_recurrence(m, lcsm_retnet_states), gate, &norm,
                              m->cfg->norm_weight);
}

/* silu(q), silu(k); the first layer also has learned angles (LRPE). */
bool lcsm_tnl_states(const lcsm_mixer *m, lcsm_states *s)
{
    ptrdiff_t H         = lcsm_mix_heads(m, 4),
              K         = lcsm_mix_expand(m, lcsm_mix_split(m, "d_model", m->D, H));
    lcsm_init    decays = {.kind = LCSM_INIT_FILL, .a = m->layer, .b = m->layers, .fill = fill_tnl};
    lcsm_tensor *q      = lcsm_mix_project(m, m->x, "q", H * K, false);
    lcsm_tensor *k      = lcsm_mix_project(m, m->x, "k", H * K, false);
    lcsm_tensor *v      = lcsm_mix_project(m, m->x, "v", m->D, false);
    *s                  = (lcsm_states){.H = H,
                                        .K = K,
                                        .D = m->D / H,
                                        .i = lcsm_per_token_d(v),
                                        .e = lcsm_per_token_k(lcsm_activate(m->g, LCSM_ACT_SILU, k)),
                                        .s = lcsm_per_token_k(lcsm_activate(m->g, LCSM_ACT_SILU, q))};
    s->row              = lcsm_static(lcsm_mix_constant(m, "log_decay", lcsm_dims(H), decays), 0);
    if (m->layer == 0)
        s->row_phase = lcsm_static(lcsm_mix_angles(m, "theta", H * K, H * K, true), LCSM_AXIS_K);
    return s->row.x != NULL;
}

/* W (u * norm(y)), the gate u linear, the norm over all channels without weights. */
lcsm_tensor *lcsm_tnl_mixer(const lcsm_mixer *m)
{
    lcsm_tensor *y = lcsm_rms_norm(m->g, lcsm_mix_recurrence(m, lcsm_tnl_states), NULL, 1e-6);
    lcsm_tensor *u = lcsm_mix_project(m, m->x, "gate", m->D, false);
    return lcsm_mix_project(m, lcsm_mul(m->g, u, y), "out", m->D, false);
}
