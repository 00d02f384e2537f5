/* cpu.c - what the processor can do. */
#include "kernel/cpu.h"

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

unsigned lcsm_cpu_features(void)
{
    unsigned bits = LCSM_CPU_VECTOR;
#if defined(__x86_64__)
    __builtin_cpu_init();
    /* with F16C, which came before AVX2 and has no name of its own in every compiler */
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) bits |= LCSM_CPU_AVX2;
    if ((bits & LCSM_CPU_AVX2) != 0 && __builtin_cpu_supports("avx512f")
        && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq")
        && __builtin_cpu_supports("avx512vl"))
        bits |= LCSM_CPU_AVX512;
    /* every processor with AVX512-BF16 has VNNI; its set uses both */
    if ((bits & LCSM_CPU_AVX512) != 0 && __builtin_cpu_supports("avx512bf16")
        && __builtin_cpu_supports("avx512vnni"))
        bits |= LCSM_CPU_AVX512_BF16;
#elif defined(__aarch64__) && defined(__linux__)
    if ((getauxval(AT_HWCAP) & HWCAP_ASIMD) != 0) bits |= LCSM_CPU_NEON;
#elif defined(__aarch64__)
    bits |= LCSM_CPU_NEON;
#endif
    return bits;
}
