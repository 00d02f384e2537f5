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

/* The squares of a flat array are summed by parts, whose length follows from its own alone; their
 * sums are added in order. A slice of an array that begins and ends with parts, and whose sums are
 * added with the others, gives the same bits. */
enum { LCSM_ADAMW_PARTS = 1024 };
static inline size_t lcsm_adamw_part(size_t n) /* elements, a multiple of 16 */
{
    enum { LEAST = 1 << 15 }; /* fewer are not worth a thread */
    size_t part = (n + LCSM_ADAMW_PARTS - 1) / LCSM_ADAMW_PARTS;
    return part < LEAST ? LEAST : (part + 15) / 16 * 16;
}

/* kernels is the table of the number type; arrays have n elements of it. */
#define LCSM_ADAMW_DRIVE(type)                                                                     \
    void lcsm_adamw_run_##type(const void *kernels, lcsm_pool *pool,                               \
                               const lcsm_adamw_rates *rates, size_t n, const void *g, void *p,    \
                               void *m, void *v);                                                  \
    /* The sums of the parts of n elements, which begin with a part; part is its length. */        \
    void lcsm_squares_run_##type(const void *kernels, lcsm_pool *pool, size_t n, size_t part,      \
                                 const void *g, double *sums);
LCSM_ADAMW_DRIVE(f32)
LCSM_ADAMW_DRIVE(f64)
#undef LCSM_ADAMW_DRIVE

#endif
