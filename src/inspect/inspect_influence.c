/*
 * inspect_influence.c - which past tokens the next one depends on.
 *
 * A window of the text is read as it is and, beside it, with one token replaced: how far the
 * probabilities of the next token move (total variation, 0..1) is the influence of that place.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "inspect/inspect.h"
#include "model/model_graph.h"
#include "model/model_weights.h"

enum {
    PLACES  = 64,  /* more than a window has */
    WINDOWS = 4,   /* that are looked at */
    TOKENS  = 6144 /* in one run, about */
};

typedef struct {
    lcsm_graph   *g;
    lcsm_model_io io;
    size_t        window, vocab, batch, count, places[PLACES];
    double        change[PLACES];
    double       *base, *other; /* probabilities */
} probe;

/* Distances 1, 2, 3, ... and then further and further apart, up to the window. */
static void choose_places(probe *p)
{
    for (size_t d = 1, step; d <= p->window; d += step) {
        assert(p->count < PLACES);
        p->places[p->count++] = d;
        step                  = d < 16 ? 1 : d / 8;
        if (d < p->window && d + step > p->window) step = p->window - d;
    }
}

/* Row 0 is the text; row j has another token `places[j - 1]` back. A run has some of the rows. */
static void fill_rows(const probe *p, const int32_t *text, size_t first, size_t number)
{
    for (size_t b = 0; b < p->batch; b++) {
        size_t   j   = first + b;
        int32_t *row = (int32_t *)p->io.tokens->data + b * p->window;
        memcpy(row, text, p->window * sizeof *text);
        if (j == 0 || j > p->count) continue;
        int32_t *token = &row[p->window - p->places[j - 1]];
        uint32_t draw  = lcsm_rng(2, (uint32_t)number, j - 1).v[0];
        size_t   shift = 1 + draw % (p->vocab > 1 ? p->vocab - 1 : 1);
        *token         = (int32_t)(((size_t)*token + shift) % p->vocab);
    }
}

static void to_probabilities(double *out, const float *logits, size_t vocab)
{
    double top = -INFINITY, sum = 0;
    for (size_t v = 0; v < vocab; v++) top = fmax(top, (double)logits[v]);
    for (size_t v = 0; v < vocab; v++) sum += out[v] = exp((double)logits[v] - top);
    for (size_t v = 0; v < vocab; v++) out[v] /= sum;
}

static double variation(const double *p, const double *q, size_t vocab)
{
    double sum = 0;
    for (size_t v = 0; v < vocab; v++) sum += fabs(p[v] - q[v]);
    return sum / 2;
}

static lcsm_status look_at(probe *p, const int32_t *text, size_t number, lcsm_error *err)
{
    for (size_t first = 0; first <= p->count; first += p->batch) {
        fill_rows(p, text, first, number);
        LCSM_OR_RETURN(lcsm_graph_forward(p->g, &(lcsm_run_options){.check = true}, err));
        for (size_t j = first; j < first + p->batch && j <= p->count; j++) {
            const float *logits = (const float *)p->io.logits->data + (j - first) * p->vocab;
            to_probabilities(j == 0 ? p->base : p->other, logits, p->vocab);
            if (j > 0) p->change[j - 1] += variation(p->base, p->other, p->vocab) / WINDOWS;
        }
    }
    return LCSM_OK;
}

/* At a distance of 1 .. window; between the places that were tried it runs straight. */
static double change_at(const probe *p, size_t distance)
{
    size_t j = 0;
    while (p->places[j] < distance) j++;
    if (p->places[j] == distance) return p->change[j];
    double gap = (double)(p->places[j] - p->places[j - 1]);
    double far = (double)(distance - p->places[j - 1]) / gap;
    return (1 - far) * p->change[j - 1] + far * p->change[j];
}

/* Of all distances of first or more. */
static double influence_from(const probe *p, size_t first)
{
    double sum = 0;
    for (size_t d = first; d <= p->window; d++) sum += change_at(p, d);
    return sum;
}

/* The smallest distance such that nine tenths of the influence of all of them lie within it; 0 if
 * there is none. */
static size_t effective_context(const probe *p)
{
    double total = influence_from(p, 1), sum = 0;
    size_t d = 0;
    while (d < p->window && sum < 0.9 * total) sum += change_at(p, ++d);
    return d;
}

/* Whether the last fifth of the window has a twentieth of the influence or more: if it fell in a
 * straight line to nothing, it would have less. */
static bool goes_on(const probe *p)
{
    double total = influence_from(p, 1);
    return total > 0 && influence_from(p, p->window - p->window / 5 + 1) >= total / 20;
}

/* beyond: there are tokens before the window, of which nothing is known. */
static void put_result(lcsm_json_writer *w, const probe *p, bool beyond)
{
    size_t context = effective_context(p);
    lcsm_json_open_object(w, "influence");
    lcsm_json_put_size(w, "window", p->window);
    lcsm_json_open_array(w, "distance");
    for (size_t j = 0; j < p->count; j++) lcsm_json_put_size(w, NULL, p->places[j]);
    lcsm_json_close(w);
    lcsm_json_open_array(w, "change");
    for (size_t j = 0; j < p->count; j++) lcsm_json_put_real(w, NULL, p->change[j]);
    lcsm_json_close(w);
    lcsm_json_close(w);
    lcsm_json_put_size(w, "effective_context", context);
    lcsm_json_put_bool(w, "effective_context_open", beyond && goes_on(p));
}

/* Window j of those that are looked at: of a long text, or of one sequence of many. */
static const int32_t *window_of(const lcsm_inspect_tokens *t, size_t j)
{
    size_t sequence = t->count / t->length * j / WINDOWS;
    return t->ids + sequence * t->length + (t->length - t->window) * j / WINDOWS;
}

lcsm_status lcsm_inspect_influence(lcsm_json_writer *w, const lcsm_model *model,
                                   const lcsm_inspect_tokens *tokens, lcsm_error *err)
{
    lcsm_status     st   = LCSM_OK;
    lcsm_model_want want = {.logits = true, .last = true, .ignore = -1};
    probe           p    = {.window = tokens->window, .vocab = (size_t)model->cfg.vocab};
    choose_places(&p);
    p.batch = TOKENS / p.window < p.count + 1 ? TOKENS / p.window : p.count + 1;
    p.base  = malloc(2 * p.vocab * sizeof *p.base);
    p.other = p.base + p.vocab;
    if (p.base == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for probabilities");
    LCSM_TRY(lcsm_graph_create(&p.g, model->ctx, model->params, err));
    LCSM_TRY(lcsm_model_build(p.g, &model->cfg, (ptrdiff_t)p.batch, (ptrdiff_t)p.window, &want,
                              &p.io, err));
    LCSM_TRY(lcsm_graph_plan(p.g, &(lcsm_plan_options){.fixed = true}, err));
    for (size_t j = 0; j < WINDOWS; j++) LCSM_TRY(look_at(&p, window_of(tokens, j), j, err));
    put_result(w, &p, p.window < tokens->length);
cleanup:
    lcsm_graph_free(p.g);
    free(p.base);
    return st;
}
