/* loss_rig.c - a model's loss and its gradients in double. */
#include "loss_rig.h"

#include <math.h>

#include "base/rng.h"
#include "model/model_weights.h"
#include "test.h"

loss_rig loss_rig_make(const lcsm_model_config *cfg, ptrdiff_t B, ptrdiff_t T, int most,
                       unsigned only)
{
    loss_rig        r    = {0};
    lcsm_model_want want = {.whole = true, .loss = true, .ignore = -1};
    assert_int_equal(lcsm_context_create(&r.ctx, NULL, NULL), LCSM_OK);
    assert_int_equal(lcsm_params_create(&r.params, LCSM_F64, 3, NULL), LCSM_OK);
    assert_int_equal(lcsm_graph_create(&r.g, r.ctx, r.params, NULL), LCSM_OK);
    assert_int_equal(lcsm_model_build(r.g, cfg, B, T, &want, &r.io, NULL), LCSM_OK);
    if (only != 0) assert_int_equal(lcsm_params_train_only(r.params, only, NULL), LCSM_OK);
    assert_int_equal(lcsm_graph_plan(r.g, &(lcsm_plan_options){.train = true}, NULL), LCSM_OK);
    for (size_t j = 0; j < (size_t)(B * T); j++) {
        ((int32_t *)r.io.tokens->data)[j]  = (int32_t)(lcsm_rng_uniform(1, 2, j) * most);
        ((int32_t *)r.io.targets->data)[j] = (int32_t)(lcsm_rng_uniform(1, 3, j) * most);
    }
    return r;
}

void loss_rig_free(loss_rig *r)
{
    lcsm_graph_free(r->g);
    lcsm_params_free(r->params);
    lcsm_context_free(r->ctx);
}

double loss_of(loss_rig *r)
{
    assert_int_equal(lcsm_graph_forward(r->g, &(lcsm_run_options){0}, NULL), LCSM_OK);
    return *(const double *)r->io.loss->data;
}

double loss_gradient_error(loss_rig *r, size_t row)
{
    double       *x = lcsm_param_values(r->params, (int)row), most = 0, h = 1e-5;
    const double *g = lcsm_param_grads(r->params, (int)row);
    for (size_t j = 0; j < r->params->list[row].count; j++) {
        double keep = x[j], up, down;
        x[j]        = keep + h;
        up          = loss_of(r);
        x[j]        = keep - h;
        down        = loss_of(r);
        x[j]        = keep;
        most        = fmax(most, fabs((up - down) / (2 * h) - g[j]));
    }
    return most;
}

double loss_gradient_size(const loss_rig *r, size_t row)
{
    const double *g    = lcsm_param_grads(r->params, (int)row);
    double        most = 0;
    for (size_t j = 0; j < r->params->list[row].count; j++) most = fmax(most, fabs(g[j]));
    return most;
}
