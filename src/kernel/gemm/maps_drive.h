/*
 * kernel/gemm/maps_drive.h - several linear maps of the same rows:  y_j = x w_j^T,  w_j [out, in].
 *
 *     g_x = sum_j g_y_j w_j        g_w_j = g_y_j^T x
 *
 * Where x is tall and the maps small, a block of rows meets all of them while it lies in the
 * cache; backward takes both products from one reading of g_y. Otherwise the maps are products one
 * after the other. Results do not depend on the number of threads.
 */
#ifndef LCSM_KERNEL_MAPS_DRIVE_H
#define LCSM_KERNEL_MAPS_DRIVE_H
#include "base/thread.h"
#include "kernel/kernels.h"

enum { LCSM_MAPS = 8 };

typedef struct {
    ptrdiff_t   out;
    const real *w, *g_y; /* g_y NULL: zero, but not of all maps */
    real       *y, *g_w; /* g_w NULL: not wanted */
    ptrdiff_t   ldw, ldy;
    bool        add_y, add_w; /* to what is there */

    lcsm_weight_type     type; /* of w, forward, with bf16 backward too; LCSM_WEIGHT_REAL: reals */
    const unsigned char *blocks; /* w of other types, ldw in bytes */
    ptrdiff_t            ldg;    /* of g_w */
} R_(lcsm_map);

typedef struct {
    ptrdiff_t    rows, in, ldx, ldg;
    const real  *x;
    real        *g_x;        /* rows ldg apart; NULL: not wanted */
    bool         add_x, few; /* few: forward sums as for few rows, however many there are */
    int          n;
    R_(lcsm_map) map[LCSM_MAPS];

    bool                 bf16;     /* products of numbers of bfloat16 (gemm.h) */
    lcsm_weight_type     x_type;   /* with bf16: LCSM_WEIGHT_REAL or LCSM_WEIGHT_BF16 */
    const unsigned char *x_blocks; /* ldx in bytes */
} R_(lcsm_maps);

/* Bytes of scratch; only the sizes in m count. */
size_t R_(lcsm_maps_fwd_bytes)(int threads, const R_(lcsm_maps) *m);
size_t R_(lcsm_maps_bwd_bytes)(int threads, const R_(lcsm_maps) *m);

void R_(lcsm_maps_fwd)(lcsm_pool *pool, const R_(lcsm_kernels) *k, const R_(lcsm_maps) *m,
                       void *ws);
void R_(lcsm_maps_bwd)(lcsm_pool *pool, const R_(lcsm_kernels) *k, const R_(lcsm_maps) *m,
                       void *ws);

#endif
