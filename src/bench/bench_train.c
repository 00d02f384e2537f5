/* bench_train.c - whole updates of a trainer: how fast, where the time goes, how much memory. */
#include <lcsm/bench_train.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/rng.h"
#include "base/size.h"
#include "base/sized.h"
#include "kernel/probe/rates.h"
#include "train/batches.h"
#include "train/trainer.h"

enum { MIN_UPDATES = 3, MAX_UPDATES = 1000 };

/* Seconds of an update from one look at the peak to the next. */
#define LOOK_EVERY 0.05

typedef struct {
    lcsm_context     *ctx;
    lcsm_model       *model;
    lcsm_trainer     *trainer;
    lcsm_probe_bench *probe;
    int32_t          *tokens, *targets;
    int64_t           kept;                                   /* targets that count */
    double            took[MAX_UPDATES], beside[MAX_UPDATES]; /* seconds, GFLOP/s of the peak */
    double            looked_at, looks, look_work; /* looks at the peak: seconds, operations */
    lcsm_bench_update now, *out;                   /* shares of the update under way; the best */
} bench;

/* ---- settings ----------------------------------------------------------------------------- */

void lcsm_bench_train_settings(lcsm_model_config *model, lcsm_train_config *train)
{
    int  task = train->task;
    bool mqar = lcsm_train_task(train)->wiring == LCSM_TASK_AS_RECALL;
    lcsm_model_config_defaults(model);
    lcsm_train_config_defaults(train);
    model->vocab      = mqar ? 8192 : 50265;
    model->layers     = mqar ? 2 : 6;
    model->d_model    = mqar ? 64 : 512;
    model->heads      = mqar ? 0 : 4;
    model->expand     = mqar ? 128 : 64;
    model->hidden     = mqar ? 0 : 1365;
    model->dropout    = mqar ? 0.1 : 0;
    model->wiring     = mqar ? LCSM_WIRING_MQAR : LCSM_WIRING_LM;
    train->task       = task;
    train->batch_size = mqar ? 512 : 4;
    train->seq_len    = mqar ? 64 : 512;
    if (mqar) memcpy(model->code, "1-1-1-0", sizeof "1-1-1-0");
}

/* ---- the batch ---------------------------------------------------------------------------- */

static void random_tokens(const bench *b, int32_t *to, size_t n, uint32_t purpose)
{
    double V = (double)b->model->cfg.vocab;
    for (size_t j = 0; j < n; j++) to[j] = (int32_t)(lcsm_rng_uniform(1, purpose, j) * V);
}

static void fill(bench *b, const lcsm_train_config *cfg, size_t n)
{
    lcsm_batches s = lcsm_batches_examples(cfg, b->model->cfg.vocab, false);
    s.B = s.examples = cfg->batch_size * cfg->accumulate;
    s.made.seed      = 0;
    if (!lcsm_task_reads_text(s.task)) {
        lcsm_batches_fill(&s, 0, b->tokens, b->targets, NULL);
    } else {
        random_tokens(b, b->tokens, n, 0);
        random_tokens(b, b->targets, n, 1);
    }
    for (size_t j = 0; j < n; j++) b->kept += b->targets[j] != LCSM_TARGET_NONE;
}

static lcsm_status open_batch(bench *b, const lcsm_train_config *cfg, lcsm_error *err)
{
    size_t n, bytes;
    bool   fits = lcsm_size_mul((size_t)cfg->batch_size, (size_t)cfg->seq_len, &n)
             && lcsm_size_mul(n, (size_t)cfg->accumulate, &n)
             && lcsm_size_mul(n, sizeof(int32_t), &bytes);
    b->tokens  = fits ? malloc(bytes) : NULL;
    b->targets = fits ? malloc(bytes) : NULL;
    if (b->tokens == NULL || b->targets == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a batch of tokens");
    fill(b, cfg, n);
    b->out->examples          = (double)(cfg->batch_size * cfg->accumulate);
    b->out->tokens_per_update = (double)n;
    return LCSM_OK;
}

/* ---- shares ------------------------------------------------------------------------------- */

static void add_share(lcsm_bench_update *u, const char *op, double forward, double backward)
{
    size_t j = 0;
    while (j < u->share_count && strcmp(u->shares[j].op, op) != 0) j++;
    if (j == LCSM_BENCH_OPS) return;
    if (j == u->share_count) u->shares[u->share_count++] = (lcsm_bench_share){.op = op};
    u->shares[j].forward += forward;
    u->shares[j].backward += backward;
}

/* The peak between the steps of an update: a machine that others use, or whose clock changes, has
 * another one every second. The time it takes is not the update's. */
static void look_at_peak(bench *b)
{
    double from = lcsm_now(), rate, took;
    if (from < b->looked_at + LOOK_EVERY) return;
    rate         = lcsm_probe_rate(b->probe, LCSM_RATE_FMA, b->ctx->pool);
    b->looked_at = lcsm_now();
    took         = b->looked_at - from;
    b->looks += took;
    b->look_work += rate * took;
}

static void watch_step(void *user, const char *what, bool backward, double seconds)
{
    bench *b = user;
    add_share(&b->now, what, backward ? 0 : seconds, backward ? seconds : 0);
    look_at_peak(b);
}

static int by_time(const void *a, const void *b)
{
    const lcsm_bench_share *x = a, *y = b;
    double                  s = x->forward + x->backward, t = y->forward + y->backward;
    return (s < t) - (s > t);
}

static void keep_shares(bench *b, double seconds)
{
    double known = 0;
    for (size_t j = 0; j < b->now.share_count; j++)
        known += b->now.shares[j].forward + b->now.shares[j].backward;
    add_share(&b->now, "other", 0, seconds - known);
    qsort(b->now.shares, b->now.share_count, sizeof b->now.shares[0], by_time);
    memcpy(b->out->shares, b->now.shares, sizeof b->now.shares);
    b->out->share_count = b->now.share_count;
}

/* ---- timing ------------------------------------------------------------------------------- */

static lcsm_status update(bench *b, lcsm_error *err)
{
    lcsm_update u  = {.size = sizeof u};
    lcsm_status st = lcsm_trainer_step(b->trainer, b->tokens, b->targets, NULL, &u, err);
    if (st == LCSM_OK) b->out->loss = u.loss;
    return st;
}

/* The peak is the best of all probes: a busy neighbour can only make it worse. */
static void probe(bench *b)
{
    lcsm_bench_update *o = b->out;
    for (int j = 0; j < 5; j++) {
        o->peak_gflops =
            fmax(o->peak_gflops, lcsm_probe_rate(b->probe, LCSM_RATE_FMA, b->ctx->pool) * 1e-9);
        o->gb_read =
            fmax(o->gb_read, lcsm_probe_rate(b->probe, LCSM_RATE_READ, b->ctx->pool) * 1e-9);
    }
}

static lcsm_status timed_update(bench *b, lcsm_error *err)
{
    lcsm_bench_update *o = b->out;
    probe(b);
    b->now.share_count = 0;
    b->looks = b->look_work = b->looked_at = 0;
    look_at_peak(b);
    double      outside = b->looks;
    double      from = lcsm_now(), used = lcsm_processor_time();
    lcsm_status st   = update(b, err);
    double      all  = lcsm_now() - from;
    double      took = all - (b->looks - outside);
    if (st != LCSM_OK) return st;
    b->took[o->updates]     = took;
    b->beside[o->updates++] = b->look_work / b->looks * 1e-9;
    if (o->updates > 1 && took >= o->seconds) return st;
    o->seconds = took;
    o->share   = (lcsm_processor_time() - used) / (all * o->threads);
    keep_shares(b, took);
    return st;
}

/* The plan counts the head for every row; rows without a target cost nothing. */
static double flops_of_update(const bench *b)
{
    lcsm_plan_report         r     = lcsm_graph_report(b->trainer->e.g);
    const lcsm_model_config *m     = &b->model->cfg;
    double                   times = (double)b->trainer->cfg.accumulate;
    double rows = (double)lcsm_tensor_count(b->trainer->e.io.targets) * times - (double)b->kept;
    return (r.fwd_flops + r.bwd_flops) * times - 6 * rows * (double)m->vocab * (double)m->d_model;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, by_size);
    return v[n / 2];
}

/* The fraction of each update is of the peak that was seen during it. */
static void summarise(bench *b)
{
    lcsm_bench_update *o     = b->out;
    double             flops = flops_of_update(b);
    for (int j = 0; j < o->updates; j++) b->beside[j] = flops / b->took[j] * 1e-9 / b->beside[j];
    o->beside = median(b->beside, o->updates);
    o->median = median(b->took, o->updates);
}

/* The probes of the machine, which come after this, have memory of their own. */
static void read_rss(lcsm_bench_update *o)
{
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) == 0) o->max_rss = (size_t)usage.ru_maxrss * 1024;
}

static lcsm_status measure(bench *b, double seconds, lcsm_error *err)
{
    lcsm_status      st    = LCSM_OK;
    const lcsm_watch watch = {watch_step, b};
    LCSM_TRY(update(b, err)); /* touches all memory */
    read_rss(b->out);
    LCSM_TRY(lcsm_probe_create(&b->probe, b->ctx, 4e-3, err));
    b->trainer->watch = &watch;
    double end        = lcsm_now() + (seconds > 0 ? seconds : 10);
    for (int j = 0; j < MIN_UPDATES || (j < MAX_UPDATES && lcsm_now() < end); j++)
        LCSM_TRY(timed_update(b, err));
    summarise(b);
cleanup:
    b->trainer->watch = NULL;
    return st;
}

/* ---- what follows ------------------------------------------------------------------------- */

static void report(const bench *b)
{
    lcsm_bench_update *o     = b->out;
    lcsm_plan_report   r     = lcsm_graph_report(b->trainer->e.g);
    size_t             block = b->model->params->block * sizeof(float);
    double             flops = flops_of_update(b);
    o->flops_per_token       = flops / o->tokens_per_update;
    o->gflops                = flops / o->seconds * 1e-9;
    o->parameters            = lcsm_model_param_count(b->model);
    o->values                = block;
    o->gradients             = block;
    o->moments               = 2 * block;
    o->arena                 = r.arena;
    o->live                  = r.live;
    o->unshared              = r.unshared;
}

static lcsm_status open_bench(bench *b, const lcsm_bench_options *options,
                              const lcsm_model_config *model, const lcsm_train_config *train,
                              lcsm_error *err)
{
    lcsm_context_options o = {.size = sizeof o, .threads = options->threads, .isa = options->isa};
    LCSM_OR_RETURN(lcsm_context_create(&b->ctx, &o, err));
    b->out->threads = lcsm_context_threads(b->ctx);
    b->out->isa     = lcsm_context_isa_name(b->ctx);
    LCSM_OR_RETURN(lcsm_model_create(&b->model, b->ctx, model, (uint64_t)train->seed, err));
    LCSM_OR_RETURN(lcsm_trainer_create(&b->trainer, b->model, train, 0, err));
    return open_batch(b, train, err);
}

static void close_bench(bench *b)
{
    free(b->tokens);
    free(b->targets);
    lcsm_trainer_free(b->trainer);
    lcsm_model_free(b->model);
    lcsm_probe_free(b->probe);
    lcsm_context_free(b->ctx);
}

lcsm_status lcsm_bench_train(lcsm_bench_update *out, const lcsm_bench_options *options,
                             const lcsm_model_config *model, const lcsm_train_config *train,
                             lcsm_error *err)
{
    lcsm_status        st = LCSM_OK;
    lcsm_bench_options own;
    lcsm_bench_update  update = {.size = sizeof update};
    bench              b      = {.out = &update};
    LCSM_OR_RETURN(LCSM_TAKE(lcsm_bench_options, filter, &own, options, err));
    LCSM_OR_RETURN(LCSM_SIZED(lcsm_bench_update, share_count, out, err));
    LCSM_TRY(open_bench(&b, &own, model, train, err));
    LCSM_TRY(measure(&b, own.seconds, err));
    report(&b);
    lcsm_sized_fill(out, &update, sizeof update);
cleanup:
    close_bench(&b);
    return st;
}
