/*
 * kernel/probe/probe.h - loops that show what the processor can do, to hold a kernel's time
 * against.
 *
 *   fma    rounds of multiply-adds on registers alone; LCSM_PROBE_CHAINS independent chains hide
 *          the latency of one
 *   exp    the sum of exp(x) over n numbers
 *   gate   the sum of sigmoid(x)^(1/tau) over n numbers
 *   read   the sum of n numbers: as fast as memory gives them
 *
 * Each returns a number that depends on all of the work, so none of it can be left out. n is a
 * multiple of LCSM_PROBE_BLOCK. The loops use the vectors and the functions of the set they are
 * in, so they measure what its kernels have.
 */
#ifndef LCSM_KERNEL_PROBE_H
#define LCSM_KERNEL_PROBE_H
#include "kernel/variant.h"
#include <stddef.h>

enum { LCSM_PROBE_CHAINS = 12, LCSM_PROBE_BLOCK = 128 };

typedef struct {
    double flops_per_round;
    real (*fma)(size_t rounds, real start);
    real (*exp)(const real *x, size_t n);
    real (*gate)(const real *x, size_t n, real tau);
    real (*read)(const real *x, size_t n);
} R_(lcsm_probe);

extern const R_(lcsm_probe) K_(lcsm_probes);
#endif
