/* eos_chunk.c - the chunked form: forward (eos_chunk_pass.h), and the row of the kernel table. */
#include "kernel/eos/chunk/eos_chunk.h"
#include "kernel/eos/chunk/eos_chunk_bwd.h"

typedef struct {
    bool none;
} own;

enum { REQUESTS = 1 };
#include "kernel/eos/chunk/eos_chunk_pass.h"

static own take_own(const lcsm_chunk *c, pieces *a)
{
    (void)c, (void)a;
    return (own){false};
}

static void make_own(const pass *f, lcsm_chunk *c)
{
    (void)f;
    K_(lcsm_chunk_operands)(c, NULL);
}

static void turn_own(const pass *f, const lcsm_chunk *c, ptrdiff_t panel)
{
    const lcsm_chunk_start start = lcsm_chunk_packed(c);
    if (c->op.N != NULL) K_(lcsm_delta_solve)(c, &start, panel, f->V);
}

static void read_own(const pass *f, const lcsm_chunk *c, ptrdiff_t panel, const real *M,
                     const lcsm_target *t)
{
    lcsm_product p[] = {
        {.a = c->op.q, .ar = c->op.qr, .ad = 1, .b = M, .bd = EOS_PANEL, .depth = c->size.R},
        {.a     = c->op.P,
         .ar    = c->size.Cp,
         .ad    = 1,
         .b     = f->V,
         .bd    = EOS_PANEL,
         .depth = lcsm_chunk_at(c, c->now.rn - 1) + 1,
         .part  = lcsm_chunk_part(c, TILE_LOWER)},
    };
    int first = c->now.blank; /* Q M is zero */
    K_(lcsm_tiles)(c->now.rn, lcsm_chunk_vecs(c, panel), p + first, 2 - first, t);
}

static void move_own(const pass *f, const lcsm_chunk *c, ptrdiff_t panel, real *M)
{
    K_(lcsm_chunk_advance)(c, panel, f->V, M);
}

const R_(lcsm_eos_kernels) K_(lcsm_eos_chunk) = {
    fwd_scratch, K_(lcsm_chunk_bwd_scratch), fwd, K_(lcsm_chunk_bwd), true, true};
