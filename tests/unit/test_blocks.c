/* Types of weights: exact where they are, within half a step where they round, refused where they
 * end. */
#include <math.h>
#include <string.h>

#include "base/blocks.h"
#include "base/rng.h"
#include "test.h"

enum { COLS = 512 };

static void draw(float *x, size_t n, uint64_t seed)
{
    for (size_t j = 0; j < n; j++) x[j] = (float)lcsm_rng_normal(seed, 1, j);
}

static float of_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float rounded(lcsm_weight_type type, float x)
{
    unsigned char          bytes[4];
    const lcsm_block_type *b = lcsm_weight_blocks(type);
    b->encode(bytes, &x);
    b->decode(&x, bytes);
    return x;
}

TEST(bf16_goes_there_and_back_and_rounds_to_even)
{
    for (uint32_t h = 0; h < 0x10000; h++) {
        float x = of_bits(h << 16), y = rounded(LCSM_WEIGHT_BF16, x);
        if (isnan(x)) assert_true(isnan(y));
        else assert_int_equal(bits_of(x), bits_of(y)); /* subnormals and infinities too */
    }
    assert_int_equal(bits_of(rounded(LCSM_WEIGHT_BF16, of_bits(0x3F808000))), 0x3F800000);
    assert_int_equal(bits_of(rounded(LCSM_WEIGHT_BF16, of_bits(0x3F818000))), 0x3F820000);
    assert_int_equal(bits_of(rounded(LCSM_WEIGHT_BF16, of_bits(0x3F808001))), 0x3F810000);
    assert_true(isnan(rounded(LCSM_WEIGHT_BF16, of_bits(0x7F800001)))); /* not an infinity */
    assert_true(isinf(rounded(LCSM_WEIGHT_BF16, 3.4e38f)));
}

TEST(weights_of_any_type_that_are_packed_again_stay)
{
    for (int t = LCSM_WEIGHT_F16; t < LCSM_WEIGHT_Q4K; t++) { /* q4k searches anew */
        float         x[COLS], y[COLS];
        unsigned char once[4 * COLS], twice[4 * COLS];
        draw(x, COLS, (uint64_t)t);
        assert_true(lcsm_weight_pack((lcsm_weight_type)t, once, x, COLS));
        lcsm_blocks_decode(y, lcsm_weight_blocks((lcsm_weight_type)t), once, COLS);
        assert_true(lcsm_weight_pack((lcsm_weight_type)t, twice, y, COLS));
        lcsm_blocks_decode(x, lcsm_weight_blocks((lcsm_weight_type)t), twice, COLS);
        for (size_t j = 0; j < COLS; j++) assert_true(x[j] == y[j]);
    }
}

/* Root mean square error over that of the numbers. */
static double miss(lcsm_weight_type type, const float *x)
{
    float         y[COLS];
    unsigned char bytes[4 * COLS];
    double        sum = 0, all = 0;
    assert_true(lcsm_weight_pack(type, bytes, x, COLS));
    lcsm_blocks_decode(y, lcsm_weight_blocks(type), bytes, COLS);
    for (size_t j = 0; j < COLS; j++) {
        sum += (double)(x[j] - y[j]) * (double)(x[j] - y[j]);
        all += (double)x[j] * (double)x[j];
    }
    return sqrt(sum / all);
}

TEST(weights_lose_what_their_steps_say)
{
    float x[COLS];
    draw(x, COLS, 3);
    /* Uniform errors of a step s have a root mean square of s / sqrt(12). The largest of 32 normal
     * numbers is 2.1 on average and 3 rarely: steps of 3/127 and 3/7.5; q4k has 15 steps from the
     * lowest to the largest, less than 5 in all; halves and bf16 steps of 2^-10 and 2^-7 at most.
     */
    assert_true(miss(LCSM_WEIGHT_F16, x) < ldexp(1, -10) / sqrt(12.0));
    assert_true(miss(LCSM_WEIGHT_BF16, x) < ldexp(1, -7) / sqrt(12.0));
    assert_true(miss(LCSM_WEIGHT_Q8, x) < 3.0 / 127 / sqrt(12.0));
    assert_true(miss(LCSM_WEIGHT_Q4, x) < 3.0 / 7.5 / sqrt(12.0));
    assert_true(miss(LCSM_WEIGHT_Q4K, x) < 5.0 / 15 / sqrt(12.0));
}

/* Scales and minima of 6 bits in 12 bytes come back from where they went. */
TEST(q4k_keeps_numbers_that_it_has)
{
    float         x[256], y[256];
    unsigned char bytes[144];
    for (int j = 0; j < 256; j++) {
        int block = j / 32, level = block == 3 ? 0 : j % 16;
        x[j] = ldexpf((float)((63 - 8 * block) * level - (block == 2 ? 63 : 0)), -8);
    }
    assert_true(lcsm_weight_pack(LCSM_WEIGHT_Q4K, bytes, x, 256));
    lcsm_blocks_decode(y, lcsm_weight_blocks(LCSM_WEIGHT_Q4K), bytes, 256);
    /* the largest scale is 63/256 to 11 bits, and the smallest of 63 steps is 7 of them */
    for (int j = 0; j < 256; j++) assert_true(fabsf(x[j] - y[j]) <= 15.5f / 256);
}

TEST(weights_of_zeros_stay_zeros)
{
    for (int t = LCSM_WEIGHT_F16; t < LCSM_WEIGHT_COUNT; t++) {
        float         x[COLS] = {0}, y[COLS];
        unsigned char bytes[4 * COLS];
        assert_true(lcsm_weight_pack((lcsm_weight_type)t, bytes, x, COLS));
        lcsm_blocks_decode(y, lcsm_weight_blocks((lcsm_weight_type)t), bytes, COLS);
        for (size_t j = 0; j < COLS; j++) assert_true(y[j] == 0);
    }
}

TEST(weights_that_do_not_fit_are_refused)
{
    static const struct {
        float            x;
        lcsm_weight_type type;
        bool             fits;
    } CASES[] = {
        {NAN, LCSM_WEIGHT_F16, false},      {INFINITY, LCSM_WEIGHT_BF16, false},
        {65504, LCSM_WEIGHT_F16, true},     {65520, LCSM_WEIGHT_F16, false},
        {65520, LCSM_WEIGHT_BF16, true},    {NAN, LCSM_WEIGHT_Q8, false},
        {-INFINITY, LCSM_WEIGHT_Q4, false}, {8e6f, LCSM_WEIGHT_Q8, true},
        {9e6f, LCSM_WEIGHT_Q8, false},      {NAN, LCSM_WEIGHT_Q4K, false},
        {65504, LCSM_WEIGHT_Q4, true},      {70000, LCSM_WEIGHT_Q4, false},
        {1e30f, LCSM_WEIGHT_Q4K, false},    {3.4e38f, LCSM_WEIGHT_BF16, false},
        {0x1p-149f, LCSM_WEIGHT_Q8, true},
    };
    for (size_t j = 0; j < COUNT(CASES); j++) {
        float         x[256] = {[77] = CASES[j].x};
        unsigned char bytes[1024];
        assert_int_equal(lcsm_weight_pack(CASES[j].type, bytes, x, 256), CASES[j].fits);
    }
}

TEST(weights_of_odd_rows_have_the_type_that_fits)
{
    assert_int_equal(lcsm_weight_fit(LCSM_WEIGHT_Q4K, 512), LCSM_WEIGHT_Q4K);
    assert_int_equal(lcsm_weight_fit(LCSM_WEIGHT_Q4K, 288), LCSM_WEIGHT_Q4);
    assert_int_equal(lcsm_weight_fit(LCSM_WEIGHT_Q4K, 48), LCSM_WEIGHT_F16);
    assert_int_equal(lcsm_weight_fit(LCSM_WEIGHT_Q8, 33), LCSM_WEIGHT_F16);
    assert_int_equal(lcsm_weight_fit(LCSM_WEIGHT_BF16, 1), LCSM_WEIGHT_BF16);
    assert_int_equal(lcsm_weight_row(LCSM_WEIGHT_Q8, 64), 68);
    assert_int_equal(lcsm_weight_row(LCSM_WEIGHT_Q4, 64), 36);
    assert_int_equal(lcsm_weight_row(LCSM_WEIGHT_Q4K, 512), 288);
    assert_int_equal(lcsm_weight_row(LCSM_WEIGHT_F16, 3), 6);
    assert_int_equal(lcsm_weight_row(LCSM_WEIGHT_REAL, 3), 12);
}

TEST(weight_types_have_names)
{
    lcsm_error       err = {0};
    lcsm_weight_type type;
    for (int t = 0; t < LCSM_WEIGHT_COUNT; t++) {
        assert_int_equal(lcsm_weight_find(&type, lcsm_weight_name((lcsm_weight_type)t), &err),
                         LCSM_OK);
        assert_int_equal(type, t);
    }
    assert_int_equal(lcsm_weight_find(&type, "q9", &err), LCSM_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "\"q9\" is not a type of weights"));
}
