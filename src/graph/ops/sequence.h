/*
 * graph/ops/sequence.h - x (..., T, D) as sequences that are cut into ranges of steps, for ops that
 * look a few steps back: token shift and short convolution.
 *
 * A range is a work item, so there is work for every thread even with one sequence, and parts of
 * the parameters' gradients belong to ranges and are added in their order.
 */
#ifndef LCSM_GRAPH_OPS_SEQUENCE_H
#define LCSM_GRAPH_OPS_SEQUENCE_H
#include "graph/ops/op_pieces.h"

enum { SEQUENCE_STEPS = 128 };

typedef struct {
    ptrdiff_t B, T, D, ranges; /* ranges of a sequence */
} sequences;

static inline sequences sequences_of(const lcsm_tensor *x)
{
    sequences s = {.B = 1, .T = lcsm_dim_last(&x->shape, 2), .D = x->cols};
    for (int j = 0; j < x->shape.rank - 2; j++) s.B *= x->shape.dim[j];
    s.ranges = blocks_of(s.T, SEQUENCE_STEPS);
    return s;
}

/* Item b * ranges + j is the j-th range of sequence b: steps t0 .. t1 - 1. */
typedef struct {
    ptrdiff_t b, t0, t1;
} range;

static inline range range_of(const sequences *s, size_t item)
{
    range r = {.b  = (ptrdiff_t)item / s->ranges,
               .t0 = (ptrdiff_t)item % s->ranges * SEQUENCE_STEPS};
    r.t1    = at_most(r.t0 + SEQUENCE_STEPS, s->T);
    return r;
}

/* The first step of sequence b as time runs, and the distance to the next. */
static inline real *start_of(const sequences *s, const lcsm_mat *m, ptrdiff_t b, bool reverse)
{
    return row_if(m, b * s->T + (reverse ? s->T - 1 : 0));
}

static inline ptrdiff_t step_of(const lcsm_mat *m, bool reverse)
{
    return reverse ? -m->ld : m->ld;
}

/* Resets of sequence b as time runs. */
static inline lcsm_resets resets_of(const sequences *s, const lcsm_mat *m, ptrdiff_t b,
                                    bool reverse)
{
    return lcsm_resets_of(m->data, b * m->ld, s->T, reverse);
}

/* The step of the last reset of sequence b: nothing before it is carried on. */
static inline ptrdiff_t last_reset(const sequences *s, const lcsm_mat *m, ptrdiff_t b)
{
    ptrdiff_t   t = s->T - 1;
    lcsm_resets r = resets_of(s, m, b, false);
    while (t >= 0 && !lcsm_resets_at(&r, t)) t--;
    return t < 0 ? PTRDIFF_MIN : t;
}

static inline lcsm_status check_sequences(const lcsm_tensor *x, const lcsm_tensor *reset,
                                          lcsm_error *err)
{
    sequences s = sequences_of(x);
    if (x->shape.rank < 2) return lcsm_fail(err, LCSM_ERR_ARGUMENT, "x must have the axes T and D");
    if (reset != NULL && (reset->cols != s.T || reset->rows * s.T != x->rows))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "the resets must have the axes of x but the last");
    return LCSM_OK;
}
#endif
