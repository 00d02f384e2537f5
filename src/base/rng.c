/* rng.c - Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers, SC 2011). */
#include "base/rng.h"

#include <math.h>

#define TWO_PI 6.283185307179586476925

static lcsm_u32x4 philox_round(lcsm_u32x4 c, uint32_t key0, uint32_t key1)
{
    uint64_t a = (uint64_t)LCSM_PHILOX_M0 * c.v[0];
    uint64_t b = (uint64_t)LCSM_PHILOX_M1 * c.v[2];
    return (lcsm_u32x4){{
        (uint32_t)(b >> 32) ^ c.v[1] ^ key0,
        (uint32_t)b,
        (uint32_t)(a >> 32) ^ c.v[3] ^ key1,
        (uint32_t)a,
    }};
}

lcsm_u32x4 lcsm_philox(lcsm_u32x4 counter, uint32_t key0, uint32_t key1)
{
    for (int round = 0; round < LCSM_PHILOX_ROUNDS; round++) {
        counter = philox_round(counter, key0, key1);
        key0 += LCSM_PHILOX_W0;
        key1 += LCSM_PHILOX_W1;
    }
    return counter;
}

lcsm_u32x4 lcsm_rng(uint64_t seed, uint32_t purpose, uint64_t index)
{
    lcsm_u32x4 counter = {{(uint32_t)index, (uint32_t)(index >> 32), purpose, 0}};
    return lcsm_philox(counter, (uint32_t)seed, (uint32_t)(seed >> 32));
}

static double uniform_lane(const lcsm_u32x4 *block, unsigned lane)
{
    return (double)lcsm_unit_f32(block->v[lane]);
}

/* Box-Muller over the pair of words that holds the lane: the even lane is the cosine, the odd
 * one the sine. The radius takes all 32 bits and a half, so its logarithm is finite. */
static double normal_lane(const lcsm_u32x4 *block, unsigned lane)
{
    unsigned even   = lane & ~1u;
    double   u      = ((double)block->v[even] + 0.5) * 0x1p-32;
    double   angle  = TWO_PI * 0x1p-32 * (double)block->v[even + 1];
    double   radius = sqrt(-2.0 * log(u));
    return radius * ((lane & 1u) != 0 ? sin(angle) : cos(angle));
}

double lcsm_rng_uniform(uint64_t seed, uint32_t purpose, uint64_t j)
{
    lcsm_u32x4 block = lcsm_rng(seed, purpose, j / 4);
    return uniform_lane(&block, (unsigned)(j % 4));
}

double lcsm_rng_normal(uint64_t seed, uint32_t purpose, uint64_t j)
{
    lcsm_u32x4 block = lcsm_rng(seed, purpose, j / 4);
    return normal_lane(&block, (unsigned)(j % 4));
}

/* Makes each block once for the four elements that it holds. */
#define DEFINE_FILL(function, type, lane_value)                                                    \
    void function(type *out, size_t n, uint64_t seed, uint32_t purpose, uint64_t first)            \
    {                                                                                              \
        lcsm_u32x4 block = lcsm_rng(seed, purpose, first / 4);                                     \
        for (size_t j = 0; j < n; j++) {                                                           \
            uint64_t at = first + j;                                                               \
            if (at % 4 == 0) block = lcsm_rng(seed, purpose, at / 4);                              \
            out[j] = (type)lane_value(&block, (unsigned)(at % 4));                                 \
        }                                                                                          \
    }

DEFINE_FILL(lcsm_rng_fill_uniform_f32, float, uniform_lane)
DEFINE_FILL(lcsm_rng_fill_uniform_f64, double, uniform_lane)
DEFINE_FILL(lcsm_rng_fill_normal_f32, float, normal_lane)
DEFINE_FILL(lcsm_rng_fill_normal_f64, double, normal_lane)
