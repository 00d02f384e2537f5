/* linear_attention.c - linear attention. */
#include "eos/method.h"

static bool native(const lcsm_mixer *m)
{
    return m->cfg->flavour == LCSM_FLAVOUR_NATIVE;
}

/* q = f(W x), k = f(W x), v = W x, o = 1, with f = 1 + elu. */
bool lcsm_linear_attention_states(const lcsm_mixer *m, lcsm_states *s)
{
    ptrdiff_t    H = lcsm_mix_heads(m, 1), K = lcsm_mix_expand(m, m->D / H);
    lcsm_tensor *q = lcsm_mix_project(m, m->x, "q", H * K, native(m));
    lcsm_tensor *k = lcsm_mix_project(m, m->x, "k", H * K, native(m));
    lcsm_tensor *v = lcsm_mix_project(m, m->x, "v", m->D, native(m));
    *s             = (lcsm_states){.H = H,
                                   .K = K,
                                   .D = lcsm_mix_split(m, "d_model", m->D, H),
                                   .i = lcsm_per_token_d(v),
                                   .e = lcsm_per_token_k(lcsm_activate(m->g, LCSM_ACT_ELU1, k)),
                                   .s = lcsm_per_token_k(lcsm_activate(m->g, LCSM_ACT_ELU1, q))};
    return s->e.x != NULL && s->s.x != NULL;
}

/* y / (q . z + 1e-6) per head; without the denominator a LayerNorm keeps the size. */
lcsm_tensor *lcsm_linear_attention_mixer(const lcsm_mixer *m)
{
    lcsm_tensor *y = lcsm_mix_recurrence(m, lcsm_linear_attention_states);
    if (!m->cfg->denominator) return lcsm_mix_bare_end(m, y);
    lcsm_tensor *den = lcsm_mix_denominator(m, lcsm_linear_attention_states);
    y                = lcsm_mix_divide(m, y, den, 1e-6, false);
    return lcsm_mix_project(m, y, "out", m->D, true);
}
