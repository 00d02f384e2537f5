/* Export: a model goes to a GGUF file and back, and gives the same logits. */
#include <lcsm/import.h>
#include <lcsm/session.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "format/gguf.h"
#include "model/model_weights.h"
#include "temp_folder.h"
#include "test.h"

enum { STEPS = 7, VOCAB = 37 };

typedef struct {
    lcsm_context *ctx;
    temp_folder   f;
} fixture;

static lcsm_model *make(fixture *x, const char *method, const char *eps)
{
    static const char *const settings[][2] = {{"vocab", "37"},     {"d_model", "32"},
                                              {"layers", "2"},     {"norm_eps", "1e-5"},
                                              {"conv_width", "3"}, {"rank", "3"}};
    lcsm_model_config        cfg;
    lcsm_error               err = {0};
    lcsm_model              *m;
    lcsm_model_config_defaults(&cfg);
    assert_int_equal(lcsm_model_config_set(&cfg, "method", method, &err), LCSM_OK);
    for (size_t j = 0; j < COUNT(settings); j++)
        assert_int_equal(lcsm_model_config_set(&cfg, settings[j][0], settings[j][1], &err),
                         LCSM_OK);
    assert_int_equal(lcsm_model_config_set(&cfg, "mixer_eps", eps, &err), LCSM_OK);
    if (strcmp(method, "mamba2") == 0) {
        cfg.heads      = 4;
        cfg.groups     = 2;
        cfg.state_size = 5;
    }
    if (lcsm_model_create(&m, x->ctx, &cfg, 5, &err) != LCSM_OK) fail_msg("%s", err.text);
    /* what starts as 0 would hide its place */
    for (size_t j = 0; j < m->params->count; j++) {
        float *v = lcsm_param_values(m->params, (int)j);
        for (size_t k = 0; k < m->params->list[j].count; k++)
            if ((m->params->list[j].flags & LCSM_PARAM_FROZEN) == 0)
                v[k] += 0.1f * sinf((float)(j + 3 * k));
    }
    return m;
}

static void logits(const lcsm_model *m, float out[STEPS * VOCAB])
{
    static const int32_t tokens[STEPS] = {3, 1, 4, 1, 5, 9, 2};
    lcsm_session        *s;
    lcsm_error           err = {0};
    assert_int_equal(lcsm_session_create(&s, m, NULL, &err), LCSM_OK);
    assert_int_equal(lcsm_session_feed(s, tokens, STEPS, out, &err), LCSM_OK);
    lcsm_session_free(s);
}

/* The largest difference of logits after a file of that type. */
static double through(fixture *x, const lcsm_model *m, const char *type)
{
    float       want[STEPS * VOCAB], got[STEPS * VOCAB];
    double      worst = 0;
    lcsm_error  err   = {0};
    lcsm_model *back  = NULL;
    char        file[32], run[32];
    (void)snprintf(file, sizeof file, "%s.gguf", type);
    (void)snprintf(run, sizeof run, "run-%s", type);
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", x->f.path, file);
    if (lcsm_export_gguf(m, path, type, &err) != LCSM_OK
        || lcsm_import(x->ctx, path, temp_path(&x->f, run), NULL, NULL, &err) != LCSM_OK
        || lcsm_model_load(&back, x->ctx, temp_path(&x->f, run), &err) != LCSM_OK)
        fail_msg("%s %s: %s", m->cfg.method, type, err.text);
    logits(m, want);
    logits(back, got);
    for (size_t j = 0; j < STEPS * VOCAB; j++) {
        double d = fabs((double)want[j] - (double)got[j]);
        worst    = d <= worst ? worst : d;
    }
    lcsm_model_free(back);
    return worst;
}

TEST(export_to_gguf_and_back_gives_the_same_logits)
{
    static const char *const methods[][2] = {{"mamba", "1e-5"},
                                             {"falcon-mamba", "1e-5"},
                                             {"mamba2", "1e-5"},
                                             {"rwkv6", "64e-5"},
                                             {"rwkv7", "64e-5"}};
    fixture                  x            = {.f = temp_folder_make()};
    assert_int_equal(lcsm_context_create(&x.ctx, NULL, NULL), LCSM_OK);
    for (size_t j = 0; j < COUNT(methods); j++) {
        fixture     y   = {.ctx = x.ctx, .f = temp_folder_make()};
        lcsm_model *m   = make(&x, methods[j][0], methods[j][1]);
        double      f32 = through(&y, m, "f32"), f16 = through(&y, m, "f16");
        double      q8 = through(&y, m, "q8_0");
        /* f32: exp and log of A, and the embedding's scale; f16 and q8_0: 11 and 8 bits of weights,
         * in logits of about 10 */
        if (!(f32 <= 2e-4 && f16 <= 0.1 && q8 <= 1))
            fail_msg("%s: %g, %g, %g", methods[j][0], f32, f16, q8);
        lcsm_model_free(m);
        temp_folder_remove(&y.f);
    }
    temp_folder_remove(&x.f);
    lcsm_context_free(x.ctx);
}

/* llama.cpp takes it from there where a file has no tokenizer. */
TEST(export_to_gguf_says_how_many_tokens_there_are)
{
    static const char key[] = "mamba.vocab_size";
    fixture           x     = {.f = temp_folder_make()};
    lcsm_file         file;
    assert_int_equal(lcsm_context_create(&x.ctx, NULL, NULL), LCSM_OK);
    lcsm_model *m = make(&x, "mamba", "1e-5");
    assert_int_equal(lcsm_export_gguf(m, temp_path(&x.f, "x.gguf"), "f32", NULL), LCSM_OK);
    assert_int_equal(lcsm_file_map(&file, temp_path(&x.f, "x.gguf"), NULL), LCSM_OK);
    size_t at = 0, n = sizeof key - 1;
    while (at + n + 8 < file.size && memcmp(file.data + at, key, n) != 0) at++;
    uint32_t type_and_count[2];
    memcpy(type_and_count, file.data + at + n, sizeof type_and_count);
    assert_int_equal(type_and_count[1], VOCAB);
    lcsm_file_close(&file);
    lcsm_model_free(m);
    temp_folder_remove(&x.f);
    lcsm_context_free(x.ctx);
}

/* llama.cpp does not load a file of RWKV-7 without them. */
TEST(export_rwkv7_has_the_tensors_of_its_first_block)
{
    fixture   x = {.f = temp_folder_make()};
    lcsm_gguf g = {0};
    assert_int_equal(lcsm_context_create(&x.ctx, NULL, NULL), LCSM_OK);
    lcsm_model        *m    = make(&x, "rwkv7", "64e-5");
    const char        *path = temp_path(&x.f, "x.gguf");
    lcsm_named_tensor *list;
    assert_int_equal(lcsm_export_gguf(m, path, "f32", NULL), LCSM_OK);
    assert_int_equal(lcsm_gguf_open(&g, path, NULL), LCSM_OK);
    list = calloc(g.count, sizeof *list);
    assert_non_null(list);
    assert_int_equal(lcsm_gguf_tensors(list, &g, NULL), LCSM_OK);
    for (int k = 0; k < 3; k++) {
        char   name[2][40];
        size_t at[2] = {0}, count, bytes = 0;
        (void)snprintf(name[0], sizeof name[0], "blk.0.time_mix_a%d.weight", k);
        (void)snprintf(name[1], sizeof name[1], "blk.0.time_mix_v%d.weight", k);
        for (int j = 0; j < 2; j++)
            while (at[j] < g.count && strcmp(list[at[j]].name, name[j]) != 0) at[j]++;
        assert_true(at[0] < g.count && at[1] < g.count);
        assert_true(lcsm_named_tensor_measure(&list[at[0]], &count, &bytes));
        assert_memory_equal(list[at[0]].data, list[at[1]].data, bytes);
    }
    free(list);
    lcsm_gguf_close(&g);
    lcsm_model_free(m);
    temp_folder_remove(&x.f);
    lcsm_context_free(x.ctx);
}

static void refused(fixture *x, const char *method, const char *key, const char *value,
                    const char *says)
{
    lcsm_model *m   = make(x, "mamba2", "1e-5");
    lcsm_error  err = {0};
    if (key == NULL) (void)snprintf(m->cfg.method, sizeof m->cfg.method, "%s", method);
    else assert_int_equal(lcsm_model_config_set(&m->cfg, key, value, &err), LCSM_OK);
    assert_int_not_equal(lcsm_export_gguf(m, temp_path(&x->f, "x.gguf"), "f32", &err), LCSM_OK);
    if (strstr(err.text, says) == NULL) fail_msg("\"%s\" does not say \"%s\"", err.text, says);
    lcsm_model_free(m);
}

TEST(export_names_what_the_format_does_not_have)
{
    fixture x = {.f = temp_folder_make()};
    assert_int_equal(lcsm_context_create(&x.ctx, NULL, NULL), LCSM_OK);
    refused(&x, "gla", NULL, NULL, "gla has no GGUF format");
    refused(&x, NULL, "soft_cap", "30", "soft_cap");
    refused(&x, NULL, "dt_max", "0.5", "limits of dt");
    refused(&x, NULL, "proj_bias", "true", "proj_bias");
    refused(&x, NULL, "bidirectional", "true", "both directions");
    lcsm_model *m   = make(&x, "mamba", "1e-5");
    lcsm_error  err = {0};
    assert_int_equal(lcsm_export_gguf(m, temp_path(&x.f, "x.gguf"), "q4_0", &err),
                     LCSM_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "expected f32, f16 or q8_0"));
    lcsm_model_free(m);
    temp_folder_remove(&x.f);
    lcsm_context_free(x.ctx);
}
