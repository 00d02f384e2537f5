/*
 * kernel/eos/eos_pass.h - a plan as the public functions know it, for float and for double.
 *
 * The passes (eos_pass_drive.c) are compiled once for each: P_(lcsm_eos_forward) is
 * lcsm_eos_forward or lcsm_eos_forward_double.
 */
#ifndef LCSM_KERNEL_EOS_PASS_H
#define LCSM_KERNEL_EOS_PASS_H
#include "kernel/eos/eos_plan.h"
#include "kernel/variant.h"

struct lcsm_eos {
    lcsm_eos_plan                  plan, step; /* step: the same for one token */
    const struct lcsm_kernels_f32 *f32;
    const struct lcsm_kernels_f64 *f64;
    bool                           is_double; /* f64 is used, otherwise f32 */
};

typedef struct {
    size_t fwd, bwd, step, tape;
} lcsm_eos_pass_bytes;

lcsm_eos_pass_bytes lcsm_eos_bytes_f32(const lcsm_eos *op);
lcsm_eos_pass_bytes lcsm_eos_bytes_f64(const lcsm_eos *op);

#if LCSM_REAL_IS_DOUBLE
#define P_(name)  name##_double
#define REAL_NAME f64
#else
#define P_(name)  name
#define REAL_NAME f32
#endif
#endif
