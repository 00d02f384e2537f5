/* Softmax attention and its rotation against their formulas, written out. */
#include <math.h>

#include "graph/graph.h"
#include "graph/layers.h"
#include "test.h"

enum { T = 9, H = 4, G = 2, K = 6, D = 3, W = 4, R = 4 };

/* The bound of double sums of a few dozen terms of size 1. */
#define BOUND 1e-13

typedef struct {
    lcsm_context *ctx;
    lcsm_params  *params;
    lcsm_graph   *g;
} rig;

static rig open_rig(void)
{
    rig r;
    assert_int_equal(lcsm_context_create(&r.ctx, NULL, NULL), LCSM_OK);
    assert_int_equal(lcsm_params_create(&r.params, LCSM_F64, 0, NULL), LCSM_OK);
    assert_int_equal(lcsm_graph_create(&r.g, r.ctx, r.params, NULL), LCSM_OK);
    return r;
}

static void close_rig(rig *r)
{
    lcsm_graph_free(r->g);
    lcsm_params_free(r->params);
    lcsm_context_free(r->ctx);
}

static double number(int tensor, ptrdiff_t j)
{
    return sin(1.7 * (double)j + 0.9 * tensor);
}

static void fill(const lcsm_tensor *x, int tensor)
{
    for (ptrdiff_t j = 0; j < lcsm_tensor_count(x); j++) ((double *)x->data)[j] = number(tensor, j);
}

/* Step t of the sequence that begins at step `start` sees the last `window` steps. */
static double expected(ptrdiff_t t, ptrdiff_t start, ptrdiff_t window, ptrdiff_t h, ptrdiff_t d)
{
    double    sum = 0, y = 0;
    ptrdiff_t g = h / (H / G), first = t + 1 - window > start ? t + 1 - window : start;
    for (ptrdiff_t j = first; j <= t; j++) {
        double z = 0;
        for (ptrdiff_t k = 0; k < K; k++)
            z += number(0, (t * H + h) * K + k) * number(1, (j * G + g) * K + k);
        z = exp(z / sqrt(K));
        sum += z;
        y += z * number(2, (j * G + g) * D + d);
    }
    return y / sum;
}

TEST(attention_groups_and_window_are_their_formula)
{
    rig                       r     = open_rig();
    const ptrdiff_t           reset = 5;
    const lcsm_attention_attr a     = {.heads = H, .kv_heads = G, .window = W, .causal = true};
    lcsm_tensor              *q     = lcsm_input(r.g, "q", LCSM_F64, lcsm_dims(1, T, H * K));
    lcsm_tensor              *k     = lcsm_input(r.g, "k", LCSM_F64, lcsm_dims(1, T, G * K));
    lcsm_tensor              *v     = lcsm_input(r.g, "v", LCSM_F64, lcsm_dims(1, T, G * D));
    lcsm_tensor              *s     = lcsm_input(r.g, "reset", LCSM_I32, lcsm_dims(1, T));
    lcsm_tensor              *y     = lcsm_softmax_attention(r.g, &a, q, k, v, s);
    lcsm_keep(r.g, y);
    assert_int_equal(lcsm_graph_plan(r.g, &(lcsm_plan_options){0}, NULL), LCSM_OK);
    assert_true(y->cols == H * D);
    fill(q, 0);
    fill(k, 1);
    fill(v, 2);
    for (ptrdiff_t t = 0; t < T; t++) ((int32_t *)s->data)[t] = t == reset;
    assert_int_equal(lcsm_graph_forward(r.g, NULL, NULL), LCSM_OK);
    for (ptrdiff_t t = 0; t < T; t++)
        for (ptrdiff_t j = 0; j < H * D; j++) {
            double want = expected(t, t < reset ? 0 : reset, W, j / D, j % D);
            assert_true(fabs(((double *)y->data)[t * H * D + j] - want) < BOUND);
        }
    close_rig(&r);
}

TEST(attention_refuses_heads_that_do_not_fit)
{
    static const lcsm_attention_attr BAD[] = {
        {.heads = H, .kv_heads = 3, .causal = true},
        {.heads = H, .kv_heads = -1, .causal = true},
        {.heads = H, .kv_heads = 1, .causal = true}, /* k is as wide as two heads */
        {.heads = H, .kv_heads = G, .causal = true, .window = -1},
        {.heads = H, .kv_heads = G, .causal = true, .window = 5, .cache = 3},
    };
    for (size_t j = 0; j < COUNT(BAD); j++) {
        rig          r = open_rig();
        lcsm_tensor *q = lcsm_input(r.g, "q", LCSM_F64, lcsm_dims(1, T, H * K));
        lcsm_tensor *k = lcsm_input(r.g, "k", LCSM_F64, lcsm_dims(1, T, G * K));
        assert_null(lcsm_softmax_attention(r.g, &BAD[j], q, k, k, NULL));
        close_rig(&r);
    }
}

TEST(rotation_of_a_part_is_its_formula)
{
    rig                    r     = open_rig();
    const lcsm_rotate_attr a     = {.kind = LCSM_ROTATE_HALVES, .heads = H, .width = R};
    lcsm_tensor           *x     = lcsm_input(r.g, "x", LCSM_F64, lcsm_dims(1, T, H * K));
    lcsm_tensor           *theta = lcsm_input(r.g, "theta", LCSM_F64, lcsm_dims(R / 2));
    lcsm_tensor           *y     = lcsm_rotation(r.g, &a, x, theta);
    lcsm_keep(r.g, y);
    assert_int_equal(lcsm_graph_plan(r.g, &(lcsm_plan_options){0}, NULL), LCSM_OK);
    fill(x, 0);
    fill(theta, 1);
    assert_int_equal(lcsm_graph_forward(r.g, NULL, NULL), LCSM_OK);
    for (ptrdiff_t t = 0; t < T; t++)
        for (ptrdiff_t h = 0; h < H; h++)
            for (ptrdiff_t k = 0; k < K; k++) {
                ptrdiff_t at = (t * H + h) * K, j = k % (R / 2);
                double    angle = (double)t * number(1, j), want = number(0, at + k);
                double    low = number(0, at + j), high = number(0, at + j + R / 2);
                if (k < R / 2) want = low * cos(angle) - high * sin(angle);
                else if (k < R) want = high * cos(angle) + low * sin(angle);
                assert_true(fabs(((double *)y->data)[at + k] - want) < BOUND);
            }
    close_rig(&r);
}
