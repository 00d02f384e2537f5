/* lrpe.c - cosFormer and LRPE: memories that turn and do not decay. */
#include <math.h>

#include "eos/method.h"

static bool native(const lcsm_mixer *m)
{
    return m->cfg->flavour == LCSM_FLAVOUR_NATIVE;
}

/* v, f(k), f(q) of H heads, with biases in the native block. */
static bool attention_states(const lcsm_mixer *m, lcsm_act act, lcsm_states *s)
{
    ptrdiff_t H    = lcsm_mix_heads(m, 1),
              K    = lcsm_mix_expand(m, lcsm_mix_split(m, "d_model", m->D, H));
    lcsm_tensor *q = lcsm_mix_project(m, m->x, "q", H * K, native(m));
    lcsm_tensor *k = lcsm_mix_project(m, m->x, "k", H * K, native(m));
    lcsm_tensor *v = lcsm_mix_project(m, m->x, "v", m->D, native(m));
    if (act != LCSM_ACT_NONE) {
        q = lcsm_activate(m->g, act, q);
        k = lcsm_activate(m->g, act, k);
    }
    *s = (lcsm_states){.H = H,
                       .K = K,
                       .D = m->D / H,
                       .i = lcsm_per_token_d(v),
                       .e = lcsm_per_token_k(k),
                       .s = lcsm_per_token_k(q)};
    return v != NULL;
}

/* One angle for all rows: pi / (2 M), M the longest sequence. */
bool lcsm_cosformer_states(const lcsm_mixer *m, lcsm_states *s)
{
    if (!attention_states(m, LCSM_ACT_RELU, s)) return false;
    lcsm_init angle = lcsm_init_constant(acos(0) / (double)m->cfg->max_length);
    s->row_phase    = lcsm_static(lcsm_mix_constant(m, "theta", lcsm_dims(s->H), angle), 0);
    if (native(m) && m->cfg->denominator)
        s->normaliser = (lcsm_normaliser){.kind = LCSM_NORMALISER_AT_LEAST, .eps = 1e-6};
    return s->row_phase.x != NULL;
}

lcsm_tensor *lcsm_cosformer_mixer(const lcsm_mixer *m)
{
    lcsm_tensor *y = lcsm_mix_recurrence(m, lcsm_cosformer_states);
    return m->cfg->denominator ? lcsm_mix_project(m, y, "out", m->D, true)
                               : lcsm_mix_bare_end(m, y);
}

bool lcsm_lrpe_states(const lcsm_mixer *m, lcsm_states *s)
{
    if (!attention_states(m, LCSM_ACT_NONE, s)) return false;
    ptrdiff_t n  = s->H * s->K;
    s->row_phase = lcsm_static(lcsm_mix_angles(m, "theta", n, n, true), LCSM_AXIS_K);
    return s->row_phase.x != NULL;
}

/* No decay: a norm of the heads keeps the size. */
lcsm_tensor *lcsm_lrpe_mixer(const lcsm_mixer *m)
{
    lcsm_norm_attr norm = {.kind = LCSM_NORM_RMS, .eps = 1e-6, .heads = lcsm_mix_heads(m, 1)};
    lcsm_tensor   *y    = lcsm_mix_recurrence(m, lcsm_lrpe_states);
    return lcsm_mix_project(m, lcsm_head_norm(m->g, &norm, y, NULL, NULL), "out", m->D, true);
}
