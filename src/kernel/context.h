/* context.h - what an lcsm_context holds, for library code. */
#ifndef LCSM_KERNEL_CONTEXT_H
#define LCSM_KERNEL_CONTEXT_H
#include <lcsm/context.h>

#include "base/log.h"
#include "base/thread.h"

struct lcsm_kernels_f32;
struct lcsm_kernels_f64;

struct lcsm_context {
    lcsm_pool               *pool;
    lcsm_isa                 isa;
    lcsm_log_sink            log;
    struct lcsm_kernels_f32 *f32; /* the chosen kernels (kernel/kernels.h) */
    struct lcsm_kernels_f64 *f64;
};

#endif
