/* Slots: what is refused changes nothing, and memory is one row each. */
#include <lcsm/session.h>
#include <lcsm/slots.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "infer/slot_set.h"
#include "model/config.h"
#include "test.h"

enum { V = 11 };

typedef struct {
    lcsm_context *ctx;
    lcsm_model   *m;
    lcsm_slots   *s;
    lcsm_error    err;
} rig;

static lcsm_model *model_of(const lcsm_context *ctx, const char *method, uint64_t seed)
{
    lcsm_model_config cfg;
    lcsm_model       *m;
    lcsm_model_config_defaults(&cfg);
    (void)snprintf(cfg.method, sizeof cfg.method, "%s", method);
    cfg.vocab      = V;
    cfg.d_model    = 16;
    cfg.layers     = 2;
    cfg.max_length = 20;
    assert_int_equal(lcsm_model_create(&m, ctx, &cfg, seed, NULL), LCSM_OK);
    return m;
}

static rig rig_of(const char *method, size_t slots)
{
    rig                r = {0};
    lcsm_slots_options o = {.size = sizeof o, .slots = slots, .rewind = 8};
    assert_int_equal(lcsm_context_create(&r.ctx, NULL, NULL), LCSM_OK);
    r.m = model_of(r.ctx, method, 3);
    assert_int_equal(lcsm_slots_create(&r.s, r.m, &o, NULL), LCSM_OK);
    return r;
}

static void rig_free(rig *r)
{
    lcsm_slots_free(r->s);
    lcsm_model_free(r->m);
    lcsm_context_free(r->ctx);
}

static size_t open_one(rig *r)
{
    size_t slot = 99;
    if (lcsm_slots_open(r->s, &slot, &r->err) != LCSM_OK) fail_msg("%s", r->err.text);
    return slot;
}

/* The call was refused with this sentence. */
static void assert_refused(const rig *r, lcsm_status got, lcsm_status want, const char *sentence)
{
    assert_int_equal(got, want);
    if (strstr(r->err.text, sentence) == NULL)
        fail_msg("\"%s\" lacks \"%s\"", r->err.text, sentence);
}

TEST(slots_that_are_closed_or_beyond_are_refused)
{
    rig            r     = rig_of("gla", 2);
    int32_t        token = 1;
    size_t         size = 0, slot = 7;
    lcsm_slot_feed f = {.slot = 0, .tokens = &token, .n = 1};
    assert_int_equal(lcsm_slots_capacity(r.s), 2);
    assert_refused(&r, lcsm_slots_feed(r.s, &f, 1, &r.err), LCSM_ERR_ARGUMENT, "slot 0 is closed");
    f.slot = 2;
    assert_refused(&r, lcsm_slots_feed(r.s, &f, 1, &r.err), LCSM_ERR_ARGUMENT,
                   "slot 2; expected 0 to 1");
    assert_refused(&r, lcsm_slots_close(r.s, 1, &r.err), LCSM_ERR_ARGUMENT, "slot 1 is closed");
    assert_refused(&r, lcsm_slots_reset(r.s, 1, &r.err), LCSM_ERR_ARGUMENT, "closed");
    assert_refused(&r, lcsm_slots_rewind(r.s, 1, 0, &r.err), LCSM_ERR_ARGUMENT, "closed");
    assert_refused(&r, lcsm_slots_branch(r.s, 1, &slot, &r.err), LCSM_ERR_ARGUMENT, "closed");
    assert_refused(&r, lcsm_slots_write_state(r.s, 1, NULL, &size, &r.err), LCSM_ERR_ARGUMENT,
                   "closed");
    assert_refused(&r, lcsm_slots_read_state(r.s, 1, "", 0, &r.err), LCSM_ERR_ARGUMENT, "closed");
    assert_refused(&r, lcsm_slots_save_state(r.s, 1, "x", &r.err), LCSM_ERR_ARGUMENT, "closed");
    assert_refused(&r, lcsm_slots_load_state(r.s, 1, "x", &r.err), LCSM_ERR_ARGUMENT, "closed");
    assert_int_equal(slot, 7);
    assert_null(lcsm_slots_logits(r.s, 5));
    assert_int_equal(lcsm_slots_position(r.s, 5), 0);
    assert_int_equal(lcsm_slots_rewindable(r.s, 5), 0);
    assert_false(lcsm_slots_is_open(r.s, 5));
    rig_free(&r);
}

TEST(slots_more_than_there_are_cannot_be_opened)
{
    rig    r    = rig_of("gla", 2);
    size_t slot = 7;
    assert_int_equal(open_one(&r), 0);
    assert_int_equal(open_one(&r), 1);
    assert_refused(&r, lcsm_slots_open(r.s, &slot, &r.err), LCSM_ERR_UNSUPPORTED,
                   "all 2 slots are open");
    assert_refused(&r, lcsm_slots_branch(r.s, 0, &slot, &r.err), LCSM_ERR_UNSUPPORTED,
                   "all 2 slots are open");
    assert_int_equal(slot, 7);
    assert_int_equal(lcsm_slots_count(r.s), 2);
    assert_int_equal(lcsm_slots_close(r.s, 0, NULL), LCSM_OK);
    assert_int_equal(lcsm_slots_count(r.s), 1);
    assert_int_equal(open_one(&r), 0);
    rig_free(&r);
}

TEST(slots_refuse_a_call_as_a_whole)
{
    rig            r       = rig_of("attention", 3);
    int32_t        good[8] = {1, 2, 3}, bad[2] = {4, V}, many[30] = {0};
    float          before[V];
    size_t         a = open_one(&r), b = open_one(&r);
    lcsm_slot_feed first = {.slot = a, .tokens = good, .n = 5};
    assert_int_equal(lcsm_slots_feed(r.s, &first, 1, NULL), LCSM_OK);
    memcpy(before, lcsm_slots_logits(r.s, a), sizeof before);
    lcsm_slot_feed token[2] = {{a, good, 3, NULL}, {b, bad, 2, NULL}};
    lcsm_slot_feed twice[2] = {{a, good, 1, NULL}, {a, good, 1, NULL}};
    lcsm_slot_feed room[2]  = {{b, good, 3, NULL}, {a, many, 16, NULL}};
    assert_refused(&r, lcsm_slots_feed(r.s, token, 2, &r.err), LCSM_ERR_ARGUMENT,
                   "slot 1: token 11 at position 1; expected 0 to 10");
    assert_refused(&r, lcsm_slots_feed(r.s, twice, 2, &r.err), LCSM_ERR_ARGUMENT,
                   "slot 0 comes twice");
    assert_refused(&r, lcsm_slots_feed(r.s, room, 2, &r.err), LCSM_ERR_UNSUPPORTED,
                   "slot 0: 16 tokens after 5, but attention without a window holds 20");
    assert_refused(&r, lcsm_slots_rewind(r.s, a, 6, &r.err), LCSM_ERR_ARGUMENT,
                   "slot 0 cannot go back 6 tokens; expected at most 5");
    assert_int_equal(lcsm_slots_position(r.s, a), 5);
    assert_int_equal(lcsm_slots_position(r.s, b), 0);
    assert_memory_equal(lcsm_slots_logits(r.s, a), before, sizeof before);
    room[1].n = 15;
    assert_int_equal(lcsm_slots_feed(r.s, room, 2, &r.err), LCSM_OK);
    assert_int_equal(lcsm_slots_feed(r.s, NULL, 0, &r.err), LCSM_OK);
    rig_free(&r);
}

TEST(slots_refuse_states_of_others)
{
    rig            r = rig_of("gla", 2);
    lcsm_model    *m = model_of(r.ctx, "gla", 4);
    lcsm_session  *other;
    int32_t        good[8] = {1, 2, 3};
    float          before[V];
    static char    bytes[1 << 16];
    size_t         size = sizeof bytes, own = sizeof bytes, a = open_one(&r);
    lcsm_slot_feed f = {.slot = a, .tokens = good, .n = 5};
    assert_int_equal(lcsm_slots_feed(r.s, &f, 1, NULL), LCSM_OK);
    memcpy(before, lcsm_slots_logits(r.s, a), sizeof before);
    assert_int_equal(lcsm_session_create(&other, m, NULL, NULL), LCSM_OK);
    assert_int_equal(lcsm_session_write_state(other, bytes, &size, NULL), LCSM_OK);
    assert_refused(&r, lcsm_slots_read_state(r.s, a, bytes, size, &r.err), LCSM_ERR_FORMAT,
                   "another model");
    assert_int_equal(lcsm_slots_write_state(r.s, a, bytes, &own, NULL), LCSM_OK);
    bytes[own - 1] ^= 1;
    assert_refused(&r, lcsm_slots_read_state(r.s, a, bytes, own, &r.err), LCSM_ERR_FORMAT, "");
    size = 10;
    assert_refused(&r, lcsm_slots_write_state(r.s, a, bytes, &size, &r.err), LCSM_ERR_ARGUMENT,
                   "the buffer has 10 bytes");
    assert_int_equal(lcsm_slots_position(r.s, a), 5);
    assert_memory_equal(lcsm_slots_logits(r.s, a), before, sizeof before);
    lcsm_session_free(other);
    lcsm_model_free(m);
    rig_free(&r);
}

TEST(slots_of_impossible_options_are_refused)
{
    rig                r = rig_of("gla", 1);
    lcsm_slots        *s;
    lcsm_slots_options many = {.size = sizeof many, .slots = (size_t)1 << 40}, none = {0};
    assert_refused(&r, lcsm_slots_create(&s, r.m, &many, &r.err), LCSM_ERR_ARGUMENT,
                   "expected at most 65536");
    assert_null(s);
    assert_int_equal(lcsm_slots_create(&s, r.m, &none, &r.err), LCSM_ERR_ARGUMENT);
    assert_int_equal(lcsm_slots_create(&s, r.m, NULL, &r.err), LCSM_OK);
    assert_int_equal(lcsm_slots_capacity(s), 8);
    lcsm_slots_free(s);
    lcsm_slots_free(NULL);
    rig_free(&r);
}

/* 64 branches of a prompt: one set of weights, and a row of the state for each. */
TEST(slots_branches_cost_a_memory_each)
{
    rig            r       = rig_of("gla", 64);
    int32_t        good[8] = {1, 2, 3};
    size_t         a       = open_one(&r), b;
    lcsm_slot_feed f       = {.slot = a, .tokens = good, .n = 8};
    assert_int_equal(lcsm_slots_feed(r.s, &f, 1, NULL), LCSM_OK);
    for (size_t j = 1; j < 64; j++) assert_int_equal(lcsm_slots_branch(r.s, a, &b, NULL), LCSM_OK);
    size_t one = lcsm_state_row_bytes(r.s->state);
    assert_true(r.s->state->bytes <= 65 * one + r.s->state->count * LCSM_ALIGN);
    assert_memory_equal(lcsm_slots_logits(r.s, 63), lcsm_slots_logits(r.s, 0), V * sizeof(float));
    rig_free(&r);
}
