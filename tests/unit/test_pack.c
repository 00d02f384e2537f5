/* Models whose matrices are stored in less room: made, saved, loaded, run, refused. */
#include <lcsm/model.h>
#include <lcsm/session.h>
#include <lcsm/train.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "eos/method.h"
#include "format/safetensors.h"
#include "model/config.h"
#include "model/model_weights.h"
#include "temp_folder.h"
#include "test.h"
#include "train/evaluator.h"
#include "train/settings.h"

enum { VOCAB = 40, STEPS = 21 };

static lcsm_context *context(void)
{
    lcsm_context        *ctx;
    lcsm_context_options o = {.size = sizeof o, .threads = 1};
    assert_int_equal(lcsm_context_create(&ctx, &o, NULL), LCSM_OK);
    return ctx;
}

static lcsm_model_config config(const char *method)
{
    lcsm_model_config cfg;
    lcsm_model_config_defaults(&cfg);
    assert_int_equal(lcsm_model_config_set(&cfg, "method", method, NULL), LCSM_OK);
    if (strcmp(method, "code") == 0) snprintf(cfg.code, sizeof cfg.code, "1-1-1-0");
    cfg.vocab   = VOCAB;
    cfg.d_model = 64;
    cfg.layers  = 1;
    return cfg;
}

static lcsm_model *made(const lcsm_context *ctx, const lcsm_model_config *cfg)
{
    lcsm_model *m;
    lcsm_error  err = {0};
    if (lcsm_model_create(&m, ctx, cfg, 3, &err) != LCSM_OK) fail_msg("%s", err.text);
    return m;
}

static void pack(lcsm_model *m, const char *type)
{
    lcsm_error err = {0};
    if (lcsm_model_pack(m, type, &err) != LCSM_OK) fail_msg("%s", err.text);
}

/* Logits behind every token: 16 at once, which are panels, and 5 by few rows. */
static void logits(const lcsm_model *m, float all[STEPS * VOCAB])
{
    int32_t       tokens[STEPS];
    lcsm_session *s;
    lcsm_error    err = {0};
    for (int j = 0; j < STEPS; j++) tokens[j] = (7 * j + 2) % VOCAB;
    if (lcsm_session_create(&s, m, NULL, &err) != LCSM_OK) fail_msg("%s", err.text);
    if (lcsm_session_feed(s, tokens, STEPS, all, &err) != LCSM_OK) fail_msg("%s", err.text);
    lcsm_session_free(s);
}

static double apart(const float *a, const float *b)
{
    double miss = 0, size = 0;
    for (int j = 0; j < STEPS * VOCAB; j++) {
        miss += (double)(a[j] - b[j]) * (double)(a[j] - b[j]);
        size += (double)b[j] * (double)b[j];
    }
    return sqrt(miss / size);
}

static const char *const TYPES[] = {"f16", "bf16", "q8", "q4", "q4k"};

/* What a packed model computes is what a model with the very same numbers in float32 does: f16 and
 * bf16 but for the order of sums, the others but for inputs of 8 bits, 1/254 of the largest of 32
 * each, which add up to less than that of all. */
TEST(packed_models_of_every_method_compute_what_their_numbers_say)
{
    lcsm_context *ctx = context();
    static float  small[STEPS * VOCAB], whole[STEPS * VOCAB];
    for (size_t j = 0; j < lcsm_method_count(); j++)
        for (size_t t = 0; t < COUNT(TYPES); t++) {
            lcsm_model_config cfg = config(LCSM_METHODS[j].name);
            lcsm_model       *m   = made(ctx, &cfg);
            if (cfg.bidirectional) {
                lcsm_model_free(m);
                continue;
            }
            size_t before = lcsm_model_weight_bytes(m);
            pack(m, TYPES[t]);
            assert_true(lcsm_model_weight_bytes(m) < before);
            logits(m, small);
            lcsm_model *n = made(ctx, &cfg);
            assert_int_equal(lcsm_params_copy(n->params, m->params, NULL), LCSM_OK);
            logits(n, whole);
            double miss = apart(small, whole), most = t == 0 ? 1e-5 : 0.02; /* f16: exact inputs */
            if (!(miss < most))
                fail_msg("%s %s: logits are %.3g apart, less than %.3g expected", cfg.method,
                         TYPES[t], miss, most);
            lcsm_model_free(m);
            lcsm_model_free(n);
        }
    lcsm_context_free(ctx);
}

TEST(packed_models_saved_and_loaded_are_the_same)
{
    lcsm_context *ctx = context();
    static float  a[STEPS * VOCAB], b[STEPS * VOCAB];
    for (size_t t = 0; t < COUNT(TYPES); t++) {
        temp_folder             f   = temp_folder_make();
        lcsm_error              err = {0};
        lcsm_model_config       cfg = config("mamba");
        lcsm_model_load_options o   = {.size = sizeof o, .weights = TYPES[t]};
        lcsm_model             *m   = made(ctx, &cfg), *n, *k;
        char                    sums[3][LCSM_SHA256_TEXT];
        assert_int_equal(lcsm_model_save(m, temp_path(&f, "whole"), &err), LCSM_OK);
        pack(m, TYPES[t]);
        assert_int_equal(lcsm_model_save(m, temp_path(&f, "packed"), &err), LCSM_OK);
        if (lcsm_model_load(&n, ctx, temp_path(&f, "packed"), &err) != LCSM_OK)
            fail_msg("%s", err.text);
        assert_int_equal(lcsm_model_weight_bytes(n), lcsm_model_weight_bytes(m));
        logits(m, a);
        logits(n, b);
        assert_memory_equal(a, b, sizeof a);
        if (lcsm_model_load_with(&k, ctx, temp_path(&f, "whole"), &o, &err) != LCSM_OK)
            fail_msg("%s", err.text);
        logits(k, b);
        assert_memory_equal(a, b, sizeof a);
        assert_int_equal(lcsm_model_sha256(sums[0], m, &err), LCSM_OK);
        assert_int_equal(lcsm_model_sha256(sums[1], n, &err), LCSM_OK);
        assert_int_equal(lcsm_model_sha256(sums[2], k, &err), LCSM_OK);
        assert_string_equal(sums[0], sums[1]);
        assert_string_equal(sums[0], sums[2]);
        lcsm_model_free(m);
        lcsm_model_free(n);
        lcsm_model_free(k);
        temp_folder_remove(&f);
    }
    lcsm_context_free(ctx);
}

/* From one type to another, and back to numbers. */
TEST(packed_models_are_packed_again)
{
    lcsm_context     *ctx = context();
    lcsm_model_config cfg = config("gla");
    static float      a[STEPS * VOCAB], b[STEPS * VOCAB];
    lcsm_model       *m = made(ctx, &cfg), *n = made(ctx, &cfg);
    size_t            whole = lcsm_model_weight_bytes(m);
    pack(m, "q8");
    assert_int_equal(lcsm_params_copy(n->params, m->params, NULL), LCSM_OK);
    logits(n, a);
    pack(m, "f32");
    assert_int_equal(lcsm_model_weight_bytes(m), whole);
    logits(m, b);
    assert_memory_equal(a, b, sizeof a);
    pack(m, "q4k"); /* 64 columns: q4 */
    assert_true(lcsm_model_weight_bytes(m) < whole / 4);
    pack(m, "f32");
    pack(m, "f32");
    assert_int_equal(lcsm_model_weight_bytes(m), whole);
    lcsm_model_free(m);
    lcsm_model_free(n);
    lcsm_context_free(ctx);
}

TEST(packed_models_are_evaluated)
{
    lcsm_context *ctx = context();
    for (int tied = 0; tied < 2; tied++) {
        lcsm_model_config cfg = config("gla");
        cfg.tied              = tied != 0;
        lcsm_model *m = made(ctx, &cfg), *n = made(ctx, &cfg);
        double      loss[2];
        pack(m, "q8");
        assert_int_equal(lcsm_params_copy(n->params, m->params, NULL), LCSM_OK);
        for (int j = 0; j < 2; j++) {
            const lcsm_model *which = j == 0 ? m : n;
            lcsm_graph       *g     = NULL;
            lcsm_model_io     io;
            lcsm_model_want   want = {.loss = true, .ignore = -1};
            lcsm_error        err  = {0};
            assert_int_equal(lcsm_graph_create(&g, ctx, which->params, &err), LCSM_OK);
            assert_int_equal(lcsm_model_build(g, &cfg, 2, 9, &want, &io, &err), LCSM_OK);
            if (lcsm_graph_plan(g, NULL, &err) != LCSM_OK) fail_msg("%s", err.text);
            for (int k = 0; k < 18; k++) {
                ((int32_t *)io.tokens->data)[k]  = 5 * k % VOCAB;
                ((int32_t *)io.targets->data)[k] = (5 * k + 5) % VOCAB;
            }
            assert_int_equal(lcsm_graph_forward(g, NULL, &err), LCSM_OK);
            loss[j] = (double)*(const float *)io.loss->data;
            lcsm_graph_free(g);
        }
        assert_true(fabs(loss[0] - loss[1]) < 1e-5 * loss[1]); /* panels: the same numbers */
        lcsm_model_free(m);
        lcsm_model_free(n);
    }
    lcsm_context_free(ctx);
}

TEST(packed_models_cannot_be_trained_and_mapped_ones_can)
{
    lcsm_context     *ctx = context();
    lcsm_model_config cfg = config("gla");
    lcsm_train_config train;
    lcsm_trainer     *t   = NULL;
    lcsm_error        err = {0};
    lcsm_model       *m   = made(ctx, &cfg), *n;
    temp_folder       f   = temp_folder_make();
    static float      before[STEPS * VOCAB], after[STEPS * VOCAB];
    lcsm_train_config_defaults(&train);
    assert_int_equal(lcsm_model_save(m, temp_path(&f, "run"), &err), LCSM_OK);
    assert_int_equal(lcsm_model_load(&n, ctx, temp_path(&f, "run"), &err), LCSM_OK);
    logits(m, before);
    assert_int_equal(lcsm_trainer_create(&t, n, &train, 10, &err), LCSM_OK);
    logits(n, after);
    assert_memory_equal(before, after, sizeof before);
    assert_int_equal(lcsm_model_pack(n, "q8", &err), LCSM_ERR_ARGUMENT);
    lcsm_trainer_free(t);
    pack(m, "f16");
    assert_int_equal(lcsm_trainer_create(&t, m, &train, 10, &err), LCSM_ERR_UNSUPPORTED);
    assert_null(t);
    assert_non_null(strstr(err.text, "load the model with weights f32 to train it"));
    assert_int_equal(lcsm_model_pack(m, "q9", &err), LCSM_ERR_ARGUMENT);
    lcsm_model_free(m);
    lcsm_model_free(n);
    temp_folder_remove(&f);
    lcsm_context_free(ctx);
}

TEST(packed_models_name_a_weight_that_does_not_fit)
{
    lcsm_context     *ctx = context();
    lcsm_model_config cfg = config("gla");
    lcsm_model       *m   = made(ctx, &cfg);
    lcsm_error        err = {0};
    static float      before[STEPS * VOCAB], after[STEPS * VOCAB];
    float *x = lcsm_param_values(m->params, lcsm_params_find(m->params, "embedding.weight"));
    x[5]     = 70000;
    logits(m, before);
    assert_int_equal(lcsm_model_pack(m, "f16", &err), LCSM_ERR_NUMBER);
    assert_non_null(strstr(err.text, "embedding.weight cannot be stored as f16"));
    logits(m, after); /* the model is as it was */
    assert_memory_equal(before, after, sizeof before);
    pack(m, "bf16");
    lcsm_model_free(m);
    lcsm_context_free(ctx);
}

/* A file with one tensor changed. */
static void assert_refused(const lcsm_model *m, const char *name, const lcsm_named_tensor *other,
                           const char *says)
{
    temp_folder        f   = temp_folder_make();
    lcsm_error         err = {0};
    lcsm_named_tensor *list;
    lcsm_model        *got;
    char               path[4200];
    assert_int_equal(lcsm_model_save(m, f.path, &err), LCSM_OK);
    assert_int_equal(lcsm_model_tensors(&list, m->params, &err), LCSM_OK);
    for (size_t j = 0; j < m->params->count; j++)
        if (strcmp(list[j].name, name) == 0) list[j] = *other;
    (void)snprintf(path, sizeof path, "%s/model.safetensors", f.path);
    assert_int_equal(lcsm_safetensors_save(path, list, m->params->count, NULL, 0, &err), LCSM_OK);
    assert_int_equal(lcsm_model_load(&got, m->ctx, f.path, &err), LCSM_ERR_FORMAT);
    assert_null(got);
    if (strstr(err.text, says) == NULL) fail_msg("\"%s\" does not say \"%s\"", err.text, says);
    free(list);
    temp_folder_remove(&f);
}

TEST(packed_files_that_do_not_fit_are_refused)
{
    static const unsigned char bytes[VOCAB * 256] = {0};
    lcsm_context              *ctx                = context();
    lcsm_model_config          cfg                = config("gla");
    lcsm_model                *m                  = made(ctx, &cfg);
    lcsm_named_tensor          t = {.element = LCSM_ELEMENT_U8, .rank = 2, .data = bytes};
    pack(m, "q8");
    t.name     = "embedding.weight.q8";
    t.shape[0] = VOCAB, t.shape[1] = 67;
    assert_refused(m, "embedding.weight.q8", &t, "is U8 [40, 67]; expected U8 [40, 68]");
    t.shape[0] = VOCAB - 1, t.shape[1] = 68;
    assert_refused(m, "embedding.weight.q8", &t, "is U8 [39, 68]; expected U8 [40, 68]");
    t.element = LCSM_ELEMENT_I8, t.shape[0] = VOCAB;
    assert_refused(m, "embedding.weight.q8", &t, "is I8 [40, 68]; expected U8 [40, 68]");
    t.element = LCSM_ELEMENT_U8, t.name = "embedding.weight.q4k";
    assert_refused(m, "embedding.weight.q8", &t, "rows are not whole blocks of 256");
    t.name = "embedding.weight.q5";
    assert_refused(m, "embedding.weight.q8", &t, "embedding.weight is missing");
    lcsm_model_free(m);
    lcsm_context_free(ctx);
}
