/* kernels_drive.c - the choice of kernels, once for each number type. */
#include "base/error.h"
#include "kernel/cpu.h"
#include "kernel/kernels.h"

#include <stdlib.h>

#if LCSM_REAL_IS_DOUBLE
extern const R_(lcsm_kernels)        lcsm_kernels_f64_ref, lcsm_kernels_f64_portable;
static const R_(lcsm_kernels) *const SETS[] = {&lcsm_kernels_f64_ref, &lcsm_kernels_f64_portable};
#else
extern const R_(lcsm_kernels) lcsm_kernels_f32_ref, lcsm_kernels_f32_portable;
#if defined(__x86_64__)
extern const R_(lcsm_kernels) lcsm_kernels_f32_avx2, lcsm_kernels_f32_avx512,
    lcsm_kernels_f32_avx512_bf16;
#elif defined(__aarch64__)
extern const R_(lcsm_kernels) lcsm_kernels_f32_neon;
#endif
static const R_(lcsm_kernels) *const SETS[] = {
    &lcsm_kernels_f32_ref,  &lcsm_kernels_f32_portable,
#if defined(__x86_64__)
    &lcsm_kernels_f32_avx2, &lcsm_kernels_f32_avx512,   &lcsm_kernels_f32_avx512_bf16,
#elif defined(__aarch64__)
    &lcsm_kernels_f32_neon,
#endif
};
#endif

/* Keep what the slower sets gave wherever the faster one has nothing. */
static void overlay(R_(lcsm_kernels) *k, const R_(lcsm_kernels) *faster)
{
    k->name = faster->name;
    k->needs |= faster->needs;
#define X(type, row)                                                                               \
    if (faster->row != NULL) k->row = faster->row;
    LCSM_KERNEL_LIST(X)
#undef X
}

void R_(lcsm_kernels_choose)(R_(lcsm_kernels) *k, unsigned cpu)
{
    *k = (R_(lcsm_kernels)){0};
    for (size_t j = 0; j < COUNT(SETS); j++)
        if ((SETS[j]->needs & ~cpu) == 0) overlay(k, SETS[j]);
}

R_(lcsm_kernels) *R_(lcsm_kernels_new)(unsigned cpu)
{
    R_(lcsm_kernels) *k = malloc(sizeof *k);
    if (k != NULL) R_(lcsm_kernels_choose)(k, cpu);
    return k;
}
