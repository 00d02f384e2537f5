/* The cache of prompts: what is read once comes back with its bits, and bad files do no harm. */
#include <lcsm/prefix.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/folder.h"
#include "model/config.h"
#include "temp_folder.h"
#include "test.h"

enum { V = 11, N = 700 };

typedef struct {
    lcsm_context *ctx;
    lcsm_model   *model[2];
    temp_folder   folder;
    int32_t       tokens[N];
} fixture;

static lcsm_model *model_of(const lcsm_context *ctx, uint64_t seed)
{
    lcsm_model_config cfg;
    lcsm_model       *m;
    lcsm_model_config_defaults(&cfg);
    (void)snprintf(cfg.method, sizeof cfg.method, "gla");
    cfg.vocab   = V;
    cfg.d_model = 16;
    cfg.layers  = 2;
    assert_int_equal(lcsm_model_create(&m, ctx, &cfg, seed, NULL), LCSM_OK);
    return m;
}

static fixture make(void)
{
    fixture f = {.folder = temp_folder_make()};
    assert_int_equal(lcsm_context_create(&f.ctx, NULL, NULL), LCSM_OK);
    for (uint64_t j = 0; j < 2; j++) f.model[j] = model_of(f.ctx, j + 1);
    for (int j = 0; j < N; j++) f.tokens[j] = (7 * j * j + 3 * j) % V;
    return f;
}

static void drop(fixture *f)
{
    for (int j = 0; j < 2; j++) lcsm_model_free(f->model[j]);
    lcsm_context_free(f->ctx);
    temp_folder_remove(&f->folder);
}

/* Reads n tokens through the cache; returns how many were there. logits (V) of the end. */
static size_t read_cached(const fixture *f, const lcsm_model *m, const int32_t *tokens, size_t n,
                          lcsm_prefix_options o, float *logits)
{
    lcsm_session *s;
    lcsm_error    err   = {0};
    size_t        found = 99;
    o.size              = sizeof o;
    o.folder            = f->folder.path;
    assert_int_equal(lcsm_session_create(&s, m, NULL, NULL), LCSM_OK);
    if (lcsm_session_feed_prefix(s, tokens, n, &o, &found, &err) != LCSM_OK)
        fail_msg("%s", err.text);
    assert_int_equal(lcsm_session_position(s), n);
    memcpy(logits, lcsm_session_logits(s), V * sizeof *logits);
    lcsm_session_free(s);
    return found;
}

static void read_plain(const lcsm_model *m, const int32_t *tokens, size_t n, float *logits)
{
    lcsm_session *s;
    assert_int_equal(lcsm_session_create(&s, m, NULL, NULL), LCSM_OK);
    assert_int_equal(lcsm_session_feed(s, tokens, n, NULL, NULL), LCSM_OK);
    memcpy(logits, lcsm_session_logits(s), V * sizeof *logits);
    lcsm_session_free(s);
}

static size_t count_states(const fixture *f, char name[64])
{
    lcsm_folder_list files = {0};
    size_t           count = 0;
    assert_int_equal(lcsm_folder_read(&files, f->folder.path, NULL), LCSM_OK);
    for (size_t j = 0; j < files.count; j++)
        if (strstr(files.names[j], ".lcsm-state") != NULL) {
            (void)snprintf(name, 64, "%.63s", files.names[j]);
            count++;
        }
    lcsm_folder_list_free(&files);
    return count;
}

TEST(prefix_a_prompt_is_read_once_and_its_logits_keep_their_bits)
{
    fixture             f = make();
    float               want[V], got[V];
    lcsm_prefix_options o = {.every = 256};
    read_plain(f.model[0], f.tokens, N, want);
    assert_int_equal(read_cached(&f, f.model[0], f.tokens, N, o, got), 0);
    assert_memory_equal(got, want, sizeof want);
    assert_int_equal(read_cached(&f, f.model[0], f.tokens, N, o, got), N);
    assert_memory_equal(got, want, sizeof want);
    /* 600 of them begin with 512 that are there */
    read_plain(f.model[0], f.tokens, 600, want);
    assert_int_equal(read_cached(&f, f.model[0], f.tokens, 600, o, got), 512);
    assert_memory_equal(got, want, sizeof want);
    drop(&f);
}

TEST(prefix_other_tokens_and_other_models_are_not_found)
{
    fixture             f = make();
    float               want[V], got[V];
    lcsm_prefix_options o = {.every = 256};
    assert_int_equal(read_cached(&f, f.model[0], f.tokens, N, o, got), 0);
    assert_int_equal(read_cached(&f, f.model[1], f.tokens, N, o, got), 0);
    read_plain(f.model[1], f.tokens, N, want);
    assert_memory_equal(got, want, sizeof want);
    f.tokens[300] = (f.tokens[300] + 1) % V;
    assert_int_equal(read_cached(&f, f.model[0], f.tokens, N, o, got), 256);
    read_plain(f.model[0], f.tokens, N, want);
    assert_memory_equal(got, want, sizeof want);
    drop(&f);
}

TEST(prefix_a_damaged_file_is_removed_and_the_prompt_read)
{
    fixture             f = make();
    float               want[V], got[V];
    char                name[64];
    size_t              size = 0;
    lcsm_prefix_options o    = {0};
    assert_int_equal(read_cached(&f, f.model[0], f.tokens, 40, o, want), 0);
    assert_int_equal(count_states(&f, name), 1);
    unsigned char *bytes = temp_read(&f.folder, name, &size);
    temp_poke(&f.folder, name, size - 3, bytes[size - 3] ^ 1);
    free(bytes);
    assert_int_equal(read_cached(&f, f.model[0], f.tokens, 40, o, got), 0);
    assert_memory_equal(got, want, sizeof want);
    assert_int_equal(read_cached(&f, f.model[0], f.tokens, 40, o, got), 40);
    drop(&f);
}

TEST(prefix_states_beyond_the_budget_go_but_the_last)
{
    fixture             f = make();
    float               got[V];
    char                name[64];
    lcsm_prefix_options o = {.every = 64, .budget = 1};
    assert_int_equal(read_cached(&f, f.model[0], f.tokens, N, o, got), 0);
    assert_int_equal(count_states(&f, name), 1);
    assert_int_equal(read_cached(&f, f.model[0], f.tokens, N, o, got), N);
    drop(&f);
}

TEST(prefix_refusals_leave_the_session_as_it_was)
{
    fixture             f = make();
    lcsm_session       *s;
    lcsm_error          err = {0};
    lcsm_prefix_options o   = {.size = sizeof o, .folder = ""};
    int32_t             bad = V;
    assert_int_equal(lcsm_session_create(&s, f.model[0], NULL, NULL), LCSM_OK);
    assert_int_equal(lcsm_session_feed_prefix(s, f.tokens, 5, &o, NULL, &err), LCSM_ERR_ARGUMENT);
    o.folder = f.folder.path;
    assert_int_equal(lcsm_session_feed_prefix(s, &bad, 1, &o, NULL, &err), LCSM_ERR_ARGUMENT);
    assert_int_equal(lcsm_session_position(s), 0);
    assert_int_equal(lcsm_session_feed(s, f.tokens, 1, NULL, NULL), LCSM_OK);
    assert_int_equal(lcsm_session_feed_prefix(s, f.tokens, 5, &o, NULL, &err), LCSM_ERR_ARGUMENT);
    lcsm_session_free(s);
    drop(&f);
}
