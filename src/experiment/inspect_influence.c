/*
 * inspect_influence.c - which past tokens the next one depends on.
 *
 * A window of the text is read as it is and, beside it, with one token replaced: how far the
 * probabilities of the next token move (total variation, 0..1) is the influence of that place.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "experiment/inspect.h"
#include "model/handle.h"
#include "model/model.h"

enum { PLACES = 40, WINDOWS = 4 };

/* Distances 1, 2, 3, ... and then further and further apart, up to the window. */
static size_t choose_places(size_t places[PLACES], size_t window)
{
    size_t count = 0;
    for (size_t d = 1; d <= window && count < PLACES;) {
        places[count++] = d;
        size_t next     = d + d / 8;
        d               = next > d ? next : d + 1;
    }
    return count;
}

/* Row 0 is the text; row j has another token `places[j - 1]` back. */
static void fill_rows(int32_t *rows, const int32_t *text, const size_t *places, size_t count,
                      size_t window, size_t vocab, size_t number)
{
    for (size_t j = 0; j <= count; j++) memcpy(rows + j * window, text, window * sizeof *text);
    for (size_t j = 0; j < count; j++) {
        int32_t *token = &rows[(j + 1) * window + window - places[j]];
        size_t   shift = 1 + lcsm_rng(2, (uint32_t)number, j).v[0] % (vocab > 1 ? vocab - 1 : 1);
        *token         = (int32_t)(((size_t)*token + shift) % vocab);
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

typedef struct {
    lcsm_graph   *g;
    lcsm_model_io io;
    size_t        window, vocab, count, places[PLACES];
    double        change[PLACES];
    double       *base, *other; /* probabilities */
} probe;

static lcsm_status look_at(probe *p, const int32_t *text, size_t number, lcsm_error *err)
{
    fill_rows(p->io.tokens->data, text, p->places, p->count, p->window, p->vocab, number);
    lcsm_status st = lcsm_graph_forward(p->g, NULL, err);
    if (st != LCSM_OK) return st;
    const float *logits = p->io.logits->data;
    to_probabilities(p->base, logits, p->vocab);
    for (size_t j = 0; j < p->count; j++) {
        to_probabilities(p->other, logits + (j + 1) * p->vocab, p->vocab);
        p->change[j] += variation(p->base, p->other, p->vocab) / WINDOWS;
    }
    return LCSM_OK;
}

/* The distance within which nine tenths of all influence lie; between the places that were tried
 * it runs straight. */
static double effective_context(const probe *p)
{
    double total = 0, sum = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t j = 0; j < p->count; j++) {
            double from = j > 0 ? (double)p->places[j - 1] : 0, to = (double)p->places[j];
            double before = j > 0 ? p->change[j - 1] : p->change[0];
            double part   = (to - from) * (before + p->change[j]) / 2;
            if (pass == 0) total += part;
            else sum += part;
            if (pass == 1 && sum >= 0.9 * total) return to;
        }
    }
    return p->count > 0 ? (double)p->places[p->count - 1] : 0;
}

static void put_result(lcsm_json_writer *w, const probe *p)
{
    lcsm_json_open_object(w, "influence");
    lcsm_json_open_array(w, "distance");
    for (size_t j = 0; j < p->count; j++) lcsm_json_put_size(w, NULL, p->places[j]);
    lcsm_json_close(w);
    lcsm_json_open_array(w, "change");
    for (size_t j = 0; j < p->count; j++) lcsm_json_put_real(w, NULL, p->change[j]);
    lcsm_json_close(w);
    lcsm_json_close(w);
    lcsm_json_put_real(w, "effective_context", effective_context(p));
}

lcsm_status lcsm_inspect_influence(lcsm_json_writer *w, const lcsm_model *model,
                                   const lcsm_inspect_tokens *tokens, size_t window,
                                   lcsm_error *err)
{
    lcsm_status     st   = LCSM_OK;
    lcsm_model_want want = {.logits = true, .last = true, .ignore = -1};
    probe           p    = {.window = window, .vocab = (size_t)model->cfg.vocab};
    p.count              = choose_places(p.places, window);
    p.base               = malloc(2 * p.vocab * sizeof *p.base);
    p.other              = p.base + p.vocab;
    if (p.base == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "no room for probabilities");
    LCSM_TRY(lcsm_graph_create(&p.g, model->ctx, model->params, err));
    LCSM_TRY(lcsm_model_build(p.g, &model->cfg, (ptrdiff_t)p.count + 1, (ptrdiff_t)window, &want,
                              &p.io, err));
    LCSM_TRY(lcsm_graph_plan(p.g, &(lcsm_plan_options){.fixed = true}, err));
    for (size_t j = 0; j < WINDOWS; j++)
        LCSM_TRY(look_at(&p, tokens->ids + (tokens->count - window) * j / WINDOWS, j, err));
    put_result(w, &p);
cleanup:
    lcsm_graph_free(p.g);
    free(p.base);
    return st;
}
