/*
 * Slots: whatever joins, leaves, branches, goes back or is exchanged, every slot is bit-identical
 * to a session of its own that was fed the same calls.
 */
#include <lcsm/session.h>
#include <lcsm/slots.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "eos/method.h"
#include "model/config.h"
#include "model/pattern.h"
#include "test.h"

enum { V = 11, SLOTS = 9, LONGEST = 300, ROOM = 512 };

static lcsm_context *context(int threads)
{
    lcsm_context_options o = {.size = sizeof o, .threads = threads};
    lcsm_context        *ctx;
    assert_int_equal(lcsm_context_create(&ctx, &o, NULL), LCSM_OK);
    return ctx;
}

static lcsm_model *model_of(const lcsm_context *ctx, const char *method, ptrdiff_t width,
                            uint64_t seed)
{
    lcsm_model_config cfg;
    lcsm_error        err = {0};
    lcsm_model       *m;
    lcsm_model_config_defaults(&cfg);
    if (lcsm_pattern_is(method)) (void)lcsm_model_config_set(&cfg, "layers_pattern", method, NULL);
    else (void)snprintf(cfg.method, sizeof cfg.method, "%s", method);
    if (strcmp(method, "code") == 0) (void)snprintf(cfg.code, sizeof cfg.code, "1-1-1-0");
    cfg.vocab      = V;
    cfg.d_model    = width;
    cfg.layers     = lcsm_pattern_is(method) ? 4 : 2;
    cfg.max_length = ROOM;
    if (lcsm_model_create(&m, ctx, &cfg, seed, &err) != LCSM_OK)
        fail_msg("%s: %s", method, err.text);
    return m;
}

/* Slots, and beside each the session that it must equal. */
typedef struct {
    const char       *name;
    const lcsm_model *m;
    lcsm_slots       *s;
    lcsm_session     *lone[SLOTS];
    uint64_t          draws;
    size_t            feeds, moves; /* that were done */
} world;

static uint32_t draw(world *w, uint32_t below)
{
    return lcsm_rng(5, 77, w->draws++).v[0] % below;
}

static lcsm_session *session_of(const lcsm_model *m)
{
    lcsm_session_options o   = {.size = sizeof o, .rewind = 24};
    lcsm_error           err = {0};
    lcsm_session        *s;
    if (lcsm_session_create(&s, m, &o, &err) != LCSM_OK) fail_msg("%s", err.text);
    return s;
}

static void begin(world *w, const lcsm_model *m, const char *name, uint64_t seed)
{
    lcsm_slots_options o   = {.size = sizeof o, .slots = SLOTS, .rewind = 24};
    lcsm_error         err = {0};
    *w                     = (world){.name = name, .m = m, .draws = seed << 32};
    if (lcsm_slots_create(&w->s, m, &o, &err) != LCSM_OK) fail_msg("%s: %s", name, err.text);
}

static void finish(world *w)
{
    for (size_t j = 0; j < SLOTS; j++) lcsm_session_free(w->lone[j]);
    lcsm_slots_free(w->s);
}

static void assert_same(const world *w, const char *when)
{
    for (size_t j = 0; j < SLOTS; j++) {
        const float *a = lcsm_slots_logits(w->s, j), *b = NULL;
        assert_int_equal(lcsm_slots_is_open(w->s, j), w->lone[j] != NULL);
        if (w->lone[j] != NULL) {
            b = lcsm_session_logits(w->lone[j]);
            assert_int_equal(lcsm_slots_position(w->s, j), lcsm_session_position(w->lone[j]));
            assert_int_equal(lcsm_slots_rewindable(w->s, j), lcsm_session_rewindable(w->lone[j]));
        }
        assert_int_equal(a == NULL, b == NULL);
        if (a != NULL && memcmp(a, b, V * sizeof *a) != 0)
            fail_msg("%s: slot %zu differs after %s, at token %llu", w->name, j, when,
                     (unsigned long long)lcsm_slots_position(w->s, j));
    }
}

/* ---- what may happen -------------------------------------------------------------------- */

static void do_open(world *w, size_t j)
{
    size_t slot = SLOTS;
    (void)j;
    assert_int_equal(lcsm_slots_open(w->s, &slot, NULL), LCSM_OK);
    assert_null(w->lone[slot]);
    w->lone[slot] = session_of(w->m);
}

static void do_branch(world *w, size_t j)
{
    size_t slot = SLOTS;
    if (lcsm_slots_count(w->s) == SLOTS) return;
    assert_int_equal(lcsm_slots_branch(w->s, j, &slot, NULL), LCSM_OK);
    assert_null(w->lone[slot]);
    assert_int_equal(lcsm_session_clone(&w->lone[slot], w->lone[j], NULL), LCSM_OK);
}

static void do_close(world *w, size_t j)
{
    assert_int_equal(lcsm_slots_close(w->s, j, NULL), LCSM_OK);
    lcsm_session_free(w->lone[j]);
    w->lone[j] = NULL;
}

static void do_reset(world *w, size_t j)
{
    assert_int_equal(lcsm_slots_reset(w->s, j, NULL), LCSM_OK);
    lcsm_session_reset(w->lone[j]);
}

static void do_rewind(world *w, size_t j)
{
    uint64_t   most = lcsm_slots_rewindable(w->s, j), n;
    lcsm_error err  = {0};
    if (most == 0) return;
    n = 1 + draw(w, (uint32_t)most);
    if (lcsm_slots_rewind(w->s, j, n, &err) != LCSM_OK) fail_msg("%s: %s", w->name, err.text);
    assert_int_equal(lcsm_session_rewind(w->lone[j], n, NULL), LCSM_OK);
}

/* The bytes of both are the same, and each reads those of the other. */
static void do_move(world *w, size_t j)
{
    lcsm_error err  = {0};
    size_t     size = 0, other = 0;
    assert_int_equal(lcsm_slots_write_state(w->s, j, NULL, &size, NULL), LCSM_OK);
    assert_int_equal(lcsm_session_write_state(w->lone[j], NULL, &other, NULL), LCSM_OK);
    assert_int_equal(size, other);
    char *a = malloc(size), *b = malloc(size);
    if (lcsm_slots_write_state(w->s, j, a, &size, &err) != LCSM_OK) fail_msg("%s", err.text);
    assert_int_equal(lcsm_session_write_state(w->lone[j], b, &other, NULL), LCSM_OK);
    if (memcmp(a, b, size) != 0) fail_msg("%s: the states of slot %zu differ", w->name, j);
    do_reset(w, j);
    if (lcsm_slots_read_state(w->s, j, b, size, &err) != LCSM_OK) fail_msg("%s", err.text);
    if (lcsm_session_read_state(w->lone[j], a, size, &err) != LCSM_OK) fail_msg("%s", err.text);
    free(a);
    free(b);
    w->moves++;
}

/* Tokens of a random half of the slots: mostly one of each, or prompts of any length. */
static void do_feed(world *w, size_t j)
{
    static int32_t tokens[SLOTS][LONGEST];
    static float   all[SLOTS][LONGEST * V], want[LONGEST * V];
    lcsm_slot_feed list[SLOTS];
    lcsm_error     err   = {0};
    size_t         count = 0, every = draw(w, 3), first = draw(w, SLOTS);
    (void)j;
    for (size_t k = 0; k < SLOTS; k++) {
        size_t slot = (k + first) % SLOTS, kind = draw(w, 12);
        if (w->lone[slot] == NULL || (every > 0 && draw(w, 2) == 0)) continue;
        size_t n = kind == 0 ? draw(w, LONGEST) : kind < 3 ? draw(w, 24) : 1;
        if (lcsm_slots_position(w->s, slot) + n > ROOM) continue;
        for (size_t t = 0; t < n; t++) tokens[count][t] = (int32_t)draw(w, V);
        list[count] = (lcsm_slot_feed){slot, tokens[count], n, draw(w, 4) == 0 ? all[count] : NULL};
        count++;
    }
    if (lcsm_slots_feed(w->s, list, count, &err) != LCSM_OK) fail_msg("%s: %s", w->name, err.text);
    for (size_t k = 0; k < count; k++) {
        const lcsm_slot_feed *f = &list[k];
        assert_int_equal(lcsm_session_feed(w->lone[f->slot], f->tokens, f->n,
                                           f->all != NULL ? want : NULL, NULL),
                         LCSM_OK);
        if (f->all != NULL && memcmp(f->all, want, f->n * V * sizeof *want) != 0)
            fail_msg("%s: all logits of slot %zu differ", w->name, f->slot);
        w->feeds++;
    }
}

static void wander(world *w, int rounds)
{
    static const struct {
        const char *name;
        void (*act)(world *, size_t);
        uint32_t weight;
    } ACTS[] = {{"feed", do_feed, 12},  {"branch", do_branch, 2}, {"close", do_close, 2},
                {"reset", do_reset, 1}, {"rewind", do_rewind, 3}, {"move", do_move, 1}};
    for (int r = 0; r < rounds; r++) {
        uint32_t x = draw(w, 21);
        size_t   k = 0, j = draw(w, SLOTS);
        while (x >= ACTS[k].weight) x -= ACTS[k++].weight;
        if (w->lone[j] == NULL) do_open(w, j);
        j = 0;
        while (w->lone[j] == NULL || (j + 1 < SLOTS && draw(w, 2) == 0)) j = (j + 1) % SLOTS;
        ACTS[k].act(w, j);
        assert_same(w, ACTS[k].name);
    }
}

static void try_model(const lcsm_context *ctx, const char *name, ptrdiff_t width, int rounds,
                      uint64_t seed)
{
    lcsm_model *m = model_of(ctx, name, width, 3);
    world       w;
    begin(&w, m, name, seed);
    wander(&w, rounds);
    assert_true(w.feeds > (size_t)rounds / 2);
    finish(&w);
    lcsm_model_free(m);
}

/* ---- tests ------------------------------------------------------------------------------ */

static const char *const HYBRIDS[] = {"gla*2,attention", "mamba+attention", "hgrn,rwkv4*2,fwp",
                                      "1-1-1-0*2,attention,s4", "rwkv7,attention,gated-deltanet"};

TEST(slots_of_every_method_equal_their_lone_runs)
{
    lcsm_context *ctx = context(1);
    for (size_t j = 0; j < lcsm_method_count(); j++)
        try_model(ctx, LCSM_METHODS[j].name, 24, 24, j);
    lcsm_context_free(ctx);
}

TEST(slots_of_hybrids_equal_their_lone_runs)
{
    lcsm_context *ctx = context(2);
    for (size_t j = 0; j < COUNT(HYBRIDS); j++) try_model(ctx, HYBRIDS[j], 24, 60, 1000 + j);
    lcsm_context_free(ctx);
}

TEST(slots_keep_on_equalling_them_for_long)
{
    lcsm_context *ctx = context(1);
    try_model(ctx, "gla,attention", 24, 400, 2000);
    try_model(ctx, "rwkv7", 24, 400, 2001);
    lcsm_context_free(ctx);
}

/* Widths beyond the depth that products sum at a time, and shared among threads. */
TEST(slots_of_wide_models_equal_their_lone_runs)
{
    lcsm_context *ctx = context(2);
    try_model(ctx, "mamba", 288, 16, 3000);
    try_model(ctx, "rwkv7,attention", 264, 16, 3001);
    lcsm_context_free(ctx);
}
