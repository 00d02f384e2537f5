/*
 * model_sizes.c - a model as people use it: planned for training and for one token at a time, in
 * its default size and at 10m, with its own number of heads and with others; and one training step
 * of a small model with several heads.
 *
 * Plans take the addresses of their memory and touch little of it: nothing is initialised or run.
 */
#include <lcsm/model.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "check/model_proof.h"
#include "check/verdict.h"
#include "model/config.h"
#include "model/model_graph.h"

enum { TRAIN_STEPS = 128, SMALL_STEPS = 9 };

typedef struct {
    lcsm_params  *params;
    lcsm_graph   *g;
    lcsm_model_io io;
} rig;

static void rig_free(rig *r)
{
    lcsm_graph_free(r->g);
    lcsm_params_free(r->params);
    *r = (rig){0};
}

static lcsm_status rig_make(rig *r, const lcsm_context *ctx, const lcsm_model_config *cfg,
                            ptrdiff_t T, bool train, bool blank, lcsm_error *err)
{
    lcsm_model_want want = {.whole = train, .logits = !train, .loss = train, .ignore = -1};
    lcsm_status     st   = LCSM_OK;
    *r                   = (rig){0};
    LCSM_OR_RETURN(lcsm_params_create(&r->params, LCSM_F32, 1, err));
    r->params->blank = blank;
    LCSM_OR_RETURN(lcsm_graph_create(&r->g, ctx, r->params, err));
    LCSM_OR_RETURN(lcsm_model_build(r->g, cfg, 1, T, &want, &r->io, err));
    LCSM_OR_RETURN(lcsm_graph_plan(r->g, &(lcsm_plan_options){.train = train}, err));
    return st;
}

/* ---- plans ------------------------------------------------------------------------------ */

/* Sizes and heads; NULL is the default size, 0 the method's own number of heads. */
static const struct {
    const char *size, *name;
    ptrdiff_t   heads;
} PLANS[] = {{NULL, "default", 0},
             {NULL, "default with 2 heads", 2},
             {"10m", "10m", 0},
             {"10m", "10m with 4 heads", 4}};

/* The parameters of the model, if it can be planned both ways. */
static lcsm_status plan(const lcsm_context *ctx, lcsm_model_config cfg, const char *size,
                        ptrdiff_t heads, size_t *parameters, lcsm_error *err)
{
    rig         train = {0}, step = {0};
    lcsm_status st = LCSM_OK;
    cfg.heads      = heads;
    if (size != NULL) LCSM_TRY(lcsm_model_config_size(&cfg, ctx, size, err));
    LCSM_TRY(rig_make(&train, ctx, &cfg, TRAIN_STEPS, true, true, err));
    if (!cfg.bidirectional) LCSM_TRY(rig_make(&step, ctx, &cfg, 1, false, true, err));
    *parameters = lcsm_params_total(train.params);
cleanup:
    rig_free(&train);
    rig_free(&step);
    return st;
}

static void check_plans(const lcsm_context *ctx, const lcsm_model_config *cfg, lcsm_check_row *row,
                        char detail[256])
{
    size_t used = 0, parameters = 0;
    row->ok = true;
    for (size_t j = 0; j < COUNT(PLANS) && row->ok; j++) {
        lcsm_error err = {0};
        row->ok = plan(ctx, *cfg, PLANS[j].size, PLANS[j].heads, &parameters, &err) == LCSM_OK;
        if (row->ok)
            used += (size_t)snprintf(detail + used, 256 - used, "%s%s (%.1f M)",
                                     j > 0 ? ", " : "planned: ", PLANS[j].name,
                                     (double)parameters * 1e-6);
        else (void)snprintf(detail, 256, "%s: %.200s", PLANS[j].name, err.text);
    }
}

/* ---- one step --------------------------------------------------------------------------- */

static bool finite_gradients(const lcsm_params *p)
{
    for (size_t j = 0; j < p->count; j++)
        for (size_t k = 0; k < p->list[j].count; k++)
            if (!isfinite(((const float *)p->grads)[p->list[j].offset + k])) return false;
    return true;
}

static lcsm_status train_step(const lcsm_context *ctx, lcsm_model_config cfg, ptrdiff_t heads,
                              lcsm_error *err)
{
    const lcsm_run_options check = {.check = true, .training = true};
    rig                    r     = {0};
    lcsm_status            st;
    cfg.heads = heads;
    LCSM_TRY(rig_make(&r, ctx, &cfg, SMALL_STEPS, true, false, err));
    for (int t = 0; t < SMALL_STEPS; t++) {
        ((int32_t *)r.io.tokens->data)[t]  = (int32_t)(t * 7 % cfg.vocab);
        ((int32_t *)r.io.targets->data)[t] = (int32_t)(t * 5 % cfg.vocab);
    }
    LCSM_TRY(lcsm_graph_forward(r.g, &check, err));
    LCSM_TRY(lcsm_graph_backward(r.g, &check, err));
    if (!finite_gradients(r.params))
        st = lcsm_fail(err, LCSM_ERR_NUMBER, "a gradient is NaN or infinite");
cleanup:
    rig_free(&r);
    return st;
}

static void check_steps(const lcsm_context *ctx, const lcsm_model_config *small,
                        lcsm_check_row *row, char detail[256])
{
    row->ok = true;
    (void)snprintf(detail, 256, "one training step with 2 and with 4 heads");
    for (ptrdiff_t heads = 2; heads <= 4 && row->ok; heads += 2) {
        lcsm_error err = {0};
        row->ok        = train_step(ctx, *small, heads, &err) == LCSM_OK;
        if (!row->ok) (void)snprintf(detail, 256, "%td heads: %.200s", heads, err.text);
    }
}

/* ---- both ------------------------------------------------------------------------------- */

void lcsm_check_sizes(const lcsm_context *ctx, const lcsm_model_config *normal,
                      const lcsm_model_config *small, const char *name, lcsm_check_sink *sink,
                      void *user)
{
    char           detail[256] = "";
    lcsm_verdict   none        = LCSM_NO_VERDICT;
    lcsm_check_row row         = lcsm_verdict_row(&none, "build", name, "float");
    row.detail                 = detail;
    check_plans(ctx, normal, &row, detail);
    sink(user, &row);
    row.group = "train";
    check_steps(ctx, small, &row, detail);
    sink(user, &row);
}
