/*
 * op_lower_bounds.c - HGRN's lower bounds of the gates of all layers: gamma [L, D] -> [L, D],
 *
 *     p = softmax of gamma over the layers        y_l = p_1 + ... + p_l, y_0 = 0
 *
 * Backward: g_p_m = sum_{l >= m} g_y_l for m >= 1 and 0 for m = 0, then g_gamma = p (g_p - p .
 * g_p).
 */
#include "graph/ops/op_pieces.h"

static lcsm_status shape(lcsm_node *n, lcsm_error *err)
{
    if (n->in[0]->shape.rank != 2)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "gamma must be [layers, D]");
    n->shape[0] = n->in[0]->shape;
    return LCSM_OK;
}

static double gamma_at(const lcsm_call *c, ptrdiff_t l, ptrdiff_t d)
{
    return (double)row_of(&c->in[0], l)[d];
}

/* The largest gamma of a channel, and the sum of exp(gamma - largest). */
typedef struct {
    double top, sum;
} scale;

static scale scale_of(const lcsm_call *c, ptrdiff_t d)
{
    scale s = {-INFINITY, 0};
    for (ptrdiff_t l = 0; l < c->in[0].rows; l++) s.top = fmax(s.top, gamma_at(c, l, d));
    for (ptrdiff_t l = 0; l < c->in[0].rows; l++) s.sum += exp(gamma_at(c, l, d) - s.top);
    return s;
}

static void forward_channels(const void *arg, ptrdiff_t first, ptrdiff_t count)
{
    const lcsm_call *c = arg;
    for (ptrdiff_t d = first; d < first + count; d++) {
        scale  s = scale_of(c, d);
        double y = 0;
        for (ptrdiff_t l = 0; l < c->in[0].rows; l++) {
            if (l > 0) y += exp(gamma_at(c, l, d) - s.top) / s.sum;
            row_of(&c->out[0], l)[d] = (real)y;
        }
    }
}

/* p . g_p first, by going from the last layer to the first with the sum of g_y so far. */
static void backward_channels(const void *arg, ptrdiff_t first, ptrdiff_t count)
{
    const lcsm_call *c = arg;
    for (ptrdiff_t d = first; d < first + count; d++) {
        scale  s   = scale_of(c, d);
        double dot = 0, g_p = 0;
        for (ptrdiff_t l = c->in[0].rows - 1; l > 0; l--) {
            g_p += (double)row_of(&c->g_out[0], l)[d];
            dot += exp(gamma_at(c, l, d) - s.top) / s.sum * g_p;
        }
        g_p = 0;
        for (ptrdiff_t l = c->in[0].rows - 1; l >= 0; l--) {
            double p = exp(gamma_at(c, l, d) - s.top) / s.sum;
            g_p      = l > 0 ? g_p + (double)row_of(&c->g_out[0], l)[d] : 0;
            row_of(&c->g_in[0], l)[d] += (real)(p * (g_p - dot));
        }
    }
}

static void forward(const lcsm_call *c)
{
    lcsm_parallel_rows(c->run->pool, c->in[0].cols, 20 * c->in[0].rows, forward_channels, c);
}

static void backward(const lcsm_call *c)
{
    lcsm_parallel_rows(c->run->pool, c->in[0].cols, 40 * c->in[0].rows, backward_channels, c);
}

const lcsm_op R_(lcsm_op_lower_bounds) = {
    .name     = "lower_bounds",
    .in       = {"gamma"},
    .shape    = shape,
    .forward  = forward,
    .backward = backward,
    .bwd_in   = LCSM_BIT(0),
};
