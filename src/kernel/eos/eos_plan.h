/*
 * kernel/eos/eos_plan.h - a checked descriptor: strides resolved, form, chunk and tiles chosen.
 *
 * A plan knows no number type: the drivers of float and double both follow it.
 */
#ifndef LCSM_KERNEL_EOS_PLAN_H
#define LCSM_KERNEL_EOS_PLAN_H
#include <lcsm/eos.h>

#include "base/thread.h"
#include "kernel/eos/eos_operands.h"

typedef struct {
    bool      present, is_complex;
    unsigned  axes;
    ptrdiff_t heads;         /* a divisor of H */
    ptrdiff_t b, t, h, k, d; /* strides in numbers; 0 broadcasts */
    ptrdiff_t inner;         /* contiguous numbers of one step and head */
    bool      by_read;       /* its rows are those of the steps that are read */
} lcsm_eos_layout;

typedef struct {
    ptrdiff_t       B, T, H, K, D;
    ptrdiff_t       reads; /* rows of s and y, or 0: every step of every sequence */
    lcsm_eos_layout operand[EOS_OPERANDS];
    ptrdiff_t       rank; /* of a and b, 0 without them */
    bool            is_complex, reverse, resets, read_before, complex_y, planes, bf16;
    bool            bf16_products; /* of forward: factors of the products of chunks are rounded */
    lcsm_eos_gen    gen;
    double          tau, scale;
    lcsm_eos_form   form;
    ptrdiff_t       chunk;  /* steps of a cell */
    ptrdiff_t       tile;   /* columns of a work item */
    ptrdiff_t       tiles;  /* ceil(D / tile) */
    ptrdiff_t       span;   /* steps that backward takes at once: whole cells, or all */
    ptrdiff_t       heads;  /* of a work item, if its kernel takes several in step; divides H */
    ptrdiff_t       bundle; /* heads whose items one worker takes in turn, so that gradients of
                               operands that they share need no sums of their own; divides H */
    lcsm_pool  *pool;
    int         threads; /* of the pool */
    const char *reason;  /* of the form */
} lcsm_eos_plan;

/* Checks desc and fills plan, for the threads of a pool or for one (NULL). Writes nothing else and
 * allocates nothing. */
lcsm_status lcsm_eos_plan_make(lcsm_eos_plan *plan, lcsm_pool *pool, const lcsm_eos_desc *desc,
                               lcsm_error *err);

/* Whether the convolution is the fastest form for a plan whose memory nobody gives or asks for,
 * forward and backward together. */
bool lcsm_eos_convolves(const lcsm_eos_plan *p);

const char *lcsm_eos_operand_name(int operand);

static inline bool lcsm_eos_has(const lcsm_eos_plan *p, int operand, unsigned axis)
{
    return (p->operand[operand].axes & axis) != 0;
}

/* Whether a chunk has more readers and writers of a step than s, e and erase. */
static inline bool lcsm_eos_is_ranked(const lcsm_eos_plan *p)
{
    return p->operand[EOS_a].present || p->read_before || p->complex_y
        || p->operand[EOS_i].is_complex || (p->operand[EOS_erase].present && p->is_complex);
}

/* The operand's head that head h reads. */
static inline ptrdiff_t lcsm_eos_head(const lcsm_eos_plan *p, const lcsm_eos_layout *l, ptrdiff_t h)
{
    return h * l->heads / p->H;
}

/* Whether h is the first of the heads that share a head of the operand. */
static inline bool lcsm_eos_leads(const lcsm_eos_plan *p, const lcsm_eos_layout *l, ptrdiff_t h)
{
    return h % (p->H / l->heads) == 0;
}

/* Numbers of a row of y for each head. */
static inline ptrdiff_t lcsm_eos_y_width(const lcsm_eos_plan *p)
{
    return p->D * (p->complex_y ? 2 : 1);
}

static inline ptrdiff_t lcsm_eos_cells(const lcsm_eos_plan *p)
{
    return (p->T + p->chunk - 1) / p->chunk;
}
#endif
