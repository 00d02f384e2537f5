/* set.c - the table of the vector kernels of one variant. */
#include "kernel/cpu.h"
#include "kernel/eos/chunk/eos_chunk.h"
#include "kernel/eos/chunk/eos_rank.h"
#include "kernel/eos/conv/eos_conv.h"
#include "kernel/eos/scan/eos_scan.h"
#include "kernel/kernels.h"
#include "kernel/vec.h"

#if VW == 16
#define SET_NAME  "avx512"
#define SET_NEEDS (LCSM_CPU_VECTOR | LCSM_CPU_AVX2 | LCSM_CPU_AVX512)
#elif VW == 8
#define SET_NAME  "avx2"
#define SET_NEEDS (LCSM_CPU_VECTOR | LCSM_CPU_AVX2)
#elif VEC_NEON
#define SET_NAME  "neon"
#define SET_NEEDS (LCSM_CPU_VECTOR | LCSM_CPU_NEON)
#else
#define SET_NAME  "portable"
#define SET_NEEDS LCSM_CPU_VECTOR
#endif

extern const R_(lcsm_kernels) K_(lcsm_kernels);

const R_(lcsm_kernels) K_(lcsm_kernels) = {
    .name           = SET_NAME,
    .needs          = SET_NEEDS,
    .eos_chunk      = &K_(lcsm_eos_chunk),
    .eos_chunk_bf16 = &K_(lcsm_eos_chunk), /* float is good enough */
    .eos_rank       = &K_(lcsm_eos_rank),
    .gemm           = &K_(lcsm_gemm_products),
    .bf16           = &K_(lcsm_bf16_products),
    .ew             = &K_(lcsm_ew),
    .drop           = &K_(lcsm_drop_words),
    .eos_scan       = &K_(lcsm_eos_scan),
    .eos_conv       = &K_(lcsm_eos_conv),
    .eos_step       = K_(lcsm_eos_step),
    .eos_step_rank  = K_(lcsm_eos_step_rank),
    .longconv       = &K_(lcsm_longconv_channels),
    .activations    = K_(lcsm_activations),
    .norm           = &K_(lcsm_norm_rows),
    .conv           = &K_(lcsm_conv_steps),
    .shift          = &K_(lcsm_shift_steps),
    .rotate         = &K_(lcsm_rotate_rows),
    .xent           = &K_(lcsm_xent_rows),
    .attention      = &K_(lcsm_attention_head),
    .adamw          = &K_(lcsm_adamw_flat),
    .eos_mean       = &K_(lcsm_eos_mean_steps),
    .eos_pairs      = &K_(lcsm_eos_pairs_steps),
    .probe          = &K_(lcsm_probes),
};
