/* test_linalg.c - solutions solve, eigenvectors are unitary and make the matrix again. */
#include "base/linalg.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cplx.h"
#include "base/rng.h"
#include "near.h"

static const size_t SIZES[] = {1, 2, 3, 5, 16, 33};

/* Errors of backward stable algorithms are a modest multiple of n units of the last place; the
 * random matrices here have condition numbers up to about 1e4. */
static const double TOLERANCE = 1e-10;

static double *normals(size_t count, uint32_t purpose)
{
    double *x = malloc((count + 1) * sizeof *x);
    assert_non_null(x);
    lcsm_rng_fill_normal_f64(x, count, 7, purpose, 0);
    return x;
}

TEST(lu_solutions_solve_the_equations_and_their_transpose)
{
    for (size_t s = 0; s < sizeof SIZES / sizeof SIZES[0]; s++) {
        size_t  n = SIZES[s], cols = 3;
        double *a = normals(n * n, 1), *lu = normals(n * n, 1), *b = normals(n * cols, 2);
        double *x = normals(n * cols, 2), *xt = normals(n * cols, 2);
        size_t  pivot[64];
        assert_true(lcsm_lu_factor(n, lu, pivot));
        lcsm_lu_solve(n, lu, pivot, cols, x);
        lcsm_lu_solve_transposed(n, lu, pivot, cols, xt);
        for (size_t i = 0; i < n; i++)
            for (size_t c = 0; c < cols; c++) {
                double got = 0, transposed = 0;
                for (size_t k = 0; k < n; k++) {
                    got += a[i * n + k] * x[k * cols + c];
                    transposed += a[k * n + i] * xt[k * cols + c];
                }
                assert_near(got, b[i * cols + c], TOLERANCE);
                assert_near(transposed, b[i * cols + c], TOLERANCE);
            }
        free(a), free(lu), free(b), free(x), free(xt);
    }
}

TEST(lu_of_a_singular_matrix_is_refused)
{
    double a[] = {1, 2, 2, 4}, zero[] = {0}, nan_[] = {NAN};
    size_t pivot[2];
    assert_false(lcsm_lu_factor(2, a, pivot));
    assert_false(lcsm_lu_factor(1, zero, pivot));
    assert_false(lcsm_lu_factor(1, nan_, pivot));
}

/* A random Hermitian matrix of n x n pairs. */
static double *hermitian(size_t n)
{
    double *a = normals(2 * n * n, 3);
    for (size_t i = 0; i < n; i++) {
        a[2 * (i * n + i) + 1] = 0;
        for (size_t j = i + 1; j < n; j++) {
            a[2 * (j * n + i)]     = a[2 * (i * n + j)];
            a[2 * (j * n + i) + 1] = -a[2 * (i * n + j) + 1];
        }
    }
    return a;
}

TEST(hermitian_eigenvectors_are_unitary_and_make_the_matrix_again)
{
    for (size_t s = 0; s < sizeof SIZES / sizeof SIZES[0]; s++) {
        size_t  n = SIZES[s];
        double *a = hermitian(n), *spoilt = hermitian(n), *v = normals(2 * n * n, 4), w[64];
        lcsm_hermitian_eigen(n, spoilt, w, v);
        for (size_t k = 1; k < n; k++) assert_true(w[k - 1] <= w[k]);
        for (size_t i = 0; i < n; i++)
            for (size_t j = 0; j < n; j++) {
                double re = 0, im = 0, dot_re = 0, dot_im = 0;
                for (size_t k = 0; k < n; k++) {
                    const double *x = v + 2 * (k * n + i), *y = v + 2 * (k * n + j);
                    re += w[k] * (x[0] * y[0] + x[1] * y[1]);
                    im += w[k] * (x[1] * y[0] - x[0] * y[1]);
                    x = v + 2 * (i * n + k);
                    y = v + 2 * (j * n + k);
                    dot_re += x[0] * y[0] + x[1] * y[1];
                    dot_im += x[1] * y[0] - x[0] * y[1];
                }
                assert_near(re, a[2 * (i * n + j)], TOLERANCE);
                assert_near(im, a[2 * (i * n + j) + 1], TOLERANCE);
                assert_near(dot_re, i == j, TOLERANCE);
                assert_near(dot_im, 0, TOLERANCE);
            }
        free(a), free(spoilt), free(v);
    }
}

TEST(hermitian_eigenvalues_of_equal_and_diagonal_matrices_are_exact)
{
    double a[18] = {3, 0, 0, 0, 0, 0, 0, 0, -1, 0, 0, 0, 0, 0, 0, 0, 3, 0}, w[3], v[18];
    lcsm_hermitian_eigen(3, a, w, v);
    assert_true(w[0] == -1 && w[1] == 3 && w[2] == 3);
}

/* Within two units of the last place: the squares, their sum and the root round. */
TEST(length_of_a_complex_number_neither_overflows_nor_vanishes)
{
    static const struct {
        double x, y, length;
    } CASES[] = {{3, -4, 5},
                 {-3e200, 4e200, 5e200},
                 {3e-310, 4e-310, 5e-310},
                 {0, 0, 0},
                 {1, 1e-300, 1},
                 {-0.0, 7, 7},
                 {DBL_MAX, 1, DBL_MAX},
                 {0, -4.9e-324, 4.9e-324},
                 {INFINITY, NAN, INFINITY}};
    for (size_t j = 0; j < sizeof CASES / sizeof CASES[0]; j++) {
        double have = lcsm_hypot(CASES[j].x, CASES[j].y), want = CASES[j].length;
        assert_true(have == want || fabs(have - want) <= 2 * DBL_EPSILON * want);
    }
    assert_true(isnan(lcsm_hypot(NAN, 1)) && isnan(lcsm_hypot(1, NAN)));
}
