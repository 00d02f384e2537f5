/* set_bf16.c - the table of the kernels that use AVX512-BF16 or VNNI. */
#include "kernel/cpu.h"
#include "kernel/kernels.h"

extern const R_(lcsm_kernels)     K_(lcsm_kernels);
extern const R_(lcsm_eos_kernels) K_(lcsm_eos_chunk_bf16);

const R_(lcsm_kernels) K_(lcsm_kernels) = {
    .name           = "avx512-bf16",
    .needs          = LCSM_CPU_VECTOR | LCSM_CPU_AVX2 | LCSM_CPU_AVX512 | LCSM_CPU_AVX512_BF16,
    .bf16           = &K_(lcsm_bf16_products),
    .eos_chunk_bf16 = &K_(lcsm_eos_chunk_bf16),
    .gemm           = &K_(lcsm_gemm_products),
};
