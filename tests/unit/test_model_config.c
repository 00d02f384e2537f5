/* Settings of models: keys, codes, and the parameter counts of the paper. */
#include <lcsm/model.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "eos/code.h"
#include "format/keys.h"
#include "model/config.h"
#include "test.h"

static void refused(const char *key, const char *value, const char *word)
{
    lcsm_model_config cfg;
    lcsm_error        err = {0};
    lcsm_model_config_defaults(&cfg);
    assert_int_equal(lcsm_model_config_set(&cfg, key, value, &err), LCSM_ERR_CONFIG);
    if (strstr(err.text, word) == NULL) fail_msg("'%s' does not say '%s'", err.text, word);
}

TEST(keys_that_are_wrong_are_refused_in_words)
{
    refused("d_modle", "8", "did you mean d_model?");
    refused("d_model", "0", "expected a whole number from 1 to 65536");
    refused("d_model", "1.5", "expected a whole number");
    refused("layers", "many", "expected a number");
    refused("tau", "nan", "tau is nan");
    refused("flavour", "sweet", "expected one of native|bare; did you mean bare?");
    refused("tied", "perhaps", "expected true or false");
}

/* A struct that a program filled is held to the same ranges. */
TEST(fields_that_are_out_of_range_are_refused_by_name)
{
    lcsm_model_config good, bad[5];
    const char       *names[] = {"d_model", "vocab", "dropout", "flavour", "method"};
    lcsm_model_config_defaults(&good);
    assert_int_equal(lcsm_model_config_check(&good, NULL), LCSM_OK);
    for (size_t j = 0; j < COUNT(bad); j++) bad[j] = good;
    bad[0].d_model = 0;
    bad[1].vocab   = -1;
    bad[2].dropout = (double)NAN;
    bad[3].flavour = 9;
    memset(bad[4].method, 'x', sizeof bad[4].method);
    for (size_t j = 0; j < COUNT(bad); j++) {
        lcsm_error err = {0};
        assert_int_equal(lcsm_model_config_check(&bad[j], &err), LCSM_ERR_CONFIG);
        if (strstr(err.text, names[j]) == NULL) fail_msg("'%s' lacks %s", err.text, names[j]);
    }
}

TEST(keys_take_dashes_and_underscores_alike)
{
    lcsm_model_config cfg;
    lcsm_model_config_defaults(&cfg);
    assert_int_equal(lcsm_model_config_set(&cfg, "d-model", "96", NULL), LCSM_OK);
    assert_int_equal(lcsm_model_config_set(&cfg, "norm_eps", "1e-5", NULL), LCSM_OK);
    assert_true(cfg.d_model == 96 && cfg.norm_eps == 1e-5);
}

TEST(keys_written_as_json_read_back_the_same)
{
    lcsm_model_config a, b;
    lcsm_model_config_defaults(&a);
    lcsm_model_config_defaults(&b);
    assert_int_equal(lcsm_model_config_set(&a, "method", "retnet", NULL), LCSM_OK);
    assert_int_equal(lcsm_model_config_set(&a, "tau", "0.1", NULL), LCSM_OK);
    assert_int_equal(lcsm_model_config_set(&a, "phase", "learned", NULL), LCSM_OK);
    json_t *o = json_object();
    assert_true(lcsm_keys_write(&LCSM_MODEL_KEYS, &a, o));
    assert_int_equal(lcsm_keys_read(&LCSM_MODEL_KEYS, NULL, &b, o, "file", NULL), LCSM_OK);
    assert_memory_equal(&a, &b, sizeof a);
    lcsm_error err;
    json_object_set_new(o, "tau", json_string("x"));
    assert_int_equal(lcsm_keys_read(&LCSM_MODEL_KEYS, NULL, &b, o, "f.json", &err),
                     LCSM_ERR_CONFIG);
    assert_non_null(strstr(err.text, "f.json: tau has the wrong type"));
    json_decref(o);
}

TEST(keys_of_what_is_no_object_are_refused)
{
    lcsm_model_config cfg;
    lcsm_error        err;
    json_t           *list = json_pack("[i]", 1);
    assert_int_equal(lcsm_keys_read(&LCSM_MODEL_KEYS, NULL, &cfg, list, "f.json", &err),
                     LCSM_ERR_CONFIG);
    assert_non_null(strstr(err.text, "f.json: expected an object"));
    json_decref(list);
}

TEST(codes_that_do_not_exist_are_refused)
{
    const char *bad[] = {"",        "1",         "1-1-1", "2-0-0-0", "1-12-1-0",
                         "1-1-1-8", "1-1-1-0-0", "a-b",   "1-1-1-0x"};
    for (size_t j = 0; j < sizeof bad / sizeof bad[0]; j++) {
        lcsm_code_states c;
        lcsm_error       err;
        assert_int_equal(lcsm_code_parse(bad[j], &c, &err), LCSM_ERR_CONFIG);
        assert_non_null(strstr(err.text, "expected e-o-s-a"));
        assert_non_null(strstr(err.text, "did you mean "));
    }
}

/* The paper's language model: vocabulary 50265, D 512, k 128, GLU 682, SSM rank 32. */
TEST(parameter_counts_of_the_paper_come_out_to_the_unit)
{
    const struct {
        const char *code;
        ptrdiff_t   layers;
        size_t      count;
    } rows[] = {
        {"0-0-0-0", 10, 43451904},  {"1-1-1-0", 9, 44039680},  {"1-1-1-0", 10, 46073344},
        {"1-2-1-0", 9, 43449856},   {"1-3-1-0", 10, 43451904}, {"1-4-1-0", 11, 44503936},
        {"1-5-1-0", 11, 44508160},  {"1-6-1-0", 10, 44107264}, {"1-7-1-0", 9, 44039680},
        {"1-8-1-0", 9, 43451008},   {"1-9-1-0", 10, 43457024}, {"1-10-1-0", 10, 43451904},
        {"1-11-1-0", 10, 44108544}, {"0", 10, 43779584},
    };
    lcsm_context *ctx;
    lcsm_error    err;
    assert_int_equal(lcsm_context_create(&ctx, NULL, &err), LCSM_OK);
    for (size_t j = 0; j < sizeof rows / sizeof rows[0]; j++) {
        lcsm_model_config  cfg;
        lcsm_model_summary m = {.size = sizeof m};
        lcsm_model_config_defaults(&cfg);
        snprintf(cfg.code, sizeof cfg.code, "%s", rows[j].code);
        cfg.vocab      = 50265;
        cfg.d_model    = 512;
        cfg.expand     = 128;
        cfg.hidden     = 682;
        cfg.layers     = rows[j].layers;
        lcsm_status st = lcsm_model_describe(ctx, &cfg, 8, &m, NULL, NULL, &err);
        if (st != LCSM_OK) fail_msg("%s: %s", rows[j].code, err.text);
        assert_int_equal(m.parameters + m.reference_frozen, rows[j].count);
    }
    lcsm_context_free(ctx);
}

/* The recipe of that model: layers = 0 takes the depth of each code. */
TEST(depth_follows_the_code_where_layers_is_0)
{
    const struct {
        const char *code;
        ptrdiff_t   layers;
    } rows[] = {{"0-0-1-0", 10}, {"0-1-0-0", 9}, {"1-1-1-4", 10}, {"1-2-1-0", 9},   {"1-5-1-0", 11},
                {"1-7-1-0", 9},  {"1-8-1-3", 9}, {"1-9-1-0", 10}, {"1-10-1-6", 10}, {"0", 10}};
    for (size_t j = 0; j < sizeof rows / sizeof rows[0]; j++) {
        lcsm_model_config cfg;
        lcsm_model_config_defaults(&cfg);
        snprintf(cfg.code, sizeof cfg.code, "%s", rows[j].code);
        cfg.layers = 0;
        assert_int_equal(lcsm_model_config_layers(&cfg), rows[j].layers);
        cfg.layers = 3;
        assert_int_equal(lcsm_model_config_layers(&cfg), 3);
    }
}

TEST(sizes_come_near_their_number_of_parameters)
{
    const char   *methods[] = {"gla", "mamba", "s5", "tnn", "rwkv4", "attention"};
    lcsm_context *ctx;
    lcsm_error    err;
    assert_int_equal(lcsm_context_create(&ctx, NULL, &err), LCSM_OK);
    for (size_t j = 0; j < sizeof methods / sizeof methods[0]; j++) {
        lcsm_model_config  cfg;
        lcsm_model_summary m = {.size = sizeof m};
        lcsm_model_config_defaults(&cfg);
        assert_int_equal(lcsm_model_config_set(&cfg, "method", methods[j], &err), LCSM_OK);
        assert_int_equal(lcsm_model_config_size(&cfg, ctx, "10m", &err), LCSM_OK);
        assert_int_equal(lcsm_model_describe(ctx, &cfg, 8, &m, NULL, NULL, &err), LCSM_OK);
        /* Half a layer: none of them has more than 1.7 M parameters. */
        assert_true(m.parameters > 9100000 && m.parameters < 10900000);
    }
    lcsm_context_free(ctx);
}
