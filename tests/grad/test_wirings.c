/* test_wirings.c - models of the tasks that need other ends: the decoder of one position, and pairs
 * that share a position. Gradients in double, what the ends are made of, and that they learn. */
#include <lcsm/train.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "loss_rig.h"
#include "model/config.h"
#include "model/model_graph.h"
#include "model/model_weights.h"
#include "test.h"
#include "train/batches.h"
#include "train/settings.h"
#include "train/trainer.h"

enum { B = 2, T = 5, VOCAB = 8, D = 6 };

static lcsm_model_config config_of(int wiring)
{
    lcsm_model_config m;
    lcsm_model_config_defaults(&m);
    m.vocab = VOCAB, m.d_model = D, m.layers = 1, m.heads = 1, m.hidden = 5, m.wiring = wiring;
    (void)snprintf(m.method, sizeof m.method, "gla");
    return m;
}

static loss_rig rig_make(int wiring)
{
    lcsm_model_config cfg  = config_of(wiring);
    int               most = wiring == LCSM_WIRING_STACKED ? VOCAB / 2 : VOCAB;
    loss_rig          r    = loss_rig_make(&cfg, B, T, most, 0);
    for (size_t j = 0; j < (size_t)B * T && r.io.second != NULL; j++)
        ((int32_t *)r.io.second->data)[j] =
            (int32_t)(VOCAB / 2 + lcsm_rng_uniform(1, 4, j) * (VOCAB / 2 + 1));
    return r;
}

static void check_param(loss_rig *r, size_t row)
{
    double off = loss_gradient_error(r, row);
    if (!(off <= 1e-7)) fail_msg("%s: the gradient is off by %g", r->params->list[row].name, off);
}

TEST(wirings_have_gradients_that_match_finite_differences)
{
    static const int wirings[] = {LCSM_WIRING_AUTOENCODER, LCSM_WIRING_STACKED};
    for (int w = 0; w < 2; w++) {
        loss_rig r = rig_make(wirings[w]);
        (void)loss_of(&r);
        assert_int_equal(lcsm_graph_backward(r.g, &(lcsm_run_options){.loss_scale = 1}, NULL),
                         LCSM_OK);
        for (size_t j = 0; j < r.params->count; j++)
            if ((r.params->list[j].flags & LCSM_PARAM_FROZEN) == 0) check_param(&r, j);
        loss_rig_free(&r);
    }
}

/* All that the loss knows of the sequence has passed through its last position: with one layer that
 * remembers nothing of the others, the outputs are those of the last token. */
TEST(wirings_decode_the_last_position_alone)
{
    loss_rig          r      = rig_make(LCSM_WIRING_AUTOENCODER);
    const lcsm_param *row    = &r.params->list[0];
    double            before = loss_of(&r);
    for (size_t j = 0; j < r.params->count; j++)
        if (strcmp(r.params->list[j].name, "decoder.frequencies") == 0) row = &r.params->list[j];
    const double *f = (const double *)r.params->values + row->offset;
    assert_int_equal(row->count, D / 2);
    assert_true((row->flags & LCSM_PARAM_FROZEN) != 0);
    for (int j = 0; j < D / 2; j++) assert_true(fabs(f[j] - pow(10000, -j / 2.0)) < 1e-12);
    ((int32_t *)r.io.tokens->data)[T - 1] ^= 1;
    assert_true(fabs(loss_of(&r) - before) > 1e-6);
    loss_rig_free(&r);
}

TEST(wirings_of_pairs_have_rows_of_length_one_and_none_for_no_value)
{
    loss_rig      r     = rig_make(LCSM_WIRING_STACKED);
    const double *table = NULL;
    for (size_t j = 0; j < r.params->count; j++)
        if (strcmp(r.params->list[j].name, "embedding.weight") == 0)
            table = (const double *)r.params->values + r.params->list[j].offset;
    assert_non_null(table);
    for (int row = 0; row <= VOCAB; row++) {
        double sum = 0;
        for (int j = 0; j < D / 2; j++) sum += table[row * D / 2 + j] * table[row * D / 2 + j];
        assert_true(fabs(sum - (row < VOCAB)) < 1e-12);
    }
    loss_rig_free(&r);
}

/* Steps of a task, and the part of new examples that is right then. */
static double learned(const char *task, const char *method, const char *sizes, int steps)
{
    char              key[32], value[32];
    int               n = 0;
    lcsm_context     *ctx;
    lcsm_model       *model;
    lcsm_trainer     *t;
    lcsm_tally        sum;
    lcsm_update       u = {.size = sizeof u};
    lcsm_model_config m;
    lcsm_train_config c;
    lcsm_model_config_defaults(&m);
    lcsm_train_config_defaults(&c);
    assert_int_equal(lcsm_train_config_set(&c, "task", task, NULL), LCSM_OK);
    for (; sscanf(sizes, " %31s %31s%n", key, value, &n) == 2; sizes += n)
        assert_int_equal(lcsm_train_config_find(key, NULL)
                             ? lcsm_train_config_set(&c, key, value, NULL)
                             : lcsm_model_config_set(&m, key, value, NULL),
                         LCSM_OK);
    (void)snprintf(m.method, sizeof m.method, "%s", method);
    c.fresh = true, c.test_examples = 64, c.warmup = 10, c.weight_decay = 0;
    lcsm_train_wire(&c, &m);
    lcsm_batches from = lcsm_batches_examples(&c, m.vocab, false);
    int32_t     *x    = calloc(2 * (size_t)from.B * (size_t)from.T, sizeof *x);
    assert_int_equal(lcsm_context_create(&ctx, NULL, NULL), LCSM_OK);
    assert_int_equal(lcsm_model_create(&model, ctx, &m, 1, NULL), LCSM_OK);
    assert_int_equal(lcsm_trainer_create(&t, model, &c, steps, NULL), LCSM_OK);
    for (int j = 0; j < steps; j++) {
        lcsm_batches_fill(&from, j, x, x + from.B * from.T, NULL);
        assert_int_equal(lcsm_trainer_step(t, x, x + from.B * from.T, NULL, &u, NULL), LCSM_OK);
    }
    assert_int_equal(lcsm_evaluate_task(model, &c, &sum, NULL, NULL), LCSM_OK);
    lcsm_trainer_free(t);
    lcsm_model_free(model);
    lcsm_context_free(ctx);
    free(x);
    return (double)sum.right / (double)sum.count;
}

TEST(wirings_learn_their_tasks)
{
    double pairs = learned("stacked-recall", "deltanet",
                           "vocab 16 pairs 3 seq_len 6 d_model 32 heads 1 layers 1 batch_size 32 "
                           "lr 0.01 conv_width 0",
                           400);
    double whole =
        learned("mad-compression", "gla",
                "vocab 4 seq_len 4 d_model 32 heads 1 layers 1 batch_size 32 lr 0.01", 1000);
    print_message("stacked recall %.2f, compression %.2f\n", pairs, whole);
    assert_true(pairs > 0.9); /* chance 1/8 */
    assert_true(whole > 0.7); /* chance 1/2: the last token is known */
}
