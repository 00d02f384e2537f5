/*
 * bench_decode.c - tokens a second of a model, beside what reading its weights allows.
 *
 * Decoding one token reads every weight once, so its rate is bounded by the memory's: the rate of
 * reading, measured beside it, over the bytes of the weights. Weights that fit a cache can be
 * faster.
 */
#include <lcsm/bench.h>
#include <lcsm/session.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "base/sized.h"
#include "bench/bench_decode.h"
#include "bench/frame.h"
#include "infer/session.h"
#include "model/model_weights.h"

enum { DECODE_STEPS = 16, PREFILL = 512, MIN_REPS = 3 };

/* A table that is only looked up costs one row. */
size_t lcsm_bench_weight_bytes(const lcsm_model *model)
{
    const lcsm_params *p     = model->params;
    size_t             total = lcsm_params_bytes(p);
    int                row   = lcsm_params_find(p, "embedding.weight");
    if (model->cfg.tied || row < 0) return total;
    return total
         - lcsm_param_bytes(p, row) / (size_t)model->cfg.vocab * (size_t)(model->cfg.vocab - 1);
}

/* Weights that a token is multiplied by: all but those of a table that is only looked up. */
static size_t multiplied(const lcsm_model *model)
{
    int    row   = lcsm_params_find(model->params, "embedding.weight");
    size_t total = lcsm_params_total(model->params);
    return model->cfg.tied || row < 0 ? total : total - model->params->list[row].count;
}

/* Bytes of this process that are in memory; 0 if the system does not tell. */
static size_t resident_bytes(void)
{
    unsigned long pages = 0;
    FILE         *file  = fopen("/proc/self/statm", "r");
    if (file == NULL) return 0;
    if (fscanf(file, "%*s %lu", &pages) != 1) pages = 0;
    (void)fclose(file);
    return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Seconds for n tokens in pieces of `piece`. */
static lcsm_status timed(lcsm_session *s, size_t n, size_t piece, double *seconds, lcsm_error *err)
{
    static const int32_t tokens[PREFILL] = {0};
    double               begin           = lcsm_now();
    for (size_t t = 0; t < n; t += piece) {
        lcsm_status st = lcsm_session_feed(s, tokens, piece, NULL, err);
        if (st != LCSM_OK) return st;
    }
    *seconds = lcsm_now() - begin;
    return LCSM_OK;
}

/* The best of each over so many seconds, all three in turn. */
static lcsm_status measure(lcsm_session *s, lcsm_probe_bench *probe, lcsm_pool *pool,
                           double seconds, lcsm_bench_decode *out, lcsm_error *err)
{
    double      begin = lcsm_now(), step, prefill;
    int         reps  = 0;
    lcsm_status st    = LCSM_OK;
    for (; reps < MIN_REPS || lcsm_now() - begin < seconds; reps++) {
        out->read_rate = fmax(out->read_rate, lcsm_probe_rate(probe, LCSM_RATE_READ, pool));
        out->fma_rate  = fmax(out->fma_rate, lcsm_probe_rate(probe, LCSM_RATE_FMA, pool));
        lcsm_session_reset(s); /* caches of attention and tables of positions have an end */
        LCSM_OR_RETURN(timed(s, DECODE_STEPS, 1, &step, err));
        lcsm_session_reset(s);
        LCSM_OR_RETURN(timed(s, out->prompt, out->prompt, &prefill, err));
        if (reps == 0) continue; /* the first makes graphs */
        out->decode_rate  = fmax(out->decode_rate, DECODE_STEPS / step);
        out->prefill_rate = fmax(out->prefill_rate, (double)out->prompt / prefill);
    }
    return st;
}

lcsm_status lcsm_bench_decode_model(const lcsm_model *model, double seconds, lcsm_bench_decode *out,
                                    lcsm_error *err)
{
    lcsm_session     *s     = NULL;
    lcsm_probe_bench *probe = NULL;
    double            first;
    lcsm_status       st;
    LCSM_OR_RETURN(LCSM_SIZED(lcsm_bench_decode, bound, out, err));
    lcsm_bench_decode r = {.size         = sizeof r,
                           .threads      = lcsm_context_threads(model->ctx),
                           .parameters   = lcsm_params_total(model->params),
                           .weight_bytes = lcsm_bench_weight_bytes(model),
                           .prompt       = PREFILL};
    if ((size_t)model->cfg.max_length < r.prompt) r.prompt = (size_t)model->cfg.max_length;
    LCSM_TRY(lcsm_session_create(&s, model, NULL, err));
    LCSM_TRY(timed(s, DECODE_STEPS, 1, &first, err));
    r.resident_bytes = resident_bytes(); /* before the probe takes its memory */
    LCSM_TRY(lcsm_probe_create(&probe, model->ctx, 1e-3, err));
    r.state_bytes = s->state->bytes;
    LCSM_TRY(measure(s, probe, model->ctx->pool, seconds > 0 ? seconds : 2, &r, err));
    r.bound         = r.read_rate / (double)r.weight_bytes;
    r.prefill_bound = r.fma_rate / (2 * (double)multiplied(model));
    lcsm_sized_fill(out, &r, sizeof r);
cleanup:
    lcsm_probe_free(probe);
    lcsm_session_free(s);
    return st;
}
