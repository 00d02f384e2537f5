/* test_optimizer.c - AdamW over flat arrays and over a list of parameters. */
#include "test.h"
#include "train/optimizer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const lcsm_adamw_config TORCH   = {LCSM_ADAMW_TORCH, 0.9, 0.999, 1e-8, 0.1, false,
                                          LCSM_MOMENTS_F32};
static const lcsm_adamw_config FAIRSEQ = {LCSM_ADAMW_FAIRSEQ, 0.9, 0.98, 1e-8, 0.1, false,
                                          LCSM_MOMENTS_F32};

static lcsm_context *context(int threads)
{
    lcsm_context *ctx = NULL;
    assert_int_equal(
        lcsm_context_create(
            &ctx, &(lcsm_context_options){.size = sizeof(lcsm_context_options), .threads = threads},
            NULL),
        LCSM_OK);
    return ctx;
}

/* One number, as the two papers' code writes it. */
static void one(const lcsm_adamw_config *c, int t, double lr, double g, double *p, double *m,
                double *v)
{
    double c1 = 1 - pow(c->beta1, t), c2 = 1 - pow(c->beta2, t);
    *m = c->beta1 * *m + (1 - c->beta1) * g;
    *v = c->beta2 * *v + (1 - c->beta2) * g * g;
    *p -= lr * c->weight_decay * *p;
    if (c->style == LCSM_ADAMW_TORCH) *p -= lr * (*m / c1) / (sqrt(*v / c2) + c->eps);
    else *p -= lr * sqrt(c2) / c1 * *m / (sqrt(*v) + c->eps);
}

TEST(adamw_both_styles_follow_their_formulas)
{
    const lcsm_adamw_config *styles[] = {&TORCH, &FAIRSEQ};
    lcsm_context            *ctx      = context(1);
    for (int s = 0; s < 2; s++) {
        double p[3] = {0.5, -1, 1e-9}, m[3] = {0}, v[3] = {0}, wp[3], wm[3] = {0}, wv[3] = {0};
        memcpy(wp, p, sizeof p);
        for (int t = 1; t <= 5; t++) {
            double g[3] = {0.1 * t, -0.3 + 0.2 * t, 1e-9};
            lcsm_adamw_step(ctx, LCSM_F64, styles[s], t, 1e-2, 1, 3, g, p, m, v);
            for (int j = 0; j < 3; j++) one(styles[s], t, 1e-2, g[j], &wp[j], &wm[j], &wv[j]);
        }
        /* 1e-14: some tens of roundings of numbers below 1. */
        for (int j = 0; j < 3; j++) assert_true(fabs(p[j] - wp[j]) <= 1e-14);
    }
    lcsm_context_free(ctx);
}

enum { N = 100003 };

TEST(adamw_gives_the_same_bits_on_any_number_of_threads)
{
    static float p[2][N], m[2][N], v[2][N], g[N];
    for (int j = 0; j < N; j++) g[j] = p[0][j] = p[1][j] = (float)sin(j);
    for (int k = 0; k < 2; k++) {
        lcsm_context *ctx = context(1 + 2 * k);
        for (int t = 1; t < 4; t++)
            lcsm_adamw_step(ctx, LCSM_F32, &TORCH, t, 1e-2, 0.5, N, g, p[k], m[k], v[k]);
        lcsm_context_free(ctx);
    }
    assert_memory_equal(p[0], p[1], sizeof p[0]);
    assert_memory_equal(v[0], v[1], sizeof v[0]);
}

TEST(norm2_sums_in_double)
{
    static float  x[N];
    lcsm_context *ctx = context(2);
    for (int j = 0; j < N; j++) x[j] = 1e-4f;
    x[0] = 1e4f;
    /* In float the small squares would all be lost. 1e-12: roundings of a sum of 1e5 doubles. */
    double want = sqrt(1e8 + (N - 1) * (double)1e-4f * (double)1e-4f);
    assert_true(fabs(lcsm_norm2(ctx, LCSM_F32, N, x) / want - 1) <= 1e-12);
    assert_true(lcsm_norm2(ctx, LCSM_F32, 0, x) == 0);
    lcsm_context_free(ctx);
}

/* Four parameters of one number each: plain, without decay, frozen, with a bounded rate. */
static lcsm_params *four(void)
{
    static const char *const NAMES[] = {"plain", "no-decay", "frozen", "bounded"};
    static const unsigned    FLAGS[] = {0, LCSM_PARAM_NO_DECAY, LCSM_PARAM_FROZEN, 0};
    lcsm_params             *ps      = NULL;
    lcsm_init                init    = lcsm_init_constant(2);
    lcsm_shape               shape   = lcsm_dims(1);
    int                      row;
    assert_int_equal(lcsm_params_create(&ps, LCSM_F64, 1, NULL), LCSM_OK);
    for (int j = 0; j < 4; j++)
        assert_int_equal(lcsm_params_add(&row, ps, NAMES[j], &shape, &init, FLAGS[j], NULL),
                         LCSM_OK);
    ps->list[3].lr_max = 1e-3;
    assert_int_equal(lcsm_params_reserve(ps, true, NULL), LCSM_OK);
    for (int j = 0; j < 4; j++) *(double *)lcsm_param_grads(ps, j) = 3;
    return ps;
}

/* Checks the values after one step of rate 1e-2 from gradients of 3. */
static void expect_step(const lcsm_adamw_config *cfg, const double *want)
{
    lcsm_params    *ps  = four();
    lcsm_context   *ctx = context(1);
    lcsm_optimizer *o   = NULL;
    assert_int_equal(lcsm_optimizer_create(&o, ps, cfg, NULL), LCSM_OK);
    assert_true(fabs(lcsm_optimizer_step(o, ctx, 1e-2, 0) - 6) <= 1e-14);
    assert_int_equal(o->steps, 1);
    /* The first step of Adam has length lr. eps and roundings stay below 1e-9. */
    for (int j = 0; j < 4; j++)
        assert_true(fabs(*(double *)lcsm_param_values(ps, j) - want[j]) <= 1e-9);
    lcsm_optimizer_free(o);
    lcsm_params_free(ps);
    lcsm_context_free(ctx);
}

TEST(optimizer_step_respects_the_settings_of_each_parameter)
{
    const double want[] = {2 * (1 - 1e-3) - 1e-2, 2 - 1e-2, 2, 2 * (1 - 1e-4) - 1e-3};
    expect_step(&TORCH, want);
}

TEST(weight_decay_for_all_spares_only_frozen_parameters)
{
    lcsm_adamw_config all = TORCH;
    const double want[] = {2 * (1 - 1e-3) - 1e-2, 2 * (1 - 1e-3) - 1e-2, 2, 2 * (1 - 1e-4) - 1e-3};
    all.decay_all       = true;
    expect_step(&all, want);
}

TEST(optimizer_step_clips_gradients_to_the_given_norm)
{
    lcsm_params    *ps  = four();
    lcsm_context   *ctx = context(1);
    lcsm_optimizer *o   = NULL;
    assert_int_equal(lcsm_optimizer_create(&o, ps, &FAIRSEQ, NULL), LCSM_OK);
    lcsm_optimizer_step(o, ctx, 1e-2, 1.5); /* norm 6: a quarter of each gradient is left */
    assert_true(fabs(*(double *)o->m - 0.1 * 0.75) <= 1e-15);
    lcsm_optimizer_free(o);
    lcsm_params_free(ps);
    lcsm_context_free(ctx);
}

TEST(optimizer_with_bad_settings_is_refused)
{
    static const lcsm_adamw_config BAD[] = {
        {LCSM_ADAMW_COUNT, 0.9, 0.9, 1e-8, 0, false, LCSM_MOMENTS_F32},
        {LCSM_ADAMW_TORCH, 1, 0.9, 1e-8, 0, false, LCSM_MOMENTS_F32},
        {LCSM_ADAMW_TORCH, 0.9, -1, 1e-8, 0, false, LCSM_MOMENTS_F32},
        {LCSM_ADAMW_TORCH, 0.9, 0.9, 0, 0, false, LCSM_MOMENTS_F32},
        {LCSM_ADAMW_TORCH, 0.9, 0.9, 1e-8, NAN, false, LCSM_MOMENTS_F32},
    };
    lcsm_params *ps = four();
    for (size_t j = 0; j < COUNT(BAD); j++) {
        lcsm_optimizer *o   = NULL;
        lcsm_error      err = {0};
        assert_int_equal(lcsm_optimizer_create(&o, ps, &BAD[j], &err), LCSM_ERR_CONFIG);
        assert_null(o);
        assert_true(err.text[0] != '\0');
    }
    lcsm_params_free(ps);
}

/* ---- packed moments --------------------------------------------------------------------- */

enum { PACKED = 1000 };

static void fill_moments(float *m, float *v)
{
    for (int j = 0; j < PACKED; j++) {
        m[j] = (float)(sin(j * 12.9898) * pow(10, -(j % 7)));
        v[j] = (float)fabs(sin(j * 78.233) * pow(10, -(j % 9)));
    }
}

TEST(optimizer_packed_moments_keep_their_bits_and_their_means)
{
    float         m[PACKED], v[PACKED], again[PACKED];
    unsigned char packed[PACKED * 4], twice[PACKED * 4];
    double        sum[PACKED];
    fill_moments(m, v);
    for (lcsm_moments type = LCSM_MOMENTS_BF16; type < LCSM_MOMENTS_COUNT; type++)
        for (int second = 0; second < 2; second++) {
            const float *x     = second ? v : m;
            size_t       bytes = lcsm_moments_bytes(type, PACKED);
            memset(sum, 0, sizeof sum);
            for (uint64_t seed = 0; seed < 400; seed++) {
                lcsm_moments_pack(type, second, packed, 0, PACKED, x, seed);
                lcsm_moments_unpack(type, second, packed, 0, PACKED, again);
                for (int j = 0; j < PACKED; j++) sum[j] += (double)again[j] / 400;
                lcsm_moments_pack(type, second, twice, 0, PACKED, again, seed + 1);
                assert_memory_equal(twice, packed, bytes);
            }
            /* steps are a 64th of the largest of a block apart at most, and 400 were drawn */
            for (int j = 0; j < PACKED; j++) {
                double most = 0;
                for (int k = j / 64 * 64; k < PACKED && k < j / 64 * 64 + 64; k++)
                    most = fmax(most, fabs((double)x[k]));
                assert_true(fabs(sum[j] - (double)x[j]) < 0.004 * most);
            }
        }
}

/* A bowl whose sides are of different steepness. */
static void descend(lcsm_moments type, size_t n, float *x)
{
    enum { STEPS = 600 };
    lcsm_adamw_config cfg   = {.beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .moments = type};
    lcsm_context     *ctx   = context(2);
    lcsm_params      *ps    = NULL;
    lcsm_optimizer   *o     = NULL;
    lcsm_init         init  = lcsm_init_constant(1);
    lcsm_shape        shape = lcsm_dims((ptrdiff_t)n);
    int               row;
    assert_int_equal(lcsm_params_create(&ps, LCSM_F32, 1, NULL), LCSM_OK);
    assert_int_equal(lcsm_params_add(&row, ps, "x", &shape, &init, 0, NULL), LCSM_OK);
    assert_int_equal(lcsm_params_reserve(ps, true, NULL), LCSM_OK);
    assert_int_equal(lcsm_optimizer_create(&o, ps, &cfg, NULL), LCSM_OK);
    float *p = lcsm_param_values(ps, row), *g = lcsm_param_grads(ps, row);
    for (int t = 0; t < STEPS; t++) {
        for (size_t j = 0; j < n; j++)
            g[j] = (float)((double)(1 + j % 5) * ((double)p[j] - 0.0002 * (double)j));
        (void)lcsm_optimizer_step(o, ctx, 0.02 * (1 - (double)t / STEPS), 0);
    }
    memcpy(x, p, n * sizeof *x);
    lcsm_optimizer_free(o);
    lcsm_params_free(ps);
    lcsm_context_free(ctx);
}

TEST(optimizer_with_packed_moments_finds_the_minimum_too)
{
    enum { MANY = 5000 }; /* more than one piece */
    static float x[MANY];
    for (lcsm_moments type = LCSM_MOMENTS_F32; type < LCSM_MOMENTS_COUNT; type++) {
        descend(type, MANY, x);
        for (size_t j = 0; j < MANY; j++)
            if (!(fabs((double)x[j] - 0.0002 * (double)j) < 0.02))
                fail_msg("type %d: %g at %zu", (int)type, (double)x[j], j);
    }
}
