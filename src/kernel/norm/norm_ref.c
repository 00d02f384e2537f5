/* norm_ref.c - the definition of the normalisations. */
#include "kernel/norm/norm.h"

/* c and r of one group, and q: the root of the mean square. */
typedef struct {
    real c, r, q;
} moments;

static moments measure(const R_(lcsm_norm) *n, const real *x)
{
    real sum = 0, squares = 0, c;
    for (ptrdiff_t d = 0; d < n->D; d++) sum += x[d];
    c = n->kind == LCSM_NORM_LAYER ? sum / (real)n->D : 0;
    for (ptrdiff_t d = 0; d < n->D; d++) squares += (x[d] - c) * (x[d] - c);

    real mean = squares / (real)n->D;
    real q    = R_FN(sqrt)(mean);
    switch (n->kind) {
    case LCSM_NORM_RMS_OUTSIDE: return (moments){c, 1 / (q + n->eps), q};
    case LCSM_NORM_L2: return (moments){c, 1 / R_FN(sqrt)(squares + n->eps), q};
    case LCSM_NORM_SUM: return (moments){c, 1 / (sum + n->eps), q};
    default: return (moments){c, 1 / R_FN(sqrt)(mean + n->eps), q};
    }
}

static void forward(const R_(lcsm_norm) *n, const real *x, real *y)
{
    for (ptrdiff_t row = 0; row < n->rows; row++)
        for (ptrdiff_t h = 0; h < n->H; h++) {
            const real *xg = x + row * n->x_row + h * n->D;
            real       *yg = y + row * n->y_row + h * n->D;
            moments     m  = measure(n, xg);
            for (ptrdiff_t d = 0; d < n->D; d++) {
                real v = (xg[d] - m.c) * m.r;
                if (n->w != NULL) v *= n->w[h * n->w_head + d];
                if (n->b != NULL) v += n->b[h * n->w_head + d];
                yg[d] = v;
            }
        }
}

/* a and s of the header. */
static void pulls(const R_(lcsm_norm) *n, const moments *m, real u, real uh, real *a, real *s)
{
    real D = (real)n->D;
    switch (n->kind) {
    case LCSM_NORM_LAYER: *a = u / D, *s = uh / D; break;
    case LCSM_NORM_RMS_OUTSIDE: *a = 0, *s = m->q > 0 ? uh / (D * m->r * m->q) : 0; break;
    case LCSM_NORM_L2: *a = 0, *s = uh; break;
    case LCSM_NORM_SUM: *a = uh, *s = 0; break;
    default: *a = 0, *s = uh / D; break;
    }
}

static void backward(const R_(lcsm_norm) *n, const real *x, const real *g_y, real *g_x, bool add,
                     real *g_w, real *g_b)
{
    for (ptrdiff_t row = 0; row < n->rows; row++)
        for (ptrdiff_t h = 0; h < n->H; h++) {
            const real *xg = x + row * n->x_row + h * n->D;
            const real *gg = g_y + row * n->y_row + h * n->D;
            ptrdiff_t   w  = h * n->w_head;
            moments     m  = measure(n, xg);
            real        su = 0, suh = 0, a, s;
            for (ptrdiff_t d = 0; d < n->D; d++) {
                real hd = (xg[d] - m.c) * m.r;
                real u  = n->w != NULL ? n->w[w + d] * gg[d] : gg[d];
                su += u;
                suh += u * hd;
                if (g_w != NULL) g_w[w + d] += gg[d] * hd;
                if (g_b != NULL) g_b[w + d] += gg[d];
            }
            pulls(n, &m, su, suh, &a, &s);
            real *gx = g_x == NULL ? NULL : g_x + row * n->x_row + h * n->D;
            for (ptrdiff_t d = 0; d < n->D && gx != NULL; d++) {
                real hd = (xg[d] - m.c) * m.r;
                real u  = n->w != NULL ? n->w[w + d] * gg[d] : gg[d];
                real v  = m.r * (u - a - hd * s);
                gx[d]   = add ? gx[d] + v : v;
            }
        }
}

const R_(lcsm_norm_kernels) K_(lcsm_norm_rows) = {forward, backward};
