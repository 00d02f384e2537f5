/* kernel/reset.h - where packed sequences start, as kernels over time see it. */
#ifndef LCSM_KERNEL_RESET_H
#define LCSM_KERNEL_RESET_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Step t starts with an empty memory if p[t * step] is not 0. In reversed time the mask says
 * nothing about the first step. */
typedef struct {
    const int32_t *p; /* NULL: there are none */
    ptrdiff_t      step;
    bool           first; /* whether p[0] may be read and counts */
} lcsm_resets;

static inline bool lcsm_resets_at(const lcsm_resets *r, ptrdiff_t t)
{
    return r->p != NULL && (t > 0 || r->first) && r->p[t * r->step] != 0;
}
#endif
