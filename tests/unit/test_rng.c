/* test_rng.c - the generator gives the published numbers, and the streams their promises. */
#include "base/error.h"
#include "base/rng.h"
#include "test.h"

enum { SEED = 20240817, N = 200000 };

static double DRAWS[N];

/* The known-answer vectors that are published with Random123 for philox4x32 with 10 rounds. */
TEST(philox_gives_the_published_vectors)
{
    static const struct {
        uint32_t counter[4], key[2], want[4];
    } CASES[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t j = 0; j < COUNT(CASES); j++) {
        const uint32_t *c = CASES[j].counter;
        lcsm_u32x4      got =
            lcsm_philox((lcsm_u32x4){{c[0], c[1], c[2], c[3]}}, CASES[j].key[0], CASES[j].key[1]);
        assert_memory_equal(got.v, CASES[j].want, sizeof got.v);
    }
}

TEST(rng_differs_in_seed_purpose_and_index)
{
    lcsm_u32x4 a       = lcsm_rng(1, 2, 3);
    lcsm_u32x4 other[] = {lcsm_rng(2, 2, 3), lcsm_rng(1, 3, 3), lcsm_rng(1, 2, 4),
                          lcsm_rng(1 + (1ull << 32), 2, 3), lcsm_rng(1, 2, 3 + (1ull << 32))};
    for (size_t j = 0; j < COUNT(other); j++) assert_memory_not_equal(a.v, other[j].v, sizeof a.v);
}

TEST(rng_unit_stays_below_one)
{
    assert_true(lcsm_unit_f32(0) == 0.0f);
    assert_true(lcsm_unit_f32(UINT32_MAX) < 1.0f);
}

TEST(rng_fill_is_the_same_for_any_split)
{
    enum { LENGTH = 23 };
    float whole[LENGTH], parts[LENGTH];
    lcsm_rng_fill_normal_f32(whole, LENGTH, SEED, 1, 5);
    for (size_t cut = 0; cut <= LENGTH; cut++) {
        lcsm_rng_fill_normal_f32(parts, cut, SEED, 1, 5);
        lcsm_rng_fill_normal_f32(parts + cut, LENGTH - cut, SEED, 1, 5 + cut);
        assert_memory_equal(whole, parts, sizeof whole);
    }
}

TEST(rng_fill_agrees_with_single_elements_in_both_precisions)
{
    float  u32[9], n32[9];
    double u64[9], n64[9];
    lcsm_rng_fill_uniform_f32(u32, 9, SEED, 3, 2);
    lcsm_rng_fill_uniform_f64(u64, 9, SEED, 3, 2);
    lcsm_rng_fill_normal_f32(n32, 9, SEED, 3, 2);
    lcsm_rng_fill_normal_f64(n64, 9, SEED, 3, 2);
    for (uint64_t j = 0; j < 9; j++) {
        double u = lcsm_rng_uniform(SEED, 3, 2 + j), n = lcsm_rng_normal(SEED, 3, 2 + j);
        assert_true(u32[j] == (float)u && u64[j] == u);
        assert_true(n32[j] == (float)n && n64[j] == n);
    }
}

/* Mean of x^p over the draws. */
static double moment(int p)
{
    double sum = 0;
    for (size_t j = 0; j < N; j++) {
        double x = 1;
        for (int q = 0; q < p; q++) x *= DRAWS[j];
        sum += x;
    }
    return sum / N;
}

/* Bounds are five standard deviations of the mean over N draws, sqrt(var(x^p) / N). */
TEST(rng_uniform_has_the_moments_of_a_uniform)
{
    lcsm_rng_fill_uniform_f64(DRAWS, N, SEED, 7, 0);
    assert_true(moment(1) - 0.5 < 0.0033 && 0.5 - moment(1) < 0.0033);
    assert_true(moment(2) - 1 / 3.0 < 0.0034 && 1 / 3.0 - moment(2) < 0.0034);
}

TEST(rng_normal_has_the_moments_of_a_normal)
{
    static const struct {
        int    p;
        double want, bound;
    } CASES[] = {{1, 0, 0.0112}, {2, 1, 0.0159}, {3, 0, 0.0434}, {4, 3, 0.1096}};
    lcsm_rng_fill_normal_f64(DRAWS, N, SEED, 7, 0);
    for (size_t j = 0; j < COUNT(CASES); j++) {
        double off = moment(CASES[j].p) - CASES[j].want;
        assert_true(off < CASES[j].bound && -off < CASES[j].bound);
    }
}
