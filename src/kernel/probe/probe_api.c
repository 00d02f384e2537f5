/* probe_api.c - rates of this machine: probes on several threads, against the clock. */
#include <stdlib.h>

#include "base/block.h"
#include "base/clock.h"
#include "base/size.h"
#include "base/thread.h"
#include "kernel/kernels.h"
#include "kernel/probe/rates.h"

/* Parts of a thread's work: a thread that comes late leaves some of them to the others. The
 * numbers of exp and gate fit the first cache, those of read no cache. */
enum { PARTS = 4, CACHED = 2048, MEMORY = 32 << 20, WORKERS = LCSM_THREADS_MAX };

struct lcsm_probe_bench {
    const lcsm_probe_f32 *probe;
    size_t                rounds[LCSM_RATE_COUNT]; /* of a part */
    float                *x;                       /* MEMORY numbers */
    volatile float        sink[WORKERS];           /* results that must not be optimised away */
};

typedef struct {
    lcsm_probe_bench *p;
    lcsm_rate         rate;
    size_t            parts;
} job;

static void part(void *arg, size_t item, int worker)
{
    const job            *j      = arg;
    const lcsm_probe_f32 *probe  = j->p->probe;
    size_t                rounds = j->p->rounds[j->rate];
    float                 sum    = 0;
    switch (j->rate) {
    case LCSM_RATE_FMA: sum = probe->fma(rounds, j->p->x[0]); break;
    case LCSM_RATE_EXP:
        for (size_t r = 0; r < rounds; r++) sum += probe->exp(j->p->x, CACHED);
        break;
    case LCSM_RATE_GATE:
        for (size_t r = 0; r < rounds; r++) sum += probe->gate(j->p->x, CACHED, 16);
        break;
    default: {
        size_t n = MEMORY / j->parts / LCSM_PROBE_BLOCK * LCSM_PROBE_BLOCK;
        sum      = probe->read(j->p->x + item * n, n);
    }
    }
    j->p->sink[worker] = sum;
}

static double work_of(const lcsm_probe_bench *p, lcsm_rate rate, size_t parts)
{
    double rounds = (double)p->rounds[rate] * (double)parts;
    switch (rate) {
    case LCSM_RATE_FMA: return rounds * p->probe->flops_per_round;
    case LCSM_RATE_READ: return (double)MEMORY * sizeof(float);
    default: return rounds * CACHED;
    }
}

double lcsm_probe_rate(lcsm_probe_bench *p, lcsm_rate rate, lcsm_pool *pool)
{
    job    j    = {p, rate, (size_t)lcsm_pool_threads(pool) * PARTS};
    double from = lcsm_now();
    lcsm_parallel_for(pool, j.parts, part, &j);
    return work_of(p, rate, j.parts) / (lcsm_now() - from);
}

/* Doubles the rounds until the work of a thread takes the time wanted. */
static void calibrate(lcsm_probe_bench *p, lcsm_rate rate, double seconds)
{
    for (p->rounds[rate] = 1;; p->rounds[rate] *= 2) {
        double took = work_of(p, rate, PARTS) / lcsm_probe_rate(p, rate, NULL);
        if (took * 2 > seconds || p->rounds[rate] > SIZE_MAX / 4) return;
    }
}

lcsm_status lcsm_probe_create(lcsm_probe_bench **out, const lcsm_context *ctx, double seconds,
                              lcsm_error *err)
{
    lcsm_probe_bench *p = malloc(sizeof *p);
    float            *x = lcsm_block_alloc(MEMORY * sizeof *x);
    *out                = NULL;
    if (p == NULL || x == NULL) {
        free(p);
        free(x);
        return lcsm_fail(err, LCSM_ERR_MEMORY,
                         "not enough memory for %zu bytes to measure memory with",
                         MEMORY * sizeof *x);
    }
    for (size_t j = 0; j < MEMORY; j++) x[j] = -4 + 8 * (float)(j % 1021) / 1021;
    *p = (lcsm_probe_bench){.probe = ctx->f32->probe, .x = x};
    for (int rate = 0; rate < LCSM_RATE_READ; rate++) calibrate(p, (lcsm_rate)rate, seconds);
    *out = p;
    return LCSM_OK;
}

void lcsm_probe_free(lcsm_probe_bench *p)
{
    if (p == NULL) return;
    free(p->x);
    free(p);
}
