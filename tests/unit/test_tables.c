/* test_tables.c - tables against numbers from elsewhere, and against what they must satisfy. */
#include "eos/tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "near.h"
#include "shared_oracle.h"

/* Formulas of a few roundings, and eigenvalues of matrices up to 8 x 8 of norm about 10. */
static const double TOLERANCE = 1e-12;

/* ---- numbers from elsewhere ---- */

static void compare(const lcsm_oracle *o, const char *name, const char *array, const double *got,
                    size_t numbers)
{
    shared_oracle_compare(&shared_oracle_case(o, name)->outputs, array, got, numbers, TOLERANCE);
}

static void decays(const lcsm_oracle *o)
{
    static const struct {
        size_t      n;
        const char *name;
    } ALIBI[] = {{1, "alibi_slopes_1"},   {2, "alibi_slopes_2"},  {3, "alibi_slopes_3"},
                 {4, "alibi_slopes_4"},   {6, "alibi_slopes_6"},  {8, "alibi_slopes_8"},
                 {12, "alibi_slopes_12"}, {16, "alibi_slopes_16"}};
    double x[16];
    for (size_t j = 0; j < COUNT(ALIBI); j++) {
        lcsm_alibi_slopes(ALIBI[j].n, x);
        compare(o, ALIBI[j].name, "slopes", x, ALIBI[j].n);
        lcsm_alibi_decays(ALIBI[j].n, x);
        compare(o, ALIBI[j].name, "decay", x, ALIBI[j].n);
    }
    compare(o, "o_code0_not_learned_k2_d4", "o", (lcsm_alibi_decays(8, x), x), 8);
    compare(o, "retnet_gamma_h8", "gamma", (lcsm_retnet_gammas(8, x), x), 8);
    compare(o, "retnet_angle_dk8", "angle", (lcsm_retnet_angles(8, x), x), 4);
    compare(o, "theta_code11_k4_d8", "theta", (lcsm_thetas(4, 8, x), x), 4);
    for (size_t l = 0; l < 3; l++) lcsm_tnl_decays(l, 3, 4, x + 4 * l);
    compare(o, "tnl_decay_L3_H4", "lambda", x, 12);
}

static void rwkv4(const lcsm_oracle *o)
{
    static const char *const NAMES[] = {"rwkv4_init_layer0", "rwkv4_init_layer1",
                                        "rwkv4_init_layer2"};
    static const struct {
        lcsm_rwkv4_mix mix;
        const char    *name;
    } MIXES[] = {{LCSM_RWKV4_MIX_K, "mix_k"},
                 {LCSM_RWKV4_MIX_V, "mix_v"},
                 {LCSM_RWKV4_MIX_R, "mix_r"},
                 {LCSM_RWKV4_MIX_FFN, "ffn_mix_k"},
                 {LCSM_RWKV4_MIX_FFN, "ffn_mix_r"}};
    double x[4];
    for (size_t l = 0; l < 3; l++) {
        compare(o, NAMES[l], "time_decay", (lcsm_rwkv4_decay(4, l, 3, x), x), 4);
        compare(o, NAMES[l], "time_first", (lcsm_rwkv4_first(4, x), x), 4);
        for (size_t j = 0; j < COUNT(MIXES); j++)
            compare(o, NAMES[l], MIXES[j].name, (lcsm_rwkv4_mixes(MIXES[j].mix, 4, l, 3, x), x), 4);
    }
}

static void hippo(const lcsm_oracle *o)
{
    static const char *const NAMES[] = {"hippo_legs_N4", "hippo_legs_N8"};
    for (size_t j = 0; j < 2; j++) {
        size_t N = 4 + 4 * j;
        double A[64], B[8], P[8], w[8], v[128], lambda[16];
        lcsm_hippo_legs(N, A, B, P);
        assert_int_equal(lcsm_hippo_eigen(N, w, v, NULL), LCSM_OK);
        for (size_t k = 0; k < N; k++) lambda[2 * k] = -0.5, lambda[2 * k + 1] = w[k];
        compare(o, NAMES[j], "A", A, N * N);
        compare(o, NAMES[j], "B", B, N);
        compare(o, NAMES[j], "P", P, N);
        compare(o, NAMES[j], "lambda_sorted_by_imag", lambda, 2 * N);
    }
}

static void spectra(const lcsm_oracle *o)
{
    double x[8], real_[4];
    assert_int_equal(lcsm_dss_lambda(2, x, NULL), LCSM_OK);
    compare(o, "hippo_skew_dss_N2", "lambda", x, 4);
    assert_int_equal(lcsm_dss_lambda(4, x, NULL), LCSM_OK);
    compare(o, "hippo_skew_dss_N4", "lambda", x, 8);
    assert_int_equal(lcsm_s4d_init(LCSM_S4D_LIN, 8, x, NULL), LCSM_OK);
    compare(o, "s4d_inits_N8", "lin", x, 8);
    assert_int_equal(lcsm_s4d_init(LCSM_S4D_INV, 8, x, NULL), LCSM_OK);
    compare(o, "s4d_inits_N8", "inv", x, 8);
    assert_int_equal(lcsm_s4d_init(LCSM_S4D_REAL, 8, x, NULL), LCSM_OK);
    for (size_t j = 0; j < 4; j++) {
        real_[j] = x[2 * j];
        assert_true(x[2 * j + 1] == 0);
    }
    compare(o, "s4d_inits_N8", "real", real_, 4);
}

static void gates(const lcsm_oracle *o)
{
    double                  x[6];
    const lcsm_oracle_case *c     = shared_oracle_case(o, "hgrn_lower_bounds");
    const double           *gamma = shared_oracle_array(&c->inputs, "Gamma", 6);
    compare(o, "hgrn_lower_bounds", "lower_bound", (lcsm_hgrn_bounds(3, 2, gamma, x), x), 6);
    c                = shared_oracle_case(o, "inverse_softplus");
    const double *dt = shared_oracle_array(&c->inputs, "dt", 3);
    for (size_t j = 0; j < 3; j++) x[j] = lcsm_inverse_softplus(dt[j]);
    compare(o, "inverse_softplus", "bias", x, 3);
}

TEST(tables_equal_the_numbers_from_elsewhere)
{
    lcsm_oracle o = {0};
    shared_oracle_read(&o, "tables.json");
    decays(&o);
    rwkv4(&o);
    hippo(&o);
    spectra(&o);
    gates(&o);
    lcsm_oracle_free(&o);
}

/* ---- what always holds ---- */

TEST(alibi_slopes_of_any_length_lie_between_0_and_1)
{
    double x[100];
    for (size_t n = 1; n <= 100; n++) {
        lcsm_alibi_slopes(n, x);
        for (size_t j = 0; j < n; j++) assert_true(x[j] > 0 && x[j] < 1);
    }
}

TEST(alibi_gate_has_the_decay_of_the_slope)
{
    for (double tau = 1; tau <= 64; tau *= 2)
        for (double slope = 1.0 / 256; slope < 1; slope *= 2) {
            double z = lcsm_alibi_gate(slope, tau);
            assert_near(-log1p(exp(-z)) / tau, -slope, 1e-14);
        }
}

TEST(inverses_undo_their_functions)
{
    assert_near(log1p(exp(lcsm_inverse_softplus(0.02))), 0.02, 1e-15);
    assert_near(1 / (1 + exp(-lcsm_logit(0.3))), 0.3, 1e-15);
}

TEST(tables_of_one_layer_and_one_channel_are_finite)
{
    double x[1];
    lcsm_tnl_decays(0, 1, 1, x);
    assert_near(x[0], exp(-1.0 / 256), 1e-15);
    lcsm_rwkv4_decay(1, 0, 1, x);
    assert_near(x[0], -5, 0);
    lcsm_rwkv4_mixes(LCSM_RWKV4_MIX_V, 1, 0, 1, x);
    assert_near(x[0], 0, 0);
    lcsm_retnet_angles(2, x);
    assert_near(x[0], 1, 0);
}

/* A + P P^T = -1/2 + skew, exactly up to rounding of numbers of size N. */
TEST(hippo_legs_is_normal_plus_rank_one)
{
    enum { N = 64 };
    static double A[N * N], B[N], P[N];
    lcsm_hippo_legs(N, A, B, P);
    for (size_t a = 0; a < N; a++)
        for (size_t b = 0; b < N; b++) {
            double both = A[a * N + b] + A[b * N + a] + 2 * P[a] * P[b];
            assert_near(both, a == b ? -1 : 0, 1e-13 * N);
        }
}

/* diag(lambda) - P P^* on the kept half and its conjugate is V^* A V: compared through the
 * Markov parameters B^T A^n B, which do not depend on the basis. */
TEST(hippo_dplr_is_the_same_system_as_hippo_legs)
{
    enum { N = 16, H = N / 2 };
    double A[N * N], B[N], P[N], x[N], next[N], lambda[N], p[N], b[N], m[N];
    lcsm_hippo_legs(N, A, B, P);
    assert_int_equal(lcsm_hippo_dplr(N, lambda, p, b, NULL), LCSM_OK);
    memcpy(x, B, sizeof x);
    memcpy(m, b, sizeof m);
    for (int step = 0; step < 4; step++) {
        double dense = 0, half = 0, pm = 0;
        for (size_t a = 0; a < N; a++) dense += B[a] * x[a];
        for (size_t k = 0; k < H; k++) {
            half += 2 * (b[2 * k] * m[2 * k] + b[2 * k + 1] * m[2 * k + 1]);
            pm += 2 * (p[2 * k] * m[2 * k] + p[2 * k + 1] * m[2 * k + 1]);
        }
        assert_near(half / dense, 1, 1e-11);
        for (size_t a = 0; a < N; a++) {
            next[a] = 0;
            for (size_t c = 0; c < N; c++) next[a] += A[a * N + c] * x[c];
        }
        memcpy(x, next, sizeof x);
        for (size_t k = 0; k < H; k++) {
            double re = m[2 * k], im = m[2 * k + 1];
            m[2 * k]     = lambda[2 * k] * re - lambda[2 * k + 1] * im - p[2 * k] * pm;
            m[2 * k + 1] = lambda[2 * k] * im + lambda[2 * k + 1] * re - p[2 * k + 1] * pm;
        }
    }
}

TEST(hippo_eigenvalues_are_symmetric_and_vectors_unitary)
{
    enum { N = 64 };
    static double w[N], v[2 * N * N];
    assert_int_equal(lcsm_hippo_eigen(N, w, v, NULL), LCSM_OK);
    for (size_t k = 0; k < N; k++) assert_near(w[k], -w[N - 1 - k], 1e-10);
    for (size_t a = 0; a < N; a++)
        for (size_t b = 0; b <= a; b++) {
            double re = 0, im = 0;
            for (size_t j = 0; j < N; j++) {
                const double *x = v + 2 * (a * N + j), *y = v + 2 * (b * N + j);
                re += x[0] * y[0] + x[1] * y[1];
                im += x[1] * y[0] - x[0] * y[1];
            }
            assert_near(re, a == b, 1e-12);
            assert_near(im, 0, 1e-12);
        }
}

TEST(s4d_legs_has_the_eigenvalues_of_hippo)
{
    double A[8], w[8], v[128], lambda[8];
    assert_int_equal(lcsm_s4d_init(LCSM_S4D_LEGS, 8, A, NULL), LCSM_OK);
    assert_int_equal(lcsm_hippo_eigen(8, w, v, NULL), LCSM_OK);
    assert_int_equal(lcsm_dss_lambda(4, lambda, NULL), LCSM_OK);
    for (size_t j = 0; j < 4; j++) {
        assert_near(A[2 * j], -0.5, 0);
        assert_near(A[2 * j + 1], w[4 + j], 1e-12);
        assert_near(lambda[2 * j + 1], w[7 - j], 1e-12);
    }
}

TEST(state_sizes_that_are_odd_or_0_are_refused)
{
    double     x[8];
    lcsm_error err;
    assert_int_equal(lcsm_s4d_init(LCSM_S4D_LIN, 3, x, &err), LCSM_ERR_ARGUMENT);
    assert_string_equal(err.text, "the state size is 3; expected an even number above 0");
    assert_int_equal(lcsm_hippo_dplr(0, x, x, x, &err), LCSM_ERR_ARGUMENT);
}
