/*
 * bench_slots.c - tokens a second of several sequences side by side, beside one and what the
 * machine allows.
 *
 * A step of n slots reads the weights once and each slot's memory, which it also writes, and does
 * the arithmetic of n tokens.
 */
#include <lcsm/bench.h>
#include <lcsm/slots.h>
#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/sized.h"
#include "bench/bench_decode.h"
#include "infer/slot_set.h"
#include "kernel/probe/rates.h"
#include "model/model_weights.h"

enum { STEPS = 8, REPS = 4 };

static const int32_t TOKEN = 0;

typedef struct {
    lcsm_slots     *s;
    lcsm_slot_feed *feed; /* (slots): one token of each */
    size_t          slots;
} rig;

static lcsm_status open_all(rig *r, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    for (size_t j = 0; j < r->slots; j++) {
        r->feed[j] = (lcsm_slot_feed){.tokens = &TOKEN, .n = 1};
        LCSM_OR_RETURN(lcsm_slots_open(r->s, &r->feed[j].slot, err));
    }
    return st;
}

/* Tokens a second of the first n slots, which begin as new: caches of attention have an end. */
static lcsm_status timed(const rig *r, size_t n, double *rate, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    for (size_t j = 0; j < n; j++) LCSM_OR_RETURN(lcsm_slots_reset(r->s, j, err));
    LCSM_OR_RETURN(lcsm_slots_feed(r->s, r->feed, n, err));
    double begin = lcsm_now();
    for (int t = 0; t < STEPS; t++) LCSM_OR_RETURN(lcsm_slots_feed(r->s, r->feed, n, err));
    *rate = fmax(*rate, (double)(STEPS * n) / (lcsm_now() - begin));
    return st;
}

/* Seconds of a step at these rates, if nothing else takes any. */
static double least(const rig *r, const lcsm_model *model, double read, double fma)
{
    const lcsm_graph *g     = r->s->graphs[0][LCSM_SESSION_LENGTHS - 1][r->slots].g;
    double            bytes = (double)lcsm_bench_weight_bytes(model)
                 + 2 * (double)r->slots * (double)lcsm_state_row_bytes(r->s->state);
    return fmax(bytes / read, lcsm_graph_report(g).fwd_flops / fma);
}

static lcsm_status measure(const rig *r, const lcsm_model *model, double seconds,
                           lcsm_bench_slots *out, lcsm_error *err)
{
    lcsm_probe_bench *probe = NULL;
    lcsm_pool        *pool  = model->ctx->pool;
    double            begin = lcsm_now(), read = 0, fma = 0, ignored = 0;
    lcsm_status       st = LCSM_OK;
    LCSM_TRY(lcsm_probe_create(&probe, model->ctx, 1e-3, err));
    LCSM_TRY(timed(r, 1, &ignored, err)); /* the first ones make graphs */
    LCSM_TRY(timed(r, r->slots, &ignored, err));
    for (int j = 0; j < REPS || lcsm_now() - begin < seconds; j++) {
        read = fmax(read, lcsm_probe_rate(probe, LCSM_RATE_READ, pool));
        fma  = fmax(fma, lcsm_probe_rate(probe, LCSM_RATE_FMA, pool));
        LCSM_TRY(timed(r, 1, &out->one_rate, err));
        LCSM_TRY(timed(r, r->slots, &out->rate, err));
    }
    out->bound = (double)r->slots / least(r, model, read, fma);
cleanup:
    lcsm_probe_free(probe);
    return st;
}

lcsm_status lcsm_bench_slots_model(const lcsm_model *model, size_t slots, double seconds,
                                   lcsm_bench_slots *out, lcsm_error *err)
{
    rig                r = {.slots = slots > 0 ? slots : 1};
    lcsm_slots_options o = {.size = sizeof o, .slots = r.slots};
    lcsm_bench_slots   b = {
          .size = sizeof b, .threads = lcsm_context_threads(model->ctx), .slots = r.slots};
    lcsm_status st = LCSM_SIZED(lcsm_bench_slots, bound, out, err);
    if (st != LCSM_OK) return st;
    LCSM_TRY(lcsm_slots_create(&r.s, model, &o, err));
    r.feed = calloc(r.slots, sizeof *r.feed);
    if (r.feed == NULL)
        LCSM_TRY(lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for %zu slots", r.slots));
    LCSM_TRY(open_all(&r, err));
    LCSM_TRY(measure(&r, model, seconds > 0 ? seconds : 2, &b, err));
    lcsm_sized_fill(out, &b, sizeof b);
cleanup:
    lcsm_slots_free(r.s);
    free(r.feed);
    return st;
}
