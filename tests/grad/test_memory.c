/* test_memory.c - an initial memory that is trained: its gradients, what it leaves alone, and that
 * every way to run a model begins with it. */
#include <lcsm/session.h>
#include <lcsm/slots.h>
#include <lcsm/train.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "loss_rig.h"
#include "model/config.h"
#include "model/model_weights.h"
#include "model/pattern.h"
#include "temp_folder.h"
#include "test.h"
#include "train/settings.h"

enum { B = 2, T = 5, VOCAB = 11 };

/* Memories of every form: by heads, by channels, complex, with a normaliser and a running maximum,
 * of the delta rule, beside softmax attention. */
static const char *const MODELS[] = {"gla",
                                     "mamba",
                                     "mamba2",
                                     "rwkv4",
                                     "rwkv6",
                                     "rwkv7",
                                     "mlstm",
                                     "s5",
                                     "gated-deltanet",
                                     "rg-lru,attention",
                                     "retnet",
                                     "hgrn",
                                     "linear-attention",
                                     "fwp",
                                     "falcon-mamba"};

static lcsm_model_config config_of(const char *model)
{
    lcsm_model_config m;
    lcsm_model_config_defaults(&m);
    m.vocab = VOCAB, m.d_model = 8, m.layers = 2, m.heads = 2, m.initial_memory = true;
    const char *key = lcsm_pattern_is(model) ? "layers_pattern" : "method";
    assert_int_equal(lcsm_model_config_set(&m, key, model, NULL), LCSM_OK);
    return m;
}

/* Not zeros, which would hide what is wrong; above zero, as the sum of weights of RWKV-4 is. */
static double somewhat(size_t row, size_t j)
{
    return 0.2 + 0.5 * lcsm_rng_uniform(5, (uint32_t)row, j);
}

static bool is_memory(const lcsm_params *p, size_t row)
{
    return (p->list[row].flags & LCSM_PARAM_MEMORY) != 0;
}

static double value_at(const lcsm_params *p, size_t row, size_t j)
{
    const void *x = lcsm_param_values(p, (int)row);
    return p->dtype == LCSM_F64 ? ((const double *)x)[j] : (double)((const float *)x)[j];
}

static void set_at(const lcsm_params *p, size_t row, size_t j, double x)
{
    void *to = lcsm_param_values(p, (int)row);
    if (p->dtype == LCSM_F64) ((double *)to)[j] = x;
    else ((float *)to)[j] = (float)x;
}

/* Maps that begin with zeros would hide the memory behind them. */
static void stir(const lcsm_params *p)
{
    for (size_t k = 0; k < p->count; k++) {
        bool zero = !is_memory(p, k) && p->list[k].shape.rank == 2;
        for (size_t j = 0; zero && j < p->list[k].count; j++) zero = value_at(p, k, j) == 0;
        for (size_t j = 0; zero && j < p->list[k].count; j++)
            set_at(p, k, j, 0.4 * lcsm_rng_normal(6, (uint32_t)k, j));
    }
}

static void fill_memory(const lcsm_params *p)
{
    for (size_t k = 0; k < p->count; k++)
        for (size_t j = 0; is_memory(p, k) && j < p->list[k].count; j++)
            set_at(p, k, j, somewhat(k, j));
}

/* ---- the gradient, in double ---- */

static loss_rig rig_make(const lcsm_model_config *cfg)
{
    loss_rig r = loss_rig_make(cfg, B, T, VOCAB, LCSM_PARAM_MEMORY);
    stir(r.params);
    fill_memory(r.params);
    return r;
}

TEST(memory_gradients_match_finite_differences_and_the_rest_has_none)
{
    for (size_t c = 0; c < COUNT(MODELS); c++) {
        lcsm_model_config cfg   = config_of(MODELS[c]);
        loss_rig          r     = rig_make(&cfg);
        size_t            found = 0;
        double            most  = 0;
        (void)loss_of(&r);
        assert_int_equal(lcsm_graph_backward(r.g, &(lcsm_run_options){0}, NULL), LCSM_OK);
        for (size_t j = 0; j < r.params->count; j++) {
            const lcsm_param *row = &r.params->list[j];
            const double     *g   = lcsm_param_grads(r.params, (int)j);
            if (!is_memory(r.params, j)) {
                assert_true((row->flags & LCSM_PARAM_BASE) == 0 || g == NULL);
                continue;
            }
            double off = loss_gradient_error(&r, j);
            most       = fmax(most, loss_gradient_size(&r, j));
            found++;
            if (!(off < 1e-8)) fail_msg("%s: %s is off by %g", MODELS[c], row->name, off);
        }
        if (found == 0 || most < 1e-4) fail_msg("%s: %zu, at most %g", MODELS[c], found, most);
        loss_rig_free(&r);
    }
}

/* A carried state that is empty holds the same. */
TEST(memory_that_is_carried_begins_with_it_too)
{
    for (size_t c = 0; c < COUNT(MODELS); c++) {
        lcsm_model_config cfg  = config_of(MODELS[c]);
        lcsm_model_want   want = {.loss = true, .ignore = -1};
        loss_rig          r = rig_make(&cfg), s = r;
        lcsm_state       *s0;
        double            alone = loss_of(&r);
        assert_int_equal(lcsm_graph_create(&s.g, r.ctx, r.params, NULL), LCSM_OK);
        assert_int_equal(lcsm_model_build(s.g, &cfg, B, T, &want, &s.io, NULL), LCSM_OK);
        assert_int_equal(lcsm_graph_plan(s.g, NULL, NULL), LCSM_OK);
        assert_int_equal(lcsm_state_create(&s0, s.g, NULL), LCSM_OK);
        memcpy(s.io.tokens->data, r.io.tokens->data, B * T * sizeof(int32_t));
        memcpy(s.io.targets->data, r.io.targets->data, B * T * sizeof(int32_t));
        for (int j = 0; j < 2; j++) {
            lcsm_run_options o = {.state = s0};
            assert_int_equal(lcsm_graph_forward(s.g, &o, NULL), LCSM_OK);
            double loss = *(const double *)s.io.loss->data;
            if (!(fabs(loss - alone) < 1e-12)) fail_msg("%s: %g, %g", MODELS[c], loss, alone);
            lcsm_state_clear(s0);
        }
        lcsm_state_free(s0);
        lcsm_graph_free(s.g);
        loss_rig_free(&r);
    }
}

/* ---- steps ---- */

static lcsm_train_config training(void)
{
    lcsm_train_config t;
    lcsm_train_config_defaults(&t);
    t.batch_size = B, t.seq_len = T, t.steps = 30, t.warmup = 0, t.lr = 0.05;
    t.weight_decay = 0.5, t.decay_all = true;
    return t;
}

/* Steps on one batch; the loss of the first and of the last. */
static void overfit(lcsm_model *model, double loss[2])
{
    lcsm_train_config t = training();
    lcsm_trainer     *trainer;
    lcsm_update       u = {.size = sizeof u};
    int32_t           tokens[B * T], targets[B * T];
    for (size_t j = 0; j < B * T; j++) tokens[j] = targets[j] = (int32_t)(j * 7 % VOCAB);
    for (size_t j = 0; j + 1 < B * T; j++) targets[j] = tokens[j + 1];
    assert_int_equal(lcsm_trainer_create(&trainer, model, &t, 0, NULL), LCSM_OK);
    for (int j = 0; j < t.steps; j++) {
        assert_int_equal(lcsm_trainer_step(trainer, tokens, targets, NULL, &u, NULL), LCSM_OK);
        loss[j > 0] = u.loss;
    }
    lcsm_trainer_free(trainer);
}

TEST(memory_steps_learn_and_leave_the_rest_as_it_is)
{
    for (size_t c = 0; c < COUNT(MODELS); c++) {
        lcsm_model_config m = config_of(MODELS[c]);
        lcsm_context     *ctx;
        lcsm_model       *model;
        double            loss[2];
        assert_int_equal(lcsm_context_create(&ctx, NULL, NULL), LCSM_OK);
        assert_int_equal(lcsm_model_create(&model, ctx, &m, 1, NULL), LCSM_OK);
        const lcsm_params *p = model->params;
        stir(p);
        float *before = malloc(p->block * sizeof *before);
        assert_non_null(before);
        memcpy(before, p->values, p->block * sizeof *before);
        overfit(model, loss);
        for (size_t j = 0; j < p->count; j++) {
            const lcsm_param *row = &p->list[j];
            const float      *now = (const float *)p->values + row->offset;
            bool same = memcmp(before + row->offset, now, row->count * sizeof *now) == 0;
            if (same == is_memory(p, j))
                fail_msg("%s: %s %s", MODELS[c], row->name, same ? "stays" : "is not frozen");
        }
        if (!(loss[1] < loss[0] - 0.01)) fail_msg("%s: %g to %g", MODELS[c], loss[0], loss[1]);
        free(before);
        lcsm_model_free(model);
        lcsm_context_free(ctx);
    }
}

TEST(memory_is_refused_where_sequences_are_reset_or_cut)
{
    lcsm_model_config m = config_of("gla"), other = config_of("attention");
    lcsm_context     *ctx;
    lcsm_model       *model;
    lcsm_trainer     *trainer;
    lcsm_train_config t   = training();
    lcsm_error        err = {0};
    assert_int_equal(lcsm_context_create(&ctx, NULL, NULL), LCSM_OK);
    assert_int_equal(lcsm_model_create(&model, ctx, &m, 1, NULL), LCSM_OK);
    t.carried = true;
    assert_int_not_equal(lcsm_trainer_create(&trainer, model, &t, 0, &err), LCSM_OK);
    assert_non_null(strstr(err.text, "carried"));
    t = training(), t.segments = 5;
    assert_int_not_equal(lcsm_trainer_create(&trainer, model, &t, 0, &err), LCSM_OK);
    assert_non_null(strstr(err.text, "segments"));
    lcsm_model_free(model);
    assert_int_not_equal(lcsm_model_create(&model, ctx, &other, 1, &err), LCSM_OK);
    assert_non_null(strstr(err.text, "has no recurrence with a memory"));
    lcsm_context_free(ctx);
}

/* ---- running ---- */

static const int32_t TEXT[T] = {3, 1, 4, 1, 5};

static void session_logits(float out[T * VOCAB], const lcsm_model *model, size_t step)
{
    lcsm_session *s;
    assert_int_equal(lcsm_session_create(&s, model, NULL, NULL), LCSM_OK);
    assert_int_equal(lcsm_session_feed(s, TEXT, 2, NULL, NULL), LCSM_OK);
    lcsm_session_reset(s);
    for (size_t t = 0; t < T; t += step)
        assert_int_equal(lcsm_session_feed(s, TEXT + t, step, out + t * VOCAB, NULL), LCSM_OK);
    lcsm_session_free(s);
}

static void slot_logits(float out[VOCAB], const lcsm_model *model)
{
    lcsm_slots *s;
    size_t      a, b;
    assert_int_equal(lcsm_slots_create(&s, model, NULL, NULL), LCSM_OK);
    assert_int_equal(lcsm_slots_open(s, &a, NULL), LCSM_OK);
    assert_int_equal(lcsm_slots_open(s, &b, NULL), LCSM_OK);
    const lcsm_slot_feed feed = {b, TEXT, T, NULL};
    assert_int_equal(lcsm_slots_feed(s, &feed, 1, NULL), LCSM_OK);
    memcpy(out, lcsm_slots_logits(s, b), VOCAB * sizeof *out);
    lcsm_slots_free(s);
}

/* Sums of a few dozen floats in another order. */
TEST(memory_is_what_sessions_and_slots_begin_with_and_files_keep)
{
    for (size_t c = 0; c < COUNT(MODELS); c++) {
        lcsm_model_config m = config_of(MODELS[c]);
        lcsm_context     *ctx;
        lcsm_model       *model, *loaded;
        temp_folder       f = temp_folder_make();
        float             empty[T * VOCAB], all[T * VOCAB], one[T * VOCAB], slot[VOCAB];
        assert_int_equal(lcsm_context_create(&ctx, NULL, NULL), LCSM_OK);
        assert_int_equal(lcsm_model_create(&model, ctx, &m, 1, NULL), LCSM_OK);
        stir(model->params);
        session_logits(empty, model, T);
        fill_memory(model->params);
        assert_int_equal(lcsm_model_save(model, temp_path(&f, "run"), NULL), LCSM_OK);
        assert_int_equal(lcsm_model_load(&loaded, ctx, temp_path(&f, "run"), NULL), LCSM_OK);
        session_logits(all, model, T);
        session_logits(one, loaded, 1);
        slot_logits(slot, loaded);
        float moved = 0;
        for (size_t j = 0; j < T * VOCAB; j++) {
            moved = fmaxf(moved, fabsf(all[j] - empty[j]));
            if (!(fabsf(all[j] - one[j]) < 1e-5F)) fail_msg("%s at %zu", MODELS[c], j);
        }
        for (size_t j = 0; j < VOCAB; j++)
            assert_true(fabsf(slot[j] - all[(T - 1) * VOCAB + j]) < 1e-5F);
        if (!(moved > 1e-3F)) fail_msg("%s: moved by %g", MODELS[c], (double)moved);
        lcsm_model_free(model);
        lcsm_model_free(loaded);
        lcsm_context_free(ctx);
        temp_folder_remove(&f);
    }
}
