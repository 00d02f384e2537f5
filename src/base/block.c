/* block.c - large blocks of numbers. */
#include "base/block.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "base/size.h"

/* The size of a large page, and from where on a block is worth one. */
enum { PAGE = 1 << 21, LARGE = 4 * PAGE };

void *lcsm_block_alloc(size_t bytes)
{
    size_t align = bytes >= LARGE ? PAGE : LCSM_ALIGN, room;
    if (!lcsm_round_up(bytes > 0 ? bytes : 1, align, &room)) return NULL;
    void *p = aligned_alloc(align, room);
#ifdef MADV_HUGEPAGE
    if (p != NULL && align == PAGE) (void)madvise(p, room, MADV_HUGEPAGE);
#endif
    return p;
}
