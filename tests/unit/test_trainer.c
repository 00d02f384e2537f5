/* test_trainer.c - one update at a time: what is learned, what counts, what is refused. */
#include <lcsm/train.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "model/config.h"
#include "model/model_weights.h"
#include "test.h"
#include "train/settings.h"

enum { B = 4, T = 8, VOCAB = 11 };

typedef struct {
    lcsm_context     *ctx;
    lcsm_model       *model;
    lcsm_trainer     *trainer;
    lcsm_train_config cfg;
    int32_t           tokens[2 * B * T], targets[2 * B * T];
} rig;

static rig rig_of(ptrdiff_t batch, ptrdiff_t accumulate, const char *method, int wiring, int task)
{
    rig               r = {0};
    lcsm_model_config m;
    lcsm_model_config_defaults(&m);
    m.vocab = VOCAB, m.d_model = 16, m.layers = 2, m.heads = 2, m.wiring = wiring;
    (void)snprintf(m.method, sizeof m.method, "%s", method);
    lcsm_train_config_defaults(&r.cfg);
    r.cfg.batch_size = batch, r.cfg.seq_len = T, r.cfg.accumulate = accumulate;
    r.cfg.task = task, r.cfg.pairs = 2;
    r.cfg.warmup = 0, r.cfg.steps = 100, r.cfg.lr = 0.01;
    assert_int_equal(lcsm_context_create(&r.ctx, NULL, NULL), LCSM_OK);
    assert_int_equal(lcsm_model_create(&r.model, r.ctx, &m, 1, NULL), LCSM_OK);
    assert_int_equal(lcsm_trainer_create(&r.trainer, r.model, &r.cfg, 0, NULL), LCSM_OK);
    for (size_t j = 0; j < 2 * B * T; j++) {
        r.tokens[j]  = (int32_t)(lcsm_rng_uniform(1, 2, j) * VOCAB);
        r.targets[j] = (r.tokens[j] + 3) % VOCAB;
    }
    return r;
}

static rig rig_make(ptrdiff_t batch, ptrdiff_t accumulate)
{
    return rig_of(batch, accumulate, "gla", LCSM_WIRING_LM, LCSM_TASK_LM);
}

static void rig_free(rig *r)
{
    lcsm_trainer_free(r->trainer);
    lcsm_model_free(r->model);
    lcsm_context_free(r->ctx);
}

TEST(trainer_learns_a_rule_of_tokens)
{
    rig         r = rig_make(B, 1);
    lcsm_update u = {.size = sizeof u};
    double      first;
    assert_int_equal(lcsm_trainer_step(r.trainer, r.tokens, r.targets, NULL, &u, NULL), LCSM_OK);
    first = u.loss;
    for (int j = 0; j < 80; j++)
        assert_int_equal(lcsm_trainer_step(r.trainer, r.tokens, r.targets, NULL, &u, NULL),
                         LCSM_OK);
    assert_int_equal(u.step, 81);
    assert_int_equal(u.tokens, 81 * B * T);
    assert_true(first > 2);
    assert_true(u.loss < 0.1);
    assert_true(u.accuracy > 0.99);
    lcsm_tally sum = {0};
    assert_int_equal(lcsm_trainer_evaluate(r.trainer, r.tokens, r.targets, &sum, NULL), LCSM_OK);
    assert_int_equal(sum.count, B * T);
    assert_true(sum.loss / (double)sum.count < 0.1);
    rig_free(&r);
}

/* Losses of three steps on one batch, of a model with dropout that does not learn. */
static void losses_of(ptrdiff_t accumulate, int64_t seed, double loss[3])
{
    rig               r = rig_make(B, 1);
    lcsm_model_config m = *lcsm_model_config_of(r.model);
    lcsm_update       u = {.size = sizeof u};
    lcsm_trainer_free(r.trainer);
    lcsm_model_free(r.model);
    m.dropout        = 0.5;
    r.cfg.lr         = 1e-30;
    r.cfg.seed       = seed;
    r.cfg.accumulate = accumulate;
    assert_int_equal(lcsm_model_create(&r.model, r.ctx, &m, 1, NULL), LCSM_OK);
    assert_int_equal(lcsm_trainer_create(&r.trainer, r.model, &r.cfg, 0, NULL), LCSM_OK);
    for (size_t j = 0; j < B * T; j++) {
        r.tokens[B * T + j]  = r.tokens[j];
        r.targets[B * T + j] = r.targets[j];
    }
    for (int j = 0; j < 3; j++) {
        assert_int_equal(lcsm_trainer_step(r.trainer, r.tokens, r.targets, NULL, &u, NULL), 0);
        loss[j] = u.loss;
    }
    rig_free(&r);
}

TEST(trainer_drops_other_numbers_in_every_step_and_batch_and_by_every_seed)
{
    double a[3], again[3], other[3], twice[3];
    losses_of(1, 1, a);
    losses_of(1, 1, again);
    losses_of(1, 2, other);
    losses_of(2, 1, twice);
    for (int j = 0; j < 3; j++) {
        assert_true(a[j] == again[j]);
        assert_true(a[j] != a[(j + 1) % 3]);
        assert_true(a[j] != other[j]);
    }
    /* Two batches of the same tokens: steps 0 and 1 of the plain run, if both drop anew. */
    assert_true(fabs(twice[0] - (a[0] + a[1]) / 2) < 1e-6);
}

/* Sums in another order: a few units in the last place of the largest. */
static void assert_same_gradients(const rig *one, const rig *two)
{
    const lcsm_params *p = one->model->params;
    const float       *g = p->grads, *h = two->model->params->grads;
    double             largest = 0, apart = 0;
    for (size_t j = 0; j < p->block; j++) {
        largest = fmax(largest, fabs((double)g[j]));
        apart   = fmax(apart, fabs((double)g[j] - (double)h[j]));
    }
    assert_true(apart < 2e-6 * largest);
}

/* Two batches of B with different numbers of targets are one batch of 2 B: the sums are the same
 * but for the order of adding floats. AdamW's first step is lr times the sign of a gradient, which
 * may differ where the gradient is as small as its rounding, so the gradients are compared. */
TEST(trainer_accumulates_the_mean_over_all_targets)
{
    rig         one = rig_make(2 * B, 1), two = rig_make(B, 2);
    lcsm_update a = {.size = sizeof a}, b = {.size = sizeof b};
    for (size_t j = 0; j < B * T / 2; j++) one.targets[j] = two.targets[j] = LCSM_TARGET_NONE;
    assert_int_equal(lcsm_trainer_step(one.trainer, one.tokens, one.targets, NULL, &a, NULL), 0);
    assert_int_equal(lcsm_trainer_step(two.trainer, two.tokens, two.targets, NULL, &b, NULL), 0);
    assert_int_equal(a.tokens, 2 * B * T - B * T / 2);
    assert_int_equal(b.tokens, a.tokens);
    assert_true(fabs(a.loss - b.loss) < 1e-6 * a.loss);
    assert_same_gradients(&one, &two);
    rig_free(&one);
    rig_free(&two);
}

/* Recall computes its last layers where a label is, and nowhere else; the other trainer computes
 * all steps and ignores most of them. */
static void prove_labels(const char *method, int wiring)
{
    rig         some = rig_of(B, 1, method, wiring, LCSM_TASK_MQAR);
    rig         all  = rig_of(B, 1, method, wiring, LCSM_TASK_LM);
    lcsm_update a = {.size = sizeof a}, b = {.size = sizeof b};
    lcsm_error  err = {0};
    for (size_t j = 0; j < B * T; j++) /* 2, 3, 2 and 0 of a sequence */
        if (j / T == 3 || j < 4 || j % T < 2 || j % T % 2 == 0 || j == 2 * T + 5)
            some.targets[j] = all.targets[j] = LCSM_TARGET_NONE;
    assert_int_equal(lcsm_trainer_step(some.trainer, some.tokens, some.targets, NULL, &a, NULL), 0);
    assert_int_equal(lcsm_trainer_step(all.trainer, all.tokens, all.targets, NULL, &b, NULL), 0);
    assert_true(a.tokens == 7 && b.tokens == 7);
    assert_true(fabs(a.loss - b.loss) < 1e-6 * a.loss);
    assert_same_gradients(&some, &all);
    for (size_t j = 0; j < B * T; j++) some.targets[j] = 1;
    assert_int_equal(lcsm_trainer_step(some.trainer, some.tokens, some.targets, NULL, &a, &err),
                     LCSM_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "more than 8 targets"));
    rig_free(&some);
    rig_free(&all);
}

TEST(trainer_of_recall_computes_only_what_labels_need)
{
    prove_labels("custom", LCSM_WIRING_MQAR); /* the operator itself reads only there */
    prove_labels("m1", LCSM_WIRING_MQAR);
    prove_labels("retnet", LCSM_WIRING_MQAR);
    prove_labels("gla", LCSM_WIRING_MQAR_PLAIN);
    prove_labels("rwkv4", LCSM_WIRING_LM);
}

TEST(trainer_without_targets_learns_nothing_and_is_finite)
{
    rig         r = rig_make(B, 1);
    lcsm_update u = {.size = sizeof u};
    for (size_t j = 0; j < B * T; j++) r.targets[j] = LCSM_TARGET_NONE;
    assert_int_equal(lcsm_trainer_step(r.trainer, r.tokens, r.targets, NULL, &u, NULL), LCSM_OK);
    assert_int_equal(u.tokens, 0);
    assert_true(isnan(u.loss));
    assert_true(u.grad_norm == 0);
    rig_free(&r);
}

TEST(trainer_names_the_step_and_the_tensor_that_is_not_finite)
{
    rig         r   = rig_make(B, 1);
    lcsm_error  err = {0};
    lcsm_update u   = {.size = sizeof u};
    int         row = lcsm_params_find(r.model->params, "layers.1.norm2.weight");
    assert_true(row >= 0);
    ((float *)lcsm_param_values(r.model->params, row))[3] = NAN;
    assert_int_equal(lcsm_trainer_step(r.trainer, r.tokens, r.targets, NULL, &u, &err),
                     LCSM_ERR_NUMBER);
    assert_non_null(strstr(err.text, "step 1"));
    assert_non_null(strstr(err.text, "layers.1"));
    lcsm_tally sum = {0};
    assert_int_equal(lcsm_trainer_evaluate(r.trainer, r.tokens, r.targets, &sum, &err),
                     LCSM_ERR_NUMBER);
    assert_non_null(strstr(err.text, "evaluation after step 0"));
    assert_non_null(strstr(err.text, "layers.1"));
    assert_int_equal(sum.count, 0);
    rig_free(&r);
}

TEST(trainer_refuses_a_token_beyond_the_vocabulary)
{
    rig         r   = rig_make(B, 1);
    lcsm_error  err = {0};
    lcsm_update u   = {.size = sizeof u};
    r.targets[5]    = VOCAB;
    assert_int_not_equal(lcsm_trainer_step(r.trainer, r.tokens, r.targets, NULL, &u, &err),
                         LCSM_OK);
    assert_non_null(strstr(err.text, "11"));
    rig_free(&r);
}

TEST(train_settings_name_the_nearest_key)
{
    lcsm_train_config c;
    lcsm_error        err = {0};
    lcsm_train_config_defaults(&c);
    assert_int_equal(lcsm_train_config_set(&c, "batch-size", "3", &err), LCSM_OK);
    assert_int_equal(c.batch_size, 3);
    assert_int_equal(lcsm_train_config_set(&c, "batchsize", "3", &err), LCSM_ERR_CONFIG);
    assert_non_null(strstr(err.text, "batch_size"));
    assert_int_equal(lcsm_train_config_set(&c, "lr", "fast", &err), LCSM_ERR_CONFIG);
    assert_int_equal(lcsm_train_config_set(&c, "steps", "-1", &err), LCSM_ERR_CONFIG);
}
