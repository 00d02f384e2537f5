/*
 * kernel/cscan/cscan.h - complex channels, each its own memory: some channels of one sequence.
 *
 *     h_t = o_t h_{t-1} + x_t          o_t = exp(log_t + i phase_t)
 *
 *   x, h        (T, D) complex, steps x.t reals apart, imaginary parts x.im behind the real ones
 *   log, phase  (T, D) real, or (D) for every step, where t is 0
 *   m           (2, D): the memory, in h_0 and out h_T; a plane of real and one of imaginary parts
 *
 * Backward: G_t = g_h + conj(o_{t+1}) G_{t+1}, g_x = G, and with c = conj(o_t h_{t-1}) G_t
 * g_log = Re c, g_phase = Im c. It gets h and the memory from before the sequence; it adds to g_log
 * and g_phase, and to g_x if the flag is set; each may have p = NULL. Nothing overlaps.
 * Time O(T D); ws has 5 D reals.
 */
#ifndef LCSM_KERNEL_CSCAN_H
#define LCSM_KERNEL_CSCAN_H
#include "kernel/reset.h"
#include "kernel/variant.h"

/* Strides in reals; negative ones run time backwards. */
typedef struct {
    real     *p;
    ptrdiff_t t, im;
} R_(lcsm_cscan_array);

typedef struct {
    ptrdiff_t            T, D;
    R_(lcsm_cscan_array) x, log, phase;
    lcsm_resets          resets;
} R_(lcsm_cscan);

typedef struct {
    R_(lcsm_cscan_array) h, g_h, g_x, g_log, g_phase;
    bool                 add; /* to g_x */
} R_(lcsm_cscan_grads);

typedef struct {
    void (*fwd)(const R_(lcsm_cscan) *x, real *m, R_(lcsm_cscan_array) h, real *ws);
    void (*bwd)(const R_(lcsm_cscan) *x, real *m, const R_(lcsm_cscan_grads) *g, real *ws);
} R_(lcsm_cscan_kernels);

extern const R_(lcsm_cscan_kernels) K_(lcsm_cscan_steps);
#endif
