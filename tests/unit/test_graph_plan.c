/*
 * Plans: random graphs give the same bits with every piece in its own memory, with a shared arena,
 * with blocks that are computed again, and for inference; nothing is allocated in a run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "graph/layers.h"
#include "test.h"

enum { B = 2, T = 5, MAX_TENSORS = 200, INPUTS = 3, NODES = 30 };

/* ---- random graphs ---- */

typedef struct {
    uint64_t     seed, next; /* of the choices */
    lcsm_params *params;
    lcsm_graph  *g;
    lcsm_tensor *pool[MAX_TENSORS]; /* all (B, T, C) with some C */
    int          count;
    lcsm_tensor *input[INPUTS], *loss;
    int          blocks, weights;
} random_graph;

static int choose(random_graph *r, int n)
{
    return (int)(lcsm_rng(r->seed, 1, r->next++).v[0] % (uint32_t)n);
}

static lcsm_tensor *any(random_graph *r)
{
    return r->pool[choose(r, r->count)];
}

/* One with this many columns; there is always an input. */
static lcsm_tensor *any_like(random_graph *r, const lcsm_tensor *x)
{
    lcsm_tensor *found = NULL;
    for (int tries = 0; tries < 40 && found == NULL; tries++) {
        lcsm_tensor *t = any(r);
        if (t->cols == x->cols) found = t;
    }
    return found;
}

static lcsm_tensor *weight(random_graph *r, lcsm_shape shape)
{
    char name[16];
    snprintf(name, sizeof name, "w%d", r->weights++);
    return lcsm_param_tensor(r->g, name, shape, lcsm_init_normal(0.4),
                             choose(r, 6) == 0 ? LCSM_PARAM_FROZEN : 0);
}

static lcsm_tensor *random_concat(random_graph *r)
{
    lcsm_tensor *parts[3];
    int          n    = 1 + choose(r, 3);
    ptrdiff_t    cols = 0;
    for (int j = 0; j < n; j++) {
        parts[j] = any(r);
        cols += parts[j]->cols;
    }
    lcsm_tensor *y = lcsm_concat(r->g, parts, n);
    return cols <= 8 ? y : lcsm_slice(r->g, y, 2, choose(r, (int)cols - 7), 1 + choose(r, 8));
}

static lcsm_tensor *random_two(random_graph *r, bool times)
{
    lcsm_tensor *a = any(r), *b = any_like(r, a);
    if (b == NULL || choose(r, 5) == 0) b = weight(r, lcsm_dims(a->cols));
    return times ? lcsm_mul(r->g, a, b) : lcsm_add(r->g, a, b);
}

static lcsm_tensor *random_norm(random_graph *r)
{
    lcsm_tensor *x = any(r);
    return lcsm_rms_norm(r->g, x, weight(r, lcsm_dims(x->cols)), 1e-3);
}

static lcsm_tensor *random_shift(random_graph *r)
{
    lcsm_tensor *x = any(r);
    return lcsm_token_shift(r->g, &(lcsm_shift_attr){0}, x, weight(r, lcsm_dims(x->cols)), NULL);
}

static lcsm_tensor *random_eos(random_graph *r)
{
    lcsm_tensor *x = any(r), *k = any_like(r, x);
    if (k == NULL) k = x;
    lcsm_eos_operands o = {.H   = 1,
                           .K   = k->cols,
                           .D   = x->cols,
                           .i   = {x, LCSM_AXIS_T | LCSM_AXIS_D},
                           .e   = {k, LCSM_AXIS_T | LCSM_AXIS_K},
                           .s   = {k, LCSM_AXIS_T | LCSM_AXIS_K},
                           .row = {lcsm_gate(r->g, k, 2), LCSM_AXIS_T | LCSM_AXIS_K}};
    return lcsm_recurrence(r->g, &o, NULL);
}

/* Its result is computed again in backward, unless nothing is shared. */
static lcsm_tensor *random_glu(random_graph *r)
{
    lcsm_tensor *a = any(r), *b = any_like(r, a);
    return lcsm_glu(r->g, LCSM_ACT_SILU, a, b == NULL ? a : b);
}

static lcsm_tensor *random_op(random_graph *r)
{
    lcsm_tensor *x = any(r);
    switch (choose(r, 15)) {
    case 0: return random_two(r, false);
    case 1: return random_two(r, true);
    case 2: return lcsm_scale(r->g, x, 0.5);
    case 3: return lcsm_linear(r->g, x, weight(r, lcsm_dims(1 + choose(r, 8), x->cols)), NULL);
    case 4: return random_concat(r);
    case 5: return lcsm_slice(r->g, x, 2, 0, 1 + choose(r, (int)x->cols));
    case 6: return lcsm_dropout(r->g, x, 0.2);
    case 7: return lcsm_reverse(r->g, x);
    case 8: return lcsm_activate(r->g, LCSM_ACT_TANH, x);
    case 9: return random_norm(r);
    case 10: return random_shift(r);
    case 11: return random_eos(r);
    case 12:
    case 13: return random_glu(r);
    default: return lcsm_add(r->g, x, x);
    }
}

/* The mean of the last tensors, through tanh so that numbers stay small. */
static void add_loss(random_graph *r)
{
    lcsm_tensor *sum = NULL;
    for (int j = r->count - 1; j >= 0 && j > r->count - 6; j--) {
        lcsm_tensor *m = lcsm_mean(r->g, lcsm_activate(r->g, LCSM_ACT_TANH, r->pool[j]));
        sum            = sum == NULL ? m : lcsm_add(r->g, sum, m);
    }
    lcsm_loss(r->g, sum);
    r->loss = sum;
}

static random_graph build(const lcsm_context *ctx, uint64_t seed, const lcsm_plan_options *opt)
{
    random_graph r   = {.seed = seed};
    lcsm_error   err = {0};
    assert_int_equal(lcsm_params_create(&r.params, LCSM_F32, 3, &err), LCSM_OK);
    assert_int_equal(lcsm_graph_create(&r.g, ctx, r.params, &err), LCSM_OK);
    for (int j = 0; j < INPUTS; j++) {
        lcsm_tensor *x = lcsm_input(r.g, "x", LCSM_F32, lcsm_dims(B, T, 2 + 3 * j));
        lcsm_keep_grad(r.g, x);
        r.input[j] = r.pool[r.count++] = x;
    }
    for (int j = 0; j < NODES; j++) {
        bool block = j % 10 == 2;
        if (block) lcsm_block_begin(r.g);
        lcsm_tensor *y = random_op(&r);
        if (j % 10 == 8) lcsm_block_end(r.g);
        if (y == NULL) break;
        if (choose(&r, 9) == 0) lcsm_keep(r.g, y);
        r.pool[r.count++] = y;
    }
    add_loss(&r);
    if (lcsm_graph_plan(r.g, opt, &err) != LCSM_OK) fail_msg("seed %d: %s", (int)seed, err.text);
    for (int j = 0; j < INPUTS; j++)
        lcsm_rng_fill_normal_f32(r.input[j]->data, (size_t)lcsm_tensor_count(r.input[j]), seed,
                                 (uint32_t)j + 10, 0);
    return r;
}

static void release(random_graph *r)
{
    lcsm_graph_free(r->g);
    lcsm_params_free(r->params);
}

static void run(const random_graph *r, bool backward)
{
    lcsm_error             err = {0};
    const lcsm_run_options opt = {.training = true, .seed = 9, .check = true};
    if (lcsm_graph_forward(r->g, &opt, &err) != LCSM_OK) fail_msg("%s", err.text);
    if (backward && lcsm_graph_backward(r->g, &opt, &err) != LCSM_OK) fail_msg("%s", err.text);
}

static bool same(const lcsm_tensor *a, const void *x, const void *y)
{
    for (ptrdiff_t r = 0; r < a->rows; r++)
        if (memcmp((const float *)x + r * a->ld, (const float *)y + r * a->ld,
                   (size_t)a->cols * sizeof(float))
            != 0)
            return false;
    return true;
}

static void assert_same(const random_graph *a, const random_graph *b, bool grads)
{
    assert_memory_equal(a->loss->data, b->loss->data, sizeof(float));
    for (int j = 0; j < a->count; j++) {
        const lcsm_tensor *t = a->pool[j];
        if (t->keep && t->ld == b->pool[j]->ld && !same(t, t->data, b->pool[j]->data))
            fail_msg("seed %d: tensor %d differs", (int)a->seed, j);
    }
    if (!grads) return;
    for (int j = 0; j < INPUTS; j++)
        if (!same(a->input[j], a->input[j]->grad, b->input[j]->grad))
            fail_msg("seed %d: the gradient of input %d differs", (int)a->seed, j);
    for (size_t j = 0; j < a->params->count; j++)
        if (memcmp(lcsm_param_grads(a->params, (int)j), lcsm_param_grads(b->params, (int)j),
                   a->params->list[j].count * sizeof(float))
            != 0)
            fail_msg("seed %d: the gradient of %s differs", (int)a->seed, a->params->list[j].name);
}

static lcsm_context *new_context(void)
{
    lcsm_context              *ctx     = NULL;
    const lcsm_context_options options = {.size = sizeof options, .threads = 1};
    assert_int_equal(lcsm_context_create(&ctx, &options, NULL), LCSM_OK);
    return ctx;
}

TEST(plan_of_random_graphs_gives_the_bits_of_memory_that_is_not_shared)
{
    lcsm_context *ctx = new_context();
    for (uint64_t seed = 1; seed <= 300; seed++) {
        random_graph alone =
            build(ctx, seed, &(lcsm_plan_options){.train = true, .separate = true});
        random_graph shared = build(ctx, seed, &(lcsm_plan_options){.train = true});
        random_graph again =
            build(ctx, seed, &(lcsm_plan_options){.train = true, .recompute = true});
        random_graph infer = build(ctx, seed, &(lcsm_plan_options){0});
        run(&alone, true);
        run(&infer, false);
        assert_same(&alone, &infer, false);
        for (int times = 0; times < 2; times++) {
            run(&shared, true);
            run(&again, true);
            assert_same(&alone, &shared, true);
            assert_same(&alone, &again, true);
        }
        lcsm_plan_report a = lcsm_graph_report(alone.g), s = lcsm_graph_report(shared.g);
        assert_true(s.arena >= s.live && s.arena < a.arena);
        assert_true(lcsm_graph_report(infer.g).arena <= s.arena);
        release(&alone);
        release(&shared);
        release(&again);
        release(&infer);
    }
    lcsm_context_free(ctx);
}

TEST(plan_accumulates_parameter_gradients_only_if_asked)
{
    lcsm_context *ctx = new_context();
    lcsm_error    err = {0};
    for (uint64_t seed = 1; seed <= 20; seed++) {
        random_graph r    = build(ctx, seed, &(lcsm_plan_options){.train = true});
        size_t       n    = r.params->block;
        float       *once = malloc((n + 1) * sizeof *once);
        run(&r, true);
        memcpy(once, r.params->grads, n * sizeof *once);
        run(&r, true);
        assert_memory_equal(once, r.params->grads, n * sizeof *once);
        lcsm_run_options opt = {.training = true, .seed = 9, .accumulate = true};
        assert_int_equal(lcsm_graph_forward(r.g, &opt, &err), LCSM_OK);
        assert_int_equal(lcsm_graph_backward(r.g, &opt, &err), LCSM_OK);
        for (size_t j = 0; j < n; j++)
            assert_float_equal(((float *)r.params->grads)[j], 2 * once[j], 1e-5f);
        free(once);
        release(&r);
    }
    lcsm_context_free(ctx);
}

/* ---- a block of a model ---- */

enum { LAYERS = 4, WIDTH = 32, HIDDEN = 80, STEPS = 64, BATCH = 2 };

static lcsm_tensor *layer(lcsm_graph *g, lcsm_tensor *x, int j)
{
    lcsm_scope_push(g, "layers.%d", j);
    lcsm_block_begin(g);
    lcsm_init    init = lcsm_init_normal(0.1);
    lcsm_tensor *h    = lcsm_rms_norm(
           g, x, lcsm_param_tensor(g, "norm", lcsm_dims(WIDTH), lcsm_init_constant(1), 0), 1e-5);
    lcsm_tensor *a =
        lcsm_linear(g, h, lcsm_param_tensor(g, "w1", lcsm_dims(HIDDEN, WIDTH), init, 0), NULL);
    lcsm_tensor *b =
        lcsm_linear(g, h, lcsm_param_tensor(g, "w2", lcsm_dims(HIDDEN, WIDTH), init, 0), NULL);
    lcsm_tensor *y =
        lcsm_linear(g, lcsm_glu(g, LCSM_ACT_SILU, a, b),
                    lcsm_param_tensor(g, "w3", lcsm_dims(WIDTH, HIDDEN), init, 0), NULL);
    x = lcsm_add(g, x, y);
    lcsm_block_end(g);
    lcsm_scope_pop(g);
    return x;
}

static lcsm_graph *stack(const lcsm_context *ctx, lcsm_params *params, const lcsm_plan_options *opt)
{
    lcsm_graph *g;
    lcsm_error  err = {0};
    assert_int_equal(lcsm_graph_create(&g, ctx, params, &err), LCSM_OK);
    lcsm_tensor *x = lcsm_input(g, "x", LCSM_F32, lcsm_dims(BATCH, STEPS, WIDTH)), *in = x;
    for (int j = 0; j < LAYERS; j++) x = layer(g, x, j);
    lcsm_loss(g, lcsm_mean(g, lcsm_mul(g, x, x)));
    if (lcsm_graph_plan(g, opt, &err) != LCSM_OK) fail_msg("%s", err.text);
    lcsm_rng_fill_normal_f32(in->data, (size_t)lcsm_tensor_count(in), 1, 1, 0);
    return g;
}

TEST(plan_of_a_residual_stack_reaches_its_lower_bound)
{
    lcsm_context *ctx = new_context();
    lcsm_params  *params;
    assert_int_equal(lcsm_params_create(&params, LCSM_F32, 1, NULL), LCSM_OK);
    lcsm_graph *train  = stack(ctx, params, &(lcsm_plan_options){.train = true});
    lcsm_graph *again  = stack(ctx, params, &(lcsm_plan_options){.train = true, .recompute = true});
    lcsm_graph *infer  = stack(ctx, params, NULL);
    lcsm_plan_report t = lcsm_graph_report(train), a = lcsm_graph_report(again),
                     i = lcsm_graph_report(infer);
    size_t wide        = BATCH * STEPS * HIDDEN * sizeof(float);
    /* Greedy placement may miss the bound; here it does not by more than a few pieces. */
    assert_true(t.arena <= t.live + t.live / 10);
    assert_true(a.arena < t.arena && i.arena < a.arena);
    assert_true(i.live < 6 * wide); /* three values, and the panels that the product packs */
    lcsm_graph_free(train);
    lcsm_graph_free(again);
    lcsm_graph_free(infer);
    lcsm_params_free(params);
    lcsm_context_free(ctx);
}
