/* rotate_ref.c - the definition of the rotations. */
#include "kernel/rotate/rotate.h"

static void table(lcsm_rotate_kind kind, ptrdiff_t n, double position, const real *theta, real *c,
                  real *s)
{
    (void)kind;
    for (ptrdiff_t j = 0; j < n; j++) {
        c[j] = (real)cos(position * (double)theta[j]);
        s[j] = (real)sin(position * (double)theta[j]);
    }
}

/* Where the two numbers that angle j turns lie within a head. DOUBLE turns (x_j, 0). */
static void ends(const R_(lcsm_rotate) *r, ptrdiff_t j, ptrdiff_t *first, ptrdiff_t *second)
{
    *first  = r->kind == LCSM_ROTATE_PAIRS ? 2 * j : j;
    *second = r->kind == LCSM_ROTATE_PAIRS  ? 2 * j + 1
            : r->kind == LCSM_ROTATE_HALVES ? r->K / 2 + j
                                            : r->K + j;
}

static void apply(const R_(lcsm_rotate) *r, const real *x, real *y)
{
    bool      twice = r->kind == LCSM_ROTATE_DOUBLE;
    ptrdiff_t J = twice ? r->K : r->K / 2, out = twice ? 2 * r->K : r->K, p, q;
    for (ptrdiff_t h = 0; h < r->H; h++)
        for (ptrdiff_t j = 0; j < J; j++) {
            ends(r, j, &p, &q);
            real c = r->c[h * r->head + j], s = r->s[h * r->head + j];
            real a = x[h * r->K + p], b = twice ? 0 : x[h * r->K + q];
            y[h * out + p] = a * c - b * s;
            y[h * out + q] = b * c + a * s;
        }
}

static void back(const R_(lcsm_rotate) *r, const real *x, const real *g_y, real *g_x, bool add,
                 double *g_theta)
{
    bool      twice = r->kind == LCSM_ROTATE_DOUBLE;
    ptrdiff_t J = twice ? r->K : r->K / 2, out = twice ? 2 * r->K : r->K, p, q;
    for (ptrdiff_t h = 0; h < r->H; h++)
        for (ptrdiff_t j = 0; j < J; j++) {
            ends(r, j, &p, &q);
            real c = r->c[h * r->head + j], s = r->s[h * r->head + j];
            real g = g_y[h * out + p], k = g_y[h * out + q];
            if (g_theta != NULL) {
                real a = x[h * r->K + p], b = twice ? 0 : x[h * r->K + q];
                g_theta[h * r->head + j] +=
                    r->position * (double)(k * (a * c - b * s) - g * (b * c + a * s));
            }
            if (g_x == NULL) continue;
            real *gx = g_x + h * r->K;
            gx[p]    = (add ? gx[p] : 0) + (g * c + k * s);
            if (!twice) gx[q] = (add ? gx[q] : 0) + (k * c - g * s);
        }
}

const R_(lcsm_rotate_kernels) K_(lcsm_rotate_rows) = {table, apply, back};
