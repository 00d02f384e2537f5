/*
 * kernel/probe/rates.h - how fast this machine is now, by the probes of a context's kernels.
 *
 * A probe does its work once on all threads, in a few milliseconds, so that it can be taken again
 * and again between other measurements.
 */
#ifndef LCSM_KERNEL_RATES_H
#define LCSM_KERNEL_RATES_H
#include "base/error.h"
#include "kernel/context.h"

typedef enum {
    LCSM_RATE_FMA,  /* flops a second */
    LCSM_RATE_EXP,  /* exponentials a second */
    LCSM_RATE_GATE, /* sigmoid(x)^(1/tau) a second */
    LCSM_RATE_READ, /* bytes a second, from memory */
    LCSM_RATE_COUNT,
} lcsm_rate;

typedef struct lcsm_probe_bench lcsm_probe_bench;

/* The work of every probe, sized to take about `seconds` on one thread. */
lcsm_status lcsm_probe_create(lcsm_probe_bench **out, const lcsm_context *ctx, double seconds,
                              lcsm_error *err);
void        lcsm_probe_free(lcsm_probe_bench *p);

/* The rate of one run on the threads of a pool, or on this one (NULL); the best of several runs is
 * the machine's. */
double lcsm_probe_rate(lcsm_probe_bench *p, lcsm_rate rate, lcsm_pool *pool);

#endif
