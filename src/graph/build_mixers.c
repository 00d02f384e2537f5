/* build_mixers.c - the builders of graph/mixers.h: each makes one node. */
#include "graph/mixers.h"

static lcsm_tensor *first_of(const lcsm_node *n)
{
    return n == NULL ? NULL : n->out[0];
}

lcsm_low_rank_tensors lcsm_low_rank(lcsm_graph *g, const lcsm_low_rank_attr *a, lcsm_tensor *lambda,
                                    lcsm_tensor *P, lcsm_tensor *B, lcsm_tensor *log_dt)
{
    lcsm_tensor     *in[] = {lambda, P, B, log_dt};
    const lcsm_node *n    = lcsm_graph_add(g, LCSM_OP_low_rank, a, in, 4);
    if (n == NULL) return (lcsm_low_rank_tensors){0};
    return (lcsm_low_rank_tensors){n->out[0], n->out[1], n->out[2], n->out[3], n->out[4]};
}

lcsm_eos_operands lcsm_low_rank_operands(const lcsm_low_rank_tensors *x, lcsm_tensor *i,
                                         lcsm_tensor *C)
{
    return (lcsm_eos_operands){.H         = x->log == NULL ? 1 : x->log->shape.dim[0],
                               .K         = x->log == NULL ? 1 : x->log->cols,
                               .D         = 1,
                               .i         = {i, LCSM_AXIS_T | LCSM_AXIS_D},
                               .e         = {x->e, LCSM_AXIS_K},
                               .s         = {C, LCSM_AXIS_K},
                               .row       = {x->log, LCSM_AXIS_K},
                               .row_phase = {x->phase, LCSM_AXIS_K},
                               .a         = {x->a, LCSM_AXIS_K},
                               .b         = {x->b, LCSM_AXIS_K},
                               .complex_e = true,
                               .complex_s = true,
                               .complex_a = true,
                               .complex_b = true,
                               .pairs     = true,
                               .scale     = 2};
}

static lcsm_discrete discrete_of(const lcsm_node *n)
{
    if (n == NULL) return (lcsm_discrete){NULL, NULL, NULL};
    return (lcsm_discrete){n->out[0], n->out[1], n->out[2]};
}

lcsm_discrete lcsm_discretise(lcsm_graph *g, const lcsm_discretise_attr *a, lcsm_tensor *re,
                              lcsm_tensor *im, lcsm_tensor *log_dt, lcsm_tensor *coef)
{
    lcsm_tensor *in[] = {re, im, log_dt, coef};
    return discrete_of(lcsm_graph_add(g, LCSM_OP_discretise, a, in, 4));
}

lcsm_bilinear_tensors lcsm_bilinear(lcsm_graph *g, lcsm_tensor *A, lcsm_tensor *B,
                                    lcsm_tensor *log_dt)
{
    lcsm_tensor     *in[] = {A, B, log_dt};
    const lcsm_node *n    = lcsm_graph_add(g, LCSM_OP_bilinear, NULL, in, 3);
    if (n == NULL) return (lcsm_bilinear_tensors){NULL, NULL};
    return (lcsm_bilinear_tensors){n->out[0], n->out[1]};
}

lcsm_tensor *lcsm_lower_bounds(lcsm_graph *g, lcsm_tensor *gamma)
{
    return first_of(lcsm_graph_add(g, LCSM_OP_lower_bounds, NULL, &gamma, 1));
}

lcsm_tensor *lcsm_dpfp(lcsm_graph *g, lcsm_tensor *x, ptrdiff_t nu)
{
    return first_of(lcsm_graph_add(g, LCSM_OP_dpfp, &(lcsm_dpfp_attr){nu}, &x, 1));
}

lcsm_tensor *lcsm_quadratic(lcsm_graph *g, const lcsm_quadratic_attr *a, lcsm_tensor *x)
{
    return first_of(lcsm_graph_add(g, LCSM_OP_quadratic, a, &x, 1));
}

lcsm_tensor *lcsm_top_k(lcsm_graph *g, const lcsm_top_k_attr *a, lcsm_tensor *x, lcsm_tensor *bias)
{
    return first_of(lcsm_graph_add(g, LCSM_OP_top_k, a, (lcsm_tensor *[]){x, bias}, 2));
}

lcsm_tensor *lcsm_softmax(lcsm_graph *g, lcsm_tensor *x)
{
    return first_of(lcsm_graph_add(g, LCSM_OP_softmax, NULL, &x, 1));
}

lcsm_tensor *lcsm_positions(lcsm_graph *g, const lcsm_positions_attr *a, lcsm_tensor *w,
                            lcsm_tensor *b)
{
    lcsm_tensor *in[] = {w, b};
    return first_of(lcsm_graph_add(g, LCSM_OP_positions, a, in, 2));
}

lcsm_tensor *lcsm_decay_rows(lcsm_graph *g, lcsm_tensor *x, double gamma)
{
    return first_of(lcsm_graph_add(g, LCSM_OP_scale, &(lcsm_scale_attr){1, gamma}, &x, 1));
}

lcsm_discrete lcsm_toeplitz(lcsm_graph *g, lcsm_tensor *t, double gamma)
{
    return discrete_of(lcsm_graph_add(g, LCSM_OP_toeplitz, &(lcsm_toeplitz_attr){gamma}, &t, 1));
}

lcsm_tensor *lcsm_constant(lcsm_graph *g, lcsm_shape shape, double value)
{
    const lcsm_constant_attr a = {shape, value};
    return first_of(lcsm_graph_add(g, LCSM_OP_constant, &a, NULL, 0));
}

lcsm_tensor *lcsm_affine(lcsm_graph *g, lcsm_tensor *x, double a, double b)
{
    return first_of(lcsm_graph_add(g, LCSM_OP_affine, &(lcsm_affine_attr){a, b}, &x, 1));
}

lcsm_tensor *lcsm_divide(lcsm_graph *g, const lcsm_divide_attr *a, lcsm_tensor *x, lcsm_tensor *den,
                         lcsm_tensor *mu)
{
    lcsm_tensor *in[] = {x, den, mu};
    return first_of(lcsm_graph_add(g, LCSM_OP_divide, a, in, 3));
}

lcsm_running_max_tensors lcsm_running_max(lcsm_graph *g, const lcsm_running_max_attr *a,
                                          lcsm_tensor *row, lcsm_tensor *z, lcsm_tensor *mu0,
                                          lcsm_tensor *reset)
{
    lcsm_tensor     *in[] = {row, z, mu0, reset};
    const lcsm_node *n    = lcsm_graph_add(g, LCSM_OP_running_max, a, in, 4);
    if (n == NULL) return (lcsm_running_max_tensors){NULL, NULL, NULL};
    return (lcsm_running_max_tensors){n->out[0], n->out[1], n->out[2]};
}

lcsm_tensor *lcsm_running_signs(lcsm_graph *g, lcsm_tensor *x)
{
    return first_of(lcsm_graph_add(g, LCSM_OP_signs, NULL, &x, 1));
}

lcsm_tensor *lcsm_scale_rows(lcsm_graph *g, lcsm_tensor *x, lcsm_tensor *s)
{
    lcsm_tensor *in[] = {x, s};
    return first_of(lcsm_graph_add(g, LCSM_OP_scale_rows, NULL, in, 2));
}

lcsm_tensor *lcsm_repeat(lcsm_graph *g, lcsm_tensor *x, ptrdiff_t times)
{
    return first_of(lcsm_graph_add(g, LCSM_OP_repeat, &(lcsm_repeat_attr){times}, &x, 1));
}

lcsm_tensor *lcsm_halves(lcsm_graph *g, lcsm_tensor *x)
{
    return first_of(lcsm_graph_add(g, LCSM_OP_halves, NULL, &x, 1));
}
