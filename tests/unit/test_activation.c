/* test_activation.c - activations of every set at the ends of the number line, and number by number
 * against libm in double. */
#define LCSM_VARIANT_F32_OP
#include "kernel/cpu.h"
#include "kernel/kernels.h"
#include "test.h"

#include <float.h>
#include <stdlib.h>

static const unsigned SETS[] = {0, LCSM_CPU_VECTOR, LCSM_CPU_VECTOR | LCSM_CPU_AVX2,
                                LCSM_CPU_VECTOR | LCSM_CPU_AVX2 | LCSM_CPU_AVX512,
                                LCSM_CPU_VECTOR | LCSM_CPU_NEON};

#define EACH_SET(k)                                                                                \
    for (size_t s_ = 0; s_ < sizeof SETS / sizeof SETS[0]; s_++)                                   \
        for (lcsm_kernels_f32 *k = table(SETS[s_]); k != NULL; free(k), k = NULL)

static lcsm_kernels_f32 *table(unsigned cpu)
{
    if ((cpu & ~lcsm_cpu_features()) != 0) return NULL;
    lcsm_kernels_f32 *k = lcsm_kernels_new_f32(cpu);
    assert_non_null(k);
    return k;
}

/* Both signs of numbers from the smallest to the largest, eight to an octave. */
enum { OCTAVES = 277, N = 2 * 8 * OCTAVES };

static void number_line(float *x)
{
    for (int j = 0; j < N / 2; j++) {
        double v     = ldexp(1 + (j % 8) / 8.0, j / 8 - 149);
        x[2 * j]     = (float)fmin(v, FLT_MAX);
        x[2 * j + 1] = -x[2 * j];
    }
}

TEST(activation_of_every_finite_number_is_finite_and_so_is_its_derivative)
{
    static float x[N], one[N], y[N], g[N];
    number_line(x);
    for (int j = 0; j < N; j++) one[j] = 1;
    EACH_SET(k)
    {
        for (int a = 0; a < LCSM_ACT_COUNT; a++) {
            k->activations[a].fwd(N, 1, x, y);
            k->activations[a].bwd(N, 1, x, one, g, false);
            for (int j = 0; j < N; j++)
                if (!isfinite(y[j]) || !isfinite(g[j]))
                    fail_msg("%s %s of %g: value %g, derivative %g", k->name,
                             k->activations[a].name, (double)x[j], (double)y[j], (double)g[j]);
        }
    }
}

TEST(activation_of_nan_is_nan)
{
    float x[19], y[19];
    for (int j = 0; j < 19; j++) x[j] = NAN;
    EACH_SET(k)
    {
        for (int a = 0; a < LCSM_ACT_COUNT; a++) {
            k->activations[a].fwd(19, 1, x, y);
            for (int j = 0; j < 19; j++)
                if (!isnan(y[j])) fail_msg("%s %s", k->name, k->activations[a].name);
        }
    }
}

static double sigma(double x)
{
    return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x));
}

static double truth(lcsm_act a, double x)
{
    switch (a) {
    case LCSM_ACT_NONE: return x;
    case LCSM_ACT_RELU: return fmax(x, 0);
    case LCSM_ACT_SIGMOID: return sigma(x);
    case LCSM_ACT_ELU1: return x > 0 ? x + 1 : exp(x);
    case LCSM_ACT_SILU: return x * sigma(x);
    case LCSM_ACT_ELU: return x > 0 ? x : expm1(x);
    case LCSM_ACT_RELU2: return fmax(x, 0) * fmax(x, 0);
    case LCSM_ACT_SQUARE: return x * x;
    case LCSM_ACT_EXP: return exp(x);
    case LCSM_ACT_EXP_HELD: return exp(fmin(x, 10));
    case LCSM_ACT_TANH: return tanh(x);
    case LCSM_ACT_GELU: return x * erfc(-x / sqrt(2)) / 2;
    case LCSM_ACT_SOFTPLUS: return fmax(x, 0) + log1p(exp(-fabs(x)));
    case LCSM_ACT_LOG_SIGMOID: return fmin(x, 0) - log1p(exp(-fabs(x)));
    case LCSM_ACT_LOG: return log(fmax(x, (double)FLT_MIN));
    default: return NAN;
    }
}

/* Eight roundings of 6e-8: exp is good to 2 units of the last place, its argument and what follows
 * take a few roundings each. gelu rounds x or x^2 before it takes exp(-x^2 / 2), x^2 more. What is
 * below the normal numbers may become 0. */
TEST(activation_is_as_accurate_as_its_roundings_number_by_number)
{
    static float x[N], y[N];
    number_line(x);
    EACH_SET(k)
    {
        for (int a = 0; a < LCSM_ACT_COUNT; a++) {
            k->activations[a].fwd(N, 1, x, y);
            for (int j = 0; j < N; j++) {
                double want = truth((lcsm_act)a, (double)x[j]);
                double more = a == LCSM_ACT_GELU ? fmin((double)x[j] * (double)x[j], 200) : 0;
                double tiny = 2 * (double)FLT_MIN * fmax(1, fabs((double)x[j]));
                if (fabs(want) > FLT_MAX || fabs(x[j]) < FLT_MIN) continue;
                if (!(fabs((double)y[j] - want) <= (8 + more) * 6e-8 * fabs(want) + tiny))
                    fail_msg("%s %s of %.9g: %.9g, want %.9g", k->name, k->activations[a].name,
                             (double)x[j], (double)y[j], want);
            }
        }
    }
}
