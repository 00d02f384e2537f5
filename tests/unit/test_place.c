/* Placement: pieces that live at the same time do not overlap, and the arena is not wasteful. */
#include <stdint.h>

#include "base/error.h"
#include "base/rng.h"
#include "base/size.h"
#include "graph/place.h"
#include "test.h"

enum { MANY = 300 };

static uint32_t draw(uint64_t seed, int j, uint32_t below)
{
    return lcsm_rng(seed, 1, (uint64_t)j).v[0] % below;
}

TEST(place_random_pieces_never_overlap)
{
    lcsm_piece p[MANY];
    size_t     total;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        for (int j = 0; j < MANY; j++) {
            int first = (int)draw(seed, 3 * j, 100);
            p[j]      = (lcsm_piece){.bytes = draw(seed, 3 * j + 1, 3000),
                                     .first = first,
                                     .last  = first + (int)draw(seed, 3 * j + 2, 20)};
        }
        assert_true(lcsm_place(p, MANY, &total));
        for (int j = 0; j < MANY; j++) {
            assert_int_equal(p[j].offset % LCSM_ALIGN, 0);
            assert_true(p[j].offset + p[j].bytes <= total);
            for (int i = 0; i < j; i++) {
                bool meet  = p[i].first <= p[j].last && p[j].first <= p[i].last;
                bool apart = p[i].offset + p[i].bytes <= p[j].offset
                          || p[j].offset + p[j].bytes <= p[i].offset;
                if (meet && p[i].bytes > 0 && p[j].bytes > 0) assert_true(apart);
            }
        }
        size_t bound = lcsm_place_bound(p, MANY);
        /* Best fit by size stays within a fifth of the bound on such lists. */
        assert_true(total >= bound && total <= bound + bound / 5);
    }
}

TEST(place_forward_and_backward_of_a_chain_reaches_the_bound)
{
    lcsm_piece p[20];
    size_t     total;
    for (int j = 0; j < 10; j++) { /* values, kept until backward, and gradients */
        p[2 * j]     = (lcsm_piece){.bytes = 1000, .first = j, .last = 20 - j};
        p[2 * j + 1] = (lcsm_piece){.bytes = 1000, .first = 20 - j, .last = 21 - j};
    }
    assert_true(lcsm_place(p, 20, &total));
    assert_int_equal(total, lcsm_place_bound(p, 20));
}

TEST(place_nothing_needs_nothing)
{
    size_t total = 1;
    assert_true(lcsm_place(NULL, 0, &total));
    assert_int_equal(total, 0);
    lcsm_piece empty = {.bytes = 0};
    assert_true(lcsm_place(&empty, 1, &total));
    assert_int_equal(total, 0);
}

TEST(place_sizes_that_overflow_are_refused)
{
    lcsm_piece p[2] = {{.bytes = SIZE_MAX - 10}, {.bytes = 64}};
    size_t     total;
    assert_false(lcsm_place(p, COUNT(p), &total));
}
