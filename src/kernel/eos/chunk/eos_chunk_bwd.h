/*
 * kernel/eos/chunk/eos_chunk_bwd.h - the backward pass of the chunked form; eos.h has the contract.
 */
#ifndef LCSM_KERNEL_EOS_CHUNK_BWD_H
#define LCSM_KERNEL_EOS_CHUNK_BWD_H
#include "kernel/eos/chunk/eos_chunk.h"
#include "kernel/eos/chunk/eos_chunk_walk.h"

/* What reads the memory: q with the gradient Z of its outputs, and with erase also N with that
 * of its outputs N M + L U, which is the gradient X of U. */
typedef struct {
    const real *q, *z, *p; /* (C, Rp), (panels, C, EOS_PANEL), (C, Cp) */
    real       *zT;        /* (Dp, readers, Cp) from here on */
    real       *g_p;       /* (C, Cp), without its diagonal, which is in g_diag (C) */
    real       *g_diag;
    real       *g_q;   /* (C, Rp) by earlier steps of the chunk */
    real       *g_q_M; /* (Rp, readers, Cp) from here on: by M, transposed */
} lcsm_chunk_reader;

typedef struct {
    lcsm_chunk                    c;
    const R_(lcsm_eos_seq_grads) *g;
    const real                   *y, *g_y; /* of the pass */
    ptrdiff_t                     y_t, g_y_t;
    lcsm_chunk_reader             read[2];
    int                           readers;
    bool                          exact; /* columns need flows without what a step reads itself */
    lcsm_chunk_start              M;     /* c.M or the tape */
    real                         *G;     /* (panels, R, EOS_PANEL) gradient of the memory */
    real *V, *Z, *X;                     /* (panels, C, EOS_PANEL) U, exp(B) g_y, gradient of U */
    real *VT;                            /* (Dp, Cp) */
    real *diag;                          /* (C) of P, exact only */
    real *g_E_end;                       /* (Rp, Cp) gradient of E by M', transposed */
    real *g_E;                           /* (C, Rp) ... by later steps of the chunk */
    real *strip[10];                     /* (Cp, VW) */
    real *v_end, *v_in;                  /* (C, EOS_PANEL) gradient of U by M', by steps */
    real *flow, *seen;                   /* (C, EOS_PANEL) column flows; what is read */
    real *carry_k, *carry_d;             /* (2, Kp), (EOS_PANEL) sums over M * G */
    double
        from_M; /* how often a static column has the flows to this chunk's end for the next one */
} lcsm_chunk_back;

/* Whether a chunk finds the flows from M by itself: nobody gives them, or nothing is gained. */
static inline bool lcsm_chunk_finds_M(const lcsm_chunk *c)
{
    return !c->now.blank && (c->now.t == 0 || c->now.n == 1);
}

/* to (Rp, count, Cp) = M times B (Dp, count, Cp), `lanes` of each. */
void K_(lcsm_chunk_by_columns)(const lcsm_chunk *c, const lcsm_chunk_start *M, const real *B,
                               int count, ptrdiff_t lanes, real *to);

/* One panel of G scaled to where its flows cross: by the decay of rows and by col or NULL. Its
 * products with M are added to `across` (Kp), by row, both planes, and their sums by column stand
 * in `down` (EOS_PANEL); both may be NULL, then M is not read, or `down` alone. */
void K_(lcsm_chunk_end)(const lcsm_chunk *c, const real *M, ptrdiff_t M_row, const real *col,
                        real *G, real *across, real *down);

/* G of one panel: from the gradient of M' to that of M + K^T U, and the flows from M to there. */
void K_(lcsm_chunk_grad_end)(lcsm_chunk_back *b, ptrdiff_t panel, real *G);

/* Gradients of i and col from X and, for col, from v_end and flow; one panel. */
void K_(lcsm_chunk_grad_cols)(lcsm_chunk_back *b, ptrdiff_t panel, const real *X);

/* Gradients of e, s, erase, row and row_phase from those of E, Q and N. */
void K_(lcsm_chunk_grad_rows)(lcsm_chunk_back *b);

size_t K_(lcsm_chunk_bwd_scratch)(const R_(lcsm_eos_seq) *x, ptrdiff_t C);
void   K_(lcsm_chunk_bwd)(const R_(lcsm_eos_seq) *x, ptrdiff_t C, const real *y, ptrdiff_t y_t,
                        const real *g_y, ptrdiff_t g_y_t, real *g_m,
                        const R_(lcsm_eos_seq_grads) *g, const real *tape, real *ws);
#endif
