/*
 * pieces.h - a block of memory, cut into pieces by one layout function that first measures and
 * later carves. All scratch of kernels and ops is cut so.
 */
#ifndef LCSM_BASE_PIECES_H
#define LCSM_BASE_PIECES_H
#include "base/size.h"

/* With base NULL it only counts. */
typedef struct {
    void  *base;
    size_t used;   /* bytes */
    bool   failed; /* sticky: asked once, at the end of a measurement */
} lcsm_pieces;

/* rows x cols elements of size bytes, aligned. */
static inline void *lcsm_take(lcsm_pieces *p, ptrdiff_t rows, ptrdiff_t cols, size_t size)
{
    size_t bytes, end, begin = p->used;
    if (!lcsm_size_mul((size_t)rows, (size_t)cols, &bytes) || !lcsm_size_mul(bytes, size, &bytes)
        || !lcsm_round_up(bytes, LCSM_ALIGN, &bytes) || !lcsm_size_add(begin, bytes, &end)) {
        p->failed = true;
        return NULL;
    }
    p->used = end;
    return p->base == NULL ? NULL : (unsigned char *)p->base + begin;
}
#endif
