/* Settings as a program sees them: handles, keys, files. Public headers only. */
#include <lcsm/lcsm.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "temp_folder.h"
#include "test.h"

static lcsm_model_config *model_config(void)
{
    lcsm_model_config *cfg;
    assert_int_equal(lcsm_model_config_create(&cfg, NULL), LCSM_OK);
    return cfg;
}

static lcsm_train_config *train_config(void)
{
    lcsm_train_config *cfg;
    assert_int_equal(lcsm_train_config_create(&cfg, NULL), LCSM_OK);
    return cfg;
}

TEST(settings_are_set_and_read_by_key)
{
    lcsm_model_config *cfg = model_config();
    char               text[64];
    assert_int_equal(lcsm_model_config_set(cfg, "d-model", "96", NULL), LCSM_OK);
    assert_true(lcsm_model_config_number(cfg, "d_model") == 96);
    assert_int_equal(lcsm_model_config_set_number(cfg, "dropout", 0.1, NULL), LCSM_OK);
    assert_int_equal(lcsm_model_config_get(cfg, "dropout", text, sizeof text, NULL), LCSM_OK);
    assert_string_equal(text, "0.1");
    assert_int_equal(lcsm_model_config_set_number(cfg, "tied", 0, NULL), LCSM_OK);
    assert_int_equal(lcsm_model_config_get(cfg, "tied", text, sizeof text, NULL), LCSM_OK);
    assert_string_equal(text, "false");
    assert_int_equal(lcsm_model_config_set(cfg, "norm", "rms", NULL), LCSM_OK);
    assert_int_equal(lcsm_model_config_get(cfg, "norm", text, sizeof text, NULL), LCSM_OK);
    assert_string_equal(text, "rms");
    assert_true(isnan(lcsm_model_config_number(cfg, "norm")));
    assert_true(isnan(lcsm_model_config_number(cfg, "no_such_key")));
    lcsm_model_config_free(cfg);
}

static void assert_says(lcsm_status st, lcsm_status want, const lcsm_error *err, const char *says)
{
    assert_int_equal(st, want);
    if (strstr(err->text, says) == NULL) fail_msg("'%s' does not say '%s'", err->text, says);
}

TEST(settings_that_are_wrong_are_refused_and_change_nothing)
{
    lcsm_model_config *cfg = model_config();
    lcsm_error         err = {0};
    char               text[64], small[3];
    assert_says(lcsm_model_config_set_number(cfg, "d_model", 0, &err), LCSM_ERR_CONFIG, &err,
                "d_model is 0");
    assert_says(lcsm_model_config_set_number(cfg, "d_model", 1.5, &err), LCSM_ERR_CONFIG, &err,
                "whole number");
    assert_says(lcsm_model_config_set_number(cfg, "tied", 2, &err), LCSM_ERR_CONFIG, &err,
                "0 or 1");
    assert_says(lcsm_model_config_set_number(cfg, "method", 2, &err), LCSM_ERR_CONFIG, &err,
                "a text");
    assert_says(lcsm_model_config_set_number(cfg, "d_modle", 2, &err), LCSM_ERR_CONFIG, &err,
                "did you mean d_model?");
    assert_says(lcsm_model_config_get(cfg, "d_modle", text, sizeof text, &err), LCSM_ERR_CONFIG,
                &err, "did you mean d_model?");
    assert_says(lcsm_model_config_get(cfg, "method", small, sizeof small, &err), LCSM_ERR_ARGUMENT,
                &err, "method has 3 letters");
    assert_true(lcsm_model_config_number(cfg, "d_model") == 128);
    lcsm_model_config_free(cfg);
}

/* Every key is described, and its value as text is read back as the same value. */
TEST(settings_list_themselves)
{
    lcsm_model_config *model = model_config();
    lcsm_train_config *train = train_config();
    lcsm_setting_info  info = {.size = sizeof info}, again = {.size = sizeof again};
    char               text[64], back[64];
    size_t             count = 0;
    for (; lcsm_model_config_key(count, &info); count++) {
        assert_true(strlen(info.name) > 0 && strlen(info.help) > 0 && info.type <= 4);
        assert_true((info.type == LCSM_SETTING_CHOICE) == (*info.choices != 0));
        assert_true(lcsm_model_config_find(info.name, &again));
        assert_string_equal(again.standard, info.standard);
        assert_int_equal(lcsm_model_config_get(model, info.name, text, 64, NULL), LCSM_OK);
        assert_int_equal(lcsm_model_config_set(model, info.name, text, NULL), LCSM_OK);
        assert_int_equal(lcsm_model_config_get(model, info.name, back, 64, NULL), LCSM_OK);
        assert_string_equal(text, back);
        assert_true(*info.readers != 0 || lcsm_model_config_reads(model, info.name));
    }
    assert_true(count > 40);
    for (count = 0; lcsm_train_config_key(count, &info); count++) {
        assert_int_equal(lcsm_train_config_get(train, info.name, text, 64, NULL), LCSM_OK);
        assert_int_equal(lcsm_train_config_set(train, info.name, info.standard, NULL), LCSM_OK);
        assert_int_equal(lcsm_train_config_get(train, info.name, back, 64, NULL), LCSM_OK);
        assert_string_equal(text, back);
    }
    assert_true(count > 30);
    assert_false(lcsm_train_config_find("d_model", NULL));
    assert_true(lcsm_train_config_find("lr-last", NULL));
    assert_false(lcsm_train_config_reads(train, "pairs"));
    lcsm_model_config_free(model);
    lcsm_train_config_free(train);
}

/* A program that was built with an older header knows fewer members. */
TEST(settings_fill_no_more_of_a_description_than_the_caller_knows)
{
    lcsm_setting_info info;
    memset(&info, 0x55, sizeof info);
    info.size = offsetof(lcsm_setting_info, help);
    assert_true(lcsm_model_config_key(0, &info));
    assert_string_equal(info.name, "method");
    assert_int_equal(info.size, offsetof(lcsm_setting_info, help));
    for (size_t j = info.size; j < sizeof info; j++)
        assert_int_equal(((unsigned char *)&info)[j], 0x55);
}

TEST(settings_of_a_clone_are_its_own)
{
    lcsm_model_config *a = model_config(), *b;
    assert_int_equal(lcsm_model_config_set_number(a, "d_model", 64, NULL), LCSM_OK);
    assert_int_equal(lcsm_model_config_clone(&b, a, NULL), LCSM_OK);
    assert_int_equal(lcsm_model_config_set_number(a, "d_model", 32, NULL), LCSM_OK);
    assert_true(lcsm_model_config_number(b, "d_model") == 64);
    lcsm_model_config_free(a);
    lcsm_model_config_free(b);
    lcsm_model_config_free(NULL);
    lcsm_train_config_free(NULL);
}

TEST(settings_in_a_file_come_back)
{
    temp_folder        f     = temp_folder_make();
    lcsm_model_config *model = model_config(), *m = model_config();
    lcsm_train_config *train = train_config(), *t = train_config();
    lcsm_error         err = {0};
    char               text[64];
    assert_int_equal(lcsm_model_config_set(model, "method", "retnet", NULL), LCSM_OK);
    assert_int_equal(lcsm_train_config_set_number(train, "lr", 1.0 / 3, NULL), LCSM_OK);
    assert_int_equal(lcsm_settings_save(temp_path(&f, "s.json"), model, train, NULL), LCSM_OK);
    assert_int_equal(lcsm_settings_load(temp_path(&f, "s.json"), m, NULL, NULL), LCSM_OK);
    assert_int_equal(lcsm_settings_load(temp_path(&f, "s.json"), NULL, t, NULL), LCSM_OK);
    assert_int_equal(lcsm_model_config_get(m, "method", text, sizeof text, NULL), LCSM_OK);
    assert_string_equal(text, "retnet");
    assert_true(lcsm_train_config_number(t, "lr") == 1.0 / 3);
    temp_write(&f, "bad.json", "{\"d_modle\": 3}", 14);
    assert_says(lcsm_settings_load(temp_path(&f, "bad.json"), NULL, t, &err), LCSM_ERR_CONFIG, &err,
                "did you mean d_model?");
    assert_says(lcsm_recipe_load("no-such-recipe", m, t, &err), LCSM_ERR_CONFIG, &err,
                "unknown recipe");
    lcsm_model_config_free(model);
    lcsm_model_config_free(m);
    lcsm_train_config_free(train);
    lcsm_train_config_free(t);
    temp_folder_remove(&f);
}
