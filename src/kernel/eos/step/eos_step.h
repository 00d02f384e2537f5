/*
 * eos_step.h - one step of a memory whose o is a number for each row: exp(row + i row_phase).
 *
 *     m_T = o * m_0 + e i^T          y = scale Re(m_T^T s)
 *
 *   x         the problem, T = 1; e is rows or, complex where the memory is, a matrix; s is rows
 *   m0, m_T   (K, D), rows m_k reals apart, complex numbers as pairs; the same or apart
 *   y         (D)
 *   ws        scratch, LCSM_EOS_STEP_SCRATCH(K, D) reals, 64-byte aligned
 *
 * It reads the memory and a matrix e once, where they lie: that is what decoding takes. With low
 * rank, the delta rule, a read before the step or complex i and y (eos_step_rank.c) e is rows.
 */
#ifndef LCSM_KERNEL_EOS_STEP_H
#define LCSM_KERNEL_EOS_STEP_H
#include "kernel/eos/eos.h"

#define LCSM_EOS_STEP_COEFFICIENTS 22
#define LCSM_EOS_STEP_SCRATCH(K, D)                                                                \
    (4 * ((size_t)(D) + 16) + LCSM_EOS_STEP_COEFFICIENTS * (size_t)(K))

typedef void R_(lcsm_eos_step_kernel)(const R_(lcsm_eos_seq) *x, const real *m0, real *m_T,
                                      ptrdiff_t m_k, real *y, real *ws);

extern R_(lcsm_eos_step_kernel) K_(lcsm_eos_step);
extern R_(lcsm_eos_step_kernel) K_(lcsm_eos_step_rank);
#endif
