/* test_inspect.c - what an inspection says, against models whose memory is known. */
#include <jansson.h>
#include <lcsm/inspect.h>
#include <lcsm/model.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/params.h"
#include "model/config.h"
#include "model/model_weights.h"
#include "near.h"
#include "temp_folder.h"
#include "test.h"

/* The parameters of that name, or none: one, then others, each `step` above the one before. */
typedef struct {
    const char *name;
    double      first, second, step;
    size_t      tokens; /* of the text; 0: 70 */
} values;

static void fill(lcsm_model *m, const values *v)
{
    int    row  = lcsm_params_find(m->params, v->name);
    float *data = lcsm_param_values(m->params, row);
    assert_true(row >= 0);
    for (size_t j = 0; j < m->params->list[row].count; j++)
        data[j] = (float)(j == 0 ? v->first : v->second + v->step * ((double)j - 1));
}

/* Inspects a run folder with one layer of that code or method; NULL if that fails. */
static json_t *try_inspect(const char *key, const char *value, const values *v, lcsm_error *err)
{
    temp_folder          f = temp_folder_make();
    lcsm_context        *ctx;
    lcsm_model          *model;
    lcsm_model_config    cfg;
    size_t               n    = v != NULL && v->tokens > 0 ? v->tokens : 70;
    lcsm_inspect_options o    = {.size = sizeof o, .run = f.path, .tokens = n, .save = true};
    char                *text = NULL;
    json_t              *root = NULL;
    lcsm_model_config_defaults(&cfg);
    cfg.d_model = 8;
    cfg.expand  = 4;
    cfg.layers  = 1;
    cfg.vocab   = 20;
    cfg.tau     = 2;
    assert_int_equal(lcsm_model_config_set(&cfg, key, value, NULL), LCSM_OK);
    assert_int_equal(lcsm_context_create(&ctx, NULL, NULL), LCSM_OK);
    assert_int_equal(lcsm_model_create(&model, ctx, &cfg, 1, NULL), LCSM_OK);
    if (v != NULL && v->name != NULL) fill(model, v);
    assert_int_equal(lcsm_model_save(model, f.path, NULL), LCSM_OK);
    if (lcsm_inspect(ctx, &o, &text, err) == LCSM_OK) {
        size_t size;
        char  *kept = (char *)temp_read(&f, "inspect.json", &size);
        assert_string_equal(kept, text);
        root = json_loads(text, 0, NULL);
        assert_non_null(root);
        free(kept);
    }
    free(text);
    lcsm_model_free(model);
    lcsm_context_free(ctx);
    temp_folder_remove(&f);
    return root;
}

static json_t *inspect(const char *key, const char *value, const values *v)
{
    lcsm_error err;
    json_t    *root = try_inspect(key, value, v, &err);
    if (root == NULL) fail_msg("%s: %s", value, err.text);
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
    json_t       *root  = inspect("code", "1-4-1-0", &(values){"layers.0.mixer.o_k", 100, 0, 0, 0});
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

/* Of sigmoid(z)^(1/2). The model has its logarithm as a float, so to about 1e-7 of itself, and to
 * 1e-4 where z is 7. */
static double half_life(double z)
{
    return log(0.5) / (-log1p(exp(-z)) / 2);
}

TEST(half_lives_are_spread_as_the_entries_of_the_memory_are)
{
    /* Gates of channels: every row has all of them, and the same median. */
    json_t       *root  = inspect("code", "1-5-1-0", &(values){"layers.0.mixer.o_d", 0, 1, 1, 0});
    const json_t *layer = layer_of(root), *list = json_object_get(layer, "half_life");
    double        middle = (half_life(3) + half_life(4)) / 2;
    assert_int_equal(json_array_size(list), 4);
    for (size_t j = 0; j < 4; j++)
        assert_near(json_number_value(json_array_get(list, j)), middle, 1e-4);
    assert_near(number(layer, "half_life_median"), middle, 1e-4);
    /* Of 32 sorted entries, 4 of each channel, the quantiles are at 3.1 and 27.9. */
    assert_near(number(layer, "half_life_low"), 0.9 * half_life(0) + 0.1 * half_life(1), 1e-5);
    assert_near(number(layer, "half_life_high"), 0.1 * half_life(6) + 0.9 * half_life(7), 0.1);
    json_decref(root);
}

TEST(the_median_half_life_lies_between_the_two_in_the_middle)
{
    json_t *root = inspect("code", "1-4-1-0", &(values){"layers.0.mixer.o_k", 0, 1, 1, 0});
    assert_near(number(layer_of(root), "half_life_median"), (half_life(1) + half_life(2)) / 2,
                1e-5);
    json_decref(root);
}

/* The change at a distance; straight between those that are listed. */
static double change_at(const json_t *influence, double distance)
{
    const json_t *at = json_object_get(influence, "distance");
    const json_t *y  = json_object_get(influence, "change");
    size_t        j  = 0;
    while (json_number_value(json_array_get(at, j)) < distance) j++;
    double right   = json_number_value(json_array_get(at, j)),
           y_right = json_number_value(json_array_get(y, j));
    if (right == distance) return y_right;
    double left   = json_number_value(json_array_get(at, j - 1)),
           y_left = json_number_value(json_array_get(y, j - 1));
    return y_left + (y_right - y_left) * (distance - left) / (right - left);
}

TEST(nine_tenths_of_the_influence_are_of_the_sum_over_all_distances)
{
    static const char *const codes[] = {"0", "1-1-1-0", "1-2-1-0", "1-5-1-0", "1-10-1-0"};
    for (size_t c = 0; c < sizeof codes / sizeof codes[0]; c++) {
        json_t       *root      = inspect("code", codes[c], NULL);
        const json_t *influence = json_object_get(root, "influence");
        double        window = number(influence, "window"), total = 0, sum = 0, context = 0;
        assert_near(window, 70, 0);
        for (double d = 1; d <= window; d++) total += change_at(influence, d);
        while (sum < 0.9 * total) sum += change_at(influence, ++context);
        assert_near(number(root, "effective_context"), context, 0);
        /* The window is all of the text: nothing lies beyond it. */
        assert_true(json_is_false(json_object_get(root, "effective_context_open")));
        json_decref(root);
    }
}

TEST(an_influence_that_does_not_fall_off_is_open)
{
    static const char O[] = "layers.0.mixer.o_k";
    const struct {
        const char *code;
        values      v;
        bool        open;
    } cases[] = {
        {"1-10-1-0", {.tokens = 2000}, true}, /* a memory of ones keeps all */
        {"1-4-1-0", {O, 200, 200, 0, 2000}, true},
        {"1-4-1-0", {O, 0, 0, 0, 2000}, false},
    };
    for (size_t j = 0; j < sizeof cases / sizeof cases[0]; j++) {
        json_t *root = inspect("code", cases[j].code, &cases[j].v);
        assert_true(number(json_object_get(root, "influence"), "window") < 2000);
        assert_int_equal(json_is_true(json_object_get(root, "effective_context_open")),
                         cases[j].open);
        json_decref(root);
    }
}

TEST(a_number_that_is_not_finite_names_its_layer)
{
    lcsm_error err;
    assert_null(
        try_inspect("code", "1-4-1-0", &(values){"layers.0.mixer.o_k", NAN, 0, 0, 0}, &err));
    assert_int_equal(err.status, LCSM_ERR_NUMBER);
    assert_non_null(strstr(err.text, "layers.0"));
}

TEST(a_memory_that_forgets_at_once_sees_one_token)
{
    json_t *root = inspect("code", "1-4-1-0", &(values){"layers.0.mixer.o_k", -200, -200, 0, 0});
    const json_t *influence = json_object_get(root, "influence");
    const json_t *change    = json_object_get(influence, "change");
    assert_true(json_number_value(json_array_get(change, 0)) > 1e-4);
    for (size_t j = 1; j < json_array_size(change); j++)
        /* The float softmax of logits that are equal but for rounding. */
        assert_near(json_number_value(json_array_get(change, j)), 0, 1e-6);
    assert_true(number(root, "effective_context") <= 2);
    json_decref(root);

    root = inspect("code", "1-4-1-0", &(values){"layers.0.mixer.o_k", 200, 200, 0, 0});
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
        json_t       *root  = inspect(cases[j].key, cases[j].value, NULL);
        const json_t *layer = layer_of(root);
        assert_int_equal(json_object_get(layer, "half_life") != NULL, cases[j].known);
        assert_int_equal(json_object_get(layer, "no_half_life") == NULL, cases[j].known);
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
    json_t *root = inspect("layers", "0", NULL);
    assert_int_equal(json_array_size(json_object_get(root, "layers")), 10);
    json_decref(root);
}

TEST(a_folder_without_a_model_is_refused)
{
    temp_folder          f = temp_folder_make();
    lcsm_context        *ctx;
    lcsm_inspect_options o    = {.size = sizeof o, .run = f.path};
    char                *text = NULL;
    lcsm_error           err;
    assert_int_equal(lcsm_context_create(&ctx, NULL, NULL), LCSM_OK);
    assert_int_not_equal(lcsm_inspect(ctx, &o, &text, &err), LCSM_OK);
    assert_null(text);
    assert_non_null(strstr(err.text, f.path));
    lcsm_context_free(ctx);
    temp_folder_remove(&f);
}
