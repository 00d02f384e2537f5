/*
 * kernel/kernels.h - the kernel table: which function does a job on this processor.
 *
 * There is one table for each number type. The plain reference fills every row; faster sets
 * overlay what they have, from slow to fast (kernels_drive.c). Code above this layer calls kernels
 * through a table only, so a test can run any set on any machine.
 */
#ifndef LCSM_KERNEL_KERNELS_H
#define LCSM_KERNEL_KERNELS_H
#include "kernel/activation/activation.h"
#include "kernel/adamw/adamw.h"
#include "kernel/attention/attention.h"
#include "kernel/conv/conv.h"
#include "kernel/drop/drop.h"
#include "kernel/eos/mean/eos_mean.h"
#include "kernel/eos/pairs/eos_pairs.h"
#include "kernel/eos/step/eos_step.h"
#include "kernel/ew/ew.h"
#include "kernel/gemm/gemm.h"
#include "kernel/longconv/longconv.h"
#include "kernel/norm/norm.h"
#include "kernel/probe/probe.h"
#include "kernel/rotate/rotate.h"
#include "kernel/shift/shift.h"
#include "kernel/xent/xent.h"

/* Every row is a pointer. X(type, name) */
#define LCSM_KERNEL_LIST(X)                                                                        \
    X(const R_(lcsm_eos_kernels) *, eos_recurrent)                                                 \
    X(const R_(lcsm_eos_kernels) *, eos_chunk)                                                     \
    X(const R_(lcsm_eos_kernels) *, eos_chunk_bf16) /* forward only */                             \
    X(const R_(lcsm_eos_kernels) *, eos_rank)                                                      \
    X(const R_(lcsm_eos_kernels) *, eos_scan)                                                      \
    X(const R_(lcsm_eos_kernels) *, eos_conv)                                                      \
    X(R_(lcsm_eos_step_kernel) *, eos_step) /* the references have none */                         \
    X(R_(lcsm_eos_step_kernel) *, eos_step_rank)                                                   \
    X(const R_(lcsm_gemm_kernels) *, gemm)                                                         \
    X(const R_(lcsm_bf16_kernels) *, bf16)                                                         \
    X(const R_(lcsm_ew_kernels) *, ew)                                                             \
    X(const R_(lcsm_drop_kernels) *, drop)                                                         \
    X(const R_(lcsm_activation) *, activations) /* [LCSM_ACT_COUNT] */                             \
    X(const R_(lcsm_norm_kernels) *, norm)                                                         \
    X(const R_(lcsm_conv_kernels) *, conv)                                                         \
    X(const R_(lcsm_longconv_kernels) *, longconv)                                                 \
    X(const R_(lcsm_shift_kernels) *, shift)                                                       \
    X(const R_(lcsm_rotate_kernels) *, rotate)                                                     \
    X(const R_(lcsm_xent_kernels) *, xent)                                                         \
    X(const R_(lcsm_attention_kernels) *, attention)                                               \
    X(const R_(lcsm_adamw_kernels) *, adamw)                                                       \
    X(const R_(lcsm_eos_mean_kernels) *, eos_mean)                                                 \
    X(const R_(lcsm_eos_pairs_kernels) *, eos_pairs)                                               \
    X(const R_(lcsm_probe) *, probe)

typedef struct R_(lcsm_kernels) {
    const char *name;  /* of the set; in a chosen table the fastest that took part */
    unsigned    needs; /* LCSM_CPU_... bits */
#define X(type, row) type row;
    LCSM_KERNEL_LIST(X)
#undef X
} R_(lcsm_kernels);

/* The rows of the sets that need no more than the bits of cpu, the fastest of each kind. */
void R_(lcsm_kernels_choose)(R_(lcsm_kernels) *k, unsigned cpu);

/* The same in memory of its own, for free(); NULL when there is none. */
R_(lcsm_kernels) *R_(lcsm_kernels_new)(unsigned cpu);

#endif
