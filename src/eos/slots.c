/*
 * slots.c - gated slot attention (GSA): a key and a value of M slots in each head, both gated
 * alike.
 *
 *     keys    m_t = m_{t-1} diag(f) + k (1 - f)^T          p = softmax(m_t^T q)
 *     values  n_t = diag(f) n_{t-1} + (1 - f) v^T          y = n_t^T p
 */
#include "eos/method.h"

enum { SLOTS = 64 };

static ptrdiff_t heads(const lcsm_mixer *m)
{
    return lcsm_mix_heads(m, m->D % 4 == 0 ? 4 : 1);
}

static lcsm_tensor *act(const lcsm_mixer *m, const char *name, ptrdiff_t width)
{
    return lcsm_activate(m->g, LCSM_ACT_SILU, lcsm_mix_project(m, m->x, name, width, false));
}

static lcsm_tensor *in_groups(const lcsm_mixer *m, lcsm_tensor *x, ptrdiff_t H)
{
    if (x == NULL) return NULL;
    ptrdiff_t    n = x->cols;
    lcsm_tensor *y = lcsm_reshape(m->g, x, lcsm_dims(m->B, m->T, H, n / H));
    return lcsm_reshape(m->g, lcsm_softmax(m->g, y), lcsm_dims(m->B, m->T, n));
}

static lcsm_tensor *two_passes(const lcsm_mixer *m)
{
    ptrdiff_t    H = heads(m), M = lcsm_mix_or(m->cfg->slots, SLOTS);
    ptrdiff_t    K = lcsm_mix_expand(m, m->D / H > 0 ? m->D / H : 1), D = lcsm_mix_value_head(m, H);
    lcsm_tensor *f =
        lcsm_gate(m->g, lcsm_mix_project(m, m->x, "forget", H * M, false), m->cfg->slot_tau);
    lcsm_tensor *w     = lcsm_activate_scaled(m->g, LCSM_ACT_ELU, f, -1); /* 1 - exp(f) */
    lcsm_states  keys  = {.H = H, .K = K, .D = M, .reset = m->reset};
    keys.i             = lcsm_per_token_d(w);
    keys.e             = lcsm_per_token_k(act(m, "k", H * K));
    keys.s             = lcsm_per_token_k(act(m, "q", H * K));
    keys.col           = lcsm_per_token_d(f);
    lcsm_states values = {.H = H, .K = M, .D = D, .reset = m->reset};
    values.i           = lcsm_per_token_d(act(m, "v", H * D));
    values.e           = lcsm_per_token_k(w);
    values.row         = lcsm_per_token_k(f);
    if (values.i.x == NULL) return NULL;
    values.s = lcsm_per_token_k(in_groups(m, lcsm_recurrence(m->g, &keys, NULL), H));
    return values.s.x == NULL ? NULL : lcsm_recurrence(m->g, &values, NULL);
}

/* W norm(silu(y)), over all channels. */
lcsm_tensor *lcsm_gsa_mixer(const lcsm_mixer *m)
{
    lcsm_tensor *w = lcsm_mix_param(m, "norm.weight", lcsm_dims(lcsm_mix_value_width(m)),
                                    lcsm_init_constant(1), 0);
    lcsm_tensor *y = lcsm_activate(m->g, LCSM_ACT_SILU, lcsm_mix_ways(m, two_passes));
    return lcsm_mix_project(m, lcsm_rms_norm(m->g, y, w, lcsm_mix_eps(m, 1e-5)), "out", m->D,
                            false);
}

lcsm_tensor *lcsm_gsa_bare(const lcsm_mixer *m)
{
    return lcsm_mix_bare_end(m, lcsm_mix_ways(m, two_passes));
}
