/* eos_clear_drive.c - zeros where gradients are to be overwritten, for the passes add to them. */
#include <string.h>

#include "kernel/eos/eos_drive.h"

typedef R_(lcsm_eos_grad_arrays) grads;

/* A head of an item: all of its steps, its columns of every row. */
static void clear(const lcsm_eos_plan *p, const grads *g, int operand, lcsm_eos_place w)
{
    const lcsm_eos_layout *l     = &p->operand[operand];
    ptrdiff_t              steps = l->by_read ? w.reads : l->axes & LCSM_AXIS_T ? p->T : 1;
    bool                   cut   = w.D < p->D && l->axes & LCSM_AXIS_D;
    ptrdiff_t              rows  = cut && l->axes & LCSM_AXIS_K ? p->K : 1;
    ptrdiff_t              count = cut ? w.D * (l->is_complex ? 2 : 1) : l->inner;
    if (!l->present || g->operand[operand] == NULL || !g->set[operand]) return;
    if (!lcsm_eos_leads(p, l, w.h)) return;
    real *at = g->operand[operand] + (l->by_read ? w.read * l->t : w.b * l->b)
             + lcsm_eos_head(p, l, w.h) * l->h + (cut ? w.d0 * l->d : 0);
    for (ptrdiff_t t = 0; t < steps; t++)
        for (ptrdiff_t k = 0; k < rows; k++)
            memset(at + t * l->t + k * l->k, 0, (size_t)count * sizeof(real));
}

void R_(lcsm_eos_clear_item)(const lcsm_eos_plan *p, const grads *g, lcsm_eos_place w,
                             ptrdiff_t heads)
{
    for (lcsm_eos_place v = w; v.h < w.h + heads; v.h++)
        for (int j = 0; j < EOS_OPERANDS; j++)
            if (R_(lcsm_eos_of_item)(p, j)) clear(p, g, j, v);
}

void R_(lcsm_eos_clear_rest)(const lcsm_eos_plan *p, const grads *g)
{
    for (int j = 0; j < EOS_OPERANDS; j++) {
        ptrdiff_t sequences = lcsm_eos_has(p, j, LCSM_AXIS_T) ? p->B : 1;
        if (R_(lcsm_eos_of_item)(p, j)) continue;
        for (ptrdiff_t b = 0; b < sequences; b++)
            for (ptrdiff_t h = 0; h < p->H; h++)
                clear(p, g, j, (lcsm_eos_place){.b = b, .h = h, .D = p->D});
    }
}
