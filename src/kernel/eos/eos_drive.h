/*
 * kernel/eos/eos_drive.h - a whole batch: work items over sequences, heads and column tiles.
 *
 * Every item is an independent problem of kernel/eos/eos.h. Gradients that several items share
 * (static operands, and per-token rows when the columns are cut) go to a partial sum of each item
 * and are added in the order of the items, so the result does not depend on which thread did what.
 */
#ifndef LCSM_KERNEL_EOS_DRIVE_H
#define LCSM_KERNEL_EOS_DRIVE_H
#include "kernel/eos/eos_plan.h"
#include "kernel/kernels.h"
#include "kernel/kinds.h"

/* The arrays of lcsm_eos_states and lcsm_eos_grads, by operand number, in any number type. */
typedef struct {
    const real    *operand[EOS_OPERANDS];
    const real    *m0; /* backward does not read it, only whether it is NULL */
    const int32_t *reset;
    const int32_t *read; /* (reads) */
} R_(lcsm_eos_arrays);

typedef struct {
    real *operand[EOS_OPERANDS];
    real *m0;
    bool  set[EOS_OPERANDS]; /* overwritten; the others are added to */
} R_(lcsm_eos_grad_arrays);

/* Bytes of the workspaces and of the tape. */
size_t R_(lcsm_eos_fwd_bytes)(const lcsm_eos_plan *p, const R_(lcsm_kernels) *k);
size_t R_(lcsm_eos_bwd_bytes)(const lcsm_eos_plan *p, const R_(lcsm_kernels) *k);
size_t R_(lcsm_eos_tape_bytes)(const lcsm_eos_plan *p);

/* As lcsm_eos_forward and lcsm_eos_backward, whose comments hold; arguments are right. */
void R_(lcsm_eos_fwd)(const lcsm_eos_plan *p, const R_(lcsm_kernels) *k,
                      const R_(lcsm_eos_arrays) *x, real *y, real *m_T, real *tape, void *ws);
void R_(lcsm_eos_bwd)(const lcsm_eos_plan *p, const R_(lcsm_kernels) *k,
                      const R_(lcsm_eos_arrays) *x, const real *y, const real *g_y,
                      const real *g_m_T, const R_(lcsm_eos_grad_arrays) *g, const real *tape,
                      void *ws);

/* Where a head's part of an item lies: sequence b, head h, columns d0 .. d0 + D - 1; where only
 * some steps are read, rows read .. read + reads - 1 of s and y. */
typedef struct {
    ptrdiff_t b, h, tile, d0, D, read, reads;
} lcsm_eos_place;

/* Whether an item is the only one that adds to its part of a gradient, a part of its steps, or its
 * worker takes all that do. */
static inline bool R_(lcsm_eos_of_item)(const lcsm_eos_plan *p, int operand)
{
    return lcsm_eos_has(p, operand, LCSM_AXIS_T)
        && (p->tiles == 1 || lcsm_eos_has(p, operand, LCSM_AXIS_D))
        && (p->bundle > 1 || p->operand[operand].heads == p->H);
}

/* Zeros where gradients are overwritten: the part of an item, which then lies in the cache for what
 * is added, and the rest. */
void R_(lcsm_eos_clear_item)(const lcsm_eos_plan *p, const R_(lcsm_eos_grad_arrays) *g,
                             lcsm_eos_place w, ptrdiff_t heads);
void R_(lcsm_eos_clear_rest)(const lcsm_eos_plan *p, const R_(lcsm_eos_grad_arrays) *g);
#endif
