/* build_mixers.c - the builders of graph/mixers.h: each makes one node. */
#include "graph/mixers.h"

static lcsm_tensor *first_of(const lcsm_node *n)
{
    return n == NULL ? NULL : n->out[0];
}

lcsm_tensor *lcsm_wkv(lcsm_graph *g, const lcsm_wkv_attr *a, lcsm_tensor *k, lcsm_tensor *v,
                      lcsm_tensor *decay, lcsm_tensor *first, lcsm_tensor *reset)
{
    lcsm_tensor *in[] = {k, v, decay, first, reset};
    return first_of(lcsm_graph_add(g, LCSM_OP_wkv, a, in, 5));
}

lcsm_tensor *lcsm_dplr(lcsm_graph *g, const lcsm_dplr_attr *a, lcsm_tensor *u,
                       const lcsm_dplr_tensors *x, lcsm_tensor *reset)
{
    lcsm_tensor *in[] = {u, x->lambda, x->P, x->B, x->C, x->log_dt, reset};
    return first_of(lcsm_graph_add(g, LCSM_OP_dplr, a, in, 7));
}

lcsm_tensor *lcsm_cscan(lcsm_graph *g, const lcsm_cscan_attr *a, lcsm_tensor *x, lcsm_tensor *log,
                        lcsm_tensor *phase, lcsm_tensor *reset)
{
    lcsm_tensor *in[] = {x, log, phase, reset};
    return first_of(lcsm_graph_add(g, LCSM_OP_cscan, a, in, 4));
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

lcsm_tensor *lcsm_divide(lcsm_graph *g, lcsm_tensor *x, lcsm_tensor *den, double eps, bool clamp)
{
    lcsm_tensor *in[] = {x, den};
    return first_of(lcsm_graph_add(g, LCSM_OP_divide, &(lcsm_divide_attr){eps, clamp}, in, 2));
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
