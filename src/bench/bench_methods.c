/*
 * bench_methods.c - a model of every method at one size: how fast it trains and decodes, and how
 * its time per token grows with the length.
 *
 * Training is a whole update of TRAIN_BATCH sequences: forward, backward, optimiser. Growth
 * compares forward and backward of one block on the same number of tokens, cut once into short
 * sequences and once into a single long one, so that both read and write as much memory; the
 * channel mixer, whose time does not depend on the length, is left out.
 *
 * On one thread the time is that of the processor, which a busy neighbour changes little; on
 * several it is the clock's.
 */
#include <lcsm/bench.h>
#include <lcsm/model.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/sized.h"
#include "base/thread.h"
#include "bench/frame.h"
#include "eos/method.h"
#include "graph/state.h"
#include "model/config.h"
#include "model/model_graph.h"
#include "train/optimizer.h"

enum { VOCAB = 256, TRAIN_BATCH = 4, TRAIN_LENGTH = 512 };
enum { SHORT = 1024, LONG = 65536, QUICK_SHORT = 256, QUICK_LONG = 4096 };

/* A run that would take longer is not tried, but shorter ones are. */
static const double LONGEST_RUN = 40;

/* ---- one graph -------------------------------------------------------------------------- */

typedef struct {
    lcsm_params    *params;
    lcsm_graph     *g;
    lcsm_optimizer *optimizer;
    lcsm_state     *state;
    lcsm_model_io   io;
} rig;

static void rig_free(rig *r)
{
    lcsm_state_free(r->state);
    lcsm_optimizer_free(r->optimizer);
    lcsm_graph_free(r->g);
    lcsm_params_free(r->params);
    *r = (rig){0};
}

static void fill(const rig *r)
{
    for (ptrdiff_t j = 0; j < lcsm_tensor_count(r->io.tokens); j++) {
        ((int32_t *)r->io.tokens->data)[j] = (int32_t)(j * 7 % VOCAB);
        if (r->io.targets != NULL) ((int32_t *)r->io.targets->data)[j] = (int32_t)(j * 11 % VOCAB);
    }
}

static bool is_bf16(const lcsm_bench_options *o)
{
    return o->precision != NULL && strcmp(o->precision, "bf16") == 0;
}

/* Training, or one token at a time. */
static lcsm_status rig_make(rig *r, const lcsm_bench_frame *b, const lcsm_model_config *cfg,
                            ptrdiff_t B, ptrdiff_t T, bool train, lcsm_error *err)
{
    const lcsm_context *ctx  = b->ctx[0];
    lcsm_model_want     want = {.whole = train, .loss = train, .logits = !train, .ignore = -1};
    lcsm_plan_options   plan = {.train = train, .fixed = !train};
    lcsm_adamw_config   adam = {.beta1 = 0.9, .beta2 = 0.98, .eps = 1e-8};
    lcsm_status         st   = LCSM_OK;
    *r                       = (rig){0};
    LCSM_TRY(lcsm_params_create(&r->params, LCSM_F32, 1, err));
    LCSM_TRY(lcsm_graph_create(&r->g, ctx, r->params, err));
    if (train && is_bf16(&b->options)) lcsm_graph_use_bf16(r->g);
    LCSM_TRY(lcsm_model_build(r->g, cfg, B, T, &want, &r->io, err));
    LCSM_TRY(lcsm_graph_plan(r->g, &plan, err));
    if (train) LCSM_TRY(lcsm_optimizer_create(&r->optimizer, r->params, &adam, err));
    else LCSM_TRY(lcsm_state_create(&r->state, r->g, err));
    fill(r);
cleanup:
    if (st != LCSM_OK) rig_free(r);
    return st;
}

/* ---- times ------------------------------------------------------------------------------ */

typedef struct {
    lcsm_bench_frame *b;
    lcsm_model_config cfg;
    lcsm_error       *err;
} bench;

static double now_of(const bench *k)
{
    return k->b->threads[0] == 1 ? lcsm_processor_time() : lcsm_now();
}

/* Without ctx no optimiser. */
static lcsm_status update(const bench *k, rig *r, const lcsm_context *ctx, double *seconds)
{
    double      from = now_of(k);
    lcsm_error *err  = k->err;

    const lcsm_run_options opt = {.training = true};
    lcsm_status            st  = lcsm_graph_forward(r->g, &opt, err);
    if (st == LCSM_OK) st = lcsm_graph_backward(r->g, &opt, err);
    if (st == LCSM_OK && ctx != NULL) lcsm_optimizer_step(r->optimizer, ctx, 1e-4, 1);
    *seconds = now_of(k) - from;
    return st;
}

/* The best of some updates after one that touches all memory. */
static lcsm_status best_update(const bench *k, rig *r, const lcsm_context *ctx, double *best)
{
    double took, end;
    LCSM_OR_RETURN(update(k, r, ctx, &took));
    *best = INFINITY;
    end   = lcsm_now() + k->b->options.seconds;
    for (int rep = 0; rep < 1 || (rep < 50 && lcsm_now() < end); rep++) {
        LCSM_OR_RETURN(update(k, r, ctx, &took));
        *best = fmin(*best, took);
    }
    return LCSM_OK;
}

static lcsm_status time_training(const bench *k, lcsm_method_speed *out)
{
    rig         r;
    double      best = NAN;
    lcsm_status st   = rig_make(&r, k->b, &k->cfg, TRAIN_BATCH, TRAIN_LENGTH, true, k->err);
    if (st != LCSM_OK) return st;
    st                         = best_update(k, &r, k->b->ctx[0], &best);
    out->train_tokens_a_second = TRAIN_BATCH * TRAIN_LENGTH / best;
    rig_free(&r);
    return st;
}

/* The best of blocks of 32 tokens. */
static lcsm_status time_decoding(const bench *k, lcsm_method_speed *out)
{
    enum { BLOCK = 32 };
    rig         r;
    double      best = INFINITY;
    lcsm_status st   = rig_make(&r, k->b, &k->cfg, 1, 1, false, k->err);
    if (st != LCSM_OK) return st;
    double end = lcsm_now() + k->b->options.seconds;
    for (int rep = 0; rep < 3 || lcsm_now() < end; rep++) {
        lcsm_state_clear(r.state); /* attention has room for max_length tokens only */
        double from = now_of(k);
        for (int t = 0; t < BLOCK; t++)
            LCSM_TRY(lcsm_graph_forward(r.g, &(lcsm_run_options){.state = r.state}, k->err));
        best = fmin(best, (now_of(k) - from) / BLOCK);
    }
    out->decode_tokens_a_second = 1 / best;
cleanup:
    rig_free(&r);
    return st;
}

/* ---- growth ----------------------------------------------------------------------------- */

/* One block on `tokens` tokens in sequences of T. */
static lcsm_status rig_length(const bench *k, rig *r, ptrdiff_t T, ptrdiff_t tokens)
{
    lcsm_model_config one = k->cfg;
    one.layers            = 1;
    one.channel_mixer     = LCSM_CHANNEL_NONE;
    return rig_make(r, k->b, &one, tokens / T, T, true, k->err);
}

/* Short and long sequences in turns, so that both see the same machine; the best of each. */
static lcsm_status time_lengths(const bench *k, ptrdiff_t from, ptrdiff_t to, ptrdiff_t tokens,
                                lcsm_method_speed *out)
{
    enum { TURNS = 3 }; /* at least; the first touches all memory and does not count */
    rig         small = {0}, large = {0};
    lcsm_status st         = LCSM_OK;
    double      best_small = INFINITY, best_large = INFINITY, took;
    LCSM_TRY(rig_length(k, &small, from, tokens));
    LCSM_TRY(rig_length(k, &large, to, tokens));
    double end = lcsm_now() + 2 * k->b->options.seconds;
    for (int turn = 0; turn < TURNS || (turn < 50 && lcsm_now() < end); turn++) {
        LCSM_TRY(update(k, &small, NULL, &took));
        if (turn > 0) best_small = fmin(best_small, took);
        LCSM_TRY(update(k, &large, NULL, &took));
        if (turn > 0) best_large = fmin(best_large, took);
    }
    out->short_length  = from;
    out->long_length   = to;
    out->short_seconds = best_small / (double)tokens;
    out->long_seconds  = best_large / (double)tokens;
    out->growth        = best_large / best_small;
cleanup:
    rig_free(&small);
    rig_free(&large);
    return st;
}

/* The long length at once, or what is not linear in steps of four, until the next one would take
 * too long. */
static lcsm_status time_growth(const bench *k, lcsm_method_speed *out)
{
    bool      quick = k->b->options.quick;
    ptrdiff_t from = quick ? QUICK_SHORT : SHORT, to = quick ? QUICK_LONG : LONG;
    if (out->linear) return time_lengths(k, from, to, to, out);
    lcsm_status st   = LCSM_OK;
    double      next = 0;
    for (ptrdiff_t T = 4 * from; T <= to && next < LONGEST_RUN && st == LCSM_OK; T *= 4) {
        st   = time_lengths(k, from, T, to, out);
        next = 4 * out->long_seconds * (double)to;
    }
    return st;
}

/* ---- one method ------------------------------------------------------------------------- */

static lcsm_status bench_method(const bench *k, const lcsm_method *m, const char *size,
                                lcsm_method_speed *out)
{
    lcsm_model_summary about = {.size = sizeof about};
    lcsm_status        st    = LCSM_OK;
    bench              own   = *k;
    const char        *code  = strcmp(m->name, "code") == 0 ? "1-1-1-4" : "";
    lcsm_model_config_defaults(&own.cfg);
    own.cfg.vocab = VOCAB;
    (void)snprintf(own.cfg.method, sizeof own.cfg.method, "%s", m->name);
    (void)snprintf(own.cfg.code, sizeof own.cfg.code, "%s", code);
    LCSM_OR_RETURN(lcsm_model_config_size(&own.cfg, k->b->ctx[0], size, k->err));
    LCSM_OR_RETURN(
        lcsm_model_describe(k->b->ctx[0], &own.cfg, TRAIN_LENGTH, &about, NULL, NULL, k->err));
    *out = (lcsm_method_speed){.size                   = sizeof *out,
                               .name                   = m->name,
                               .code                   = code,
                               .d_model                = own.cfg.d_model,
                               .layers                 = (ptrdiff_t)about.layers,
                               .parameters             = about.parameters,
                               .memory_floats          = about.memory_floats,
                               .train_flops            = about.train_flops,
                               .decode_flops           = about.decode_flops,
                               .linear                 = m->psi[0] != '-',
                               .train_tokens_a_second  = NAN,
                               .decode_tokens_a_second = NAN,
                               .growth                 = NAN,
                               .growth_target          = m->psi[0] != '-' ? 1.15 : NAN};
    lcsm_bench_progress(k->b, m->name);
    LCSM_OR_RETURN(time_training(&own, out));
    LCSM_OR_RETURN(time_decoding(&own, out));
    LCSM_OR_RETURN(time_growth(&own, out));
    return st;
}

/* A whole name means that method alone. */
static bool is_wanted(const lcsm_bench_frame *b, const char *name)
{
    const char *filter = b->options.filter;
    if (filter != NULL && lcsm_method_find(filter) != NULL) return strcmp(filter, name) == 0;
    return strcmp(name, "custom") != 0 && lcsm_bench_wanted(b, name); /* custom is as code */
}

lcsm_status lcsm_bench_methods(const lcsm_bench_options *options, const char *size,
                               lcsm_method_speed_fn *row, const lcsm_bench_sink *sink,
                               lcsm_error *err)
{
    lcsm_bench_frame   b;
    lcsm_bench_options own;
    LCSM_OR_RETURN(LCSM_TAKE(lcsm_bench_options, filter, &own, options, err));
    if (own.threads == 0) own.threads = lcsm_thread_limit();
    if (own.precision != NULL && strcmp(own.precision, "float32") != 0 && !is_bf16(&own))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "the precision is \"%s\"; expected float32 or bf16", own.precision);
    lcsm_status st = lcsm_bench_open(&b, &own, sink, err);
    if (st != LCSM_OK) return st;
    lcsm_bench_measure_machine(&b);
    bench k = {.b = &b, .err = err};
    for (size_t j = 0; j < LCSM_METHOD_COUNT && st == LCSM_OK; j++) {
        lcsm_method_speed out;
        if (!is_wanted(&b, LCSM_METHODS[j].name)) continue;
        st = bench_method(&k, &LCSM_METHODS[j], size, &out);
        if (st == LCSM_OK) row(b.sink.user, &out);
    }
    lcsm_bench_close(&b);
    return st;
}
