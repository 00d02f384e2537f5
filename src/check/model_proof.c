/*
 * model_proof.c - proves whole two-layer models on this machine:
 *
 *   gradient   of the loss, in double, against finite differences: random directions and entries
 *   float      logits against those in double
 *   steps      token by token, memory carried, against the whole sequence
 *   split      two pieces of any length against the whole
 *   packed     two sequences in one row, with resets, against each by itself
 */
#include "check/model_proof.h"

#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "check/verdict.h"
#include "graph/state.h"
#include "model/model_graph.h"

/* Fourth-order differences of a loss of size 1 reach about 1e-9 of the largest gradient. Float has
 * the bound of verdict.h. */
#define GRADIENT_BOUND 1e-6

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

static void note(lcsm_measure *slot, lcsm_measure found, lcsm_verdict *v, const char *what)
{
    if (lcsm_measure_note(slot, found))
        (void)snprintf(v->detail, sizeof v->detail, "worst: %.120s", what);
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

static lcsm_status check_gradient(const lcsm_context *ctx, const lcsm_model_config *cfg,
                                  lcsm_verdict *v, lcsm_error *err)
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
            note(&v->gradient, lcsm_measure_fixed(error, GRADIENT_BOUND), v, row->name);
        }
    }
cleanup:
    rig_free(&r);
    return st;
}

/* ---- equal runs ------------------------------------------------------------------------- */

/* The sequences at once: in double, by the plain kernels in float, and by the context's. */
typedef struct {
    const lcsm_context      *ctx;
    const lcsm_model_config *cfg;
    lcsm_context            *reference;
    rig                      exact, plain, fast;
} wholes;

static void wholes_free(wholes *w)
{
    rig_free(&w->exact);
    rig_free(&w->plain);
    rig_free(&w->fast);
    lcsm_context_free(w->reference);
}

static lcsm_status run_whole(rig *r, const lcsm_context *ctx, const lcsm_model_config *cfg,
                             lcsm_dtype dtype, const lcsm_params *like, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    LCSM_OR_RETURN(rig_make(r, ctx, cfg, dtype, NULL, (rig_kind){.B = SEQUENCES, .T = STEPS}, err));
    if (like == NULL) disturb(r);
    else LCSM_OR_RETURN(lcsm_params_copy(r->params, like, err));
    fill(r, cfg, 0);
    LCSM_OR_RETURN(forward(r, err));
    return st;
}

static lcsm_status wholes_make(wholes *w, const lcsm_context *ctx, const lcsm_model_config *cfg,
                               lcsm_error *err)
{
    const lcsm_context_options plain = {
        .size = sizeof plain, .isa = LCSM_ISA_REFERENCE, .threads = 1};
    lcsm_status st = LCSM_OK;
    *w             = (wholes){.ctx = ctx, .cfg = cfg};
    LCSM_OR_RETURN(lcsm_context_create(&w->reference, &plain, err));
    LCSM_OR_RETURN(run_whole(&w->fast, ctx, cfg, LCSM_F32, NULL, err));
    LCSM_OR_RETURN(run_whole(&w->plain, w->reference, cfg, LCSM_F32, w->fast.params, err));
    LCSM_OR_RETURN(run_whole(&w->exact, ctx, cfg, LCSM_F64, w->fast.params, err));
    return st;
}

/* Which steps are compared: of sequence b of `got` from t on, with sequence b_whole from t_whole.
 */
typedef struct {
    ptrdiff_t b, b_whole, t, t_whole, n;
} span;

static void compare(const wholes *w, const rig *got, span s, lcsm_verdict *v, const char *what)
{
    const lcsm_tensor *exact = w->exact.io.logits, *plain = w->plain.io.logits;
    ptrdiff_t          V = exact->cols, T = got->io.tokens->shape.dim[1];
    double             worst = 0, reference = 0, size = 0;
    for (ptrdiff_t j = 0; j < s.n * V; j++) {
        size_t at = (size_t)((s.b_whole * STEPS + s.t_whole) * V + j);
        double a  = number(got->io.logits, (size_t)((s.b * T + s.t) * V + j));
        double b  = number(exact, at);
        worst     = isfinite(a) ? fmax(worst, fabs(a - b)) : INFINITY;
        reference = fmax(reference, fabs(number(plain, at) - b));
        size      = fmax(size, fabs(b));
    }
    if (size == 0) size = 1;
    note(&v->output, lcsm_measure_float(worst / size, reference / size), v, what);
}

/* Both sequences of a run, of which step t of the whole is the first. */
static void compare_both(const wholes *w, const rig *got, ptrdiff_t t, ptrdiff_t n, lcsm_verdict *v,
                         const char *what)
{
    for (ptrdiff_t b = 0; b < SEQUENCES; b++)
        compare(w, got, (span){.b = b, .b_whole = b, .t_whole = t, .n = n}, v, what);
}

/* Pieces of `first` and then `rest` tokens one after the other, state carried. */
static lcsm_status check_pieces(const wholes *w, ptrdiff_t first, ptrdiff_t rest, lcsm_verdict *v,
                                lcsm_error *err)
{
    rig         piece = {0}, *r = &piece;
    lcsm_state *state = NULL;
    lcsm_status st    = LCSM_OK;
    char        what[64];
    for (ptrdiff_t t = 0, n = first; t < STEPS; t += n, n = rest) {
        if (n > STEPS - t) n = STEPS - t;
        st = rig_make(r, w->ctx, w->cfg, LCSM_F32, w->fast.params,
                      (rig_kind){.B = SEQUENCES, .T = n, .carry = true}, err);
        if (st != LCSM_OK) break;
        if (state != NULL) LCSM_TRY(lcsm_state_copy(r->state, state, err));
        fill(r, w->cfg, t);
        LCSM_TRY(forward(r, err));
        snprintf(what, sizeof what, "steps %td to %td", t, t + n - 1);
        compare_both(w, r, t, n, v, what);
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
static lcsm_status check_packed(const wholes *w, lcsm_verdict *v, lcsm_error *err)
{
    rig         r;
    lcsm_status st = rig_make(&r, w->ctx, w->cfg, LCSM_F32, w->fast.params,
                              (rig_kind){.B = 1, .T = 2 * STEPS, .packed = true}, err);
    if (st != LCSM_OK) return st;
    fill(&r, w->cfg, 0);
    for (ptrdiff_t t = 0; t < STEPS; t++)
        ((int32_t *)r.io.tokens->data)[STEPS + t] = token(w->cfg, 1, t);
    ((int32_t *)r.io.reset->data)[0]     = 1;
    ((int32_t *)r.io.reset->data)[STEPS] = 1;
    LCSM_TRY(forward(&r, err));
    compare(w, &r, (span){.n = STEPS}, v, "the first sequence");
    compare(w, &r, (span){.b_whole = 1, .t = STEPS, .n = STEPS}, v, "the second sequence");
cleanup:
    rig_free(&r);
    return st;
}

/* ---- one model -------------------------------------------------------------------------- */

static lcsm_status check_carried(const wholes *w, const char *name, lcsm_check_sink *sink,
                                 void *user, lcsm_error *err)
{
    lcsm_verdict steps = LCSM_NO_VERDICT, split = LCSM_NO_VERDICT, packed = LCSM_NO_VERDICT;
    lcsm_status  st = LCSM_OK;
    LCSM_OR_RETURN(check_pieces(w, 1, 1, &steps, err));
    lcsm_verdict_emit(&steps, "steps", name, "float", sink, user);
    LCSM_OR_RETURN(check_pieces(w, 3, STEPS, &split, err));
    lcsm_verdict_emit(&split, "split", name, "float", sink, user);
    LCSM_OR_RETURN(check_packed(w, &packed, err));
    lcsm_verdict_emit(&packed, "packed", name, "float", sink, user);
    return st;
}

lcsm_status lcsm_check_model(const lcsm_context *ctx, const lcsm_model_config *cfg,
                             const char *name, lcsm_check_sink *sink, void *user, lcsm_error *err)
{
    wholes       w        = {0};
    lcsm_verdict gradient = LCSM_NO_VERDICT, in_float = LCSM_NO_VERDICT;
    lcsm_status  st;
    LCSM_TRY(check_gradient(ctx, cfg, &gradient, err));
    lcsm_verdict_emit(&gradient, "gradient", name, "double", sink, user);
    LCSM_TRY(wholes_make(&w, ctx, cfg, err));
    compare_both(&w, &w.fast, 0, STEPS, &in_float, "logits in float");
    lcsm_verdict_emit(&in_float, "float", name, "float", sink, user);
    if (!cfg->bidirectional) LCSM_TRY(check_carried(&w, name, sink, user, err));
cleanup:
    wholes_free(&w);
    return st;
}
