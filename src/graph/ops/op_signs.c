/*
 * op_signs.c - the running product of signs, y_t = sign(x_t) y_{t-1}, with sign(0) = 1.
 *
 * A memory of signed gates o_t is y_t times one of the gates |o_t| whose writes and reads are times
 * y_t as well. Where two steps have the same sign in y, what lies before does not matter, so there
 * are no resets. It has no gradient. Carried state: the last y.
 */
#include "graph/ops/sequence.h"

static lcsm_status shape(lcsm_node *n, lcsm_error *err)
{
    const lcsm_tensor *x  = n->in[0];
    lcsm_status        st = check_sequences(x, NULL, err);
    if (st != LCSM_OK) return st;
    n->shape[0] = x->shape;
    n->steps    = LCSM_STEPS_CARRIED;
    n->n_state  = 1;
    n->state[0] = (lcsm_state_spec){
        .dtype = LCSM_REAL_DTYPE, .shape = lcsm_dims(sequences_of(x).B, x->cols), .start = 1};
    return LCSM_OK;
}

static void step(ptrdiff_t n, const real *x, const real *old, real *y)
{
    for (ptrdiff_t d = 0; d < n; d++) {
        bool negative = old != NULL && old[d] < 0;
        y[d]          = (x[d] < 0) != negative ? -1 : 1;
    }
}

static void sequence(void *arg, size_t b, int worker)
{
    const lcsm_call *c     = arg;
    sequences        s     = sequences_of(c->node->in[0]);
    ptrdiff_t        first = (ptrdiff_t)b * s.T;
    const real      *old   = c->state_in[0];
    real            *to    = c->state_out[0];
    (void)worker;
    if (old != NULL) old += (ptrdiff_t)b * s.D;
    for (ptrdiff_t r = first; r < first + s.T; r++) {
        step(s.D, row_of(&c->in[0], r), old, row_of(&c->out[0], r));
        old = row_of(&c->out[0], r);
    }
    if (to == NULL) return;
    to += (ptrdiff_t)b * s.D;
    for (ptrdiff_t d = 0; d < s.D; d++) to[d] = old == NULL ? 1 : old[d];
}

static void forward(const lcsm_call *c)
{
    sequences s   = sequences_of(c->node->in[0]);
    lcsm_call own = *c;
    lcsm_parallel_for(c->run->pool, (size_t)s.B, sequence, &own);
}

const lcsm_op R_(lcsm_op_signs) = {
    .name    = "signs",
    .in      = {"x"},
    .shape   = shape,
    .forward = forward,
};
