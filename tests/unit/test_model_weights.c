/* Models with weights: made, saved, loaded, and refused. */
#include <lcsm/model.h>
#include <stdlib.h>
#include <string.h>

#include "eos/method.h"
#include "model/config.h"
#include "model/model_weights.h"
#include "temp_folder.h"
#include "test.h"

static lcsm_context *context(void)
{
    lcsm_context *ctx;
    assert_int_equal(lcsm_context_create(&ctx, NULL, NULL), LCSM_OK);
    return ctx;
}

static lcsm_model_config small(const char *method)
{
    lcsm_model_config cfg;
    lcsm_model_config_defaults(&cfg);
    assert_int_equal(lcsm_model_config_set(&cfg, "method", method, NULL), LCSM_OK);
    cfg.vocab   = 11;
    cfg.d_model = 8;
    cfg.layers  = 2;
    return cfg;
}

static lcsm_model *made(const lcsm_context *ctx, const lcsm_model_config *cfg, uint64_t seed)
{
    lcsm_model *m;
    lcsm_error  err = {0};
    if (lcsm_model_create(&m, ctx, cfg, seed, &err) != LCSM_OK) fail_msg("%s", err.text);
    return m;
}

static void assert_same_weights(const lcsm_model *a, const lcsm_model *b)
{
    assert_int_equal(a->params->count, b->params->count);
    for (int j = 0; j < (int)a->params->count; j++) {
        assert_int_equal(lcsm_param_bytes(a->params, j), lcsm_param_bytes(b->params, j));
        assert_memory_equal(lcsm_param_values(a->params, j), lcsm_param_values(b->params, j),
                            lcsm_param_bytes(a->params, j));
    }
}

TEST(model_saved_and_loaded_is_the_same_for_every_method)
{
    lcsm_context *ctx = context();
    for (size_t j = 0; j < lcsm_method_count(); j++) {
        lcsm_model_config cfg = small(LCSM_METHODS[j].name);
        temp_folder       f   = temp_folder_make();
        lcsm_error        err = {0};
        lcsm_model       *b;
        if (strcmp(cfg.method, "code") == 0) snprintf(cfg.code, sizeof cfg.code, "1-1-1-0");
        lcsm_model *a = made(ctx, &cfg, 5);
        assert_int_equal(lcsm_model_save(a, temp_path(&f, "run"), &err), LCSM_OK);
        if (lcsm_model_load(&b, ctx, temp_path(&f, "run"), &err) != LCSM_OK)
            fail_msg("%s: %s", cfg.method, err.text);
        assert_same_weights(a, b);
        assert_memory_equal(lcsm_model_config_of(b), &cfg, sizeof cfg);
        assert_int_equal(lcsm_model_param_count(b), lcsm_params_total(a->params));
        lcsm_model_free(a);
        lcsm_model_free(b);
        temp_folder_remove(&f);
    }
    lcsm_context_free(ctx);
}

TEST(model_of_another_seed_has_other_weights)
{
    lcsm_context     *ctx = context();
    lcsm_model_config cfg = small("gla");
    lcsm_model       *a = made(ctx, &cfg, 1), *b = made(ctx, &cfg, 2), *c = made(ctx, &cfg, 1);
    assert_same_weights(a, c);
    assert_memory_not_equal(a->params->values, b->params->values, a->params->block * sizeof(float));
    lcsm_model_free(a);
    lcsm_model_free(b);
    lcsm_model_free(c);
    lcsm_context_free(ctx);
}

/* Saves a model, replaces its config by `config` (if any), and expects a refusal that says so. */
static void assert_refused(const lcsm_model *m, const char *config, const char *says)
{
    temp_folder f   = temp_folder_make();
    lcsm_error  err = {0};
    lcsm_model *got;
    assert_int_equal(lcsm_model_save(m, f.path, &err), LCSM_OK);
    temp_write(&f, "config.json", config, strlen(config));
    assert_int_not_equal(lcsm_model_load(&got, m->ctx, f.path, &err), LCSM_OK);
    assert_null(got);
    if (strstr(err.text, says) == NULL) fail_msg("\"%s\" does not say \"%s\"", err.text, says);
    temp_folder_remove(&f);
}

#define HEAD "{\"model_type\": \"lcsm\", \"format_version\": 1, \"vocab\": 11, \"layers\": 2, "

TEST(model_load_names_what_does_not_fit)
{
    lcsm_context     *ctx = context();
    lcsm_model_config cfg = small("gla");
    lcsm_model       *m   = made(ctx, &cfg, 1);
    assert_refused(m, HEAD "\"d_model\": 16}",
                   "embedding.weight is F32 [11, 8]; expected F32 [11, 16]");
    assert_refused(m, HEAD "\"d_model\": 8, \"tied\": false}", "head.weight is missing");
    assert_refused(m, HEAD "\"d_model\": 8, \"layers\": 1}", "layers");
    assert_refused(m, HEAD "\"d_model\": \"8\"}", "d_model has the wrong type");
    assert_refused(m, HEAD "\"method\": \"glaa\"}", "did you mean gla?");
    assert_refused(m, "{\"model_type\": \"mamba\"}", "lcsm import");
    assert_refused(m, "{\"model_type\": \"lcsm\"}", "format_version is missing");
    assert_refused(m, "{\"model_type\": \"lcsm\", \"format_version\": 2}", "expected 1");
    assert_refused(m, "[]", "expected an object");
    lcsm_model_free(m);
    lcsm_context_free(ctx);
}

TEST(model_load_names_a_tensor_that_the_model_does_not_have)
{
    lcsm_context     *ctx = context();
    lcsm_model_config cfg = small("gla"), one = cfg;
    one.layers         = 1;
    lcsm_model *m      = made(ctx, &cfg, 1);
    lcsm_error  err    = {0};
    temp_folder f      = temp_folder_make();
    json_t     *config = lcsm_model_config_json(&one);
    lcsm_model *got;
    assert_int_equal(lcsm_model_store(f.path, config, m->params, &err), LCSM_OK);
    assert_int_equal(lcsm_model_load(&got, ctx, f.path, &err), LCSM_ERR_FORMAT);
    assert_non_null(strstr(err.text, "tensor layers.1."));
    assert_non_null(strstr(err.text, "is not one of this model's"));
    json_decref(config);
    temp_folder_remove(&f);
    lcsm_model_free(m);
    lcsm_context_free(ctx);
}

TEST(model_config_load_skips_keys_of_training)
{
    static const char text[] = HEAD "\"d_model\": 8, \"lr\": 0.001, \"schedule\": \"cosine\"}";
    temp_folder       f      = temp_folder_make();
    lcsm_model_config cfg;
    temp_write(&f, "config.json", text, sizeof text - 1);
    assert_int_equal(lcsm_model_config_load(&cfg, f.path, NULL), LCSM_OK);
    assert_int_equal(cfg.d_model, 8);
    temp_folder_remove(&f);
}
