/* Speculative decoding: the text is distributed as that of the large model alone. */
#include <lcsm/session.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "infer/draft.h"
#include "model/config.h"
#include "test.h"

enum { V = 5, LENGTH = 3, CELLS = V * V * V, RUNS = 6000 };

static lcsm_model *model_of(const lcsm_context *ctx, const char *method, uint64_t seed)
{
    lcsm_model_config cfg;
    lcsm_model       *m;
    lcsm_model_config_defaults(&cfg);
    (void)snprintf(cfg.method, sizeof cfg.method, "%s", method);
    cfg.vocab   = V;
    cfg.d_model = 16;
    cfg.layers  = 1;
    assert_int_equal(lcsm_model_create(&m, ctx, &cfg, seed, NULL), LCSM_OK);
    return m;
}

typedef struct {
    lcsm_context *ctx;
    lcsm_model   *large, *small;
    lcsm_session *a, *b; /* behind the prompt */
} pair;

static lcsm_session *behind_prompt(const lcsm_model *m)
{
    static const int32_t prompt[] = {1, 4, 0, 2};
    lcsm_session        *s;
    assert_int_equal(lcsm_session_create(&s, m, NULL, NULL), LCSM_OK);
    assert_int_equal(lcsm_session_feed(s, prompt, COUNT(prompt), NULL, NULL), LCSM_OK);
    return s;
}

static pair make(const char *method)
{
    pair p;
    assert_int_equal(
        lcsm_context_create(
            &p.ctx, &(lcsm_context_options){.size = sizeof(lcsm_context_options), .threads = 1},
            NULL),
        LCSM_OK);
    p.large = model_of(p.ctx, method, 1);
    p.small = model_of(p.ctx, "mingru", 2);
    p.a     = behind_prompt(p.large);
    p.b     = behind_prompt(p.small);
    return p;
}

static void drop(pair *p)
{
    lcsm_session_free(p->a);
    lcsm_session_free(p->b);
    lcsm_model_free(p->large);
    lcsm_model_free(p->small);
    lcsm_context_free(p->ctx);
}

/* n tokens by a draft, in sessions of their own, which are then those of the caller. */
static void drafted(const pair *p, const lcsm_sample_options *o, size_t tokens, size_t n,
                    int32_t *out, lcsm_session *ends[2])
{
    lcsm_draft *d;
    lcsm_error  err = {0};
    assert_int_equal(lcsm_session_clone(&ends[0], p->a, NULL), LCSM_OK);
    assert_int_equal(lcsm_session_clone(&ends[1], p->b, NULL), LCSM_OK);
    if (lcsm_draft_create(&d, ends[0], ends[1], o, tokens, &err) != LCSM_OK)
        fail_msg("%s", err.text);
    for (size_t j = 0; j < n; j++) assert_int_equal(lcsm_draft_next(d, &out[j], NULL), LCSM_OK);
    assert_int_equal(lcsm_draft_end(d, NULL), LCSM_OK);
    lcsm_draft_free(d);
}

/* The probability of every text of LENGTH tokens, by the large model alone. */
static void enumerate(const lcsm_session *s, lcsm_sampler *sampler, size_t depth, int32_t *text,
                      double p, double *out)
{
    double q[V];
    if (depth == LENGTH) {
        *out = p;
        return;
    }
    assert_int_equal(
        lcsm_sampler_probabilities(sampler, lcsm_session_logits(s), text, depth, q, NULL), LCSM_OK);
    for (int32_t v = 0; v < V; v++) {
        size_t        cells = CELLS;
        lcsm_session *next;
        for (size_t j = 0; j <= depth; j++) cells /= V;
        text[depth] = v;
        assert_int_equal(lcsm_session_clone(&next, s, NULL), LCSM_OK);
        assert_int_equal(lcsm_session_feed(next, &v, 1, NULL, NULL), LCSM_OK);
        enumerate(next, sampler, depth + 1, text, p * q[v], out + (size_t)v * cells);
        lcsm_session_free(next);
    }
}

/* The sum of (seen - expected)^2 / expected, cells of less than 5 joined, and how many there are.
 */
static double chi_squared(const int *seen, const double *p, int *cells)
{
    double sum = 0, want = 0, have = 0;
    *cells = 0;
    for (size_t j = 0; j < CELLS; j++) {
        want += p[j] * RUNS;
        have += seen[j];
        if (want < 5 && j + 1 < CELLS) continue;
        if (want > 0) sum += (have - want) * (have - want) / want;
        (*cells)++;
        want = have = 0;
    }
    return sum;
}

static void check_distribution(const char *method, lcsm_sample_options o, size_t tokens)
{
    pair          p           = make(method);
    int           seen[CELLS] = {0}, cells;
    double        want[CELLS];
    int32_t       text[LENGTH];
    lcsm_sampler *sampler;
    o.size = sizeof o;
    assert_int_equal(lcsm_sampler_create(&sampler, V, &o, NULL), LCSM_OK);
    enumerate(p.a, sampler, 0, text, 1, want);
    for (int run = 0; run < RUNS; run++) {
        lcsm_session *ends[2];
        o.seed = (uint64_t)run + 1;
        drafted(&p, &o, tokens, LENGTH, text, ends);
        seen[(text[0] * V + text[1]) * V + text[2]]++;
        lcsm_session_free(ends[0]);
        lcsm_session_free(ends[1]);
    }
    double x = chi_squared(seen, want, &cells), n = cells - 1;
    for (size_t j = 0; j < CELLS; j++) assert_true(want[j] > 0 || seen[j] == 0);
    /* about normal with this deviation; 4.5 of them in one case of 300,000 */
    if (!(x < n + 4.5 * sqrt(2 * n))) fail_msg("%s: chi squared %g of %d cells", method, x, cells);
    lcsm_sampler_free(sampler);
    drop(&p);
}

TEST(draft_texts_are_distributed_as_those_of_the_model)
{
    check_distribution("gla", (lcsm_sample_options){.temperature = 0.15}, 4);
}

TEST(draft_keeps_the_distribution_with_cuts_and_a_penalty)
{
    check_distribution(
        "mamba", (lcsm_sample_options){.temperature = 0.2, .top_p = 0.9, .repeat_penalty = 1.3}, 3);
}

TEST(draft_the_most_probable_text_is_that_of_the_model)
{
    enum { TOKENS = 60 };
    static const size_t lengths[] = {2, 4, 5, 16, 64};
    lcsm_sample_options o         = {.size = sizeof o};
    pair                p         = make("gla");
    int32_t             want[TOKENS], got[TOKENS];
    lcsm_session       *s, *ends[2];
    lcsm_sampler       *sampler;
    assert_int_equal(lcsm_session_clone(&s, p.a, NULL), LCSM_OK);
    assert_int_equal(lcsm_sampler_create(&sampler, V, &o, NULL), LCSM_OK);
    for (size_t j = 0; j < TOKENS; j++) {
        assert_int_equal(
            lcsm_sampler_next(sampler, lcsm_session_logits(s), 0, NULL, 0, &want[j], NULL),
            LCSM_OK);
        assert_int_equal(lcsm_session_feed(s, &want[j], 1, NULL, NULL), LCSM_OK);
    }
    for (size_t k = 0; k < COUNT(lengths); k++) {
        drafted(&p, &o, lengths[k], TOKENS, got, ends);
        assert_memory_equal(got, want, sizeof want);
        for (int e = 0; e < 2; e++) {
            assert_int_equal(lcsm_session_position(ends[e]), lcsm_session_position(s));
            for (size_t v = 0; v < V && e == 0; v++)
                assert_true(fabs((double)lcsm_session_logits(ends[0])[v]
                                 - (double)lcsm_session_logits(s)[v])
                            < 1e-4);
            lcsm_session_free(ends[e]);
        }
    }
    lcsm_sampler_free(sampler);
    lcsm_session_free(s);
    drop(&p);
}

TEST(draft_refuses_sessions_that_do_not_belong_together)
{
    pair        p = make("gla");
    lcsm_draft *d;
    lcsm_error  err = {0};
    int32_t     one = 1;
    assert_int_equal(lcsm_draft_create(&d, p.a, p.b, NULL, 1, &err), LCSM_ERR_ARGUMENT);
    assert_int_equal(lcsm_draft_create(&d, p.a, p.b, NULL, 65, &err), LCSM_ERR_ARGUMENT);
    assert_int_equal(lcsm_session_feed(p.b, &one, 1, NULL, NULL), LCSM_OK);
    assert_int_equal(lcsm_draft_create(&d, p.a, p.b, NULL, 4, &err), LCSM_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "draft session has read 5"));
    drop(&p);
}
