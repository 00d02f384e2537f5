/* case.c - a graph of one op from a test case. */
#include "graph/case.h"

#include <math.h>

#include "base/rng.h"

double lcsm_case_get(const lcsm_tensor *t, const void *data, ptrdiff_t row, ptrdiff_t col)
{
    ptrdiff_t at = row * t->ld + col;
    switch (t->dtype) {
    case LCSM_F32: return (double)((const float *)data)[at];
    case LCSM_F64: return ((const double *)data)[at];
    default: return ((const int32_t *)data)[at];
    }
}

void lcsm_case_set(const lcsm_tensor *t, void *data, ptrdiff_t row, ptrdiff_t col, double x)
{
    ptrdiff_t at = row * t->ld + col;
    switch (t->dtype) {
    case LCSM_F32: ((float *)data)[at] = (float)x; break;
    case LCSM_F64: ((double *)data)[at] = x; break;
    default: ((int32_t *)data)[at] = (int32_t)x; break;
    }
}

/* ---- building ---- */

/* A slice of a tensor with one column more on either side. */
static lcsm_tensor *strided_leaf(lcsm_graph *g, const char *name, lcsm_dtype dtype,
                                 lcsm_shape shape)
{
    ptrdiff_t cols = shape.dim[shape.rank - 1];
    shape.dim[shape.rank - 1] += 2;
    lcsm_tensor *wide = lcsm_input(g, name, dtype, shape);
    return lcsm_slice(g, wide, shape.rank - 1, 1, cols);
}

static lcsm_tensor *add_input(lcsm_case_graph *c, int j, unsigned around)
{
    const lcsm_case_input *in      = &c->test->in[j];
    bool                   integer = lcsm_op_input_integer(c->op, j);
    lcsm_dtype             dtype   = integer ? LCSM_I32 : lcsm_graph_dtype(c->g);
    const char            *name    = lcsm_op_input(c->op, j);
    lcsm_shape             shape   = in->shape;
    if (in->time) shape.dim[1] = c->T;
    c->leaf[j] = (around & LCSM_CASE_STRIDED) != 0 && !integer && !in->packed
                   ? strided_leaf(c->g, name, dtype, shape)
                   : lcsm_input(c->g, name, dtype, shape);
    lcsm_keep(c->g, c->leaf[j]);
    if (integer) return c->leaf[j];
    if (!in->fixed) lcsm_keep_grad(c->g, c->leaf[j]);
    return (around & LCSM_CASE_COMPUTED) != 0 ? lcsm_scale(c->g, c->leaf[j], 1) : c->leaf[j];
}

/* Every output is a part of a wider tensor. */
static void widen_outputs(lcsm_case_graph *c)
{
    for (int j = 0; j < c->node->n_out; j++) {
        lcsm_shape shape          = c->node->out[j]->shape;
        shape.dim[shape.rank - 1] = 2;
        lcsm_tensor *beside       = lcsm_input(c->g, "beside", lcsm_graph_dtype(c->g), shape);
        lcsm_tensor *parts[]      = {beside, c->node->out[j]};
        lcsm_concat(c->g, parts, 2);
    }
}

static void add_gradient_beside(lcsm_case_graph *c, int n_in)
{
    for (int j = 0; j < n_in; j++)
        if (c->leaf[j] != NULL && c->leaf[j]->keep_grad)
            lcsm_loss(c->g, lcsm_scale(c->g, lcsm_sum(c->g, c->leaf[j]), 0.5));
}

static void build(lcsm_case_graph *c, lcsm_op_id op, unsigned around)
{
    lcsm_tensor *in[LCSM_MAX_IN] = {NULL};
    int          n_in            = 0;
    for (int j = 0; j < LCSM_MAX_IN && c->op->in[j] != NULL; j++) {
        if (c->test->in[j].shape.rank == 0) continue;
        in[j] = add_input(c, j, around);
        n_in  = j + 1;
    }
    c->node = lcsm_graph_add(c->g, op, c->test->attr, in, n_in);
    if (c->node == NULL) return;
    for (int j = 0; j < c->node->n_out; j++) {
        lcsm_keep(c->g, c->node->out[j]);
        lcsm_seed(c->g, c->node->out[j]);
    }
    if ((around & LCSM_CASE_STRIDED) != 0) widen_outputs(c);
    if ((around & LCSM_CASE_BESIDE) != 0) add_gradient_beside(c, n_in);
}

static ptrdiff_t steps_of(const lcsm_op_case *test)
{
    for (int j = 0; j < LCSM_MAX_IN; j++)
        if (test->in[j].time) return test->in[j].shape.dim[1];
    return 0;
}

lcsm_status lcsm_case_build(lcsm_case_graph *out, const lcsm_context *ctx, lcsm_dtype dtype,
                            lcsm_op_id op, const lcsm_op_case *test, unsigned around, ptrdiff_t T,
                            const lcsm_plan_options *opt, lcsm_error *err)
{
    lcsm_status     st = LCSM_OK;
    lcsm_case_graph c  = {.op = lcsm_op_row(op, dtype), .test = test};
    c.T                = T >= 0 ? T : steps_of(test);
    *out               = (lcsm_case_graph){0};
    LCSM_TRY(lcsm_params_create(&c.params, dtype, 0, err));
    LCSM_TRY(lcsm_graph_create(&c.g, ctx, c.params, err));
    build(&c, op, around);
    LCSM_TRY(lcsm_graph_plan(c.g, opt, err));
    *out = c;
    c    = (lcsm_case_graph){0};
cleanup:
    lcsm_case_free(&c);
    return st;
}

void lcsm_case_free(lcsm_case_graph *c)
{
    lcsm_graph_free(c->g);
    lcsm_params_free(c->params);
    *c = (lcsm_case_graph){0};
}

/* ---- numbers ---- */

/* Element `at` of an input. Rounded to float, so that both number types compute with the same. */
static double number(const lcsm_case_input *in, bool integer, uint64_t seed, uint32_t purpose,
                     uint64_t at)
{
    double u = lcsm_rng_uniform(seed, purpose, at);
    if (in->rising) return in->lo + floor((in->hi - in->lo) * u) + (in->hi - in->lo) * (double)at;
    if (integer) return floor(in->lo + (in->hi - in->lo) * u);
    if (in->lo != 0 || in->hi != 0) return (double)(float)(in->lo + (in->hi - in->lo) * u);
    double x = 2 * u - 1;
    return (double)(float)(fabs(x) >= 0.01 ? x : copysign(0.01, x));
}

/* What element `at` of a part of a tensor with time is in the whole. */
static ptrdiff_t whole_element(const lcsm_shape *shape, ptrdiff_t at, ptrdiff_t t0, ptrdiff_t T_all)
{
    ptrdiff_t T = shape->dim[1], below = 1;
    for (int j = 2; j < shape->rank; j++) below *= shape->dim[j];
    ptrdiff_t b = at / (T * below), t = at / below % T;
    return (b * T_all + t0 + t) * below + at % below;
}

void lcsm_case_fill(const lcsm_case_graph *c, uint64_t seed, ptrdiff_t t0)
{
    const lcsm_case_input dy    = {.lo = 0};
    ptrdiff_t             T_all = steps_of(c->test);
    for (int j = 0; j < LCSM_MAX_IN; j++) {
        const lcsm_tensor *t = c->leaf[j];
        if (t == NULL) continue;
        for (ptrdiff_t r = 0; r < t->rows; r++)
            for (ptrdiff_t i = 0; i < t->cols; i++) {
                ptrdiff_t at = r * t->cols + i;
                if (c->test->in[j].time) at = whole_element(&t->shape, at, t0, T_all);
                lcsm_case_set(
                    t, t->data, r, i,
                    number(&c->test->in[j], t->dtype == LCSM_I32, seed, (uint32_t)j, (uint64_t)at));
            }
    }
    for (int j = 0; j < c->node->n_out; j++) {
        const lcsm_tensor *t    = c->node->out[j];
        bool               time = t->shape.rank > 2 && t->shape.dim[1] == c->T;
        for (ptrdiff_t r = 0; r < t->rows && t->grad != NULL; r++)
            for (ptrdiff_t i = 0; i < t->cols; i++) {
                ptrdiff_t at = r * t->cols + i;
                if (time) at = whole_element(&t->shape, at, t0, T_all);
                lcsm_case_set(t, t->grad, r, i,
                              number(&dy, false, seed, (uint32_t)(100 + j), (uint64_t)at));
            }
    }
}
