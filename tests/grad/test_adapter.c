/* test_adapter.c - low-rank adapters: their gradients, what they leave alone, and merging them. */
#include <lcsm/session.h>
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
#include "temp_folder.h"
#include "test.h"
#include "train/settings.h"

enum { B = 2, T = 5, VOCAB = 11 };

/* A few methods of each kind, softmax attention, experts, and a head of its own with an adapter. */
static const char *const MODELS[][5] = {
    {"method", "gla", "tied", "false", ""},
    {"method", "mamba", "tied", "true", ""},
    {"method", "mamba2", "tied", "true", "proj"},
    {"method", "rwkv7", "tied", "true", ""},
    {"method", "gated-deltanet", "tied", "false", "head,mixer.q"},
    {"layers_pattern", "hgrn2,attention", "tied", "true", ""},
    {"layers_pattern", "retnet", "experts", "2", ""},
};

static lcsm_model_config config_of(const char *const model[5])
{
    lcsm_model_config m;
    lcsm_model_config_defaults(&m);
    m.vocab = VOCAB, m.d_model = 8, m.layers = 2, m.heads = 2, m.adapter = 3, m.adapter_scale = 1.5;
    assert_int_equal(lcsm_model_config_set(&m, model[0], model[1], NULL), LCSM_OK);
    assert_int_equal(lcsm_model_config_set(&m, model[2], model[3], NULL), LCSM_OK);
    assert_int_equal(lcsm_model_config_set(&m, "adapter_matrices", model[4], NULL), LCSM_OK);
    return m;
}

/* B begins with zeros, which would hide what is wrong. */
static double somewhat(size_t row, size_t j)
{
    return 0.3 * lcsm_rng_normal(5, (uint32_t)row, j);
}

/* ---- the gradient, in double ---- */

static loss_rig rig_make(const lcsm_model_config *cfg)
{
    loss_rig r = loss_rig_make(cfg, B, T, VOCAB, LCSM_PARAM_ADAPTER);
    for (size_t k = 0; k < r.params->count; k++)
        if ((r.params->list[k].flags & LCSM_PARAM_ADAPTER) != 0)
            for (size_t j = 0; j < r.params->list[k].count; j++)
                ((double *)lcsm_param_values(r.params, (int)k))[j] = somewhat(k, j);
    return r;
}

TEST(adapter_gradients_match_finite_differences_and_the_base_has_none)
{
    for (size_t c = 0; c < COUNT(MODELS); c++) {
        lcsm_model_config cfg     = config_of(MODELS[c]);
        loss_rig          r       = rig_make(&cfg);
        size_t            adapted = 0;
        double            largest = 0;
        (void)loss_of(&r);
        assert_int_equal(lcsm_graph_backward(r.g, &(lcsm_run_options){0}, NULL), LCSM_OK);
        for (size_t j = 0; j < r.params->count; j++) {
            const lcsm_param *row = &r.params->list[j];
            if ((row->flags & LCSM_PARAM_ADAPTER) == 0) {
                bool constant = (row->flags & LCSM_PARAM_BASE) == 0;
                assert_true(constant || lcsm_param_grads(r.params, (int)j) == NULL);
                continue;
            }
            double off = loss_gradient_error(&r, j);
            largest    = fmax(largest, loss_gradient_size(&r, j));
            adapted++;
            if (!(off < 1e-8)) fail_msg("%s: %s is off by %g", MODELS[c][1], row->name, off);
        }
        assert_true(adapted >= 4 && largest > 1e-4);
        loss_rig_free(&r);
    }
}

/* ---- steps ---- */

TEST(adapter_steps_leave_the_base_as_it_is_under_decay)
{
    lcsm_model_config m = config_of(MODELS[0]);
    lcsm_train_config t;
    lcsm_context     *ctx;
    lcsm_model       *model;
    lcsm_trainer     *trainer;
    lcsm_update       u = {.size = sizeof u};
    int32_t           tokens[B * T], targets[B * T];
    lcsm_train_config_defaults(&t);
    t.batch_size = B, t.seq_len = T, t.steps = 4, t.warmup = 0, t.lr = 0.01;
    t.weight_decay = 0.5, t.decay_all = true;
    for (size_t j = 0; j < B * T; j++) tokens[j] = targets[j] = (int32_t)(j * 7 % VOCAB);
    assert_int_equal(lcsm_context_create(&ctx, NULL, NULL), LCSM_OK);
    assert_int_equal(lcsm_model_create(&model, ctx, &m, 1, NULL), LCSM_OK);
    assert_int_equal(lcsm_trainer_create(&trainer, model, &t, 0, NULL), LCSM_OK);
    const lcsm_params *p      = model->params;
    float             *before = malloc(p->block * sizeof *before);
    assert_non_null(before);
    memcpy(before, p->values, p->block * sizeof *before);
    for (int j = 0; j < 4; j++)
        assert_int_equal(lcsm_trainer_step(trainer, tokens, targets, NULL, &u, NULL), LCSM_OK);
    for (size_t j = 0; j < p->count; j++) {
        const lcsm_param *row = &p->list[j];
        bool same             = memcmp(before + row->offset, (const float *)p->values + row->offset,
                                       row->count * sizeof(float))
                 == 0;
        if (same == ((row->flags & LCSM_PARAM_ADAPTER) != 0))
            fail_msg("%s %s", row->name, same ? "does not learn" : "is not frozen");
    }
    free(before);
    lcsm_trainer_free(trainer);
    lcsm_model_free(model);
    lcsm_context_free(ctx);
}

TEST(adapter_steps_cannot_follow_steps_of_the_whole_model)
{
    lcsm_params *p;
    lcsm_init    init = lcsm_init_constant(1);
    lcsm_shape   four = lcsm_dims(4);
    lcsm_error   err;
    int          row;
    assert_int_equal(lcsm_params_create(&p, LCSM_F32, 1, NULL), LCSM_OK);
    assert_int_equal(lcsm_params_add(&row, p, "w", &four, &init, 0, NULL), LCSM_OK);
    assert_int_equal(lcsm_params_reserve(p, true, NULL), LCSM_OK);
    assert_int_equal(lcsm_params_train_only(p, LCSM_PARAM_ADAPTER, &err), LCSM_ERR_ARGUMENT);
    assert_int_equal(lcsm_params_train_only(p, 0, NULL), LCSM_OK);
    lcsm_params_free(p);
}

/* ---- merging ---- */

static void logits_of(float out[T * VOCAB], const lcsm_model *model)
{
    const int32_t tokens[T] = {3, 1, 4, 1, 5};
    lcsm_session *s;
    assert_int_equal(lcsm_session_create(&s, model, NULL, NULL), LCSM_OK);
    assert_int_equal(lcsm_session_feed(s, tokens, T, out, NULL), LCSM_OK);
    lcsm_session_free(s);
}

/* The logits of these models are below 4; sums of float with other roundings, of a few hundred
 * numbers, differ by less than 1e-6 of that. */
TEST(adapter_merged_gives_the_logits_of_one_kept_apart)
{
    for (size_t c = 0; c < COUNT(MODELS); c++) {
        lcsm_model_config cfg = config_of(MODELS[c]);
        lcsm_context     *ctx;
        lcsm_model       *apart, *merged;
        temp_folder       f    = temp_folder_make();
        const char       *from = temp_path(&f, "from"), *to = temp_path(&f, "to");
        float             x[T * VOCAB], y[T * VOCAB], plain[T * VOCAB];
        double            off = 0, moved = 0;
        assert_int_equal(lcsm_context_create(&ctx, NULL, NULL), LCSM_OK);
        assert_int_equal(lcsm_model_create(&apart, ctx, &cfg, 1, NULL), LCSM_OK);
        logits_of(plain, apart);
        for (size_t k = 0; k < apart->params->count; k++)
            if ((apart->params->list[k].flags & LCSM_PARAM_ADAPTER) != 0)
                for (size_t j = 0; j < apart->params->list[k].count; j++)
                    ((float *)lcsm_param_values(apart->params, (int)k))[j] = (float)somewhat(k, j);
        assert_int_equal(lcsm_model_save(apart, from, NULL), LCSM_OK);
        assert_int_equal(lcsm_run_merge(ctx, from, to, NULL), LCSM_OK);
        assert_int_equal(lcsm_run_merge(ctx, from, to, NULL), LCSM_ERR_ARGUMENT);
        assert_int_equal(lcsm_model_load(&merged, ctx, to, NULL), LCSM_OK);
        assert_int_equal(merged->cfg.adapter, 0);
        logits_of(x, apart);
        logits_of(y, merged);
        for (size_t j = 0; j < T * VOCAB; j++) {
            off   = fmax(off, fabs((double)x[j] - (double)y[j]));
            moved = fmax(moved, fabs((double)x[j] - (double)plain[j]));
        }
        if (!(off < 4e-6 && moved > 1e-3))
            fail_msg("%s: off by %g, the adapters move %g", MODELS[c][1], off, moved);
        lcsm_model_free(apart);
        lcsm_model_free(merged);
        lcsm_context_free(ctx);
        temp_folder_remove(&f);
    }
}
