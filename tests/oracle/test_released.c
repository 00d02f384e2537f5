/*
 * Released models: import, then logits against those that others computed, three ways: the whole
 * sequence at once, token by token, and split in the middle.
 */
#include <lcsm/import.h>
#include <lcsm/session.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/json_doc.h"
#include "format/safetensors.h"
#include "temp_folder.h"
#include "test.h"

#define DATA "../shared/data/"

enum { MAX_STEPS = 32, MAX_VOCAB = 256 };

/* Their logits are float64 for Hugging Face's files and float32 for rwkv.cpp's. The plain float32
 * kernels differ by 4.5e-6 from the former: 4 x that + 5e-6, as for the cases of check. */
#define HF_BOUND  2.3e-5
#define BIN_BOUND 2e-5
/* As the README of these folders has it: they differ from float64 by up to 1e-5. */
#define TINY2_BOUND 1e-4

static lcsm_context *context(void)
{
    lcsm_context *ctx;
    assert_int_equal(lcsm_context_create(&ctx, NULL, NULL), LCSM_OK);
    return ctx;
}

static void skip_without(const char *path)
{
    if (access(path, R_OK) == 0) return;
    print_message("%s is not there\n", path);
    skip();
}

static lcsm_model *imported(const lcsm_context *ctx, const char *from, const temp_folder *f)
{
    lcsm_error  err = {0};
    lcsm_model *m;
    if (lcsm_import(ctx, from, temp_path(f, "run"), NULL, NULL, &err) != LCSM_OK)
        fail_msg("%s", err.text);
    if (lcsm_model_load(&m, ctx, temp_path(f, "run"), &err) != LCSM_OK) fail_msg("%s", err.text);
    return m;
}

/* Logits of all steps, read in pieces of `first` and then of at most `rest` tokens. */
static void run(lcsm_session *s, const int32_t *tokens, size_t n, size_t first, size_t rest,
                size_t V, float *out)
{
    lcsm_error err = {0};
    lcsm_session_reset(s);
    for (size_t t = 0, piece = first; t < n; t += piece, piece = rest) {
        if (piece > n - t) piece = n - t;
        if (lcsm_session_feed(s, tokens + t, piece, out + t * V, &err) != LCSM_OK)
            fail_msg("%s", err.text);
    }
}

static double worst(const float *got, const double *want, size_t count)
{
    double w = 0;
    for (size_t j = 0; j < count; j++) {
        double d = fabs((double)got[j] - want[j]);
        w        = d <= w ? w : d; /* a NaN stays */
    }
    return w;
}

/* want: the logits of the last `known` of n steps. */
static void assert_logits(lcsm_session *s, const int32_t *tokens, size_t n, size_t V,
                          const double *want, size_t known, double bound)
{
    static const char *const way[]    = {"whole", "token by token", "split"};
    const size_t             cut[][2] = {{n, n}, {1, 1}, {n / 2, n}};
    float                    out[MAX_STEPS * MAX_VOCAB];
    for (size_t w = 0; w < 3; w++) {
        run(s, tokens, n, cut[w][0], cut[w][1], V, out);
        double error = worst(out + (n - known) * V, want, known * V);
        if (!(error <= bound)) fail_msg("%s: %g, want at most %g", way[w], error, bound);
    }
}

/* ---- Hugging Face ----------------------------------------------------------------------- */

/* A folder with links to the files of one of the tiny models. */
static temp_folder hf_folder(const char *name)
{
    temp_folder f = temp_folder_make();
    char        here[4096], path[8192];
    assert_non_null(getcwd(here, sizeof here));
    (void)snprintf(path, sizeof path, "%s/" DATA "hf-tiny/%s.safetensors", here, name);
    assert_int_equal(symlink(path, temp_path(&f, "model.safetensors")), 0);
    (void)snprintf(path, sizeof path, "%s/" DATA "hf-tiny/%s_config.json", here, name);
    assert_int_equal(symlink(path, temp_path(&f, "config.json")), 0);
    return f;
}

/* One sequence of a model, and all its logits as others have them. */
static void check_sequence(lcsm_session *s, json_t *row, json_t *all, double bound)
{
    size_t  n = json_array_size(row), V = json_array_size(json_array_get(all, 0));
    int32_t tokens[MAX_STEPS];
    double  want[MAX_STEPS * 32];
    assert_true(n > 1 && n <= MAX_STEPS && V > 1 && V <= 32 && json_array_size(all) == n);
    for (size_t t = 0; t < n; t++) {
        tokens[t] = (int32_t)json_integer_value(json_array_get(row, t));
        for (size_t v = 0; v < V; v++)
            want[t * V + v] = json_number_value(json_array_get(json_array_get(all, t), v));
    }
    assert_logits(s, tokens, n, V, want, n, bound);
}

/* Imports what is at `from` and compares with the logits in the file at `path`. */
static void check_logits(const char *from, const char *path, double bound)
{
    lcsm_json_doc doc = {0};
    lcsm_context *ctx = context();
    temp_folder   f   = temp_folder_make();
    lcsm_model   *m   = imported(ctx, from, &f);
    lcsm_session *s;
    assert_int_equal(lcsm_session_create(&s, m, NULL, NULL), LCSM_OK);
    assert_int_equal(lcsm_json_doc_read(&doc, path, LCSM_JSON_LARGE_SIZE, NULL), LCSM_OK);
    json_t *sequences = json_object_get(doc.root, "sequences");
    assert_true(json_array_size(sequences) > 1);
    for (size_t q = 0; q < json_array_size(sequences); q++)
        check_sequence(s, json_array_get(sequences, q),
                       json_array_get(json_object_get(doc.root, "logits"), q), bound);
    lcsm_json_doc_free(&doc);
    lcsm_session_free(s);
    lcsm_model_free(m);
    temp_folder_remove(&f);
    lcsm_context_free(ctx);
}

static void check_hf(const char *name)
{
    char path[256];
    (void)snprintf(path, sizeof path, DATA "hf-tiny/%s_logits.json", name);
    skip_without(path);
    temp_folder f = hf_folder(name);
    check_logits(f.path, path, HF_BOUND);
    temp_folder_remove(&f);
}

TEST(released_mamba_gives_the_logits_of_transformers)
{
    check_hf("tiny_mamba");
}

TEST(released_rwkv_gives_the_logits_of_transformers)
{
    check_hf("tiny_rwkv");
}

TEST(released_models_of_other_libraries_give_their_logits)
{
    static const char *const folders[] = {"mamba2",
                                          "falcon_mamba",
                                          "gla",
                                          "retnet",
                                          "hgrn2",
                                          "gsa",
                                          "linear_attn",
                                          "delta_net",
                                          "kda",
                                          "recurrent_gemma",
                                          "qwen3_next",
                                          "gated_deltanet",
                                          "gated_deltaproduct",
                                          "qwen3_next_moe",
                                          "jamba",
                                          "kimi_linear",
                                          "minimax",
                                          "xlstm",
                                          "rwkv6",
                                          "rwkv7",
                                          "bamba"};
    skip_without(DATA "hf-tiny-2");
    for (size_t j = 0; j < COUNT(folders); j++) {
        char from[256], path[512];
        (void)snprintf(from, sizeof from, DATA "hf-tiny-2/%s", folders[j]);
        (void)snprintf(path, sizeof path, "%s/expected.json", from);
        print_message("%s\n", folders[j]);
        check_logits(from, path, TINY2_BOUND);
    }
}

TEST(released_gguf_files_give_the_logits_of_llama_cpp)
{
    static const char *const files[] = {"mamba2-f32", "falcon_mamba-f32"};
    skip_without(DATA "hf-tiny-2/gguf");
    for (size_t j = 0; j < COUNT(files); j++) {
        char from[256], path[256];
        (void)snprintf(from, sizeof from, DATA "hf-tiny-2/gguf/%s.gguf", files[j]);
        (void)snprintf(path, sizeof path, DATA "hf-tiny-2/gguf/%s.expected.json", files[j]);
        check_logits(from, path, TINY2_BOUND);
    }
}

/* ---- recorded --------------------------------------------------------------------------- */

/* Numbers that are functions of the tensor's name, as where the logits were recorded. */
static float *numbers(const lcsm_named_tensor *t, size_t count)
{
    uint32_t hash  = 2166136261u;
    bool     ones  = t->rank == 1 && strstr(t->name, "norm") != NULL;
    size_t   tail  = strlen(t->name);
    double   scale = t->rank > 1 ? 3 / sqrt((double)t->shape[t->rank - 1]) : 0.5;
    float   *x     = calloc(count, sizeof *x);
    assert_non_null(x);
    ones = ones || (t->rank == 1 && tail > 2 && strcmp(t->name + tail - 2, ".D") == 0);
    for (const char *c = t->name; *c != 0; c++) hash = (hash ^ (unsigned char)*c) * 16777619u;
    for (size_t j = 0; j < count; j++) {
        uint32_t u = (hash + (uint32_t)j * 2654435761u) * 2246822519u;
        u ^= u >> 13;
        x[j] = (float)((ones ? 1.0 : 0.0) + scale * ((double)(u >> 8) / 16777216 - 0.5));
    }
    return x;
}

enum { MOST_TENSORS = 128 };

static void write_weights(const temp_folder *f, json_t *tensors)
{
    lcsm_named_tensor list[MOST_TENSORS];
    size_t            n = 0;
    const char       *name;
    json_t           *shape;
    assert_true(json_object_size(tensors) <= MOST_TENSORS);
    json_object_foreach(tensors, name, shape)
    {
        lcsm_named_tensor t     = {.name = name, .element = LCSM_ELEMENT_F32};
        size_t            count = 1;
        for (t.rank = 0; t.rank < json_array_size(shape); t.rank++)
            count *= t.shape[t.rank] = (size_t)json_integer_value(json_array_get(shape, t.rank));
        t.data    = numbers(&t, count);
        list[n++] = t;
    }
    assert_int_equal(
        lcsm_safetensors_save(temp_path(f, "model.safetensors"), list, n, NULL, 0, NULL), LCSM_OK);
    while (n > 0) free((void *)(uintptr_t)list[--n].data);
}

/* One model: its folder is made, imported and run. */
static void check_recorded(const lcsm_context *ctx, json_t *row)
{
    temp_folder   f = temp_folder_make(), to = temp_folder_make();
    char         *config = json_dumps(json_object_get(row, "config"), 0);
    lcsm_session *s;
    print_message("%s\n", json_string_value(json_object_get(row, "name")));
    temp_write(&f, "config.json", config, strlen(config));
    write_weights(&f, json_object_get(row, "tensors"));
    lcsm_model *m = imported(ctx, f.path, &to);
    assert_int_equal(lcsm_session_create(&s, m, NULL, NULL), LCSM_OK);
    check_sequence(s, json_object_get(row, "tokens"), json_object_get(row, "logits"), 2e-5);
    free(config);
    lcsm_session_free(s);
    lcsm_model_free(m);
    temp_folder_remove(&f);
    temp_folder_remove(&to);
}

/* Logits by transformers 5.23 in float32, those of HGRN by its formulas in double. */
TEST(released_models_that_were_recorded_give_their_logits)
{
    lcsm_json_doc doc = {0};
    lcsm_context *ctx = context();
    assert_int_equal(
        lcsm_json_doc_read(&doc, "tests/oracle/released_more.json", LCSM_JSON_LARGE_SIZE, NULL),
        LCSM_OK);
    assert_true(json_array_size(doc.root) >= 8);
    for (size_t j = 0; j < json_array_size(doc.root); j++)
        check_recorded(ctx, json_array_get(doc.root, j));
    lcsm_json_doc_free(&doc);
    lcsm_context_free(ctx);
}

/* ---- rwkv.cpp --------------------------------------------------------------------------- */

TEST(released_rwkv_cpp_file_gives_its_logits)
{
    static const char    file[]   = DATA "rwkv-tiny/tiny-rwkv-4v0-660K-FP32.bin";
    static const char    answer[] = DATA "rwkv-tiny/expected-logits-4v0-660K.bin";
    static const int32_t tokens[] = {'"', 'i', 'n'};
    float                read[256];
    double               want[256];
    skip_without(file);
    FILE *in = fopen(answer, "rb");
    assert_non_null(in);
    assert_int_equal(fread(read, sizeof read[0], 256, in), 256);
    assert_int_equal(fclose(in), 0);
    for (size_t j = 0; j < 256; j++) want[j] = (double)read[j];
    lcsm_context *ctx = context();
    temp_folder   f   = temp_folder_make();
    lcsm_model   *m   = imported(ctx, file, &f);
    lcsm_session *s;
    assert_int_equal(lcsm_session_create(&s, m, NULL, NULL), LCSM_OK);
    assert_logits(s, tokens, 3, 256, want, 1, BIN_BOUND);
    lcsm_session_free(s);
    lcsm_model_free(m);
    temp_folder_remove(&f);
    lcsm_context_free(ctx);
}
