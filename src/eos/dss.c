/* dss.c - DSS: diagonal state spaces that share lambda and have their own steps. */
#include <math.h>
#include <stdlib.h>

#include "eos/method.h"
#include "eos/tables.h"

/* The imaginary parts of lambda. */
LCSM_FILL(fill_lambda)
{
    double *lambda = malloc((2 * count + 1) * sizeof *lambda);
    bool    ok     = lambda != NULL && lcsm_dss_lambda(count, lambda, NULL) == LCSM_OK;
    for (size_t j = 0; j < count; j++) v[j] = ok ? lambda[2 * j + 1] : NAN;
    free(lambda);
}

/* e = 1, s = W times the factor of the hold, or of the softmax over max_length lags. */
bool lcsm_dss_states(const lcsm_mixer *m, lcsm_states *s)
{
    bool                       softmax = m->cfg->dss_kind == LCSM_DSS_SOFTMAX;
    const lcsm_discretise_attr a = {.kind = softmax ? LCSM_DISCRETISE_SOFTMAX : LCSM_DISCRETISE_ZOH,
                                    .log_re = true,
                                    .length = m->cfg->max_length,
                                    .eps    = 1e-7};

    ptrdiff_t    N = lcsm_mix_or(m->cfg->state_size, 64), D = m->D;
    lcsm_init    eigenvalues = {.kind = LCSM_INIT_FILL, .fill = fill_lambda};
    lcsm_tensor *u           = lcsm_mix_input(m);
    lcsm_tensor *re = lcsm_mix_param(m, "Lambda_re_log", lcsm_dims(N), lcsm_init_constant(log(0.5)),
                                     LCSM_MIX_SPACE);
    lcsm_tensor *im = lcsm_mix_param(m, "Lambda_im", lcsm_dims(N), eigenvalues, LCSM_MIX_SPACE);
    lcsm_tensor *W =
        lcsm_mix_param(m, "W", lcsm_dims(N, D, 2), lcsm_init_normal(1), LCSM_MIX_SPACE);
    lcsm_discrete d = lcsm_discretise(m->g, &a, re, im, lcsm_mix_log_dt(m, D), W);
    *s              = (lcsm_states){.H          = 1,
                                    .K          = N,
                                    .D          = D,
                                    .i          = lcsm_per_token_d(u),
                                    .e          = lcsm_mix_ones(m, im),
                                    .s          = lcsm_static(d.coef, LCSM_AXIS_K | LCSM_AXIS_D),
                                    .full       = lcsm_static(d.log, LCSM_AXIS_K | LCSM_AXIS_D),
                                    .full_phase = lcsm_static(d.phase, LCSM_AXIS_K | LCSM_AXIS_D),
                                    .complex_s  = true};
    return d.coef != NULL && u != NULL;
}

/* W gelu(y + D u). */
lcsm_tensor *lcsm_dss_mixer(const lcsm_mixer *m)
{
    lcsm_tensor *y = lcsm_mix_skip(m, lcsm_mix_recurrence(m, lcsm_dss_states));
    return lcsm_mix_project(m, lcsm_mix_gelu(m, y), "out", m->D, true);
}
