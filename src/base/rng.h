/*
 * rng.h - counter-based random numbers (Philox4x32-10).
 *
 * A number is a function of (seed, purpose, index) and of nothing else: no state, so no
 * order, so the same numbers for any split over threads, ranks or calls.
 */
#ifndef LCSM_BASE_RNG_H
#define LCSM_BASE_RNG_H
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint32_t v[4];
} lcsm_u32x4;

/* Philox's multipliers, what is added to its keys (the golden ratio and sqrt(3) - 1, as fractions
 * of 2^32), and its rounds. */
#define LCSM_PHILOX_M0     0xD2511F53u
#define LCSM_PHILOX_M1     0xCD9E8D57u
#define LCSM_PHILOX_W0     0x9E3779B9u
#define LCSM_PHILOX_W1     0xBB67AE85u
#define LCSM_PHILOX_ROUNDS 10

/* The bare generator: ten rounds over a counter, under a key. */
lcsm_u32x4 lcsm_philox(lcsm_u32x4 counter, uint32_t key0, uint32_t key1);

/* Four words for (seed, purpose, index). */
lcsm_u32x4 lcsm_rng(uint64_t seed, uint32_t purpose, uint64_t index);

/* The top 24 bits as a float in [0, 1): every multiple of 2^-24 is equally likely. */
static inline float lcsm_unit_f32(uint32_t bits)
{
    return (float)(bits >> 8) * 0x1p-24f;
}

/* Element j of the stream (seed, purpose): uniform in [0, 1), and standard normal. Element
 * j uses word j % 4 of block j / 4; a pair of normals shares a pair of words. */
double lcsm_rng_uniform(uint64_t seed, uint32_t purpose, uint64_t j);
double lcsm_rng_normal(uint64_t seed, uint32_t purpose, uint64_t j);

/* Elements first .. first + n - 1 of those streams. */
void lcsm_rng_fill_uniform_f32(float *out, size_t n, uint64_t seed, uint32_t purpose,
                               uint64_t first);
void lcsm_rng_fill_uniform_f64(double *out, size_t n, uint64_t seed, uint32_t purpose,
                               uint64_t first);
void lcsm_rng_fill_normal_f32(float *out, size_t n, uint64_t seed, uint32_t purpose,
                              uint64_t first);
void lcsm_rng_fill_normal_f64(double *out, size_t n, uint64_t seed, uint32_t purpose,
                              uint64_t first);

#endif
