/* Settings that only some models read: for the others they are refused or called idle, and really
 * do nothing. */
#include <lcsm/session.h>
#include <stdio.h>
#include <string.h>

#include "eos/method.h"
#include "model/config.h"
#include "model/model_weights.h"
#include "test.h"

enum { V = 11, N = 9 };

/* A value of each setting that is not its default. */
static const char *const OTHERS[][2] = {
    {"heads", "2"},
    {"expand", "6"},
    {"hidden", "5"},
    {"activation", "silu"},
    {"expand.from", "static"},
    {"shrink.from", "static"},
    {"oscillation", "row"},
    {"oscillation.k", "static"},
    {"oscillation.d", "static"},
    {"phase", "learned"},
    {"o_init", "alibi"},
    {"theta_init", "even"},
    {"o_learned", "false"},
    {"tau", "3"},
    {"rank", "2"},
    {"denominator", "false"},
    {"complex", "false"},
    {"raw", "true"},
    {"complement", "true"},
    {"feature", "dpfp"},
    {"s4_kind", "diagonal"},
    {"s4_init", "lin"},
    {"dss_kind", "softmax"},
    {"disc", "bilinear"},
    {"state_size", "8"},
    {"conv_width", "3"},
    {"conv_bias", "false"},
    {"proj_bias", "true"},
    {"inner_ratio", "1.5"},
    {"rpe_layers", "2"},
    {"value_ratio", "2"},
    {"rotation", "false"},
};

/* What a method reads only beside other settings than the defaults. */
static const char CONDITIONAL[] = "o_init theta_init o_learned s4_init";

/* Codes whose o is static, complex, and made by the SSM. */
static const char *const CODES[] = {"1-0-1-0", "0-0-0-0", "1-11-1-0", "0"};

/* What a small model is: its parameters, and the logits after N tokens. */
typedef struct {
    size_t parameters;
    float  logits[V];
} picture;

/* Weights that start at zero would hide what is before them. */
static void fill_zeros(lcsm_params *p)
{
    for (size_t j = 0; j < p->count; j++) {
        const lcsm_param *row = &p->list[j];
        float            *v   = (float *)p->values + row->offset;
        if (row->shape.rank < 2 || v[0] != 0) continue;
        for (size_t k = 0; k < row->count; k++) v[k] = 0.1F * (float)((int)(5 * k % 7) - 3);
    }
}

/* False if the settings do not go together. */
static bool look(const lcsm_context *ctx, const lcsm_model_config *cfg, picture *p)
{
    lcsm_model   *m = NULL;
    lcsm_session *s = NULL;
    int32_t       tokens[N];
    for (int j = 0; j < N; j++) tokens[j] = (7 * j + j * j) % V;
    bool ok = lcsm_model_create(&m, ctx, cfg, 1, NULL) == LCSM_OK;
    if (ok) fill_zeros(m->params);
    ok = ok && lcsm_session_create(&s, m, NULL, NULL) == LCSM_OK
      && lcsm_session_feed(s, tokens, N, NULL, NULL) == LCSM_OK;
    memset(p, 0, sizeof *p);
    if (ok) {
        p->parameters = (size_t)lcsm_model_param_count(m);
        memcpy(p->logits, lcsm_session_logits(s), sizeof p->logits);
    }
    lcsm_session_free(s);
    lcsm_model_free(m);
    return ok;
}

static lcsm_model_config config_of(const char *method, const char *code)
{
    lcsm_model_config cfg;
    lcsm_model_config_defaults(&cfg);
    (void)snprintf(cfg.method, sizeof cfg.method, "%s", method);
    (void)snprintf(cfg.code, sizeof cfg.code, "%s", code);
    cfg.vocab   = V;
    cfg.d_model = 8;
    cfg.layers  = 1;
    return cfg;
}

/* Whether the setting makes a difference; if it is refused, it must not. */
static bool matters(const lcsm_context *ctx, const lcsm_model_config *plain, const picture *before,
                    const char *const setting[2])
{
    lcsm_model_config cfg = *plain;
    lcsm_error        err = {0};
    picture           after;
    if (lcsm_model_config_set(&cfg, setting[0], setting[1], &err) != LCSM_OK)
        fail_msg("%s", err.text);
    bool refused = !lcsm_model_config_reads(&cfg, setting[0]);
    bool size    = strstr("heads expand hidden", setting[0]) != NULL;
    if ((lcsm_model_config_unused(&cfg, NULL, &err) != LCSM_OK) != (refused && !size))
        fail_msg("%s: %s", setting[0], err.text);
    bool same = look(ctx, &cfg, &after) && memcmp(before, &after, sizeof after) == 0;
    if (refused && !same)
        fail_msg("%s is refused in %s%s, where it does something: %s", setting[0], cfg.method,
                 cfg.code, err.text);
    if (!refused && same && cfg.code[0] == 0 && strstr(CONDITIONAL, setting[0]) == NULL)
        fail_msg("%s is taken by %s, where it does nothing", setting[0], cfg.method);
    return !refused && !same;
}

TEST(settings_are_refused_where_they_do_nothing_and_nowhere_else)
{
    lcsm_context *ctx;
    int           used[COUNT(OTHERS)] = {0};
    picture       before;
    assert_int_equal(
        lcsm_context_create(
            &ctx, &(lcsm_context_options){.size = sizeof(lcsm_context_options), .threads = 1},
            NULL),
        LCSM_OK);
    for (size_t j = 0; j < LCSM_METHOD_COUNT + COUNT(CODES); j++) {
        bool        code   = j >= LCSM_METHOD_COUNT;
        const char *method = code ? "gla" : LCSM_METHODS[j].name;
        if (strcmp(method, "code") == 0) continue;
        lcsm_model_config cfg = config_of(method, code ? CODES[j - LCSM_METHOD_COUNT] : "");
        if (!look(ctx, &cfg, &before)) fail_msg("%s does not build", method);
        for (size_t k = 0; k < COUNT(OTHERS); k++)
            used[k] += matters(ctx, &cfg, &before, OTHERS[k]);
    }
    for (size_t k = 0; k < COUNT(OTHERS); k++)
        if (used[k] == 0) fail_msg("%s makes no difference anywhere", OTHERS[k][0]);
    lcsm_context_free(ctx);
}

TEST(sizes_that_a_block_has_not_are_not_read_and_not_refused)
{
    lcsm_model_config cfg = config_of("gla", "");
    cfg.hidden            = 5;
    assert_true(lcsm_model_config_reads(&cfg, "hidden"));
    cfg.wiring = LCSM_WIRING_MQAR;
    assert_false(lcsm_model_config_reads(&cfg, "hidden"));
    assert_int_equal(lcsm_model_config_unused(&cfg, NULL, NULL), LCSM_OK);
    cfg.wiring = LCSM_WIRING_MQAR_PLAIN;
    assert_false(lcsm_model_config_reads(&cfg, "hidden"));
    cfg.channel_mixer = LCSM_CHANNEL_FFN;
    assert_true(lcsm_model_config_reads(&cfg, "hidden"));
    cfg.hidden = 0;
    cfg.wiring = LCSM_WIRING_MQAR;
    assert_int_equal(lcsm_model_config_unused(&cfg, NULL, NULL), LCSM_ERR_CONFIG);
}

TEST(settings_of_experts_are_read_only_where_there_are_experts)
{
    lcsm_model_config cfg = config_of("gla", "");
    assert_true(lcsm_model_config_reads(&cfg, "experts"));
    assert_false(lcsm_model_config_reads(&cfg, "experts.hidden"));
    cfg.experts_used = 2;
    assert_int_equal(lcsm_model_config_unused(&cfg, NULL, NULL), LCSM_ERR_CONFIG);
    cfg.experts = 4;
    assert_true(lcsm_model_config_reads(&cfg, "experts.hidden"));
    assert_int_equal(lcsm_model_config_unused(&cfg, NULL, NULL), LCSM_OK);
}

TEST(settings_of_a_recipe_are_refused_only_for_the_model_that_it_names)
{
    lcsm_model_config recipe = config_of("mamba", ""), cfg = recipe;
    recipe.tau = cfg.tau = 2;
    assert_int_equal(lcsm_model_config_unused(&cfg, &recipe, NULL), LCSM_ERR_CONFIG);
    recipe = config_of("gla", "");
    assert_int_equal(lcsm_model_config_unused(&cfg, &recipe, NULL), LCSM_ERR_CONFIG);
    recipe.tau = 2;
    assert_int_equal(lcsm_model_config_unused(&cfg, &recipe, NULL), LCSM_OK);
}

/* A word in the column `reads` that is no key would be read by nobody. */
TEST(rows_of_the_method_table_read_settings_that_exist)
{
    for (size_t j = 0; j < LCSM_METHOD_COUNT; j++) {
        char words[512];
        (void)snprintf(words, sizeof words, "%s", LCSM_METHODS[j].reads);
        for (char *word = strtok(words, " "); word != NULL; word = strtok(NULL, " "))
            if (lcsm_keys_find(&LCSM_MODEL_KEYS, word) == NULL)
                fail_msg("%s reads \"%s\", which is no key", LCSM_METHODS[j].name, word);
    }
}

TEST(readers_of_a_setting_are_the_rows_that_have_it)
{
    lcsm_setting_info info = {.size = sizeof info};
    assert_true(lcsm_model_config_find("rank", &info));
    assert_string_equal(info.readers, "tnn, mamba, gla, falcon-mamba, longhorn, code");
    assert_true(lcsm_model_config_find("d_model", &info));
    assert_string_equal(info.readers, "");
}
