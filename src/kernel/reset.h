/* kernel/reset.h - where packed sequences start, as kernels over time see it. */
#ifndef LCSM_KERNEL_RESET_H
#define LCSM_KERNEL_RESET_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Step t starts with an empty memory if p[t * step] is not 0. */
typedef struct {
    const int32_t *p; /* NULL: there are none */
    ptrdiff_t      step;
    bool           first; /* whether p[0] may be read and counts */
} lcsm_resets;

static inline bool lcsm_resets_at(const lcsm_resets *r, ptrdiff_t t)
{
    return r->p != NULL && (t > 0 || r->first) && r->p[t * r->step] != 0;
}

/* Those of the T steps from `first` on of a mask (B, T), or NULL. A sequence that starts at t ends,
 * in reversed time, before the step t - 1, so the mask is read one later and has nothing for the
 * first step. */
static inline lcsm_resets lcsm_resets_of(const int32_t *mask, ptrdiff_t first, ptrdiff_t T,
                                         bool reverse)
{
    return (lcsm_resets){mask == NULL ? NULL : mask + first + (reverse ? T : 0), reverse ? -1 : 1,
                         !reverse};
}

/* Without the first n steps, one or more. */
static inline void lcsm_resets_skip(lcsm_resets *r, ptrdiff_t n)
{
    if (r->p != NULL) r->p += n * r->step;
    r->first = true;
}
#endif
