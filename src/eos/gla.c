/* gla.c - gated linear attention and GateLoop: row gates from the data. */
#include <math.h>

#include "eos/method.h"

static lcsm_tensor *project(const lcsm_mixer *m, const char *name, ptrdiff_t out)
{
    lcsm_init init = m->cfg->wiring == LCSM_WIRING_LM ? lcsm_mix_xavier(m->D, out, exp2(-2.5))
                                                      : lcsm_mix_init(m, m->D);
    return lcsm_mix_project_init(m, m->x, name, out, false, init);
}

static ptrdiff_t heads(const lcsm_mixer *m)
{
    return lcsm_mix_heads(m, m->D % 4 == 0 ? 4 : 1);
}

/* Key width D / 2, a gate of low rank, y / sqrt(K). */
bool lcsm_gla_states(const lcsm_mixer *m, lcsm_states *s)
{
    ptrdiff_t    H = heads(m), half = m->D / 2 / H > 0 ? m->D / 2 / H : 1;
    ptrdiff_t    K = lcsm_mix_expand(m, half), rank = lcsm_mix_or(m->cfg->rank, 16);
    lcsm_tensor *q = project(m, "q", H * K), *k = project(m, "k", H * K);
    ptrdiff_t    Dv = lcsm_mix_value_width(m);
    lcsm_tensor *v  = lcsm_mix_project(m, m->x, "v", Dv, false);
    lcsm_tensor *z  = lcsm_mix_project(m, project(m, "gate_down", rank), "gate_up", H * K, true);
    *s              = (lcsm_states){.H     = H,
                                    .K     = K,
                                    .D     = lcsm_mix_value_head(m, H),
                                    .i     = lcsm_per_token_d(v),
                                    .e     = lcsm_per_token_k(k),
                                    .s     = lcsm_per_token_k(q),
                                    .row   = lcsm_per_token_k(lcsm_gate(m->g, z, m->cfg->tau)),
                                    .scale = 1 / sqrt((double)K)};
    return s->row.x != NULL;
}

lcsm_tensor *lcsm_gla_mixer(const lcsm_mixer *m)
{
    lcsm_norm_attr norm = {.kind = LCSM_NORM_RMS, .eps = lcsm_mix_eps(m, 1e-5), .heads = heads(m)};
    lcsm_tensor   *gate = lcsm_mix_project(m, m->x, "gate", lcsm_mix_value_width(m), false);
    return lcsm_mix_gated_end(m, lcsm_mix_recurrence(m, lcsm_gla_states), gate, &norm, true);
}

/* Magnitude sigmoid(alpha) and phase beta, both from the data. */
bool lcsm_gateloop_states(const lcsm_mixer *m, lcsm_states *s)
{
    ptrdiff_t H    = lcsm_mix_heads(m, 1),
              K    = lcsm_mix_expand(m, lcsm_mix_split(m, "d_model", m->D, H));
    lcsm_tensor *q = lcsm_mix_project(m, m->x, "q", H * K, false);
    lcsm_tensor *k = lcsm_mix_project(m, m->x, "k", H * K, false);
    lcsm_tensor *v = lcsm_mix_project(m, m->x, "v", m->D, false);
    lcsm_tensor *a = lcsm_mix_project(m, m->x, "alpha", H * K, true);
    lcsm_tensor *b = lcsm_mix_project(m, m->x, "beta", H * K, true);
    *s             = (lcsm_states){.H         = H,
                                   .K         = K,
                                   .D         = m->D / H,
                                   .i         = lcsm_per_token_d(v),
                                   .e         = lcsm_per_token_k(k),
                                   .s         = lcsm_per_token_k(q),
                                   .row       = lcsm_per_token_k(lcsm_gate(m->g, a, 1)),
                                   .row_phase = lcsm_per_token_k(b)};
    return s->row.x != NULL;
}

lcsm_tensor *lcsm_gateloop_mixer(const lcsm_mixer *m)
{
    lcsm_tensor *gate = lcsm_mix_project(m, m->x, "gate", m->D, false);
    lcsm_tensor *y    = lcsm_mix_recurrence(m, lcsm_gateloop_states);
    return lcsm_mix_project(m, lcsm_glu(m->g, LCSM_ACT_SILU, gate, y), "out", m->D, false);
}
