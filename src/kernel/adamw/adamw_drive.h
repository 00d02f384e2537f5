/* kernel/adamw/adamw_drive.h - the optimiser's kernels over flat arrays on several threads, for
 * code that knows no number type. Results do not depend on the number of threads. */
#ifndef LCSM_KERNEL_ADAMW_DRIVE_H
#define LCSM_KERNEL_ADAMW_DRIVE_H
#include <stddef.h>

#include "base/thread.h"

/* As in kernel/adamw/adamw.h. */
typedef struct {
    double grad_scale, beta1, beta2, keep, rate, root, eps;
} lcsm_adamw_rates;

/* kernels is the table of the number type; arrays have n elements of it. */
#define LCSM_ADAMW_DRIVE(type)                                                                     \
    void   lcsm_adamw_run_##type(const void *kernels, lcsm_pool *pool,                             \
                                 const lcsm_adamw_rates *rates, size_t n, const void *g, void *p,  \
                                 void *m, void *v);                                                \
    double lcsm_squares_run_##type(const void *kernels, lcsm_pool *pool, size_t n, const void *g);
LCSM_ADAMW_DRIVE(f32)
LCSM_ADAMW_DRIVE(f64)
#undef LCSM_ADAMW_DRIVE

#endif
