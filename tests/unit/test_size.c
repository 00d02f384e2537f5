/* test_size.c - sizes that overflow say so. */
#include "base/size.h"
#include "test.h"

TEST(mul_at_the_border_is_exact_or_refused)
{
    size_t n = 0;
    assert_true(lcsm_size_mul(0, SIZE_MAX, &n));
    assert_int_equal(n, 0);
    assert_true(lcsm_size_mul(1, SIZE_MAX, &n));
    assert_true(n == SIZE_MAX);
    assert_false(lcsm_size_mul(2, SIZE_MAX / 2 + 1, &n));
    assert_false(lcsm_size_mul(SIZE_MAX, SIZE_MAX, &n));
}

TEST(add_at_the_border_is_exact_or_refused)
{
    size_t n = 0;
    assert_true(lcsm_size_add(SIZE_MAX - 1, 1, &n));
    assert_true(n == SIZE_MAX);
    assert_false(lcsm_size_add(SIZE_MAX, 1, &n));
}

TEST(round_up_gives_the_next_multiple)
{
    static const size_t CASES[][2] = {{0, 0}, {1, 64}, {63, 64}, {64, 64}, {65, 128}};
    for (size_t j = 0; j < sizeof CASES / sizeof CASES[0]; j++) {
        size_t n = 1;
        assert_true(lcsm_round_up(CASES[j][0], 64, &n));
        assert_int_equal(n, CASES[j][1]);
    }
}

TEST(round_up_past_the_end_is_refused)
{
    size_t n = 0;
    assert_true(lcsm_round_up(SIZE_MAX - 63, 64, &n));
    assert_true(n == SIZE_MAX - 63);
    assert_false(lcsm_round_up(SIZE_MAX - 62, 64, &n));
}
