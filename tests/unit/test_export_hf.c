/* Export to folders of transformers and fla: every format comes back as the same model. */
#include <lcsm/import.h>
#include <lcsm/session.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/model_weights.h"
#include "temp_folder.h"
#include "test.h"

enum { STEPS = 7, VOCAB = 37 };

/* What is made, and the format that it must become. Settings are "key value ...". */
typedef struct {
    const char *model, *kind, *settings;
} format_case;

#define EXPERTS " channel_mixer glu experts 4 experts.used 2 experts.hidden 7 hidden 20"
static const format_case FORMATS[] = {
    {"mamba", "Mamba (Hugging Face)", ""},
    {"mamba", "Mamba (Hugging Face)", "conv_bias false proj_bias true tied false rank 3"},
    {"falcon-mamba", "Falcon-Mamba (Hugging Face)", "state_size 5"},
    {"mamba2", "Mamba-2 (Hugging Face)", "norm_eps 1e-5 heads 4 groups 2 state_size 6 dt_max 3"},
    {"rwkv4", "RWKV-4 (Hugging Face)", ""},
    {"rwkv5", "RWKV-5 (Hugging Face)", ""},
    {"rwkv6", "RWKV-6 (fla)", "mixer_eps 1e-5 heads 2"},
    {"rwkv7", "RWKV-7 (fla)", "heads 2 mixer_eps 16e-5"},
    {"gla", "GLA (fla)", "mixer_eps 1e-6"},
    {"retnet", "RetNet (fla)", "norm_weight true value_ratio 2"},
    {"hgrn2", "HGRN2 (fla)", ""},
    {"linear-attention", "linear attention (fla)",
     "norm rms head_norm true heads 4 feature product mixer_eps 1e-6"},
    {"linear-attention", "linear attention (fla)",
     "norm rms head_norm true heads 4 denominator false mixer_eps 1e-6"},
    {"gsa", "GSA (fla)", "slots 5"},
    {"deltanet", "DeltaNet (fla)", "mixer_eps 1e-6 beta_max 2"},
    {"deltanet", "DeltaNet (fla)", "mixer_eps 1e-6 output_gate silu"},
    {"gated-deltanet", "gated DeltaNet (fla)", "mixer_eps 1e-6 heads 4 groups 2 expand 6"},
    {"deltaproduct", "DeltaProduct (fla)", "mixer_eps 1e-6 householders 3"},
    {"deltaproduct", "DeltaProduct (fla)", "mixer_eps 1e-6 forget_gate false output_gate none"},
    {"kda", "KDA (fla)", "mixer_eps 1e-6 gate_bound 5"},
    {"mlstm", "xLSTM (Hugging Face)", "soft_cap 30 hidden 40 mixer_eps 1e-6"},
    {"mlstm", "xLSTM (Hugging Face)", "soft_cap 30 hidden 43 mixer_eps 1e-6"},
    {"rg-lru*2,attention", "RecurrentGemma (Hugging Face)",
     "layers 3 heads 2 attention.heads 2 attention.kv_heads 1 channel_mixer geglu hidden 24 "
     "channel_bias true attention.out_bias true attention.rotary 0.5 attention.window 5"},
    {"gated-deltanet*2,attention", "Qwen3-Next (Hugging Face)",
     "layers 3 heads 4 groups 2 attention.gate true attention.qk_norm true mixer_eps 1e-6 "
     "attention.rotary 0.25 attention.heads 2 hidden 24"},
    {"gated-deltanet,attention", "Qwen3-Next (Hugging Face)",
     "heads 2 attention.gate true attention.qk_norm true mixer_eps 1e-6 attention.heads 2 "
     "experts.shared 6 experts.shared_gate true" EXPERTS},
    {"mamba2,attention", "Bamba (Hugging Face)",
     "heads 4 mixer_eps 1e-6 channel_mixer glu hidden 20 attention.heads 2 attention.rotary 0.5"},
    {"mamba2,attention", "Granite 4 (Hugging Face)",
     "heads 4 mixer_eps 1e-6 channel_mixer glu hidden 20 attention.heads 2 residual.beta 0.5 "
     "residual.attention_beta 0.5 residual.channel_beta 0.5 embed_scale 12"},
    {"mamba2,attention", "Granite 4 (Hugging Face)",
     "heads 4 mixer_eps 1e-6 attention.heads 2 attention.rotary 0 experts.shared 14" EXPERTS},
    {"falcon-mamba*2,attention", "Jamba (Hugging Face)",
     "layers 4 norm_weight true mixer_eps 1e-6 attention.rotary 0 attention.heads 2 "
     "experts.norm false experts.first 1 experts.period 2 channel_mixer glu experts 2 "
     "experts.used 1 experts.hidden 20 hidden 20"},
    {"kda*2,attention", "Kimi Linear (Hugging Face)",
     "layers 3 heads 2 expand 6 value_ratio 0.375 mixer_eps 1e-6 attention.heads 2 "
     "attention.head_dim 6 attention.latent 8 attention.shared_dim 4 attention.value_dim 5 "
     "experts.router sigmoid experts.shared 7 experts.first 1 experts.scale 2.5" EXPERTS},
    {"lightning,attention", "MiniMax (Hugging Face)",
     "heads 4 expand 8 mixer_eps 1e-6 attention.heads 4 attention.head_dim 8 residual.normed true "
     "residual.alpha 2 residual.channel_beta 3" EXPERTS},
};

typedef struct {
    lcsm_context *ctx;
    temp_folder   f;
} fixture;

static void set(lcsm_model_config *cfg, const char *key, const char *value)
{
    lcsm_error err = {0};
    if (lcsm_model_config_set(cfg, key, value, &err) != LCSM_OK) fail_msg("%s", err.text);
}

static void set_all(lcsm_model_config *cfg, const char *settings)
{
    char copy[512], *at = copy, *key, *value;
    (void)snprintf(copy, sizeof copy, "%s", settings);
    while ((key = strtok_r(at, " ", &at)) != NULL && (value = strtok_r(at, " ", &at)) != NULL)
        set(cfg, key, value);
}

/* The angles of RetNet in fla, which are not the paper's. */
static void turn_as_fla(const lcsm_param *p, float *v)
{
    for (size_t k = 0; k < p->count && strstr(p->name, ".theta") != NULL; k++)
        v[k] = (float)pow(10000, -(double)k / (double)p->count);
}

/* What starts as 0 or 1 would hide its place. Constants, and biases that a format lacks, stay. */
static void disturb(lcsm_model *m, const char *kind)
{
    bool kimi = strncmp(kind, "Kimi", 4) == 0;
    for (size_t j = 0; j < m->params->count; j++) {
        const lcsm_param *p = &m->params->list[j];
        float            *v = lcsm_param_values(m->params, (int)j);
        if (strncmp(kind, "RetNet", 6) == 0) turn_as_fla(p, v);
        if ((p->flags & LCSM_PARAM_FROZEN) != 0
            || (kimi && strstr(p->name, "gate_up.bias") != NULL))
            continue;
        for (size_t k = 0; k < p->count; k++) v[k] += 0.1f * sinf((float)(j + 3 * k));
    }
}

static lcsm_model *make(fixture *x, const format_case *c)
{
    lcsm_model_config cfg;
    lcsm_error        err = {0};
    lcsm_model       *m;
    lcsm_model_config_defaults(&cfg);
    set(&cfg, strchr(c->model, ',') != NULL ? "layers_pattern" : "method", c->model);
    set_all(&cfg, "vocab 37 d_model 32 layers 2");
    set_all(&cfg, c->settings);
    if (lcsm_model_create(&m, x->ctx, &cfg, 5, &err) != LCSM_OK)
        fail_msg("%s %s: %s", c->model, c->settings, err.text);
    disturb(m, c->kind);
    return m;
}

static void logits(const lcsm_model *m, float out[STEPS * VOCAB])
{
    static const int32_t tokens[STEPS] = {3, 1, 4, 1, 5, 9, 2};
    lcsm_session        *s;
    lcsm_error           err = {0};
    if (lcsm_session_create(&s, m, NULL, &err) != LCSM_OK) fail_msg("%s", err.text);
    assert_int_equal(lcsm_session_feed(s, tokens, STEPS, out, &err), LCSM_OK);
    lcsm_session_free(s);
}

static void same_logits(const format_case *c, const lcsm_model *a, const lcsm_model *b)
{
    float  want[STEPS * VOCAB], got[STEPS * VOCAB];
    double size = 0, worst = 0;
    logits(a, want);
    logits(b, got);
    for (size_t j = 0; j < STEPS * VOCAB; j++) {
        double d = fabs((double)want[j] - (double)got[j]);
        size     = fmax(size, fabs((double)want[j]));
        worst    = d <= worst ? worst : d;
    }
    /* the embedding's scale is rounded into it, and norms begin at 0 in some files */
    if (!(worst <= 1e-5 * size)) fail_msg("%s %s: %g of %g", c->model, c->settings, worst, size);
}

/* A model by way of a folder; *run and *folder become its paths. */
static lcsm_model *through(fixture *x, const lcsm_model *m, const char *kind, const char *folder,
                           const char *run)
{
    lcsm_error  err  = {0};
    lcsm_model *back = NULL;
    char        got[64], out[4096];
    (void)snprintf(out, sizeof out, "%s", temp_path(&x->f, folder));
    if (lcsm_export_hf(m, out, NULL, NULL, got, &err) != LCSM_OK
        || lcsm_import(x->ctx, out, temp_path(&x->f, run), NULL, NULL, &err) != LCSM_OK
        || lcsm_model_load(&back, x->ctx, temp_path(&x->f, run), &err) != LCSM_OK)
        fail_msg("%s: %s", kind, err.text);
    assert_string_equal(got, kind);
    return back;
}

static void same_file(fixture *x, const char *a, const char *b)
{
    size_t         n, m;
    unsigned char *p = temp_read(&x->f, a, &n), *q = temp_read(&x->f, b, &m);
    if (n != m || memcmp(p, q, n) != 0) fail_msg("%s and %s differ", a, b);
    free(p);
    free(q);
}

TEST(export_to_hf_and_back_gives_the_same_model)
{
    fixture x = {0};
    assert_int_equal(lcsm_context_create(&x.ctx, NULL, NULL), LCSM_OK);
    for (size_t j = 0; j < COUNT(FORMATS); j++) {
        const format_case *c = &FORMATS[j];
        x.f                  = temp_folder_make();
        lcsm_model *m = make(&x, c), *back = through(&x, m, c->kind, "a", "run-a");
        lcsm_model *again = through(&x, back, c->kind, "b", "run-b");
        same_logits(c, m, back);
        /* what was imported comes back to the bit */
        same_file(&x, "run-a/model.safetensors", "run-b/model.safetensors");
        same_file(&x, "run-a/config.json", "run-b/config.json");
        lcsm_model_free(m);
        lcsm_model_free(back);
        lcsm_model_free(again);
        temp_folder_remove(&x.f);
    }
    lcsm_context_free(x.ctx);
}

/* Two formats can say these; the one that the run was imported from is taken. */
TEST(export_to_hf_goes_back_to_the_format_of_the_import)
{
    static const format_case CASES[] = {
        {"gated-deltanet*2,attention", "Qwen3.5 (Hugging Face)",
         "layers 3 heads 4 groups 2 attention.gate true attention.qk_norm true mixer_eps 1e-6 "
         "attention.rotary 0.25 attention.heads 2 hidden 24"},
        {"gated-deltanet,attention", "Qwen3.5 with experts (Hugging Face)",
         "heads 2 attention.gate true attention.qk_norm true mixer_eps 1e-6 attention.heads 2 "
         "experts.shared 6 experts.shared_gate true" EXPERTS},
    };
    for (size_t j = 0; j < COUNT(CASES); j++) {
        fixture     x = {.f = temp_folder_make()};
        char        kind[64], run[4096], out[4096], text[160];
        lcsm_error  err = {0};
        lcsm_model *m, *back = NULL;
        assert_int_equal(lcsm_context_create(&x.ctx, NULL, NULL), LCSM_OK);
        (void)snprintf(run, sizeof run, "%s/run", x.f.path);
        (void)snprintf(out, sizeof out, "%s/out", x.f.path);
        (void)snprintf(text, sizeof text, "{\"imported_from\": \"%s\"}", CASES[j].kind);
        assert_int_equal(lcsm_folder_make(run, NULL), LCSM_OK);
        temp_write(&x.f, "run/config.json", text, strlen(text));
        m = make(&x, &CASES[j]);
        if (lcsm_export_hf(m, out, run, NULL, kind, &err) != LCSM_OK) fail_msg("%s", err.text);
        assert_string_equal(kind, CASES[j].kind);
        if (lcsm_import(x.ctx, out, temp_path(&x.f, "back"), NULL, NULL, &err) != LCSM_OK
            || lcsm_model_load(&back, x.ctx, temp_path(&x.f, "back"), &err) != LCSM_OK)
            fail_msg("%s", err.text);
        same_logits(&CASES[j], m, back);
        lcsm_model_free(m);
        lcsm_model_free(back);
        lcsm_context_free(x.ctx);
        temp_folder_remove(&x.f);
    }
}

TEST(export_to_hf_in_sixteen_bits)
{
    static const char *const types[] = {"f16", "bf16"};
    static const double      most[]  = {0.02, 0.2};
    fixture                  x       = {.f = temp_folder_make()};
    assert_int_equal(lcsm_context_create(&x.ctx, NULL, NULL), LCSM_OK);
    lcsm_model *m = make(&x, &FORMATS[0]), *back = NULL;
    float       want[STEPS * VOCAB], got[STEPS * VOCAB];
    logits(m, want);
    for (size_t j = 0; j < COUNT(types); j++) {
        char       path[4096];
        lcsm_error err = {0};
        (void)snprintf(path, sizeof path, "%s/%s", x.f.path, types[j]);
        if (lcsm_export_hf(m, path, NULL, types[j], NULL, &err) != LCSM_OK
            || lcsm_import(x.ctx, path, temp_path(&x.f, j == 0 ? "r0" : "r1"), NULL, NULL, &err)
                   != LCSM_OK
            || lcsm_model_load(&back, x.ctx, temp_path(&x.f, j == 0 ? "r0" : "r1"), &err)
                   != LCSM_OK)
            fail_msg("%s", err.text);
        logits(back, got);
        for (size_t k = 0; k < STEPS * VOCAB; k++)
            if (!(fabs((double)want[k] - (double)got[k]) <= most[j]))
                fail_msg("%s: %g is %g", types[j], (double)want[k], (double)got[k]);
        lcsm_model_free(back);
    }
    lcsm_model_free(m);
    temp_folder_remove(&x.f);
    lcsm_context_free(x.ctx);
}

TEST(export_to_hf_refuses_what_a_format_cannot_say)
{
    static const struct {
        format_case model;
        const char *says;
    } cases[] = {
        {{"gla", "", "soft_cap 30 mixer_eps 1e-6"}, "soft_cap is 30 in this model, but 0 in GLA"},
        {{"gla", "", "tau 8"}, "tau is 8 in this model, but 16 in GLA (fla)"},
        {{"gla", "", "channel_mixer sglu"}, "does not have the channel mixer"},
        {{"mamba", "", "signed_gates true"}, "signed_gates"},
        {{"mlstm", "", ""}, "xLSTM (Hugging Face) does not have soft_cap 0"},
        {{"retnet", "", ""}, "no tensor for layers.0.mixer.theta"},
        {{"hgrn2", "", "wiring stacked"}, "HGRN2 (fla) has no tensor for layers.0.norm1.bias"},
        {{"tnl", "", ""}, "tnl has no format of transformers or fla"},
        {{"gla,attention", "", ""}, "gla,attention has no format"},
        {{"gla", "", "adapter 4"}, "lcsm merge"},
        {{"kda*2,attention", "", "layers 3"}, "Kimi Linear (Hugging Face) does not have models"},
    };
    fixture x = {.f = temp_folder_make()};
    assert_int_equal(lcsm_context_create(&x.ctx, NULL, NULL), LCSM_OK);
    for (size_t j = 0; j < COUNT(cases); j++) {
        lcsm_model *m   = make(&x, &cases[j].model);
        lcsm_error  err = {0};
        if (lcsm_export_hf(m, temp_path(&x.f, "no"), NULL, NULL, NULL, &err) == LCSM_OK)
            fail_msg("%s %s is written", cases[j].model.model, cases[j].model.settings);
        if (strstr(err.text, cases[j].says) == NULL)
            fail_msg("\"%s\" does not say \"%s\"", err.text, cases[j].says);
        lcsm_model_free(m);
    }
    lcsm_model *m   = make(&x, &FORMATS[0]);
    lcsm_error  err = {0};
    assert_int_equal(lcsm_export_hf(m, temp_path(&x.f, "no"), NULL, "q8", NULL, &err),
                     LCSM_ERR_ARGUMENT);
    assert_int_equal(lcsm_export_hf(m, temp_path(&x.f, "yes"), NULL, NULL, NULL, &err), LCSM_OK);
    assert_int_equal(lcsm_export_hf(m, temp_path(&x.f, "yes"), NULL, NULL, NULL, &err),
                     LCSM_ERR_IO);
    lcsm_model_free(m);
    temp_folder_remove(&x.f);
    lcsm_context_free(x.ctx);
}
