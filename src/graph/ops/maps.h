/* graph/ops/maps.h - linear maps of input 0 by the weights that follow it, as an op's operands. */
#ifndef LCSM_GRAPH_OPS_MAPS_H
#define LCSM_GRAPH_OPS_MAPS_H
#include "graph/ops/ops.h"
#include "kernel/gemm/maps_drive.h"

enum { MAPS_X, MAPS_W };

/* Checks x and n weights, and gives the outputs their shapes. */
static inline lcsm_status maps_shape(lcsm_node *n, int count, lcsm_error *err)
{
    const lcsm_tensor *x = n->in[MAPS_X];
    R_(lcsm_maps)      m = {.rows = x->rows, .in = x->cols, .n = count};
    if (x->shape.rank < 1)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "x must have at least one axis");
    for (int j = 0; j < count; j++) {
        const lcsm_tensor *w = n->in[MAPS_W + j];
        if (w->shape.rank != 2) return lcsm_fail(err, LCSM_ERR_ARGUMENT, "w must have two axes");
        if (x->cols != w->cols)
            return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                             "the rows of x have %td numbers, those of w %td", x->cols, w->cols);
        m.map[j].out                       = w->rows;
        n->shape[j]                        = x->shape;
        n->shape[j].dim[x->shape.rank - 1] = w->rows;
    }
    n->n_out       = count;
    n->fwd_scratch = R_(lcsm_maps_fwd_bytes)(n->threads, &m);
    m.bf16         = n->bf16; /* in runs that train */
    n->bwd_scratch = R_(lcsm_maps_bwd_bytes)(n->threads, &m);
    size_t bytes   = R_(lcsm_maps_fwd_bytes)(n->threads, &m);
    if (bytes > n->fwd_scratch) n->fwd_scratch = bytes;
    return LCSM_OK;
}

static inline double maps_flops(const lcsm_node *n)
{
    double sum = 0;
    for (int j = 0; j < n->n_out; j++)
        sum += 2.0 * (double)n->in[MAPS_X]->rows * (double)lcsm_tensor_count(n->in[MAPS_W + j]);
    return sum;
}

/* Up to GEMM_DOT_ROWS rows of each sequence are summed in the order of few rows, however many
 * sequences there are, so that the results of one do not depend on those beside it. */
static inline bool maps_few(const lcsm_shape *x)
{
    ptrdiff_t rows = 1;
    if (x->rank < 3) return false;
    for (int j = 1; j + 1 < x->rank; j++) rows *= x->dim[j];
    return rows <= GEMM_DOT_ROWS;
}

/* Products of bfloat16 numbers are for training; backward always belongs to it. */
static inline bool maps_bf16(const lcsm_call *c, bool back)
{
    return c->node->bf16 && (back || c->run->training);
}

/* All operands of a call, forward or backward; `add`: to what is in the outputs. */
static inline R_(lcsm_maps) maps_of(const lcsm_call *c, bool back, bool add)
{
    const lcsm_mat *x = &c->in[MAPS_X];
    R_(lcsm_maps)   m = {.rows     = x->rows,
                         .in       = x->cols,
                         .ldx      = x->ld,
                         .x        = x->data,
                         .g_x      = c->g_in[MAPS_X].data,
                         .ldg      = c->g_in[MAPS_X].ld,
                         .add_x    = c->g_in[MAPS_X].add,
                         .few      = maps_few(&c->node->in[MAPS_X]->shape),
                         .n        = c->node->n_out,
                         .bf16     = maps_bf16(c, back),
                         .x_type   = x->type,
                         .x_blocks = x->data};
    for (int j = 0; j < m.n; j++) {
        const lcsm_mat *w = &c->in[MAPS_W + j], *g = &c->g_in[MAPS_W + j];
        m.map[j] = (R_(lcsm_map)){.type   = w->type,
                                  .blocks = w->data,
                                  .out    = w->rows,
                                  .w      = w->data,
                                  .g_y    = c->g_out[j].data,
                                  .y      = c->out[j].data,
                                  .g_w    = g->data,
                                  .ldw    = w->ld,
                                  .ldg    = g->ld,
                                  .ldy    = back ? c->g_out[j].ld : c->out[j].ld,
                                  .add_y  = add,
                                  .add_w  = g->add};
    }
    return m;
}
#endif
