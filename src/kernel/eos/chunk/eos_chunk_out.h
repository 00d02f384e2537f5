/* kernel/eos/chunk/eos_chunk_out.h - adding vectors of lanes to the gradients of operands. */
#ifndef LCSM_KERNEL_EOS_CHUNK_OUT_H
#define LCSM_KERNEL_EOS_CHUNK_OUT_H
#include "kernel/eos/chunk/eos_chunk.h"

VEC_INLINE void lcsm_out_add(real *p, vec v, bool set)
{
    vstore(p, set ? v : vload(p) + v);
}

/* p[j] += a[j] or, to set it, p[j] = a[j], n lanes at a stride; at stride 0 their sum. */
VEC_INLINE void lcsm_out_lanes(real *p, ptrdiff_t stride, ptrdiff_t n, vec a, bool set)
{
    if (stride == 1 && n >= VW) {
        lcsm_out_add(p, a, set);
    } else if (stride == 1) {
        vstore_n(p, set ? a : vload_n(p, n) + a, n);
    } else {
        for (ptrdiff_t j = 0; j < n && j < VW; j++)
            p[j * stride] = a[j] + (set && (stride != 0 || j == 0) ? 0 : p[j * stride]);
    }
}

/* Rows of an operand. */
typedef struct {
    ptrdiff_t first, count;
} lcsm_out_span;

/* The sum over rows of one vector of lanes, n of which exist, to sums at a stride. */
static inline void lcsm_out_sum(double *to, ptrdiff_t stride, ptrdiff_t rows, ptrdiff_t n,
                                const real *a, ptrdiff_t ar)
{
    double sum[VW] = {0};
    for (ptrdiff_t r = 0; r < rows; r++)
        for (int j = 0; j < VW; j++) sum[j] += (double)a[r * ar + j];
    for (ptrdiff_t j = 0; j < n && j < VW; j++) to[j * stride] += sum[j];
}

/* out[first + r] += a[r] for the rows of a span, one vector of lanes (n of them exist), rows of a
 * ar reals apart. Rows are summed where out has none. */
static inline void lcsm_out_strip(const R_(lcsm_out) *o, ptrdiff_t offset, ptrdiff_t stride,
                                  lcsm_out_span rows, ptrdiff_t n, const real *a, ptrdiff_t ar)
{
    real *p = o->p + offset + rows.first * o->t;
    if (o->sum != NULL) {
        lcsm_out_sum(o->sum + offset, stride, rows.count, n, a, ar);
    } else if (stride == 1 && n >= VW) {
        for (ptrdiff_t r = 0; r < rows.count; r++)
            lcsm_out_add(p + r * o->t, vload(a + r * ar), o->set);
    } else {
        for (ptrdiff_t r = 0; r < rows.count; r++)
            lcsm_out_lanes(p + r * o->t, stride, n, vload(a + r * ar), o->set);
    }
}
#endif
