/* Patterns of layers: what they say, and what is wrong with bad ones. */
#include "model/pattern.h"

#include <lcsm/model.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/config.h"
#include "model/model_weights.h"
#include "temp_folder.h"
#include "test.h"

static lcsm_model_config config(const char *pattern, ptrdiff_t layers)
{
    lcsm_model_config cfg;
    lcsm_model_config_defaults(&cfg);
    cfg.vocab   = 11;
    cfg.d_model = 16;
    cfg.layers  = layers;
    assert_int_equal(lcsm_model_config_set(&cfg, "layers-pattern", pattern, NULL), LCSM_OK);
    return cfg;
}

/* The mixers of all layers, "gla gla mamba+attention". */
static void assert_layers(const char *pattern, ptrdiff_t layers, const char *want)
{
    lcsm_model_config cfg       = config(pattern, layers), own;
    char              text[512] = "";
    for (ptrdiff_t j = 0; j < layers; j++)
        for (int k = 0; lcsm_pattern_layer(&own, &cfg, j, k); k++) {
            size_t used = strlen(text);
            (void)snprintf(text + used, sizeof text - used, "%s%s",
                           k > 0      ? "+"
                           : used > 0 ? " "
                                      : "",
                           lcsm_model_config_name(&own));
            assert_int_equal(own.layers_pattern[0], 0);
            assert_int_equal(own.layers, layers);
        }
    assert_string_equal(text, want);
    assert_int_equal(lcsm_model_config_check(&cfg, NULL), LCSM_OK);
}

TEST(pattern_is_repeated_over_the_depth)
{
    assert_layers("gla*2,attention", 7, "gla gla attention gla gla attention gla");
    assert_layers("gla", 2, "gla gla");
    assert_layers(" mamba + attention * 2 , 1-1-1-0", 4,
                  "mamba+attention mamba+attention 1-1-1-0 mamba+attention");
    assert_layers("custom*1,0", 3, "custom 0 custom");
}

TEST(pattern_that_is_wrong_is_refused_by_position)
{
    static const struct {
        const char *pattern, *says;
    } BAD[] = {
        {"gal*3,attention", "character 1: \"gal\" is not a method; did you mean gla?"},
        {"gla*3,atention", "character 7: \"atention\" is not a method; did you mean attention?"},
        {"gla,,gla", "character 5: expected the name of a method, or a code"},
        {"gla,", "character 5: expected the name"},
        {",", "character 1: expected the name"},
        {" ", "character 2: expected the name"},
        {"+gla", "character 1: expected the name"},
        {"gla+", "character 5: expected the name"},
        {"gla+lrn+s4", "character 8: a layer adds at most two mixers"},
        {"gla*", "character 5: expected a number from 1 to 1024 after *"},
        {"gla*0", "character 5: expected a number"},
        {"gla*-1", "character 5: expected a number"},
        {"gla*1025", "character 5: expected a number"},
        {"gla*99999999999999999999", "character 5: expected a number"},
        {"gla*2x", "character 6: expected a comma"},
        {"gla mamba", "character 5: expected a comma"},
        {"code,gla", "write the code itself"},
        {"9-9-9-9,gla", "character 1: \"9-9-9-9\" is not a method"},
        {"gla*8,attention", "names 9 layers, but the model has 4; use a shorter pattern, or "
                            "--layers 9 or more"},
    };
    for (size_t j = 0; j < COUNT(BAD); j++) {
        lcsm_model_config cfg = config(BAD[j].pattern, 4);
        lcsm_error        err = {0};
        assert_int_equal(lcsm_model_config_check(&cfg, &err), LCSM_ERR_CONFIG);
        if (strstr(err.text, BAD[j].says) == NULL)
            fail_msg("\"%s\" does not say \"%s\"", err.text, BAD[j].says);
    }
}

TEST(pattern_code_and_method_replace_each_other)
{
    lcsm_model_config cfg = config("gla,attention", 4);
    assert_string_equal(lcsm_model_config_kind(&cfg), "layers_pattern");
    assert_int_equal(lcsm_model_config_set(&cfg, "code", "1-1-1-0", NULL), LCSM_OK);
    assert_string_equal(lcsm_model_config_kind(&cfg), "code");
    assert_int_equal(lcsm_model_config_set(&cfg, "layers_pattern", "gla,s4", NULL), LCSM_OK);
    assert_string_equal(lcsm_model_config_name(&cfg), "gla,s4");
    assert_int_equal(lcsm_model_config_set(&cfg, "method", "mamba", NULL), LCSM_OK);
    assert_string_equal(lcsm_model_config_name(&cfg), "mamba");
}

TEST(pattern_reads_the_settings_of_each_mixer)
{
    lcsm_model_config cfg = config("gla,mamba", 4);
    assert_true(lcsm_model_config_reads(&cfg, "tau")
                && lcsm_model_config_reads(&cfg, "conv_width"));
    assert_true(lcsm_model_config_reads(&cfg, "hidden")); /* of the gla layers */
    assert_false(lcsm_model_config_reads(&cfg, "s4_kind"));
    cfg = config("mamba", 4);
    assert_false(lcsm_model_config_reads(&cfg, "hidden"));
    lcsm_error err = {0};
    assert_int_equal(lcsm_model_config_set(&cfg, "tau", "3", NULL), LCSM_OK);
    assert_int_equal(lcsm_model_config_unused(&cfg, NULL, &err), LCSM_ERR_CONFIG);
    assert_non_null(strstr(err.text, "tau is unused in layers_pattern mamba"));
}

TEST(pattern_model_comes_back_from_its_folder)
{
    lcsm_model_config cfg = config("gla+lrn,attention", 3);
    temp_folder       f   = temp_folder_make();
    lcsm_context     *ctx;
    lcsm_model       *a, *b;
    char              x[LCSM_SHA256_TEXT], y[LCSM_SHA256_TEXT];
    assert_int_equal(lcsm_context_create(&ctx, NULL, NULL), LCSM_OK);
    assert_int_equal(lcsm_model_create(&a, ctx, &cfg, 5, NULL), LCSM_OK);
    assert_int_equal(lcsm_model_save(a, f.path, NULL), LCSM_OK);
    assert_int_equal(lcsm_model_load(&b, ctx, f.path, NULL), LCSM_OK);
    assert_string_equal(b->cfg.layers_pattern, "gla+lrn,attention");
    assert_int_equal(lcsm_model_sha256(x, a, NULL), LCSM_OK);
    assert_int_equal(lcsm_model_sha256(y, b, NULL), LCSM_OK);
    assert_string_equal(x, y);
    lcsm_model_free(a);
    lcsm_model_free(b);
    temp_folder_remove(&f);
    lcsm_context_free(ctx);
}

TEST(pattern_describes_each_mixer_once_and_takes_a_size)
{
    lcsm_model_config  cfg = config("gla*3,attention", 8);
    lcsm_model_summary m   = {.size = sizeof m};
    lcsm_context      *ctx;
    assert_int_equal(lcsm_context_create(&ctx, NULL, NULL), LCSM_OK);
    assert_int_equal(lcsm_model_describe(ctx, &cfg, 16, &m, NULL, NULL, NULL), LCSM_OK);
    char *gla = strstr(m.equations, "gla:\n");
    assert_true(gla != NULL && strstr(gla + 1, "gla:\n") == NULL);
    assert_non_null(strstr(m.equations, "attention:\ny_t = sum_j softmax_j"));
    assert_int_equal(lcsm_model_config_size(&cfg, ctx, "1m", NULL), LCSM_OK);
    assert_true(cfg.layers >= 4);
    assert_int_equal(lcsm_model_describe(ctx, &cfg, 16, &m, NULL, NULL, NULL), LCSM_OK);
    assert_true(m.parameters > 800000 && m.parameters < 1200000);
    lcsm_context_free(ctx);
}
