/* Sessions that go back, and sessions that branch. */
#include <lcsm/session.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "eos/method.h"
#include "infer/session.h"
#include "model/config.h"
#include "model/pattern.h"
#include "test.h"

enum { V = 11, MOST = 500 };

static lcsm_model *model_of(const lcsm_context *ctx, const char *method)
{
    lcsm_model_config cfg;
    lcsm_error        err = {0};
    lcsm_model       *m;
    lcsm_model_config_defaults(&cfg);
    if (lcsm_pattern_is(method)) (void)lcsm_model_config_set(&cfg, "layers_pattern", method, NULL);
    else (void)snprintf(cfg.method, sizeof cfg.method, "%s", method);
    if (strcmp(method, "code") == 0) (void)snprintf(cfg.code, sizeof cfg.code, "1-1-1-0");
    cfg.attention_window = strstr(method, "*") != NULL ? 7 : 0;
    cfg.vocab            = V;
    cfg.d_model          = 16;
    cfg.layers           = 2;
    if (lcsm_model_create(&m, ctx, &cfg, 3, &err) != LCSM_OK) fail_msg("%s: %s", method, err.text);
    return m;
}

static lcsm_session *session_of(const lcsm_model *m, size_t batch, size_t rewind, size_t bytes)
{
    lcsm_session_options o = {
        .size = sizeof o, .batch = batch, .rewind = rewind, .rewind_bytes = bytes};
    lcsm_error    err = {0};
    lcsm_session *s;
    if (lcsm_session_create(&s, m, &o, &err) != LCSM_OK) fail_msg("%s", err.text);
    return s;
}

/* A session and what it was fed, call by call. */
typedef struct {
    lcsm_session *s;
    size_t        batch, calls, total, furthest;
    size_t        n[MOST];
    bool          all[MOST];
    int32_t       tokens[2 * MOST]; /* (MOST, B) */
} story;

static void feed_call(lcsm_session *s, const story *w, size_t from, size_t n, bool all)
{
    int32_t      tokens[2 * MOST];
    static float logits[2 * MOST * V];
    lcsm_error   err = {0};
    for (size_t b = 0; b < w->batch; b++)
        for (size_t t = 0; t < n; t++) tokens[b * n + t] = w->tokens[(from + t) * w->batch + b];
    if (lcsm_session_feed(s, tokens, n, all ? logits : NULL, &err) != LCSM_OK)
        fail_msg("%s", err.text);
}

static void forward(story *w, size_t n, bool all, uint64_t seed)
{
    if (n == 0 || w->total + n > MOST) return;
    for (size_t j = 0; j < n * w->batch; j++)
        w->tokens[w->total * w->batch + j] = (int32_t)(lcsm_rng(seed, 1, j).v[0] % V);
    feed_call(w->s, w, w->total, n, all);
    w->n[w->calls]     = n;
    w->all[w->calls++] = all;
    w->total += n;
}

static void back(story *w, size_t k)
{
    lcsm_error err = {0};
    if (lcsm_session_rewind(w->s, k, &err) != LCSM_OK) fail_msg("%s", err.text);
    w->total -= k;
    assert_int_equal(lcsm_session_position(w->s), w->total);
    while (k > 0) {
        size_t of = w->n[w->calls - 1], cut = k < of ? k : of;
        w->n[w->calls - 1] -= cut;
        if (w->n[w->calls - 1] == 0) w->calls--;
        k -= cut;
    }
}

/* The session is where one is that only ever read what is left of the story. */
static void assert_same(const story *w, const lcsm_model *m, const char *what)
{
    lcsm_session *plain = session_of(m, w->batch, 0, 0);
    for (size_t j = 0, at = 0; j < w->calls; at += w->n[j++])
        feed_call(plain, w, at, w->n[j], w->all[j]);
    assert_int_equal(lcsm_session_position(plain), w->total);
    const float *a = lcsm_session_logits(w->s), *b = lcsm_session_logits(plain);
    if (w->total == 0) assert_null(a);
    else if (memcmp(a, b, w->batch * V * sizeof *a) != 0) fail_msg("%s at %zu", what, w->total);
    size_t recent = w->total < LCSM_SESSION_RECENT ? w->total : LCSM_SESSION_RECENT;
    for (size_t t = w->total - recent; t < w->total; t++)
        assert_int_equal(*lcsm_session_recent(w->s, 0, t), *lcsm_session_recent(plain, 0, t));
    lcsm_session_free(plain);
}

/* Random calls, then random ways back, each compared. */
static size_t wander(const lcsm_model *m, size_t batch, size_t bytes, const char *what, int rounds)
{
    static story w;
    size_t       places = 0;
    w                   = (story){.s = session_of(m, batch, 64, bytes), .batch = batch};
    for (int r = 0; r < rounds; r++) {
        lcsm_u32x4 x = lcsm_rng(7, (uint32_t)batch, (uint64_t)r);
        size_t     n = x.v[0] % 8 == 0 ? x.v[1] % 300 : x.v[1] % 40;
        if (w.total + n > MOST) {
            lcsm_session_reset(w.s);
            w.calls = w.total = w.furthest = 0;
        }
        forward(&w, n, x.v[3] % 3 == 0, (uint64_t)r);
        w.furthest  = w.total > w.furthest ? w.total : w.furthest;
        size_t most = (size_t)lcsm_session_rewindable(w.s);
        size_t sure = w.furthest < 64 ? w.furthest : 64; /* back from the furthest place */
        assert_true(most + (w.furthest - w.total) >= sure);
        if (most == 0) continue;
        back(&w, 1 + x.v[2] % most);
        assert_same(&w, m, what);
        places++;
    }
    lcsm_session_free(w.s);
    return places;
}

/* As many rounds with each model, of one sequence or of two; the number of places. */
static size_t wander_in(const char *const *names, size_t count, int rounds)
{
    lcsm_context *ctx;
    size_t        places = 0;
    assert_int_equal(lcsm_context_create(&ctx, NULL, NULL), LCSM_OK);
    for (size_t j = 0; j < count; j++) {
        lcsm_model *m = model_of(ctx, names[j]);
        places += wander(m, 1 + j % 2, 0, names[j], rounds);
        lcsm_model_free(m);
    }
    lcsm_context_free(ctx);
    return places;
}

TEST(session_rewind_is_bit_identical_to_never_having_read)
{
    static const char *const NAMES[] = {
        "gla", "mamba",          "rwkv4",     "hgrn",   "s4",   "fwp",          "s5",
        "tnn", "gated-deltanet", "attention", "mamba2", "code", "gla,attention"};
    assert_true(wander_in(NAMES, COUNT(NAMES), 80) >= 1000);
}

/* Windows of attention, short convolutions and positions beside the memories. */
TEST(session_rewind_of_hybrids_is_bit_identical_too)
{
    static const char *const NAMES[] = {"rg-lru*1,attention",
                                        "gated-deltanet*1,attention",
                                        "kda*1,attention",
                                        "mamba2*1,attention",
                                        "falcon-mamba",
                                        "rwkv7",
                                        "mlstm"};
    assert_true(wander_in(NAMES, COUNT(NAMES), 30) >= 180);
}

TEST(session_rewind_within_a_budget_reads_more_again)
{
    lcsm_context *ctx;
    assert_int_equal(lcsm_context_create(&ctx, NULL, NULL), LCSM_OK);
    lcsm_model          *m = model_of(ctx, "gla");
    lcsm_session        *s = session_of(m, 1, 64, 0), *none = NULL;
    lcsm_error           err   = {0};
    size_t               bytes = s->history.snapshot_bytes;
    lcsm_session_options tight = {.size = sizeof tight, .rewind = 64, .rewind_bytes = 2 * bytes};
    assert_int_equal(s->history.every, 16);
    assert_int_equal(lcsm_session_create(&none, m, &tight, &err), LCSM_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "too few to go back 64 tokens"));
    assert_true(wander(m, 1, 4 * bytes, "four snapshots", 12) > 8);
    lcsm_session_free(s);
    lcsm_model_free(m);
    lcsm_context_free(ctx);
}

TEST(session_rewind_too_far_is_refused_and_changes_nothing)
{
    lcsm_context *ctx;
    lcsm_error    err = {0};
    assert_int_equal(lcsm_context_create(&ctx, NULL, NULL), LCSM_OK);
    lcsm_model   *m = model_of(ctx, "gla");
    lcsm_session *s = session_of(m, 1, 8, 0), *plain = session_of(m, 1, 0, 0);
    int32_t       tokens[40] = {1, 2, 3};
    assert_int_equal(lcsm_session_feed(s, tokens, 40, NULL, NULL), LCSM_OK);
    assert_int_equal(lcsm_session_feed(plain, tokens, 40, NULL, NULL), LCSM_OK);
    assert_int_equal(lcsm_session_rewind(s, 41, &err), LCSM_ERR_ARGUMENT);
    assert_int_equal(lcsm_session_rewind(plain, 1, &err), LCSM_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "expected at most 0"));
    assert_int_equal(lcsm_session_rewind(plain, 0, NULL), LCSM_OK);
    assert_memory_equal(lcsm_session_logits(s), lcsm_session_logits(plain), V * sizeof(float));
    lcsm_session_free(s);
    lcsm_session_free(plain);
    lcsm_model_free(m);
    lcsm_context_free(ctx);
}

/* What a batch rounds otherwise than a single sequence: sums of a few hundred floats. */
TEST(session_branches_continue_from_one_prompt)
{
    static const char *const NAMES[] = {"gla", "rwkv4", "attention", "mamba"};
    enum { N = 5 };
    lcsm_context *ctx;
    assert_int_equal(lcsm_context_create(&ctx, NULL, NULL), LCSM_OK);
    for (size_t j = 0; j < COUNT(NAMES); j++) {
        lcsm_model   *m         = model_of(ctx, NAMES[j]);
        lcsm_session *s         = session_of(m, 1, 0, 0), *many, *two;
        int32_t       prompt[7] = {1, 2, 3, 4, 5, 6, 7}, next[N] = {0, 1, 2, 3, 4};
        assert_int_equal(lcsm_session_feed(s, prompt, 7, NULL, NULL), LCSM_OK);
        assert_int_equal(lcsm_session_branch(&many, s, N, NULL), LCSM_OK);
        assert_int_equal(lcsm_session_branch(&two, many, 2, NULL), LCSM_ERR_ARGUMENT);
        assert_int_equal(lcsm_session_feed(many, next, 1, NULL, NULL), LCSM_OK);
        for (size_t b = 0; b < N; b++) {
            lcsm_session *alone;
            assert_int_equal(lcsm_session_clone(&alone, s, NULL), LCSM_OK);
            assert_int_equal(lcsm_session_feed(alone, &next[b], 1, NULL, NULL), LCSM_OK);
            for (size_t v = 0; v < V; v++)
                assert_float_equal(lcsm_session_logits(many)[b * V + v],
                                   lcsm_session_logits(alone)[v], 1e-5F);
            lcsm_session_free(alone);
        }
        lcsm_session_free(many);
        lcsm_session_free(s);
        lcsm_model_free(m);
    }
    lcsm_context_free(ctx);
}
