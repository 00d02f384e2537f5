/* kernel/eos/chunk/eos_rank_bwd.h - the backward pass with several writers and readers. */
#ifndef LCSM_KERNEL_EOS_RANK_BWD_H
#define LCSM_KERNEL_EOS_RANK_BWD_H
#include "kernel/eos/chunk/eos_chunk_walk.h"
#include "kernel/eos/chunk/eos_rank.h"

enum { RANK_STRIPS = 8 };

typedef struct {
    lcsm_rank                     f;
    const R_(lcsm_eos_seq_grads) *g;
    const real                   *g_y; /* of the pass */
    ptrdiff_t                     g_y_t;
    lcsm_chunk_walk               walk;
    real                         *G;     /* (panels, R, EOS_PANEL) gradient of the memory */
    real                         *z[2];  /* panels: gradients of y */
    real                         *own;   /* (C, 4) z . i of outputs and parts of i: bonus */
    real                         *carry; /* (2, Kp) sums over M * G; cross */
    real                         *q_M[RANK_MOST], *end[RANK_MOST]; /* (C, 2 VW) strips */
    real                         *strip[RANK_STRIPS];              /* (C, VW) */
} lcsm_rank_back;

/* Gradients of e, s, a, b, erase, bonus, row and row_phase. */
void K_(lcsm_rank_grad_rows)(lcsm_rank_back *b);
#endif
