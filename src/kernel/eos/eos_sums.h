/*
 * kernel/eos/eos_sums.h - gradients that several work items of a backward pass share.
 *
 * Each item has partial sums of them, and those of static operands go on over the spans of steps of
 * the pass. The partial ones of all items are added in their order; those of static operands in
 * double: they have terms of either sign for every step, and a sum in float drifts by half a
 * unit of its largest value with each.
 */
#ifndef LCSM_KERNEL_EOS_SUMS_H
#define LCSM_KERNEL_EOS_SUMS_H
#include "kernel/eos/eos_drive.h"

/* A span of a backward pass, steps first .. next - 1, and where its gradients go. */
typedef struct {
    const lcsm_eos_plan            *p;
    const R_(lcsm_eos_grad_arrays) *g;
    double                         *sums; /* of static operands */
    ptrdiff_t                       first, next;
    bool                            sets; /* the form can overwrite gradients by token */
} R_(lcsm_eos_sums);

/* The offset of an item's first element; in reversed time that is its last step. */
static inline ptrdiff_t lcsm_eos_origin(const lcsm_eos_plan *p, const lcsm_eos_layout *l,
                                        lcsm_eos_place w)
{
    return (l->by_read ? w.read * l->t : w.b * l->b) + lcsm_eos_head(p, l, w.h) * l->h + w.d0 * l->d
         + (p->reverse ? (p->T - 1) * l->t : 0);
}

/* Reals of the partial sums of one head of an item, and bytes of the sums in double. */
size_t R_(lcsm_eos_partial_reals)(const lcsm_eos_plan *p);
size_t R_(lcsm_eos_sum_bytes)(const lcsm_eos_plan *p);

/* Gradient views of a head: straight into the arrays, or into its partial sums. */
R_(lcsm_eos_seq_grads)
R_(lcsm_eos_grads_at)(const R_(lcsm_eos_sums) *to, lcsm_eos_place w, real *partial);

/* Adds the partial sums of a head, whose steps run as the item saw them; after the last span, the
 * sums of static operands to their arrays. */
void R_(lcsm_eos_add_partial)(const R_(lcsm_eos_sums) *to, lcsm_eos_place w, const real *partial);
void R_(lcsm_eos_add_sums)(const R_(lcsm_eos_sums) *to);
#endif
