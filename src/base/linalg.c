/* linalg.c - LU with partial pivoting; Jacobi rotations for Hermitian matrices. */
#include "base/linalg.h"

#include <math.h>
#include <string.h>

#include "base/cplx.h"

/* ---- linear equations ---- */

static void swap_rows(double *a, double *b, size_t n)
{
    for (size_t j = 0; j < n; j++) {
        double x = a[j];
        a[j]     = b[j];
        b[j]     = x;
    }
}

/* a += f b */
static void add_row(double *a, double f, const double *b, size_t n)
{
    for (size_t j = 0; j < n; j++) a[j] += f * b[j];
}

bool lcsm_lu_factor(size_t n, double *a, size_t *pivot)
{
    for (size_t k = 0; k < n; k++) {
        size_t best = k;
        for (size_t i = k + 1; i < n; i++)
            if (fabs(a[i * n + k]) > fabs(a[best * n + k])) best = i;
        pivot[k] = best;
        if (best != k) swap_rows(a + k * n, a + best * n, n);
        if (!(fabs(a[k * n + k]) > 0)) return false;
        for (size_t i = k + 1; i < n; i++) {
            double f     = a[i * n + k] / a[k * n + k];
            a[i * n + k] = f;
            add_row(a + i * n + k + 1, -f, a + k * n + k + 1, n - k - 1);
        }
    }
    return true;
}

static void divide_row(double *a, double by, size_t n)
{
    for (size_t j = 0; j < n; j++) a[j] /= by;
}

void lcsm_lu_solve(size_t n, const double *lu, const size_t *pivot, size_t cols, double *x)
{
    for (size_t k = 0; k < n; k++)
        if (pivot[k] != k) swap_rows(x + k * cols, x + pivot[k] * cols, cols);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++) add_row(x + i * cols, -lu[i * n + k], x + k * cols, cols);
    for (size_t i = n; i-- > 0;) {
        for (size_t k = i + 1; k < n; k++)
            add_row(x + i * cols, -lu[i * n + k], x + k * cols, cols);
        divide_row(x + i * cols, lu[i * n + i], cols);
    }
}

/* A = P^T L U, so A^T = U^T L^T P. */
void lcsm_lu_solve_transposed(size_t n, const double *lu, const size_t *pivot, size_t cols,
                              double *x)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++) add_row(x + i * cols, -lu[k * n + i], x + k * cols, cols);
        divide_row(x + i * cols, lu[i * n + i], cols);
    }
    for (size_t i = n; i-- > 0;)
        for (size_t k = i + 1; k < n; k++)
            add_row(x + i * cols, -lu[k * n + i], x + k * cols, cols);
    for (size_t k = n; k-- > 0;)
        if (pivot[k] != k) swap_rows(x + k * cols, x + pivot[k] * cols, cols);
}

/* ---- Hermitian eigenvectors ---- */

/* p <- c p - s f q,  q <- s conj(f) p + c q  for rows of n pairs; |f| = 1. */
static void rotate(size_t n, double *p, double *q, double c, double s, double f_re, double f_im)
{
    for (size_t j = 0; j < n; j++) {
        double p_re = p[2 * j], p_im = p[2 * j + 1], q_re = q[2 * j], q_im = q[2 * j + 1];
        p[2 * j]     = c * p_re - s * (f_re * q_re - f_im * q_im);
        p[2 * j + 1] = c * p_im - s * (f_re * q_im + f_im * q_re);
        q[2 * j]     = s * (f_re * p_re + f_im * p_im) + c * q_re;
        q[2 * j + 1] = s * (f_re * p_im - f_im * p_re) + c * q_im;
    }
}

/* Columns p and q of a Hermitian matrix are the conjugates of its rows. */
static void mirror(size_t n, double *a, size_t p)
{
    for (size_t j = 0; j < n; j++) {
        a[2 * (j * n + p)]     = a[2 * (p * n + j)];
        a[2 * (j * n + p) + 1] = -a[2 * (p * n + j) + 1];
    }
}

/* A <- U^* A U with U in the plane of p and q, such that A[p][q] = 0; the rows of v follow.
 * With A[p][q] = r f, |f| = 1, t = tan of the angle solves t^2 + 2 t (A[q][q] - A[p][p]) / (2 r)
 * = 1. The 2 x 2 block is set from the formula: the rows have seen only half of the change. */
static void annihilate(size_t n, double *a, double *v, size_t p, size_t q)
{
    double x = a[2 * (p * n + q)], y = a[2 * (p * n + q) + 1], r = lcsm_hypot(x, y);
    double app = a[2 * (p * n + p)], aqq = a[2 * (q * n + q)];
    double tau = (aqq - app) / (2 * r);
    double t   = (tau < 0 ? -1 : 1) / (fabs(tau) + sqrt(1 + tau * tau));
    double c = 1 / sqrt(1 + t * t), s = t * c;
    rotate(n, a + 2 * p * n, a + 2 * q * n, c, s, x / r, y / r);
    rotate(n, v + 2 * p * n, v + 2 * q * n, c, s, x / r, -y / r);
    double *pp = a + 2 * (p * n + p), *pq = a + 2 * (p * n + q);
    double *qp = a + 2 * (q * n + p), *qq = a + 2 * (q * n + q);
    pp[0] = app - t * r;
    qq[0] = aqq + t * r;
    pp[1] = qq[1] = pq[0] = pq[1] = qp[0] = qp[1] = 0;
    mirror(n, a, p);
    mirror(n, a, q);
}

/* One pass over all pairs; false when all were too small to matter. */
static bool sweep(size_t n, double *a, double *v)
{
    bool any = false;
    for (size_t p = 0; p < n; p++)
        for (size_t q = p + 1; q < n; q++) {
            double scale = fabs(a[2 * (p * n + p)]) + fabs(a[2 * (q * n + q)]);
            double r     = lcsm_hypot(a[2 * (p * n + q)], a[2 * (p * n + q) + 1]);
            if (r > 0 && r + scale != scale) {
                annihilate(n, a, v, p, q);
                any = true;
            }
        }
    return any;
}

static void sort_rows(size_t n, double *w, double *v)
{
    for (size_t k = 0; k < n; k++) {
        size_t least = k;
        for (size_t j = k + 1; j < n; j++)
            if (w[j] < w[least]) least = j;
        if (least == k) continue;
        swap_rows(w + k, w + least, 1);
        swap_rows(v + 2 * k * n, v + 2 * least * n, 2 * n);
    }
}

void lcsm_hermitian_eigen(size_t n, double *a, double *w, double *v)
{
    enum { MOST_SWEEPS = 60 }; /* convergence is quadratic: about ten do for n = 256 */
    memset(v, 0, 2 * n * n * sizeof *v);
    for (size_t k = 0; k < n; k++) v[2 * (k * n + k)] = 1;
    for (int j = 0; j < MOST_SWEEPS && sweep(n, a, v); j++) continue;
    for (size_t k = 0; k < n; k++) w[k] = a[2 * (k * n + k)];
    sort_rows(n, w, v);
}
