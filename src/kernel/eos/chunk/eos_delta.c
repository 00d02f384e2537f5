/*
 * eos_delta.c - what the delta rule adds to the chunked form: the triangular systems
 *
 *     (I - L) U = V + N M        forward, from the first step to the last
 *     (I - L)^T X = U'           backward, from the last step to the first
 *
 * L is strictly lower. Tile by tile, the other tiles' part is a product in registers; what is
 * left inside the tile is substituted row by row.
 */
#include "kernel/eos/chunk/eos_chunk.h"

/* Row r of X gains a[j * stride] times row j, for j = from .. to - 1. */
static void substitute(real *X, ptrdiff_t r, const real *a, ptrdiff_t stride, ptrdiff_t from,
                       ptrdiff_t to)
{
    vec sum[TILE_VECS];
    for (int v = 0; v < TILE_VECS; v++) sum[v] = vload(X + r * EOS_PANEL + v * VW);
    for (ptrdiff_t j = from; j < to; j++) {
        vec w = vset1(a[j * stride]);
        for (int v = 0; v < TILE_VECS; v++) sum[v] += w * vload(X + j * EOS_PANEL + v * VW);
    }
    for (int v = 0; v < TILE_VECS; v++) vstore(X + r * EOS_PANEL + v * VW, sum[v]);
}

void K_(lcsm_delta_solve)(const lcsm_chunk *c, const lcsm_chunk_start *M, ptrdiff_t panel, real *V)
{
    ptrdiff_t    tiles = lcsm_tile_count(c->now.n, TILE_VECS), first = 0;
    lcsm_product p[] = {
        {.a     = c->op.N,
         .ar    = c->size.Rp,
         .ad    = 1,
         .b     = M->p + panel * M->panel,
         .bd    = M->row,
         .depth = c->size.R},
        {.a = c->op.L, .ar = c->size.Cp, .ad = 1, .b = V, .bd = EOS_PANEL, .part = TILE_BELOW},
    };
    lcsm_target t = {.c = V, .cr = EOS_PANEL, .op = TILE_ADD};
    for (ptrdiff_t j = 0; j < tiles; j++) {
        ptrdiff_t next = lcsm_tile_first(c->now.n, tiles, j + 1);
        K_(lcsm_tile)(first, next, TILE_VECS, p, 2, &t);
        for (ptrdiff_t r = first + 1; r < next; r++)
            substitute(V, r, c->op.L + r * c->size.Cp, 1, first, r);
        first = next;
    }
}

void K_(lcsm_delta_solve_back)(const lcsm_chunk *c, real *X)
{
    ptrdiff_t    tiles = lcsm_tile_count(c->now.n, TILE_VECS), next = c->now.n;
    lcsm_product p = {.a     = c->op.L,
                      .ar    = 1,
                      .ad    = c->size.Cp,
                      .b     = X,
                      .bd    = EOS_PANEL,
                      .depth = c->now.n,
                      .part  = TILE_ABOVE};
    lcsm_target  t = {.c = X, .cr = EOS_PANEL, .op = TILE_ADD};
    for (ptrdiff_t j = tiles - 1; j >= 0; j--) {
        ptrdiff_t first = lcsm_tile_first(c->now.n, tiles, j);
        K_(lcsm_tile)(first, next, TILE_VECS, &p, 1, &t);
        for (ptrdiff_t r = next - 2; r >= first; r--)
            substitute(X, r, c->op.L + r, c->size.Cp, r + 1, next);
        next = first;
    }
}
