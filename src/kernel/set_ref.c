/* set_ref.c - the table of the plain references. */
#include "kernel/eos/eos_ref.h"
#include "kernel/kernels.h"

extern const R_(lcsm_kernels) K_(lcsm_kernels);

const R_(lcsm_kernels) K_(lcsm_kernels) = {
    .name           = "reference",
    .needs          = 0,
    .eos_recurrent  = &K_(lcsm_eos_recurrent),
    .eos_chunk      = &K_(lcsm_eos_recurrent),
    .eos_chunk_bf16 = &K_(lcsm_eos_recurrent),
    .eos_rank       = &K_(lcsm_eos_recurrent),
    .eos_scan       = &K_(lcsm_eos_recurrent),
    .eos_conv       = &K_(lcsm_eos_recurrent),
    .gemm           = &K_(lcsm_gemm_products),
    .bf16           = &K_(lcsm_bf16_products),
    .ew             = &K_(lcsm_ew),
    .drop           = &K_(lcsm_drop_words),
    .activations    = K_(lcsm_activations),
    .norm           = &K_(lcsm_norm_rows),
    .conv           = &K_(lcsm_conv_steps),
    .longconv       = &K_(lcsm_longconv_channels),
    .shift          = &K_(lcsm_shift_steps),
    .rotate         = &K_(lcsm_rotate_rows),
    .xent           = &K_(lcsm_xent_rows),
    .attention      = &K_(lcsm_attention_head),
    .adamw          = &K_(lcsm_adamw_flat),
    .eos_mean       = &K_(lcsm_eos_mean_steps),
    .eos_pairs      = &K_(lcsm_eos_pairs_steps),
    .probe          = &K_(lcsm_probes),
};
