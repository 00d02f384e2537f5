/* test_o_trained.c - a model whose o is not trained: what gets a gradient, and what stays. */
#include <lcsm/train.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "loss_rig.h"
#include "model/config.h"
#include "model/model_graph.h"
#include "model/model_weights.h"
#include "test.h"
#include "train/settings.h"

enum { B = 2, T = 7, VOCAB = 11 };

static const char *const CODES[] = {"1-0-1-0",  "0-1-1-2",  "1-2-1-0", "1-3-0-4", "1-4-1-0",
                                    "1-5-1-0",  "1-6-1-0",  "0-7-0-0", "1-8-1-0", "1-9-1-4",
                                    "1-10-1-0", "1-11-1-0", "0"};

static lcsm_model_config config_of(const char *code, bool trained)
{
    lcsm_model_config m;
    lcsm_model_config_defaults(&m);
    m.vocab = VOCAB, m.d_model = 9, m.layers = 1, m.expand = 5, m.rank = 2, m.tied = false;
    m.o_trained = trained;
    (void)snprintf(m.code, sizeof m.code, "%s", code);
    return m;
}

/* Whether a parameter makes o and nothing else. */
static bool makes_o(const char *name)
{
    return strstr(name, "mixer.o_") != NULL || strstr(name, "theta") != NULL
        || strstr(name, "log_a") != NULL;
}

/* Whether it comes before o: a finite difference goes through o, the gradient does not. */
static bool is_before_o(const char *name)
{
    return strstr(name, "embedding") != NULL || strstr(name, "norm1") != NULL
        || strstr(name, "mixer.dt_") != NULL;
}

/* ---- the gradient, in double ---- */

static void check_gradient(loss_rig *r, const char *code, size_t at, bool data)
{
    const lcsm_param *row = &r->params->list[at];
    double            off = loss_gradient_error(r, at);
    if (makes_o(row->name)) {
        if (loss_gradient_size(r, at) > 0) fail_msg("%s: %s has a gradient", code, row->name);
    } else if (data && is_before_o(row->name)) {
        if (!(off > 1e-6)) fail_msg("%s: the gradient of %s goes through o", code, row->name);
    } else if (!(off < 1e-8)) {
        fail_msg("%s: the gradient of %s is off by %g", code, row->name, off);
    }
}

static bool o_follows_the_data(const char *code)
{
    if (strlen(code) < 4) return true; /* the SSM */
    return strchr("236789", code[2]) != NULL || (code[2] == '1' && code[3] == '-');
}

TEST(o_that_is_not_trained_gets_no_gradient_and_passes_none)
{
    for (size_t c = 0; c < COUNT(CODES); c++) {
        lcsm_model_config cfg  = config_of(CODES[c], false);
        loss_rig          r    = loss_rig_make(&cfg, B, T, VOCAB, 0);
        bool              data = o_follows_the_data(CODES[c]);
        (void)loss_of(&r);
        assert_int_equal(lcsm_graph_backward(r.g, &(lcsm_run_options){0}, NULL), LCSM_OK);
        for (size_t j = 0; j < r.params->count; j++) check_gradient(&r, CODES[c], j, data);
        loss_rig_free(&r);
    }
}

TEST(o_that_is_not_trained_gives_the_same_outputs)
{
    for (size_t c = 0; c < COUNT(CODES); c++) {
        lcsm_model_config a = config_of(CODES[c], true), b = config_of(CODES[c], false);
        loss_rig one = loss_rig_make(&a, B, T, VOCAB, 0), two = loss_rig_make(&b, B, T, VOCAB, 0);
        assert_true(loss_of(&one) == loss_of(&two));
        assert_int_equal(lcsm_params_total(one.params), lcsm_params_total(two.params));
        loss_rig_free(&one);
        loss_rig_free(&two);
    }
}

/* ---- the memory in bfloat16 ---- */

static double loss_in(loss_rig *r, bool training)
{
    lcsm_run_options opt = {.training = training};
    assert_int_equal(lcsm_graph_forward(r->g, &opt, NULL), LCSM_OK);
    return *(const double *)r->io.loss->data;
}

TEST(memory_in_bfloat16_is_one_of_training)
{
    for (size_t c = 0; c < COUNT(CODES); c++) {
        lcsm_model_config a = config_of(CODES[c], true), b = a;
        if (strcmp(CODES[c], "1-11-1-0") == 0) continue; /* complex */
        b.memory_type = LCSM_MEMORY_BF16;
        loss_rig one = loss_rig_make(&a, B, T, VOCAB, 0), two = loss_rig_make(&b, B, T, VOCAB, 0);
        double   plain = loss_in(&one, true), off = loss_in(&two, true) - plain;
        assert_true(loss_in(&one, false) == plain);
        /* in other forms, which are equal up to the order of sums */
        assert_true(fabs(loss_in(&two, false) - plain) < 1e-12);
        assert_true(fabs(off) > 1e-7 && fabs(off) < 0.05);
        loss_rig_free(&one);
        loss_rig_free(&two);
    }
}

/* ---- steps ---- */

static void train(const char *code, bool trained, bool moved[2])
{
    lcsm_model_config m = config_of(code, trained);
    lcsm_train_config t;
    lcsm_context     *ctx;
    lcsm_model       *model;
    lcsm_trainer     *trainer;
    lcsm_update       u = {.size = sizeof u};
    int32_t           tokens[B * T], targets[B * T];
    float             before[4096];
    lcsm_train_config_defaults(&t);
    t.batch_size = B, t.seq_len = T, t.steps = 4, t.warmup = 0, t.lr = 0.01;
    t.weight_decay = 0.5, t.decay_all = true;
    for (size_t j = 0; j < B * T; j++) tokens[j] = targets[j] = (int32_t)(j * 7 % VOCAB);
    assert_int_equal(lcsm_context_create(&ctx, NULL, NULL), LCSM_OK);
    assert_int_equal(lcsm_model_create(&model, ctx, &m, 1, NULL), LCSM_OK);
    assert_int_equal(lcsm_trainer_create(&trainer, model, &t, 0, NULL), LCSM_OK);
    const lcsm_params *p = model->params;
    assert_true(p->block <= COUNT(before));
    memcpy(before, p->values, p->block * sizeof *before);
    for (int j = 0; j < 4; j++)
        assert_int_equal(lcsm_trainer_step(trainer, tokens, targets, NULL, &u, NULL), LCSM_OK);
    for (size_t j = 0; j < p->count; j++) {
        const lcsm_param *row = &p->list[j];
        bool same             = memcmp(before + row->offset, (const float *)p->values + row->offset,
                                       row->count * sizeof(float))
                 == 0;
        if (!same) moved[makes_o(row->name)] = true;
        else if (!makes_o(row->name)) fail_msg("%s: %s does not learn", code, row->name);
    }
    lcsm_trainer_free(trainer);
    lcsm_model_free(model);
    lcsm_context_free(ctx);
}

TEST(o_that_is_not_trained_keeps_its_initial_values_under_decay)
{
    for (size_t c = 0; c < COUNT(CODES); c++) {
        bool as_usual[2] = {false, false}, stopped[2] = {false, false};
        bool fixed = strncmp(CODES[c], "1-10", 4) == 0 || strncmp(CODES[c], "1-11", 4) == 0;
        train(CODES[c], true, as_usual);
        train(CODES[c], false, stopped);
        assert_true(as_usual[false] && stopped[false]);
        assert_int_equal(as_usual[true], !fixed);
        assert_false(stopped[true]);
    }
}
