/* Sessions: any cut into calls gives the same logits, and a state comes back from its file. */
#include <lcsm/session.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "eos/method.h"
#include "model/config.h"
#include "model/pattern.h"
#include "temp_folder.h"
#include "test.h"

enum { V = 11, N = 23, B = 2 };

/* Logits in units of the largest: what a few hundred float sums in another order differ by. */
#define BOUND 1e-5

static lcsm_context *context(void)
{
    lcsm_context *ctx;
    assert_int_equal(lcsm_context_create(&ctx, NULL, NULL), LCSM_OK);
    return ctx;
}

static lcsm_model *model_of(const lcsm_context *ctx, const char *method, uint64_t seed)
{
    lcsm_model_config cfg;
    lcsm_error        err = {0};
    lcsm_model       *m;
    lcsm_model_config_defaults(&cfg);
    (void)snprintf(cfg.method, sizeof cfg.method, "%s", method);
    if (lcsm_pattern_is(method)) {
        (void)lcsm_model_config_set(&cfg, "layers_pattern", method, NULL);
        cfg.layers = 5;
    }
    if (strcmp(method, "code") == 0) (void)snprintf(cfg.code, sizeof cfg.code, "1-1-1-0");
    cfg.vocab   = V;
    cfg.d_model = 16;
    if (lcsm_model_create(&m, ctx, &cfg, seed, &err) != LCSM_OK) fail_msg("%s", err.text);
    return m;
}

static lcsm_session *session_of(const lcsm_model *m)
{
    lcsm_session_options o   = {.size = sizeof o, .batch = B};
    lcsm_error           err = {0};
    lcsm_session        *s;
    if (lcsm_session_create(&s, m, &o, &err) != LCSM_OK) fail_msg("%s", err.text);
    return s;
}

static int32_t token(size_t b, size_t t)
{
    return (int32_t)((7 * t + 3 * b + t * t) % V);
}

/* Tokens t .. t + n - 1 of both sequences; all may be NULL. */
static void feed(lcsm_session *s, size_t t, size_t n, float *all)
{
    int32_t    tokens[B * N];
    lcsm_error err = {0};
    for (size_t b = 0; b < B; b++)
        for (size_t j = 0; j < n; j++) tokens[b * n + j] = token(b, t + j);
    if (lcsm_session_feed(s, tokens, n, all, &err) != LCSM_OK) fail_msg("%s", err.text);
}

static void assert_close(const float *got, const float *want, size_t count, const char *what)
{
    double size = 0, worst = 0;
    for (size_t j = 0; j < count; j++) {
        size  = fmax(size, fabs((double)want[j]));
        worst = fmax(worst, fabs((double)got[j] - (double)want[j]));
    }
    if (!(worst <= BOUND * fmax(size, 1e-3))) fail_msg("%s: %g of %g", what, worst, size);
}

/* Every method, then patterns of them. */
static const char *const HYBRIDS[] = {"gla*2,attention", "mamba+attention", "hgrn,rwkv4*2,fwp",
                                      "1-1-1-0*2,attention,s4"};

static size_t models(void)
{
    return lcsm_method_count() + COUNT(HYBRIDS);
}

static const char *model_name(size_t j)
{
    return j < lcsm_method_count() ? LCSM_METHODS[j].name : HYBRIDS[j - lcsm_method_count()];
}

TEST(session_any_cut_gives_the_same_logits_for_every_method)
{
    static const size_t first[] = {1, 5, 16, 20, N};
    static float        whole[B * N * V], piece[B * N * V];
    lcsm_context       *ctx = context();
    for (size_t j = 0; j < models(); j++) {
        lcsm_model   *m = model_of(ctx, model_name(j), 3);
        lcsm_session *s = session_of(m);
        assert_null(lcsm_session_logits(s));
        feed(s, 0, N, whole);
        for (size_t k = 0; k < sizeof first / sizeof first[0]; k++) {
            lcsm_session_reset(s);
            for (size_t t = 0; t < N; t += first[k] < N - t ? first[k] : N - t)
                feed(s, t, first[k] < N - t ? first[k] : N - t, NULL);
            assert_int_equal(lcsm_session_position(s), N);
            for (size_t b = 0; b < B; b++)
                assert_close(lcsm_session_logits(s) + b * V, whole + (b * N + N - 1) * V, V,
                             model_name(j));
        }
        lcsm_session_reset(s);
        feed(s, 0, 9, piece);
        for (size_t b = 0; b < B; b++)
            assert_close(piece + b * 9 * V, whole + b * N * V, (size_t)9 * V, "all logits");
        lcsm_session_free(s);
        lcsm_model_free(m);
    }
    lcsm_context_free(ctx);
}

/* A window bounds what attention carries: a session reads on past max_length, and its logits are
 * those of the whole sequence. */
TEST(session_of_windowed_attention_has_no_longest_length)
{
    static float      whole[B * N * V];
    lcsm_context     *ctx = context();
    lcsm_model_config cfg;
    lcsm_model       *m;
    lcsm_model_config_defaults(&cfg);
    (void)lcsm_model_config_set(&cfg, "layers_pattern", "gla,attention", NULL);
    cfg.vocab              = V;
    cfg.d_model            = 16;
    cfg.layers             = 4;
    cfg.max_length         = 8;
    cfg.attention_window   = 5;
    cfg.attention_heads    = 4;
    cfg.attention_kv_heads = 2;
    assert_int_equal(lcsm_model_create(&m, ctx, &cfg, 3, NULL), LCSM_OK);
    lcsm_session *s = session_of(m);
    feed(s, 0, N, whole);
    lcsm_session_reset(s);
    for (size_t t = 0; t < N; t++) {
        feed(s, t, 1, NULL);
        for (size_t b = 0; b < B; b++)
            assert_close(lcsm_session_logits(s) + b * V, whole + (b * N + t) * V, V, "a step");
    }
    lcsm_session_free(s);
    lcsm_model_free(m);
    lcsm_context_free(ctx);
}

TEST(session_state_continues_in_another_session_bit_for_bit)
{
    lcsm_context *ctx = context();
    temp_folder   f   = temp_folder_make();
    for (size_t j = 0; j < models(); j++) {
        lcsm_model   *m = model_of(ctx, model_name(j), 3);
        lcsm_session *a = session_of(m), *b = session_of(m);
        lcsm_error    err = {0};
        float         kept[B * V];
        feed(a, 0, 7, NULL);
        if (lcsm_session_save_state(a, temp_path(&f, "state"), &err) != LCSM_OK)
            fail_msg("%s", err.text);
        memcpy(kept, lcsm_session_logits(a), sizeof kept);
        feed(a, 7, 6, NULL);
        if (lcsm_session_load_state(b, temp_path(&f, "state"), &err) != LCSM_OK)
            fail_msg("%s", err.text);
        assert_int_equal(lcsm_session_position(b), 7);
        assert_memory_equal(lcsm_session_logits(b), kept, sizeof kept);
        feed(b, 7, 6, NULL);
        assert_memory_equal(lcsm_session_logits(a), lcsm_session_logits(b), sizeof kept);
        lcsm_session_free(a);
        lcsm_session_free(b);
        lcsm_model_free(m);
    }
    temp_folder_remove(&f);
    lcsm_context_free(ctx);
}

static void assert_refused(lcsm_session *s, const temp_folder *f, const char *says)
{
    lcsm_error err      = {0};
    uint64_t   position = lcsm_session_position(s);
    assert_int_not_equal(lcsm_session_load_state(s, temp_path(f, "state"), &err), LCSM_OK);
    if (strstr(err.text, says) == NULL) fail_msg("\"%s\" does not say \"%s\"", err.text, says);
    assert_int_equal(lcsm_session_position(s), position);
}

TEST(session_refuses_states_of_others)
{
    lcsm_context        *ctx = context();
    temp_folder          f   = temp_folder_make();
    lcsm_model          *m = model_of(ctx, "gla", 3), *other = model_of(ctx, "gla", 4);
    lcsm_session        *s = session_of(m), *o = session_of(other), *one;
    lcsm_session_options single = {.size = sizeof single};
    assert_int_equal(lcsm_session_create(&one, m, &single, NULL), LCSM_OK);
    feed(s, 0, 3, NULL);
    assert_int_equal(lcsm_session_save_state(s, temp_path(&f, "state"), NULL), LCSM_OK);
    assert_refused(o, &f, "was saved with another model");
    assert_refused(one, &f, "expected F32 [1,");
    assert_int_equal(lcsm_model_save(m, f.path, NULL), LCSM_OK);
    assert_int_equal(rename(temp_path(&f, "model.safetensors"), temp_path(&f, "state")), 0);
    assert_refused(s, &f, "is not a saved state");
    lcsm_session_free(one);
    lcsm_session_free(s);
    lcsm_session_free(o);
    lcsm_model_free(m);
    lcsm_model_free(other);
    temp_folder_remove(&f);
    lcsm_context_free(ctx);
}

TEST(session_state_cut_anywhere_is_refused)
{
    lcsm_context *ctx = context();
    temp_folder   f   = temp_folder_make();
    lcsm_model   *m   = model_of(ctx, "rwkv4", 3);
    lcsm_session *s   = session_of(m);
    size_t        size;
    feed(s, 0, 3, NULL);
    assert_int_equal(lcsm_session_save_state(s, temp_path(&f, "whole"), NULL), LCSM_OK);
    unsigned char *bytes = temp_read(&f, "whole", &size);
    for (size_t cut = 0; cut < size; cut += 1 + size / 50) {
        temp_write(&f, "state", bytes, cut);
        assert_refused(s, &f, "state");
    }
    free(bytes);
    lcsm_session_free(s);
    lcsm_model_free(m);
    temp_folder_remove(&f);
    lcsm_context_free(ctx);
}

TEST(session_state_with_a_flipped_bit_is_refused)
{
    lcsm_context *ctx = context();
    temp_folder   f   = temp_folder_make();
    lcsm_model   *m   = model_of(ctx, "attention", 3); /* it carries whole numbers too */
    lcsm_session *s   = session_of(m);
    size_t        size;
    feed(s, 0, 3, NULL);
    assert_int_equal(lcsm_session_save_state(s, temp_path(&f, "whole"), NULL), LCSM_OK);
    unsigned char *bytes = temp_read(&f, "whole", &size);
    for (size_t at = size / 2; at < size; at += 1 + size / 100) {
        bytes[at] ^= 1;
        temp_write(&f, "state", bytes, size);
        assert_refused(s, &f, "state");
        bytes[at] ^= 1;
    }
    free(bytes);
    lcsm_session_free(s);
    lcsm_model_free(m);
    temp_folder_remove(&f);
    lcsm_context_free(ctx);
}

TEST(session_clone_continues_bit_for_bit_and_alone)
{
    lcsm_context *ctx = context();
    for (size_t j = 0; j < lcsm_method_count(); j++) {
        lcsm_model   *m = model_of(ctx, LCSM_METHODS[j].name, 3);
        lcsm_session *a = session_of(m), *b = NULL, *fresh = NULL;
        lcsm_error    err = {0};
        float         at_7[B * V], at_13[B * V];
        assert_int_equal(lcsm_session_clone(&fresh, a, NULL), LCSM_OK);
        assert_null(lcsm_session_logits(fresh));
        feed(a, 0, 7, NULL);
        if (lcsm_session_clone(&b, a, &err) != LCSM_OK) fail_msg("%s", err.text);
        memcpy(at_7, lcsm_session_logits(a), sizeof at_7);
        feed(a, 7, 6, NULL);
        memcpy(at_13, lcsm_session_logits(a), sizeof at_13);
        lcsm_session_free(a);
        assert_int_equal(lcsm_session_position(b), 7);
        assert_int_equal(lcsm_session_batch(b), B);
        assert_memory_equal(lcsm_session_logits(b), at_7, sizeof at_7);
        feed(b, 7, 6, NULL);
        assert_memory_equal(lcsm_session_logits(b), at_13, sizeof at_13);
        feed(fresh, 0, 7, NULL);
        assert_memory_equal(lcsm_session_logits(fresh), at_7, sizeof at_7);
        lcsm_session_free(b);
        lcsm_session_free(fresh);
        lcsm_model_free(m);
    }
    lcsm_context_free(ctx);
}

/* The state of a session in memory that the caller frees. */
static unsigned char *state_of(const lcsm_session *s, size_t *size)
{
    lcsm_error     err = {0};
    size_t         need;
    unsigned char *bytes;
    *size = 0;
    assert_int_equal(lcsm_session_write_state(s, NULL, size, NULL), LCSM_OK);
    need  = *size;
    bytes = malloc(need);
    if (lcsm_session_write_state(s, bytes, size, &err) != LCSM_OK) fail_msg("%s", err.text);
    assert_int_equal(*size, need);
    return bytes;
}

TEST(session_state_in_memory_is_that_of_the_file)
{
    lcsm_context *ctx = context();
    temp_folder   f   = temp_folder_make();
    for (size_t j = 0; j < lcsm_method_count(); j++) {
        lcsm_model    *m = model_of(ctx, LCSM_METHODS[j].name, 3);
        lcsm_session  *a = session_of(m), *b = session_of(m);
        size_t         in_file, size;
        unsigned char *odd;
        feed(a, 0, 11, NULL);
        assert_int_equal(lcsm_session_save_state(a, temp_path(&f, "state"), NULL), LCSM_OK);
        unsigned char *file = temp_read(&f, "state", &in_file), *bytes = state_of(a, &size);
        assert_int_equal(size, in_file);
        assert_memory_equal(bytes, file, size);
        odd = malloc(size + 1); /* no alignment is asked for */
        memcpy(odd + 1, bytes, size);
        assert_int_equal(lcsm_session_read_state(b, odd + 1, size, NULL), LCSM_OK);
        assert_int_equal(lcsm_session_position(b), 11);
        feed(a, 11, 5, NULL);
        feed(b, 11, 5, NULL);
        assert_memory_equal(lcsm_session_logits(a), lcsm_session_logits(b), B * V * sizeof(float));
        free(file);
        free(bytes);
        free(odd);
        lcsm_session_free(a);
        lcsm_session_free(b);
        lcsm_model_free(m);
    }
    temp_folder_remove(&f);
    lcsm_context_free(ctx);
}

static void assert_bytes_refused(lcsm_session *s, const unsigned char *bytes, size_t size)
{
    lcsm_error err = {0};
    float      kept[B * V];
    memcpy(kept, lcsm_session_logits(s), sizeof kept);
    assert_int_not_equal(lcsm_session_read_state(s, bytes, size, &err), LCSM_OK);
    assert_true(strlen(err.text) > 0);
    assert_int_equal(lcsm_session_position(s), 3);
    assert_memory_equal(lcsm_session_logits(s), kept, sizeof kept);
}

TEST(session_state_in_a_bad_buffer_is_refused)
{
    lcsm_context *ctx = context();
    lcsm_model   *m = model_of(ctx, "attention", 3), *other = model_of(ctx, "attention", 4);
    lcsm_session *s = session_of(m), *o = session_of(other);
    lcsm_error    err = {0};
    size_t        size, room;
    feed(s, 0, 3, NULL);
    feed(o, 0, 3, NULL);
    unsigned char *bytes = state_of(s, &size);
    assert_bytes_refused(o, bytes, size);
    for (size_t cut = 0; cut < size; cut += 1 + size / 50) assert_bytes_refused(s, bytes, cut);
    for (size_t at = 0; at < size; at += 1 + size / 200) {
        bytes[at] ^= 0x11;
        if (at < 8 || at >= size / 2) assert_bytes_refused(s, bytes, size);
        bytes[at] ^= 0x11;
    }
    room = size - 1;
    assert_int_equal(lcsm_session_write_state(s, bytes, &room, &err), LCSM_ERR_ARGUMENT);
    assert_int_equal(room, size);
    assert_non_null(strstr(err.text, "the buffer has"));
    free(bytes);
    lcsm_session_free(s);
    lcsm_session_free(o);
    lcsm_model_free(m);
    lcsm_model_free(other);
    lcsm_context_free(ctx);
}

TEST(session_token_out_of_range_leaves_it_as_it_was)
{
    lcsm_context *ctx = context();
    lcsm_model   *m   = model_of(ctx, "gla", 3);
    lcsm_session *a = session_of(m), *b = session_of(m);
    int32_t       bad[2][2] = {{1, 2}, {3, V}};
    lcsm_error    err       = {0};
    feed(a, 0, 3, NULL);
    feed(b, 0, 3, NULL);
    assert_int_equal(lcsm_session_feed(a, bad[0], 2, NULL, &err), LCSM_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "token 11 at position 1; expected 0 to 10"));
    assert_int_equal(lcsm_session_feed(a, NULL, 0, NULL, &err), LCSM_OK);
    feed(a, 3, 2, NULL);
    feed(b, 3, 2, NULL);
    assert_memory_equal(lcsm_session_logits(a), lcsm_session_logits(b), B * V * sizeof(float));
    lcsm_session_free(a);
    lcsm_session_free(b);
    lcsm_model_free(m);
    lcsm_context_free(ctx);
}

TEST(session_of_a_bidirectional_model_is_refused)
{
    lcsm_context     *ctx = context();
    lcsm_model_config cfg;
    lcsm_model       *m;
    lcsm_session     *s;
    lcsm_model_config_defaults(&cfg);
    cfg.d_model       = 16;
    cfg.bidirectional = true;
    assert_int_equal(lcsm_model_create(&m, ctx, &cfg, 1, NULL), LCSM_OK);
    assert_int_equal(lcsm_session_create(&s, m, NULL, NULL), LCSM_ERR_UNSUPPORTED);
    assert_null(s);
    lcsm_model_free(m);
    lcsm_context_free(ctx);
}
