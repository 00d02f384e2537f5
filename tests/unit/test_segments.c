/* test_segments.c - sequences in segments: the gradients of whole ones, and who has which part. */
#include <lcsm/train.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "eos/method.h"
#include "model/config.h"
#include "model/model_weights.h"
#include "test.h"
#include "train/settings.h"
#include "train/trainer.h"

enum { B = 3, T = 24, VOCAB = 11 };

typedef struct {
    lcsm_context     *ctx;
    lcsm_model       *model;
    lcsm_trainer     *trainer;
    lcsm_train_config cfg;
    int32_t           tokens[B * T], targets[B * T];
} rig;

static lcsm_model_config model_of(const char *method)
{
    lcsm_model_config m;
    lcsm_model_config_defaults(&m);
    m.vocab = VOCAB, m.d_model = 16, m.layers = 2, m.heads = 2, m.dropout = 0.2;
    (void)snprintf(m.method, sizeof m.method, "%s", method);
    return m;
}

static lcsm_status rig_make(rig *r, const char *method, ptrdiff_t shards, ptrdiff_t segments,
                            lcsm_error *err)
{
    lcsm_model_config m = model_of(method);
    *r                  = (rig){0};
    lcsm_train_config_defaults(&r->cfg);
    r->cfg.batch_size = B, r->cfg.seq_len = T, r->cfg.shards = shards, r->cfg.segments = segments;
    r->cfg.warmup = 0, r->cfg.steps = 100,
    r->cfg.lr = 1e-30; /* the second step is that of the same model */
    for (size_t j = 0; j < (size_t)B * T; j++) {
        r->tokens[j]  = (int32_t)(lcsm_rng_uniform(1, 2, j) * VOCAB);
        r->targets[j] = j % 7 == 3 ? LCSM_TARGET_NONE : (r->tokens[j] + 3) % VOCAB;
    }
    assert_int_equal(lcsm_context_create(&r->ctx, NULL, NULL), LCSM_OK);
    assert_int_equal(lcsm_model_create(&r->model, r->ctx, &m, 1, NULL), LCSM_OK);
    return lcsm_trainer_create(&r->trainer, r->model, &r->cfg, 0, err);
}

static void rig_free(rig *r)
{
    lcsm_trainer_free(r->trainer);
    lcsm_model_free(r->model);
    lcsm_context_free(r->ctx);
}

/* The largest difference of the gradients of two models, as a part of the largest gradient. */
static double apart(const rig *one, const rig *two)
{
    const lcsm_params *p = one->model->params;
    const float       *g = p->grads, *h = two->model->params->grads;
    double             largest = 0, off = 0;
    for (size_t j = 0; j < p->block; j++) {
        largest = fmax(largest, fabs((double)g[j]));
        off     = fmax(off, isfinite(h[j]) ? fabs((double)g[j] - (double)h[j]) : INFINITY);
    }
    return off / largest;
}

/* Sums in another order: float has 6e-8, and through two layers a few dozen of that. What S4 and
 * TNN convolve with has another rounding than their recurrence. */
static void check(const char *method, ptrdiff_t shards, ptrdiff_t segments)
{
    rig         one, two;
    lcsm_update a = {.size = sizeof a}, b = {.size = sizeof b};
    lcsm_tally  whole = {0}, cut = {0};
    double      bound = strcmp(method, "tnn") == 0 ? 1e-4 : 2e-5;
    assert_int_equal(rig_make(&one, method, 1, 1, NULL), LCSM_OK);
    assert_int_equal(rig_make(&two, method, shards, segments, NULL), LCSM_OK);
    assert_int_equal(lcsm_trainer_evaluate(one.trainer, one.tokens, one.targets, &whole, NULL),
                     LCSM_OK);
    assert_int_equal(lcsm_trainer_evaluate(two.trainer, two.tokens, two.targets, &cut, NULL),
                     LCSM_OK);
    assert_true(fabs(whole.loss - cut.loss) < bound * whole.loss);
    assert_int_equal(whole.count, cut.count);
    for (int step = 0; step < 2; step++) {
        assert_int_equal(lcsm_trainer_step(one.trainer, one.tokens, one.targets, NULL, &a, NULL),
                         LCSM_OK);
        assert_int_equal(lcsm_trainer_step(two.trainer, two.tokens, two.targets, NULL, &b, NULL),
                         LCSM_OK);
    }
    if (!(apart(&one, &two) < bound) || !(fabs(a.loss - b.loss) < bound))
        fail_msg("%s, %td x %td: gradients are apart by %.2e, losses by %.2e", method, shards,
                 segments, apart(&one, &two), fabs(a.loss - b.loss));
    rig_free(&one);
    rig_free(&two);
}

TEST(segments_of_every_method_have_the_gradients_of_a_whole_sequence)
{
    static const char *const not_alone[] = {"attention", "custom", "code"};
    for (size_t j = 0; j < LCSM_METHOD_COUNT; j++) {
        const char *name  = LCSM_METHODS[j].name;
        bool        other = false;
        for (size_t k = 0; k < COUNT(not_alone); k++) other |= strcmp(name, not_alone[k]) == 0;
        if (!other) check(name, 1, 3);
    }
}

TEST(segments_and_shards_combine)
{
    check("gla", 1, T);
    check("mamba", 2, 2);
    check("rwkv7", 3, 4);
}

TEST(segments_need_what_can_be_cut)
{
    static const struct {
        const char *method, *say;
        ptrdiff_t   segments, accumulate;
        bool        carried;
    } cases[] = {
        {"attention", "layers.0.mixer.attention needs a whole sequence", 2, 1, false},
        {"gla", "seq_len is 24, which 5 segments do not divide", 5, 1, false},
        {"gla", "use a batch_size 3 times as large", 2, 3, false},
        {"gla", "carried is unused with segments", 2, 1, true},
    };
    for (size_t j = 0; j < COUNT(cases); j++) {
        rig        r;
        lcsm_error err;
        assert_int_equal(rig_make(&r, "gla", 1, 1, NULL), LCSM_OK);
        lcsm_trainer_free(r.trainer);
        lcsm_model_free(r.model);
        lcsm_model_config m = model_of(cases[j].method);
        r.cfg.segments = cases[j].segments, r.cfg.accumulate = cases[j].accumulate;
        r.cfg.carried = cases[j].carried;
        assert_int_equal(lcsm_model_create(&r.model, r.ctx, &m, 1, NULL), LCSM_OK);
        assert_int_not_equal(lcsm_trainer_create(&r.trainer, r.model, &r.cfg, 0, &err), LCSM_OK);
        assert_non_null(strstr(err.text, cases[j].say));
        rig_free(&r);
    }
}

TEST(segments_have_one_unit_after_the_other_from_the_end)
{
    rig r;
    assert_int_equal(rig_make(&r, "gla", 2, 4, NULL), LCSM_OK);
    const lcsm_shards *s = &r.trainer->shards;
    int32_t            rows[2 * T / 4];
    assert_int_equal(s->count, 8);
    assert_int_equal(lcsm_shards_shard(s, 5), 1);
    assert_int_equal(lcsm_shards_segment(s, 5), 2);
    lcsm_shards_cut(s, 5, T, r.tokens, -1, rows); /* sequences 1 and 2, steps 12 .. 17 */
    for (int b = 0; b < 2; b++)
        for (int t = 0; t < T / 4; t++)
            assert_int_equal(rows[b * T / 4 + t], r.tokens[(1 + b) * T + 12 + t]);
    lcsm_shards_cut(s, 3, T, r.tokens, -1, rows); /* sequence 0 alone */
    assert_int_equal(rows[0], r.tokens[0]);
    assert_int_equal(rows[T / 4], -1);
    rig_free(&r);
}
