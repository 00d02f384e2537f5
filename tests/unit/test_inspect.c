/* test_inspect.c - what an inspection says, against models whose memory is known. */
#include <jansson.h>
#include <lcsm/inspect.h>
#include <lcsm/model.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/params.h"
#include "model/handle.h"
#include "near.h"
#include "temp_folder.h"
#include "test.h"

static void fill(lcsm_model *m, const char *name, double first, double others)
{
    int    row    = lcsm_params_find(m->params, name);
    float *values = lcsm_param_values(m->params, row);
    assert_true(row >= 0);
    for (size_t j = 0; j < m->params->list[row].count; j++)
        values[j] = (float)(j == 0 ? first : others);
}

/* A run folder with one layer of that code or method, its static gates set if there are some. */
static json_t *inspect(const char *key, const char *value, const char *gate, double first,
                       double others)
{
    temp_folder          f = temp_folder_make();
    lcsm_context        *ctx;
    lcsm_model          *model;
    lcsm_model_config    cfg;
    lcsm_inspect_options o    = {.run = f.path, .tokens = 64, .save = true};
    char                *text = NULL;
    lcsm_error           err;
    lcsm_model_config_defaults(&cfg);
    cfg.d_model = 8;
    cfg.expand  = 4;
    cfg.layers  = 1;
    cfg.vocab   = 20;
    cfg.tau     = 2;
    assert_int_equal(lcsm_model_config_set(&cfg, key, value, NULL), LCSM_OK);
    assert_int_equal(lcsm_context_create(&ctx, NULL, NULL), LCSM_OK);
    assert_int_equal(lcsm_model_create(&model, ctx, &cfg, 1, NULL), LCSM_OK);
    if (gate != NULL) fill(model, gate, first, others);
    assert_int_equal(lcsm_model_save(model, f.path, NULL), LCSM_OK);
    if (lcsm_inspect(ctx, &o, &text, &err) != LCSM_OK) fail_msg("%s: %s", value, err.text);
    size_t size;
    char  *kept = (char *)temp_read(&f, "inspect.json", &size);
    assert_string_equal(kept, text);
    json_t *root = json_loads(text, 0, NULL);
    assert_non_null(root);
    free(kept);
    free(text);
    lcsm_model_free(model);
    lcsm_context_free(ctx);
    temp_folder_remove(&f);
    return root;
}

static const json_t *layer_of(const json_t *root)
{
    return json_array_get(json_object_get(root, "layers"), 0);
}

static double number(const json_t *object, const char *key)
{
    const json_t *v = json_object_get(object, key);
    assert_true(json_is_number(v));
    return json_number_value(v);
}

TEST(half_lives_of_learned_gates_are_those_of_the_weights)
{
    json_t       *root  = inspect("code", "1-4-1-0", "layers.0.mixer.o_k", 100, 0);
    const json_t *layer = layer_of(root), *list = json_object_get(layer, "half_life");
    assert_int_equal(json_array_size(list), 4);
    assert_true(json_is_null(json_array_get(list, 0))); /* a gate of one keeps all */
    /* sigmoid(0)^(1/2) halves in two tokens; the operand is a float. */
    assert_near(json_number_value(json_array_get(list, 1)), 2, 1e-6);
    assert_near(number(layer, "forever"), 1, 0);
    assert_near(number(layer, "gate_low"), sqrt(0.5), 1e-6);
    assert_near(number(layer, "half_life_low"), 2, 1e-6);
    assert_int_equal(json_array_size(json_object_get(layer, "state_norms")), 4);
    json_decref(root);
}

TEST(a_memory_that_forgets_at_once_sees_one_token)
{
    json_t       *root      = inspect("code", "1-4-1-0", "layers.0.mixer.o_k", -200, -200);
    const json_t *influence = json_object_get(root, "influence");
    const json_t *change    = json_object_get(influence, "change");
    assert_true(json_number_value(json_array_get(change, 0)) > 1e-4);
    for (size_t j = 1; j < json_array_size(change); j++)
        /* The float softmax of logits that are equal but for rounding. */
        assert_near(json_number_value(json_array_get(change, j)), 0, 1e-6);
    assert_true(number(root, "effective_context") <= 2);
    json_decref(root);

    root = inspect("code", "1-4-1-0", "layers.0.mixer.o_k", 200, 200);
    assert_true(number(root, "effective_context") > 8);
    json_decref(root);
}

TEST(every_kind_of_memory_can_be_inspected)
{
    static const struct {
        const char *key, *value;
        bool        known;
    } cases[] = {
        {"code", "1-0-1-0", true},  {"code", "1-1-1-0", true},
        {"code", "1-6-1-0", true},  {"code", "1-9-1-0", true},
        {"code", "1-10-1-0", true}, {"code", "1-11-1-0", true},
        {"code", "0", true},        {"method", "gla", true},
        {"method", "mamba", true},  {"method", "rwkv4", true},
        {"method", "hgrn", true},   {"method", "lrn", true},
        {"method", "gfw", true},    {"method", "fwp", false},
        {"method", "s4", false},    {"method", "linear-attention", true},
    };
    for (size_t j = 0; j < sizeof cases / sizeof cases[0]; j++) {
        json_t       *root  = inspect(cases[j].key, cases[j].value, NULL, 0, 0);
        const json_t *layer = layer_of(root);
        assert_int_equal(json_object_get(layer, "half_life") != NULL, cases[j].known);
        assert_non_null(json_object_get(layer, "state_norms"));
        if (cases[j].known) {
            double gate = number(layer, "gate_mean");
            assert_true(gate > 0 && gate <= 1 + 1e-6);
        }
        json_decref(root);
    }
}

TEST(the_paper_s_number_of_layers_is_inspected)
{
    json_t *root = inspect("layers", "0", NULL, 0, 0);
    assert_int_equal(json_array_size(json_object_get(root, "layers")), 10);
    json_decref(root);
}

TEST(a_folder_without_a_model_is_refused)
{
    temp_folder          f = temp_folder_make();
    lcsm_context        *ctx;
    lcsm_inspect_options o    = {.run = f.path};
    char                *text = NULL;
    lcsm_error           err;
    assert_int_equal(lcsm_context_create(&ctx, NULL, NULL), LCSM_OK);
    assert_int_not_equal(lcsm_inspect(ctx, &o, &text, &err), LCSM_OK);
    assert_null(text);
    assert_non_null(strstr(err.text, f.path));
    lcsm_context_free(ctx);
    temp_folder_remove(&f);
}
