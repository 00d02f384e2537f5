/*
 * kernel/eos/eos.h - the contract of every EOS kernel: one sequence, one head, some columns.
 *
 *     m_t = psi(o_t, m_{t-1}) + e_t i_t^T          y_t = scale m_t^T s_t, or before the step
 *
 * include/lcsm/eos.h has the meaning of the operands. Here each is a view: an absent one has
 * p = NULL, a zero stride broadcasts, a reversed sequence has negative time strides. The driver
 * (eos_drive.c) makes these problems from the public arrays, one for each sequence, head and
 * column tile, so kernels know neither batch nor threads.
 *
 *   x     the problem                      y, g_y  (T, D), rows y_t reals apart, columns
 * contiguous, pairs (re, im) with complex_y C     steps of a cell                  m       (K, D)
 * contiguous; complex: a plane of real tape  m at the start of each cell,             parts, then a
 * plane of imaginary parts. (ceil(T/C), K, D), planes as m           in: m_0, out: m_T ws scratch,
 * as many reals as the form's *_scratch says; 64-byte aligned
 *
 * Backward gets g_m = dL/dm_T and leaves dL/dm_0 there. It adds to every gradient whose view is
 * not NULL, or overwrites it where `set` says so, which only forms whose row says `sets` are asked
 * to, for gradients with T. The gradient of an operand without T is a sum over all steps of terms
 * of either sign: it is added up in double, at `sum`. Nothing overlaps anything. No kernel stores T
 * x K x D numbers: inside a cell the memory is recomputed from the tape.
 *
 * A form whose row says in_step takes several heads of one sequence in a call: x and g are arrays
 * of x->heads problems of one shape, m and g_m hold as many memories behind each other, and y, g_y
 * and tape lie y_head and tape_head reals apart. Their rows lie beside each other in memory, so
 * walking all heads cell by cell reads it in order. They read no m if the problem is fresh and no
 * g_m if it is final. The other forms get one head.
 *
 * Where only some steps are read, row j of s and y belongs to step read[j] - read_base; the
 * recurrent and the chunked form can do that.
 *
 * Time O(T K D) for the forms below except the dense product, O(T K K D).
 */
#ifndef LCSM_KERNEL_EOS_H
#define LCSM_KERNEL_EOS_H
#include "kernel/eos/eos_operands.h"
#include "kernel/reset.h"
#include "kernel/variant.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Strides count reals. The element of step t, row k, column d is p[t*v.t + k*v.k + d*v.d]; k
 * and d of dense are the row and the column of its K x K matrix. Rank r of a and b is K rows
 * further. */
typedef struct {
    const real *p;
    ptrdiff_t   t, k, d;
} R_(lcsm_view);

typedef struct {
    real     *p; /* NULL: nobody wants it */
    ptrdiff_t t, k, d;
    bool      set; /* not added to what is there */
    double   *sum; /* in place of p where the operand has no T, by the same strides; else NULL */
} R_(lcsm_out);

typedef struct {
    ptrdiff_t T, K, D;
    ptrdiff_t heads, y_head, tape_head;
#define X(name) R_(lcsm_view) name;
    LCSM_EOS_OPERAND_LIST(X)
#undef X
    bool is_complex; /* the memory has an imaginary plane */
    /* the imaginary part follows the real one in memory, that of i and y `im` further */
    bool complex_i, complex_e, complex_s, complex_a, complex_b, complex_bonus, complex_erase,
        complex_y;
    ptrdiff_t    im, y_d;     /* from a real part of i or y to the imaginary one; columns of y */
    bool         read_before; /* y_t reads m_{t-1} */
    bool         bf16;        /* o, e, i, s and each m_t are rounded to bfloat16 */
    ptrdiff_t    rank;        /* of a and b; 0 without them */
    lcsm_eos_gen gen;
    bool         again; /* the last problem in this scratch had this one's static operands, and the
                           scratch is as it was left */
    real        tau, scale;
    lcsm_resets resets;
    bool        fresh; /* the memory before the first step is empty: forms need not read it */
    bool        final; /* nobody reads the memory after the last step: its gradient is zero */
    bool        first; /* nobody asks for the gradient of the memory before the first step */
    const int32_t
             *read; /* NULL: y_t for every t. Or the steps that are read, increasing, counted */
    ptrdiff_t reads, read_base; /* from read_base on: s, y and their gradients have so many rows */
} R_(lcsm_eos_seq);

typedef struct {
#define X(name) R_(lcsm_out) name;
    LCSM_EOS_OPERAND_LIST(X)
#undef X
} R_(lcsm_eos_seq_grads);

/* A form of the computation, as a row of the kernel table. */
typedef struct {
    size_t (*fwd_scratch)(const R_(lcsm_eos_seq) *x, ptrdiff_t C);
    size_t (*bwd_scratch)(const R_(lcsm_eos_seq) *x, ptrdiff_t C);
    void (*fwd)(const R_(lcsm_eos_seq) *x, ptrdiff_t C, real *m, real *y, ptrdiff_t y_t, real *tape,
                real *ws);
    void (*bwd)(const R_(lcsm_eos_seq) *x, ptrdiff_t C, const real *y, ptrdiff_t y_t,
                const real *g_y, ptrdiff_t g_y_t, real *g_m, const R_(lcsm_eos_seq_grads) *g,
                const real *tape, real *ws);
    bool in_step, sets;
} R_(lcsm_eos_kernels);

/* The first of the reads at or after step t. */
static inline ptrdiff_t R_(lcsm_eos_read_from)(const R_(lcsm_eos_seq) *x, ptrdiff_t t)
{
    ptrdiff_t low = 0, high = x->reads;
    while (low < high) {
        ptrdiff_t middle = low + (high - low) / 2;
        if (x->read[middle] - x->read_base < t) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* Reals of one memory. */
static inline size_t R_(lcsm_eos_memory)(const R_(lcsm_eos_seq) *x)
{
    return (size_t)x->K * (size_t)x->D * (x->is_complex ? 2u : 1u);
}
#endif
