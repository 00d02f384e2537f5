/* kernel/cpu.h - what the processor can do, as bits. */
#ifndef LCSM_KERNEL_CPU_H
#define LCSM_KERNEL_CPU_H

enum {
    LCSM_CPU_VECTOR      = 1, /* the vector code of the portable sets; 0 leaves the references */
    LCSM_CPU_AVX2        = 2, /* AVX2 and FMA */
    LCSM_CPU_AVX512      = 4, /* AVX-512 F, BW, DQ, VL */
    LCSM_CPU_AVX512_BF16 = 8,
    LCSM_CPU_NEON        = 16, /* NEON of arm64, 32 registers of 128 bits */
};

unsigned lcsm_cpu_features(void);
#endif
