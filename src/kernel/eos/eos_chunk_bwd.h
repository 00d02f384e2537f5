/* kernel/eos/eos_chunk_bwd.h - the backward pass of the chunked form; eos.h has the contract. */
#ifndef LCSM_KERNEL_EOS_CHUNK_BWD_H
#define LCSM_KERNEL_EOS_CHUNK_BWD_H
#include "kernel/eos/eos_chunk.h"

/* What reads the memory: q with the gradient Z of its outputs, and with erase also N with that
 * of its outputs N M + L U, which is the gradient X of U. p is strictly lower. */
typedef struct {
    const real *q, *z, *p;
    real       *g_q, *g_p; /* (Cp, Rp), (C, Cp) */
    real       *g_diag;    /* (C) diagonal of g_p, which has none */
} lcsm_chunk_reader;

typedef struct {
    lcsm_chunk                    c;
    const R_(lcsm_eos_seq_grads) *g;
    lcsm_chunk_reader             read[2];
    int                           readers;
    real                         *G; /* (panels, R, EOS_PANEL) gradient of the memory */
    real *V, *Z, *X;                 /* (panels, C, EOS_PANEL) U, exp(B) g_y, gradient of U */
    real *diag;                      /* (C) of P */
    real *VT, *ZT;                   /* (Dp, Cp) */
    real *T;                         /* (Rp, Cp) */
    real *end, *inner;               /* (Cp, Rp) gradient of E: by M', and by later steps */
    real *log;                       /* (C, Kp) gradients of row logs or phases */
    real *v_end, *v_inner;           /* (C, EOS_PANEL) the same for V */
    real *read_y, *flow;     /* (C, EOS_PANEL) what a reader reads, and times its gradient */
    real *carry_k, *carry_d; /* (2, Kp), (Dp) sums over M * G */
} lcsm_chunk_back;

/* Flows from M to the chunk's end in one panel, for the gradients of row, row_phase and col. The
 * first panel begins their sums. */
void K_(lcsm_chunk_carry)(lcsm_chunk_back *b, ptrdiff_t panel);

/* Gradients of e, s, erase, row and row_phase from those of E, Q and N. */
void K_(lcsm_chunk_grad_rows)(lcsm_chunk_back *b);

/* Gradients of i and col from X and, for col, from v_end, v_inner and flow; one panel. */
void K_(lcsm_chunk_grad_cols)(lcsm_chunk_back *b, ptrdiff_t panel, real *X);

size_t K_(lcsm_chunk_bwd_scratch)(const R_(lcsm_eos_seq) *x, ptrdiff_t C);
void   K_(lcsm_chunk_bwd)(const R_(lcsm_eos_seq) *x, ptrdiff_t C, const real *y, ptrdiff_t y_t,
                        const real *g_y, ptrdiff_t g_y_t, real *g_m,
                        const R_(lcsm_eos_seq_grads) *g, const real *tape, real *ws);
#endif
