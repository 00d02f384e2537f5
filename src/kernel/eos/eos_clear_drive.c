/* eos_clear_drive.c - zeros where gradients are to be overwritten, for the passes add to them. */
#include <string.h>

#include "kernel/eos/eos_drive.h"

typedef R_(lcsm_eos_grad_arrays) grads;

/* Heads h .. h + heads - 1 of sequence b. */
static void clear(const lcsm_eos_plan *p, const grads *g, int operand, ptrdiff_t b, ptrdiff_t h,
                  ptrdiff_t heads)
{
    const lcsm_eos_layout *l     = &p->operand[operand];
    ptrdiff_t              steps = l->axes & LCSM_AXIS_T ? p->T : 1;
    if (!l->present || g->operand[operand] == NULL || !g->set[operand]) return;
    for (ptrdiff_t t = 0; t < steps; t++)
        for (ptrdiff_t j = h; j < h + heads; j++)
            memset(g->operand[operand] + b * l->b + t * l->t + j * l->h, 0,
                   (size_t)l->inner * sizeof(real));
}

void R_(lcsm_eos_clear_item)(const lcsm_eos_plan *p, const grads *g, ptrdiff_t b, ptrdiff_t h,
                             ptrdiff_t heads)
{
    for (int j = 0; j < EOS_OPERANDS; j++)
        if (R_(lcsm_eos_of_item)(p, j)) clear(p, g, j, b, h, heads);
}

void R_(lcsm_eos_clear_rest)(const lcsm_eos_plan *p, const grads *g)
{
    for (int j = 0; j < EOS_OPERANDS; j++) {
        ptrdiff_t sequences = lcsm_eos_has(p, j, LCSM_AXIS_T) ? p->B : 1;
        if (R_(lcsm_eos_of_item)(p, j)) continue;
        for (ptrdiff_t b = 0; b < sequences; b++) clear(p, g, j, b, 0, p->H);
    }
}
