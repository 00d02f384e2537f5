/*
 * model_check.c - proves whole two-layer models on this machine:
 *
 *   gradient   of the loss, in double, against finite differences: random directions and entries
 *   float      logits against those in double
 *   steps      token by token, memory carried, against the whole sequence
 *   split      two pieces of any length against the whole
 *   packed     two sequences in one row, with resets, against each by itself
 */
#include "check/model_check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "graph/state.h"
#include "model/model.h"

/* Bounds: fourth-order differences of a loss of size 1 reach about 1e-9 of the largest gradient;
 * float logits of a small model agree with double to some ulps of a few hundred sums. */
#define GRADIENT_BOUND 1e-6
#define FLOAT_BOUND    2e-5
#define STEP_BOUND     1e-5

enum { SEQUENCES = 2, STEPS = 7 };

/* A model with its graph and inputs. */
typedef struct {
    lcsm_params  *params;
    lcsm_graph   *g;
    lcsm_state   *state;
    lcsm_model_io io;
    bool          own; /* the parameters are its own */
} rig;

static void rig_free(rig *r)
{
    lcsm_state_free(r->state);
    lcsm_graph_free(r->g);
    if (r->own) lcsm_params_free(r->params);
    *r = (rig){0};
}

typedef struct {
    ptrdiff_t B, T;
    bool      train, packed, carry;
} rig_kind;

/* params NULL: new ones of the type. */
static lcsm_status rig_make(rig *r, const lcsm_context *ctx, const lcsm_model_config *cfg,
                            lcsm_dtype dtype, lcsm_params *params, rig_kind k, lcsm_error *err)
{
    lcsm_model_want want = {.packed = k.packed,
                            .whole  = !k.carry && !k.packed,
                            .logits = true,
                            .loss   = k.train,
                            .ignore = -1};
    lcsm_status     st   = LCSM_OK;
    *r                   = (rig){.params = params, .own = params == NULL};
    if (r->own) LCSM_TRY(lcsm_params_create(&r->params, dtype, 3, err));
    LCSM_TRY(lcsm_graph_create(&r->g, ctx, r->params, err));
    LCSM_TRY(lcsm_model_build(r->g, cfg, k.B, k.T, &want, &r->io, err));
    LCSM_TRY(lcsm_graph_plan(r->g, &(lcsm_plan_options){.train = k.train}, err));
    if (k.carry) LCSM_TRY(lcsm_state_create(&r->state, r->g, err));
cleanup:
    if (st != LCSM_OK) rig_free(r);
    return st;
}

/* Away from the first values: zeros there would hide what depends on them. */
static void disturb(const rig *r)
{
    for (size_t p = 0; p < r->params->count; p++) {
        const lcsm_param *row = &r->params->list[p];
        for (size_t j = 0; !(row->flags & LCSM_PARAM_FROZEN) && j < row->count; j++) {
            double by = 0.1 * lcsm_rng_normal(17, (uint32_t)p, j);
            if (r->params->dtype == LCSM_F64) ((double *)r->params->values)[row->offset + j] += by;
            else ((float *)r->params->values)[row->offset + j] += (float)by;
        }
    }
}

/* Token t of sequence b, the same in every rig. */
static int32_t token(const lcsm_model_config *cfg, ptrdiff_t b, ptrdiff_t t)
{
    return (int32_t)(lcsm_rng_uniform(5, (uint32_t)b, (uint64_t)t) * (double)cfg->vocab);
}

/* Steps t0 .. of every sequence into the inputs; targets are the tokens that follow, one ignored.
 */
static void fill(rig *r, const lcsm_model_config *cfg, ptrdiff_t t0)
{
    const lcsm_shape *s = &r->io.tokens->shape;
    for (ptrdiff_t b = 0; b < s->dim[0]; b++)
        for (ptrdiff_t t = 0; t < s->dim[1]; t++) {
            ptrdiff_t at                        = b * s->dim[1] + t;
            ((int32_t *)r->io.tokens->data)[at] = token(cfg, b, t0 + t);
            if (r->io.targets != NULL)
                ((int32_t *)r->io.targets->data)[at] = t == 2 ? -1 : token(cfg, b, t0 + t + 1);
            if (r->io.reset != NULL) ((int32_t *)r->io.reset->data)[at] = 0;
        }
}

static lcsm_status forward(rig *r, lcsm_error *err)
{
    return lcsm_graph_forward(r->g, &(lcsm_run_options){.state = r->state, .check = true}, err);
}

static double number(const lcsm_tensor *t, size_t j)
{
    return t->dtype == LCSM_F64 ? ((const double *)t->data)[j]
                                : (double)((const float *)t->data)[j];
}

/* ---- results ---------------------------------------------------------------------------- */

typedef struct {
    double error;
    char   detail[160];
} finding;

static void note(finding *f, double error, const char *what)
{
    if (error <= f->error) return; /* a NaN is noted */
    f->error = isfinite(error) ? error : INFINITY;
    snprintf(f->detail, sizeof f->detail, "worst: %.120s", what);
}

/* ---- gradient --------------------------------------------------------------------------- */

static lcsm_status loss_at(rig *r, double *loss, lcsm_error *err)
{
    lcsm_status st = forward(r, err);
    *loss          = st == LCSM_OK ? number(r->io.loss, 0) : NAN;
    return st;
}

/* dL/dh of theta + h v, fourth order; v random over a parameter, or one entry of it. */
static lcsm_status slope(rig *r, size_t from, size_t count, uint32_t way, size_t one, double h,
                         double *found, double *expected, double *size, lcsm_error *err)
{
    static const double at[] = {-2, -1, 1, 2}, weight[] = {1, -8, 8, -1};
    double             *x = r->params->values, norm = 0;
    const double       *g = r->params->grads;
    *found = *expected = 0;
    for (size_t a = 0; a < COUNT(at); a++) {
        double step = at[a] * h - (a > 0 ? at[a - 1] * h : 0), loss;
        for (size_t j = 0; j < count; j++) {
            double v = one == SIZE_MAX ? 2 * lcsm_rng_uniform(9, way, j) - 1 : (double)(j == one);
            x[from + j] += step * v;
            if (a == 0) {
                *expected += g[from + j] * v;
                norm += v * v;
            }
        }
        lcsm_status st = loss_at(r, &loss, err);
        if (st != LCSM_OK) return st;
        *found += weight[a] * loss / (12 * h);
    }
    for (size_t j = 0; j < count; j++) {
        double v = one == SIZE_MAX ? 2 * lcsm_rng_uniform(9, way, j) - 1 : (double)(j == one);
        x[from + j] -= 2 * h * v;
    }
    *size = sqrt(norm);
    return LCSM_OK;
}

/* The largest gradient of a parameter, not below a part of the loss: differences have noise. */
static double largest(const rig *r, const lcsm_param *p)
{
    const double *g = (const double *)r->params->grads + p->offset;
    double        m = 1e-4;
    for (size_t j = 0; j < p->count; j++) m = fmax(m, fabs(g[j]));
    return m;
}

static lcsm_status check_gradient(const lcsm_context *ctx, const lcsm_model_config *cfg, finding *f,
                                  lcsm_error *err)
{
    rig         r;
    lcsm_status st = rig_make(&r, ctx, cfg, LCSM_F64, NULL,
                              (rig_kind){.B = SEQUENCES, .T = STEPS, .train = true}, err);
    if (st != LCSM_OK) return st;
    disturb(&r);
    fill(&r, cfg, 0);
    LCSM_TRY(forward(&r, err));
    LCSM_TRY(lcsm_graph_backward(r.g, &(lcsm_run_options){0}, err));
    for (size_t p = 0; p < r.params->count; p++) {
        const lcsm_param *row = &r.params->list[p];
        if (row->flags & LCSM_PARAM_FROZEN) continue;
        for (uint32_t way = 0; way < 2; way++) {
            size_t one   = (size_t)(lcsm_rng_uniform(8, (uint32_t)p, 0) * (double)row->count);
            double error = INFINITY;
            /* A kink of relu inside a step spoils the difference: a smaller step passes by it. */
            for (double h = 1e-4; h > 1e-7 && error > GRADIENT_BOUND; h /= 16) {
                double found, expected, size;
                LCSM_TRY(slope(&r, row->offset, row->count, way, way == 0 ? SIZE_MAX : one, h,
                               &found, &expected, &size, err));
                error = fmin(error, fabs(found - expected) / (largest(&r, row) * size));
            }
            note(f, error, row->name);
        }
    }
cleanup:
    rig_free(&r);
    return st;
}

/* ---- equal runs ------------------------------------------------------------------------- */

/* Logits of steps t0 .. of `got` against those of `want`, in units of the largest. */
static void compare(const rig *got, const rig *want, ptrdiff_t b_got, ptrdiff_t b_want,
                    ptrdiff_t t_got, ptrdiff_t t_want, ptrdiff_t n, finding *f, const char *what)
{
    ptrdiff_t V = want->io.logits->cols, Tg = got->io.tokens->shape.dim[1],
              Tw = want->io.tokens->shape.dim[1];
    double worst = 0, size = 0;
    for (ptrdiff_t j = 0; j < n * V; j++) {
        double a = number(got->io.logits, (size_t)((b_got * Tg + t_got) * V + j));
        double b = number(want->io.logits, (size_t)((b_want * Tw + t_want) * V + j));
        worst    = isfinite(a) ? fmax(worst, fabs(a - b)) : INFINITY;
        size     = fmax(size, fabs(b));
    }
    note(f, size > 0 ? worst / size : worst, what);
}

static lcsm_status check_float(const lcsm_context *ctx, const lcsm_model_config *cfg, rig *whole,
                               finding *f, lcsm_error *err)
{
    rig         d;
    lcsm_status st =
        rig_make(&d, ctx, cfg, LCSM_F64, NULL, (rig_kind){.B = SEQUENCES, .T = STEPS}, err);
    if (st != LCSM_OK) return st;
    LCSM_TRY(lcsm_params_copy(d.params, whole->params, err));
    fill(&d, cfg, 0);
    LCSM_TRY(forward(&d, err));
    for (ptrdiff_t b = 0; b < SEQUENCES; b++)
        compare(whole, &d, b, b, 0, 0, STEPS, f, "logits in float");
cleanup:
    rig_free(&d);
    return st;
}

/* Pieces of `lengths` tokens one after the other, state carried. */
static lcsm_status check_pieces(const lcsm_context *ctx, const lcsm_model_config *cfg, rig *whole,
                                ptrdiff_t first, ptrdiff_t rest, finding *f, lcsm_error *err)
{
    rig         piece = {0}, *r = &piece;
    lcsm_state *state = NULL;
    lcsm_status st    = LCSM_OK;
    char        what[64];
    for (ptrdiff_t t = 0, n = first; t < STEPS; t += n, n = rest) {
        if (n > STEPS - t) n = STEPS - t;
        st = rig_make(r, ctx, cfg, LCSM_F32, whole->params,
                      (rig_kind){.B = SEQUENCES, .T = n, .carry = true}, err);
        if (st != LCSM_OK) break;
        if (state != NULL) LCSM_TRY(lcsm_state_copy(r->state, state, err));
        fill(r, cfg, t);
        LCSM_TRY(forward(r, err));
        snprintf(what, sizeof what, "steps %td to %td", t, t + n - 1);
        for (ptrdiff_t b = 0; b < SEQUENCES; b++) compare(r, whole, b, b, 0, t, n, f, what);
        lcsm_state_free(state);
        state    = r->state;
        r->state = NULL;
        rig_free(r);
    }
cleanup:
    lcsm_state_free(state);
    rig_free(r);
    return st;
}

/* Both sequences in one row, the second behind a reset. */
static lcsm_status check_packed(const lcsm_context *ctx, const lcsm_model_config *cfg, rig *whole,
                                finding *f, lcsm_error *err)
{
    rig         r;
    lcsm_status st = rig_make(&r, ctx, cfg, LCSM_F32, whole->params,
                              (rig_kind){.B = 1, .T = 2 * STEPS, .packed = true}, err);
    if (st != LCSM_OK) return st;
    fill(&r, cfg, 0);
    for (ptrdiff_t t = 0; t < STEPS; t++)
        ((int32_t *)r.io.tokens->data)[STEPS + t] = token(cfg, 1, t);
    ((int32_t *)r.io.reset->data)[0]     = 1;
    ((int32_t *)r.io.reset->data)[STEPS] = 1;
    LCSM_TRY(forward(&r, err));
    compare(&r, whole, 0, 0, 0, 0, STEPS, f, "the first sequence");
    compare(&r, whole, 0, 1, STEPS, 0, STEPS, f, "the second sequence");
cleanup:
    rig_free(&r);
    return st;
}

/* ---- one model -------------------------------------------------------------------------- */

static void emit(lcsm_check_sink *sink, void *user, const char *group, const char *name,
                 const char *precision, const finding *f, double bound, bool gradient)
{
    lcsm_check_row row                                    = {.group          = group,
                                                             .name           = name,
                                                             .precision      = precision,
                                                             .detail         = f->detail,
                                                             .output_error   = NAN,
                                                             .output_bound   = NAN,
                                                             .gradient_error = NAN,
                                                             .gradient_bound = NAN,
                                                             .ok             = f->error <= bound};
    *(gradient ? &row.gradient_error : &row.output_error) = f->error;
    *(gradient ? &row.gradient_bound : &row.output_bound) = bound;
    sink(user, &row);
}

static lcsm_status check_equal_runs(const lcsm_context *ctx, const lcsm_model_config *cfg,
                                    const char *name, lcsm_check_sink *sink, void *user,
                                    lcsm_error *err)
{
    rig         whole;
    finding     in_float = {0}, steps = {0}, split = {0}, packed = {0};
    lcsm_status st =
        rig_make(&whole, ctx, cfg, LCSM_F32, NULL, (rig_kind){.B = SEQUENCES, .T = STEPS}, err);
    if (st != LCSM_OK) return st;
    disturb(&whole);
    fill(&whole, cfg, 0);
    LCSM_TRY(forward(&whole, err));
    LCSM_TRY(check_float(ctx, cfg, &whole, &in_float, err));
    emit(sink, user, "float", name, "float", &in_float, FLOAT_BOUND, false);
    if (!cfg->bidirectional) {
        LCSM_TRY(check_pieces(ctx, cfg, &whole, 1, 1, &steps, err));
        emit(sink, user, "steps", name, "float", &steps, STEP_BOUND, false);
        LCSM_TRY(check_pieces(ctx, cfg, &whole, 3, STEPS, &split, err));
        emit(sink, user, "split", name, "float", &split, STEP_BOUND, false);
        LCSM_TRY(check_packed(ctx, cfg, &whole, &packed, err));
        emit(sink, user, "packed", name, "float", &packed, STEP_BOUND, false);
    }
cleanup:
    rig_free(&whole);
    return st;
}

lcsm_status lcsm_check_model(const lcsm_context *ctx, const lcsm_model_config *cfg,
                             const char *name, lcsm_check_sink *sink, void *user, lcsm_error *err)
{
    finding     gradient = {0};
    lcsm_status st       = check_gradient(ctx, cfg, &gradient, err);
    if (st != LCSM_OK) return st;
    emit(sink, user, "gradient", name, "double", &gradient, GRADIENT_BOUND, true);
    return check_equal_runs(ctx, cfg, name, sink, user, err);
}
