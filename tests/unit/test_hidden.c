/* Hidden states: what the head reads, the same alone and beside others. */
#include <lcsm/session.h>
#include <lcsm/slots.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "graph/params.h"
#include "infer/session.h"
#include "model/config.h"
#include "model/model_weights.h"
#include "test.h"

enum { V = 11, D = 18, MOST = 300 };

typedef struct {
    lcsm_context *ctx;
    lcsm_model   *m;
    int32_t       tokens[MOST];
    float         hidden[MOST * D], other[MOST * D], logits[MOST * V];
} rig;

static rig *rig_of(const char *method)
{
    rig              *r = calloc(1, sizeof *r);
    lcsm_model_config cfg;
    lcsm_model_config_defaults(&cfg);
    (void)snprintf(cfg.method, sizeof cfg.method, "%s", method);
    cfg.vocab   = V;
    cfg.d_model = D;
    cfg.heads   = 1;
    cfg.layers  = 2;
    assert_int_equal(lcsm_context_create(&r->ctx, NULL, NULL), LCSM_OK);
    assert_int_equal(lcsm_model_create(&r->m, r->ctx, &cfg, 3, NULL), LCSM_OK);
    for (int j = 0; j < MOST; j++) r->tokens[j] = (j * j + 3 * j / 2) % V;
    return r;
}

static void rig_free(rig *r)
{
    lcsm_model_free(r->m);
    lcsm_context_free(r->ctx);
    free(r);
}

static lcsm_session *session_of(rig *r)
{
    lcsm_session *s = NULL;
    assert_int_equal(lcsm_session_create(&s, r->m, NULL, NULL), LCSM_OK);
    return s;
}

static const char *const METHODS[] = {"gla", "mamba2", "rwkv7"};
static const size_t      COUNTS[]  = {0, 1, 3, 16, 65, 277};

/* Logits are products of the head with them, but for the order of a sum of D numbers. */
TEST(hidden_states_are_what_the_head_reads)
{
    for (size_t m = 0; m < COUNT(METHODS); m++) {
        rig          *r = rig_of(METHODS[m]);
        lcsm_session *s = session_of(r), *t = session_of(r);
        int           row = lcsm_params_find(r->m->params, "head.weight");
        if (row < 0) row = lcsm_params_find(r->m->params, "embedding.weight");
        assert_true(row >= 0);
        const float *head = (const float *)r->m->params->values + r->m->params->list[row].offset;
        assert_int_equal(lcsm_session_feed_hidden(s, r->tokens, 277, r->hidden, NULL), LCSM_OK);
        assert_int_equal(lcsm_session_feed(t, r->tokens, 277, r->logits, NULL), LCSM_OK);
        for (size_t j = 0; j < (size_t)277 * V; j++) {
            const float *w   = head + j % V * D;
            double       sum = 0, size = 0;
            for (size_t d = 0; d < D; d++) {
                sum += (double)w[d] * (double)r->hidden[j / V * D + d];
                size += fabs((double)w[d] * (double)r->hidden[j / V * D + d]);
            }
            assert_true(fabs(sum - (double)r->logits[j]) <= 1e-4 * (1 + size));
        }
        lcsm_session_free(s);
        lcsm_session_free(t);
        rig_free(r);
    }
}

/* The logits of the last token, and what follows, are those of an ordinary feed. */
TEST(feed_hidden_carries_the_memory_as_feed_does)
{
    for (size_t n = 0; n < COUNT(COUNTS); n++) {
        rig          *r = rig_of("gla");
        lcsm_session *s = session_of(r), *t = session_of(r);
        assert_int_equal(lcsm_session_feed_hidden(s, r->tokens, COUNTS[n], r->hidden, NULL),
                         LCSM_OK);
        assert_int_equal(lcsm_session_feed(t, r->tokens, COUNTS[n], NULL, NULL), LCSM_OK);
        assert_int_equal(lcsm_session_feed(s, r->tokens, 2, NULL, NULL), LCSM_OK);
        assert_int_equal(lcsm_session_feed(t, r->tokens, 2, NULL, NULL), LCSM_OK);
        assert_memory_equal(lcsm_session_logits(s), lcsm_session_logits(t), V * sizeof(float));
        lcsm_session_free(s);
        lcsm_session_free(t);
        rig_free(r);
    }
}

/* Several slots of different lengths in one call, each bit-identical to a session. */
TEST(hidden_states_of_slots_are_those_of_sessions)
{
    for (size_t m = 0; m < COUNT(METHODS); m++) {
        rig               *r = rig_of(METHODS[m]);
        lcsm_slots        *set;
        lcsm_slots_options o = {.size = sizeof o, .slots = COUNT(COUNTS)};
        lcsm_slot_feed     feeds[COUNT(COUNTS)];
        float             *got[COUNT(COUNTS)];
        assert_int_equal(lcsm_slots_create(&set, r->m, &o, NULL), LCSM_OK);
        for (size_t j = 0; j < COUNT(COUNTS); j++) {
            got[j]   = calloc(COUNTS[j] * D + 1, sizeof *got[j]);
            feeds[j] = (lcsm_slot_feed){
                .tokens = r->tokens + j, .n = COUNTS[j], .all = j == 2 ? NULL : got[j]};
            assert_int_equal(lcsm_slots_open(set, &feeds[j].slot, NULL), LCSM_OK);
        }
        assert_int_equal(lcsm_slots_feed_hidden(set, feeds, COUNT(COUNTS), NULL), LCSM_OK);
        for (size_t j = 0; j < COUNT(COUNTS); j++) {
            lcsm_session *s = session_of(r);
            assert_int_equal(lcsm_session_feed_hidden(s, r->tokens + j, COUNTS[j], r->other, NULL),
                             LCSM_OK);
            if (feeds[j].all != NULL)
                assert_memory_equal(got[j], r->other, COUNTS[j] * D * sizeof(float));
            if (COUNTS[j] > 0)
                assert_memory_equal(lcsm_slots_logits(set, feeds[j].slot), lcsm_session_logits(s),
                                    V * sizeof(float));
            lcsm_session_free(s);
            free(got[j]);
        }
        lcsm_slots_free(set);
        rig_free(r);
    }
}

TEST(hidden_states_of_several_sequences_lie_behind_one_another)
{
    rig                 *r = rig_of("gla");
    lcsm_session        *s = NULL;
    lcsm_session_options o = {.size = sizeof o, .batch = 2};
    enum { N = 21 };
    assert_int_equal(lcsm_session_create(&s, r->m, &o, NULL), LCSM_OK);
    assert_int_equal(lcsm_session_feed_hidden(s, r->tokens, N, r->hidden, NULL), LCSM_OK);
    for (size_t b = 0; b < 2; b++) {
        lcsm_session *one = session_of(r);
        assert_int_equal(lcsm_session_feed_hidden(one, r->tokens + b * N, N, r->other, NULL),
                         LCSM_OK);
        assert_memory_equal(r->hidden + b * N * D, r->other, N * D * sizeof(float));
        lcsm_session_free(one);
    }
    lcsm_session_free(s);
    rig_free(r);
}
