/* context.h - what an lcsm_context holds, for library code. */
#ifndef LCSM_KERNEL_CONTEXT_H
#define LCSM_KERNEL_CONTEXT_H
#include <lcsm/context.h>

#include "base/log.h"

struct lcsm_context {
    int           threads;
    lcsm_isa      isa;
    lcsm_log_sink log;
};

#endif
