/* test_train_bf16.c - training in bfloat16: its gradients against those of float32, what stays
 * exact and bit-identical, how much memory it takes, and that it learns. */
#include <lcsm/bench_train.h>
#include <lcsm/train.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "graph/internal.h"
#include "model/config.h"
#include "model/model_graph.h"
#include "model/model_weights.h"
#include "test.h"
#include "train/settings.h"
#include "train/trainer.h"

enum { B = 4, T = 48, VOCAB = 61, LAYERS = 2, N = B * T };

/* One of each kind: a decay per row and per head, the delta rule, complex and static operands, a
 * running maximum, a long convolution, softmax attention, and a code. */
static const char *const MODELS[][2] = {
    {"method", "gla"},       {"method", "mamba2"}, {"method", "gated-deltanet"},
    {"method", "attention"}, {"code", "1-1-1-4"},  {"method", "mamba"},
    {"method", "rwkv4"},     {"method", "rwkv7"},  {"method", "hgrn"},
    {"method", "s4d"},       {"method", "tnn"},
};

typedef struct {
    lcsm_context *ctx;
    lcsm_model   *model;
    lcsm_trainer *trainer;
    int32_t       tokens[2 * N], targets[2 * N];
} rig;

typedef struct {
    const char *const *model;
    int                precision, threads;
    ptrdiff_t          accumulate, shards;
    bool               recompute;
} want;

static rig rig_make(const want *w)
{
    rig                  r = {0};
    lcsm_model_config    m;
    lcsm_train_config    c;
    lcsm_context_options o = {.size = sizeof o, .threads = w->threads};
    lcsm_model_config_defaults(&m);
    m.vocab = VOCAB, m.d_model = 32, m.layers = LAYERS, m.heads = 2;
    assert_int_equal(lcsm_model_config_set(&m, w->model[0], w->model[1], NULL), LCSM_OK);
    lcsm_train_config_defaults(&c);
    c.batch_size = B, c.seq_len = T, c.warmup = 0, c.steps = 100, c.lr = 0.01;
    c.precision = w->precision, c.recompute = w->recompute;
    if (w->accumulate > 0) c.accumulate = w->accumulate;
    c.shards = w->shards;
    assert_int_equal(lcsm_context_create(&r.ctx, &o, NULL), LCSM_OK);
    assert_int_equal(lcsm_model_create(&r.model, r.ctx, &m, 1, NULL), LCSM_OK);
    assert_int_equal(lcsm_trainer_create(&r.trainer, r.model, &c, 0, NULL), LCSM_OK);
    for (size_t j = 0; j < 2 * N; j++) {
        r.tokens[j]  = (int32_t)(lcsm_rng_uniform(1, 2, j) * VOCAB);
        r.targets[j] = (r.tokens[j] + 3) % VOCAB;
    }
    return r;
}

static void rig_free(rig *r)
{
    lcsm_trainer_free(r->trainer);
    lcsm_model_free(r->model);
    lcsm_context_free(r->ctx);
}

static double step(rig *r)
{
    lcsm_update u = {.size = sizeof u};
    assert_int_equal(lcsm_trainer_step(r->trainer, r->tokens, r->targets, NULL, &u, NULL), LCSM_OK);
    return u.loss;
}

static bool same_bits(const rig *a, const rig *b)
{
    return memcmp(a->model->params->values, b->model->params->values,
                  a->model->params->block * sizeof(float))
        == 0;
}

/* |a - b| / |b| over all gradients. */
static double gradients_apart(const rig *a, const rig *b)
{
    const float *x = a->model->params->grads, *y = b->model->params->grads;
    double       apart = 0, all = 0;
    for (size_t j = 0; j < a->model->params->block; j++) {
        apart += pow((double)x[j] - (double)y[j], 2);
        all += pow((double)y[j], 2);
    }
    return sqrt(apart / all);
}

/* Both factors of a product are rounded, each by at most 2^-8 of itself and 2^-9.3 in root mean
 * square, so errors of 2^-8 of the result are more than is typical. A gradient comes through at
 * most 4 products of every layer and the head, forward and backward, whose errors are independent.
 */
TEST(train_bf16_gradients_are_near_those_of_float32)
{
    double bound = ldexp(sqrt(2 * (4 * LAYERS + 1)), -8);
    for (size_t j = 0; j < COUNT(MODELS); j++) {
        rig    a = rig_make(&(want){.model = MODELS[j], .precision = LCSM_PRECISION_BF16});
        rig    b = rig_make(&(want){.model = MODELS[j]});
        double x = step(&a), y = step(&b), apart = gradients_apart(&a, &b);
        assert_true(fabs(x - y) < ldexp(y, -8));
        assert_true(apart < bound);
        assert_true(apart > 0);
        rig_free(&a);
        rig_free(&b);
    }
}

/* Blocks that are computed again begin with exact values. */
TEST(train_bf16_recomputes_with_gradients_as_near)
{
    double bound = ldexp(sqrt(2 * (4 * LAYERS + 1)), -8);
    rig    a =
        rig_make(&(want){.model = MODELS[0], .precision = LCSM_PRECISION_BF16, .recompute = true});
    rig b = rig_make(&(want){.model = MODELS[0]});
    (void)step(&a), (void)step(&b);
    assert_true(gradients_apart(&a, &b) < bound);
    rig_free(&a);
    rig_free(&b);
}

/* With as many sequences as threads, as in float32 (docs/numerics.md). */
TEST(train_bf16_is_bit_identical_on_any_number_of_threads)
{
    for (size_t j = 0; j < COUNT(MODELS); j++)
        for (int split = 0; split < 2; split++) {
            want w    = {.model      = MODELS[j],
                         .precision  = LCSM_PRECISION_BF16,
                         .threads    = 1,
                         .accumulate = 1 + split,
                         .shards     = 1 + split};
            rig  a    = rig_make(&w);
            w.threads = 2;
            rig b     = rig_make(&w);
            for (int k = 0; k < 2; k++) assert_true(step(&a) == step(&b));
            assert_true(same_bits(&a, &b));
            rig_free(&a);
            rig_free(&b);
        }
}

TEST(train_bf16_evaluates_the_weights_in_float32)
{
    for (size_t j = 0; j < COUNT(MODELS); j++) {
        rig        a = rig_make(&(want){.model = MODELS[j], .precision = LCSM_PRECISION_BF16});
        rig        b = rig_make(&(want){.model = MODELS[j]});
        lcsm_tally x = {0}, y = {0};
        assert_int_equal(lcsm_trainer_evaluate(a.trainer, a.tokens, a.targets, &x, NULL), LCSM_OK);
        assert_int_equal(lcsm_trainer_evaluate(b.trainer, b.tokens, b.targets, &y, NULL), LCSM_OK);
        assert_true(x.loss == y.loss);
        rig_free(&a);
        rig_free(&b);
    }
}

/* As float32 does, to within what a step more or less makes. */
TEST(train_bf16_learns_as_float32_does)
{
    enum { STEPS = 40 };
    for (size_t j = 0; j < 5; j++) {
        rig    a = rig_make(&(want){.model = MODELS[j], .precision = LCSM_PRECISION_BF16});
        rig    b = rig_make(&(want){.model = MODELS[j]});
        double x = 0, y = 0, first = step(&a);
        (void)step(&b);
        for (int k = 0; k < STEPS; k++) x = step(&a), y = step(&b);
        assert_true(y < first / 4);
        assert_true(x < 1.1 * y + 0.02);
        rig_free(&a);
        rig_free(&b);
    }
}

/* ---- the plan ---- */

/* Of the paper-sized model, whose weights are of no account here. */
static lcsm_plan_report plan_of(bool bf16, ptrdiff_t batch, ptrdiff_t length)
{
    lcsm_model_want   ends = {.whole = true, .loss = true, .ignore = LCSM_TARGET_NONE};
    lcsm_plan_options plan = {.train = true, .both = true};
    lcsm_context     *ctx;
    lcsm_params      *params;
    lcsm_graph       *g;
    lcsm_model_io     io;
    lcsm_model_config m;
    lcsm_train_config c;
    lcsm_model_config_defaults(&m);
    lcsm_train_config_defaults(&c);
    lcsm_bench_train_settings(&m, &c);
    assert_int_equal(lcsm_context_create(&ctx, NULL, NULL), LCSM_OK);
    assert_int_equal(lcsm_params_create(&params, LCSM_F32, 1, NULL), LCSM_OK);
    params->blank = true;
    assert_int_equal(lcsm_graph_create(&g, ctx, params, NULL), LCSM_OK);
    if (bf16) lcsm_graph_use_bf16(g);
    assert_int_equal(lcsm_model_build(g, &m, batch, length, &ends, &io, NULL), LCSM_OK);
    assert_int_equal(lcsm_graph_plan(g, &plan, NULL), LCSM_OK);
    lcsm_plan_report r = lcsm_graph_report(g);
    lcsm_graph_free(g);
    lcsm_params_free(params);
    lcsm_context_free(ctx);
    return r;
}

TEST(train_bf16_plans_six_tenths_of_the_memory)
{
    lcsm_plan_report f32 = plan_of(false, 4, 512), b16 = plan_of(true, 4, 512);
    assert_true((double)b16.arena <= 0.6 * (double)f32.arena);
    assert_true(b16.arena == b16.live);
    assert_true(f32.kept == 0);
    assert_true(2 * b16.kept > b16.arena);
}
