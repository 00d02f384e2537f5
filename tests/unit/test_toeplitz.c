/* test_toeplitz.c - the rows of memory have the kernel that they were made from. */
#include "base/toeplitz.h"

#include <stdlib.h>

#include "base/rng.h"
#include "near.h"
#include "shared_oracle.h"

/* Lengths n whose n + 1 is prime, a power of two, odd, mixed. */
static const size_t LENGTHS[] = {1, 2, 3, 4, 5, 6, 7, 11, 14, 16, 63, 104};

/* Rounding of a transform in double. */
static const double TOLERANCE = 1e-13;

TEST(toeplitz_kernel_of_the_recurrence_is_the_given_one)
{
    enum { D = 3 };
    for (size_t j = 0; j < sizeof LENGTHS / sizeof LENGTHS[0]; j++) {
        size_t n = LENGTHS[j], K = lcsm_toeplitz_rows(n);
        double t[104 * D], phase[52], E[52 * D * 2];
        lcsm_rng_fill_normal_f64(t, n * D, 3, (uint32_t)n, 0);
        assert_int_equal(lcsm_toeplitz_convert(n, D, t, phase, E, NULL), LCSM_OK);
        for (size_t l = 0; l < n; l++)
            for (size_t d = 0; d < D; d++) {
                double sum = 0;
                for (size_t k = 0; k < K; k++)
                    sum += E[2 * (k * D + d)] * cos(phase[k] * (double)l)
                         - E[2 * (k * D + d) + 1] * sin(phase[k] * (double)l);
                assert_near(sum, t[l * D + d], TOLERANCE * (double)n);
            }
    }
}

TEST(toeplitz_without_lags_has_no_rows)
{
    assert_int_equal(lcsm_toeplitz_rows(0), 0);
    assert_int_equal(lcsm_toeplitz_convert(0, 1, NULL, NULL, NULL, NULL), LCSM_OK);
}

TEST(toeplitz_weights_equal_the_numbers_from_elsewhere)
{
    lcsm_oracle o = {0};
    double      phase[2], E[2 * 2 * 2];
    shared_oracle_read(&o, "tnn.json");
    const lcsm_oracle_case *c      = shared_oracle_case(&o, "etsc_exact_conversion");
    const double           *t      = shared_oracle_array(&c->inputs, "t", 6);
    const double           *b      = shared_oracle_array(&c->outputs, "b", 2 * 6);
    const double           *lambda = shared_oracle_array(&c->outputs, "lambda", 2 * 6);
    assert_int_equal(lcsm_toeplitz_convert(3, 2, t, phase, E, NULL), LCSM_OK);
    for (size_t k = 0; k < 2; k++) {
        assert_near(0.99 * cos(phase[k]), lambda[2 * k], TOLERANCE);
        assert_near(0.99 * sin(phase[k]), lambda[2 * k + 1], TOLERANCE);
        for (size_t d = 0; d < 2; d++)
            for (size_t part = 0; part < 2; part++)
                assert_near(E[2 * (k * 2 + d) + part], b[2 * (d * 3 + k) + part] * (k == 1 ? 1 : 2),
                            TOLERANCE);
    }
    lcsm_oracle_free(&o);
}
