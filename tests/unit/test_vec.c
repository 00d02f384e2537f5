/* test_vec.c - the vector functions of every variant against libm in double. */
#include "kernel/cpu.h"
#include "test.h"
#include "vec_probe.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const vec_probe_float *const PROBES[] = {
    &vec_probe_f32_portable,
#if defined(__x86_64__)
    &vec_probe_f32_avx2,
    &vec_probe_f32_avx512,
#elif defined(__aarch64__)
    &vec_probe_f32_neon,
#endif
};
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define EACH(p)                                                                                    \
    for (size_t j_ = 0; j_ < COUNT(PROBES); j_++)                                                  \
        for (const vec_probe_float *p = PROBES[j_]; p != NULL; p = NULL)                           \
            if ((p->needs & ~lcsm_cpu_features()) == 0)

typedef void   call(const float *x, float *y, ptrdiff_t n);
typedef double truth(double x);

static double log_sigmoid(double x)
{
    return fmin(x, 0) - log1p(exp(-fabs(x)));
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double rcp(double x)
{
    return 1 / x;
}

/* Distance of two floats around the true value, in units of its last place. */
static double ulps(float got, double want)
{
    int exponent;
    frexp(want, &exponent);
    return fabs((double)got - want) / ldexp(1.0, exponent - FLT_MANT_DIG);
}

enum { N = 1 << 18, EDGE = 64 };

/* N points from a to b and the floats next to both. */
static float *points(float a, float b)
{
    float *x = malloc(N * sizeof *x);
    assert_non_null(x);
    for (int j = 0; j < N; j++) x[j] = a + (b - a) * (float)j / (float)(N - 1);
    for (int j = 0; j < EDGE; j++) {
        x[j]         = j == 0 ? a : nextafterf(x[j - 1], b);
        x[N - 1 - j] = j == 0 ? b : nextafterf(x[N - j], a);
    }
    return x;
}

/* The largest error over [a, b]: in ulps, or absolute. */
static double worst(call *f, truth *want, float a, float b, int absolute)
{
    float *x = points(a, b), *y = malloc(N * sizeof *y);
    double e = 0;
    assert_non_null(y);
    f(x, y, N);
    for (int j = 0; j < N; j++) {
        double w     = want((double)x[j]);
        double error = absolute ? fabs((double)y[j] - w) : ulps(y[j], w);
        if (!(error <= e)) e = error; /* a NaN sticks */
        if (isnan(error)) break;
    }
    free(x);
    free(y);
    return e;
}

static void within(const vec_probe_float *p, const char *what, double error, double bound)
{
    if (!(error <= bound))
        fail_msg("%s %s: error %g, want at most %g", p->name, what, error, bound);
}

/* The bounds are those that vec.h states: rounding of the argument reduction and of the last step,
 * plus the error of the polynomial. */
TEST(vec_exp_is_within_two_ulps)
{
    EACH(p)
    {
        within(p, "exp", worst(p->exp, exp, -87.3f, 88.5f, 0), 2.0);
        within(p, "exp near 0", worst(p->exp, exp, -0.1f, 0.1f, 0), 2.0);
        within(p, "exp2", worst(p->exp2, exp2, -125.99f, 126.9f, 0), 2.0);
        within(p, "exp2 near 0", worst(p->exp2, exp2, -0.1f, 0.1f, 0), 2.0);
    }
}

TEST(vec_exp_below_the_normal_numbers_is_almost_zero)
{
    EACH(p)
    {
        within(p, "exp", worst(p->exp, exp, -2000.0f, -87.0f, 1), 2 * (double)FLT_MIN);
        within(p, "exp2", worst(p->exp2, exp2, -2000.0f, -125.9f, 1), 2 * (double)FLT_MIN);
    }
}

TEST(vec_exp_keeps_special_values)
{
    EACH(p)
    {
        float x[16], y[16];
        for (int k = 0; k < 16; k++) x[k] = k % 4 == 0 ? -INFINITY : k % 4 == 1 ? 0.0f : -1e30f;
        x[15] = NAN;
        p->exp(x, y, p->width);
        for (ptrdiff_t k = 0; k < p->width; k++)
            assert_true(k == 15 ? isnan(y[k]) : y[k] == (k % 4 == 1 ? 1.0f : 0.0f));
        p->exp2(x, y, p->width);
        for (ptrdiff_t k = 0; k < p->width; k++)
            assert_true(k == 15 ? isnan(y[k]) : y[k] == (k % 4 == 1 ? 1.0f : 0.0f));
        for (int k = 0; k < 16; k++) x[k] = k % 2 == 0 ? INFINITY : 1e5f;
        p->exp(x, y, p->width);
        for (ptrdiff_t k = 0; k < p->width; k++) assert_true(y[k] > 2.9e38f && isfinite(y[k]));
    }
}

TEST(vec_log1p_is_within_two_ulps_on_the_unit_interval)
{
    EACH(p)
    {
        within(p, "log1p", worst(p->log1p, log1p, 0x1p-60f, 1.0f, 0), 2.0);
        within(p, "log1p near 0", worst(p->log1p, log1p, 0x1p-100f, 0x1p-10f, 0), 2.0);
        float zero[16] = {0}, y[16];
        p->log1p(zero, y, p->width);
        assert_true(y[0] == 0.0f);
    }
}

TEST(vec_sincos_is_within_one_part_in_2_to_the_23)
{
    EACH(p)
    {
        within(p, "sin", worst(p->sin, sin, -1e4f, 1e4f, 1), 0x1p-23);
        within(p, "cos", worst(p->cos, cos, -1e4f, 1e4f, 1), 0x1p-23);
        within(p, "sin near 0", worst(p->sin, sin, -4.0f, 4.0f, 1), 0x1p-23);
        within(p, "cos near 0", worst(p->cos, cos, -4.0f, 4.0f, 1), 0x1p-23);
        float zero[16] = {0}, s[16], c[16];
        p->sin(zero, s, p->width);
        p->cos(zero, c, p->width);
        assert_true(s[0] == 0.0f && c[0] == 1.0f);
    }
}

TEST(vec_sigmoid_is_finite_and_close_everywhere)
{
    EACH(p)
    {
        within(p, "sigmoid", worst(p->sigmoid, sigmoid, -87.0f, 87.0f, 0), 4.0);
        within(p, "sigmoid far", worst(p->sigmoid, sigmoid, -1e30f, 1e30f, 1), 0x1p-22);
        /* log_sigmoid is a sum of two terms of one sign, so ulps are those of its parts */
        within(p, "log_sigmoid", worst(p->log_sigmoid, log_sigmoid, -1e4f, 80.0f, 0), 4.0);
        within(p, "log_sigmoid near 0", worst(p->log_sigmoid, log_sigmoid, -4.0f, 4.0f, 0), 4.0);
    }
}

TEST(vec_sqrt_and_rcp_are_close)
{
    EACH(p)
    {
        within(p, "sqrt", worst(p->sqrt, sqrt, 0x1p-100f, 1e30f, 0), 0.5);
        within(p, "rcp", worst(p->rcp, rcp, 1.0f, 2.0f, 0), 3.0);
        within(p, "rcp", worst(p->rcp, rcp, 0x1p-100f, 0x1p100f, 0), 3.0);
        within(p, "rcp", worst(p->rcp, rcp, -3.0f, -0x1p-20f, 0), 3.0);
    }
}

TEST(vec_abs_min_max_are_exact)
{
    EACH(p)
    {
        float x[16], y[16];
        for (int k = 0; k < 16; k++) x[k] = (float)(k - 7) * 1.5f;
        p->abs(x, y, p->width);
        for (ptrdiff_t k = 0; k < p->width; k++) assert_true(y[k] == fabsf(x[k]));
        p->min0(x, y, p->width);
        for (ptrdiff_t k = 0; k < p->width; k++) assert_true(y[k] == fminf(x[k], 0));
        p->max0(x, y, p->width);
        for (ptrdiff_t k = 0; k < p->width; k++) assert_true(y[k] == fmaxf(x[k], 0));
    }
}

/* Whole numbers add without rounding, so every lane must count exactly once. */
TEST(vec_sum_and_hmin_see_every_lane_once)
{
    EACH(p)
    {
        float x[16];
        for (int k = 0; k < 16; k++) x[k] = (float)(1 << k);
        assert_true(p->sum(x) == (float)((1 << p->width) - 1));
        for (ptrdiff_t k = 0; k < p->width; k++) {
            x[k] = -5.0f;
            assert_true(p->hmin(x) == -5.0f);
            x[k] = 7.0f;
        }
        assert_true(p->hmin(x) == 7.0f);
    }
}

/* The array ends where the loaded numbers end, so AddressSanitizer sees a lane too many. */
TEST(vec_partial_loads_and_stores_touch_n_numbers)
{
    EACH(p)
    {
        for (ptrdiff_t n = 0; n <= p->width; n++) {
            float *x = malloc((size_t)n * sizeof *x + 1), y[17];
            assert_non_null(x);
            for (ptrdiff_t k = 0; k < n; k++) x[k] = (float)(k + 1);
            for (int k = 0; k < 17; k++) y[k] = -1.0f;
            p->copy_n(x, y, n);
            for (ptrdiff_t k = 0; k < 17; k++) assert_true(y[k] == (k < n ? x[k] : -1.0f));
            p->gather(x, 1, n, y);
            for (ptrdiff_t k = 0; k < p->width; k++) assert_true(y[k] == (k < n ? x[k] : 0.0f));
            free(x);
        }
        float x[64], y[16];
        for (int k = 0; k < 64; k++) x[k] = (float)k;
        p->gather(x + 63, -3, p->width, y);
        for (ptrdiff_t k = 0; k < p->width; k++) assert_true(y[k] == 63.0f - 3.0f * (float)k);
    }
}

TEST(vec_double_functions_are_those_of_libm)
{
    const vec_probe_double *p    = &vec_probe_f64_portable;
    const double            x[2] = {-0.75, -33.5};
    double                  y[2];
    p->exp(x, y, 2);
    assert_true(y[0] == exp(x[0]) && y[1] == exp(x[1]));
    p->log_sigmoid(x, y, 2);
    for (int k = 0; k < 2; k++) assert_true(fabs(y[k] - log_sigmoid(x[k])) <= 1e-15 * -y[k]);
    p->sigmoid(x, y, 2);
    for (int k = 0; k < 2; k++) assert_true(fabs(y[k] / sigmoid(x[k]) - 1) <= 1e-15);
    assert_true(p->sum(x) == x[0] + x[1]);
}
