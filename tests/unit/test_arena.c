/* test_arena.c - one layout measures and carves. */
#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/sanitizer.h"
#include "base/size.h"
#include "test.h"

typedef struct {
    float  *a;
    double *b;
    char   *c;
} pieces;

static void layout(lcsm_arena *arena, pieces *p, size_t n)
{
    p->a = lcsm_arena_f32(arena, n, 3);
    p->b = lcsm_arena_f64(arena, 1, n);
    p->c = lcsm_arena_take(arena, n, 1);
}

TEST(arena_measured_size_is_exactly_the_carved_size)
{
    static const size_t SIZES[] = {0, 1, 7, 64, 65};
    for (size_t j = 0; j < COUNT(SIZES); j++) {
        lcsm_arena a = {0};
        pieces     p;
        layout(&a, &p, SIZES[j]);
        assert_null(p.a);
        size_t need = a.used;

        assert_int_equal(lcsm_arena_reserve(&a, NULL), LCSM_OK);
        layout(&a, &p, SIZES[j]);
        assert_false(a.failed);
        assert_int_equal(a.used, need);
        lcsm_arena_free(&a);
    }
}

TEST(arena_pieces_are_aligned_and_apart)
{
    lcsm_arena a = {0};
    pieces     p;
    layout(&a, &p, 5);
    assert_int_equal(lcsm_arena_reserve(&a, NULL), LCSM_OK);
    layout(&a, &p, 5);
    assert_int_equal((uintptr_t)p.a % LCSM_ALIGN, 0);
    assert_int_equal((uintptr_t)p.b % LCSM_ALIGN, 0);
    assert_int_equal((uintptr_t)p.c % LCSM_ALIGN, 0);
    assert_true((char *)p.b >= (char *)(p.a + 15));
    assert_true(p.c >= (char *)(p.b + 5));
    for (int j = 0; j < 15; j++) p.a[j] = 1;
    for (int j = 0; j < 5; j++) p.b[j] = 2;
    assert_true(p.a[14] == 1);
    lcsm_arena_free(&a);
}

TEST(arena_piece_that_does_not_fit_fails_and_stays_failed)
{
    lcsm_arena a = {0};
    (void)lcsm_arena_f32(&a, 4, 4);
    assert_int_equal(lcsm_arena_reserve(&a, NULL), LCSM_OK);
    assert_null(lcsm_arena_f32(&a, 100, 4));
    assert_true(a.failed);
    assert_null(lcsm_arena_f32(&a, 1, 1));
    lcsm_arena_free(&a);
}

TEST(arena_size_that_overflows_is_an_error_at_reserve)
{
    static const size_t SIZES[][2] = {{SIZE_MAX, 2}, {SIZE_MAX / 4, 1}, {SIZE_MAX / 2, 1}};
    for (size_t j = 0; j < COUNT(SIZES); j++) {
        lcsm_arena a   = {0};
        lcsm_error err = {0};
        (void)lcsm_arena_f32(&a, SIZES[j][0], SIZES[j][1]);
        (void)lcsm_arena_f32(&a, SIZES[j][0], SIZES[j][1]);
        assert_int_equal(lcsm_arena_reserve(&a, &err), LCSM_ERR_MEMORY);
        assert_true(err.text[0] != '\0');
        assert_null(a.base);
    }
}

#ifndef NDEBUG
TEST(arena_fresh_memory_is_nan_in_debug_builds)
{
    lcsm_arena a = {0};
    (void)lcsm_arena_f32(&a, 2, 2);
    assert_int_equal(lcsm_arena_reserve(&a, NULL), LCSM_OK);
    float *x = lcsm_arena_f32(&a, 2, 2);
    for (int j = 0; j < 4; j++) assert_true(isnan(x[j]));
    lcsm_arena_free(&a);
}
#endif

TEST(arena_rewind_hands_out_the_same_memory_again)
{
    lcsm_arena a = {0};
    (void)lcsm_arena_f32(&a, 8, 8);
    assert_int_equal(lcsm_arena_reserve(&a, NULL), LCSM_OK);
    size_t mark  = a.used;
    float *first = lcsm_arena_f32(&a, 8, 8);
    lcsm_arena_rewind(&a, mark);
    assert_ptr_equal(lcsm_arena_f32(&a, 8, 8), first);
    lcsm_arena_free(&a);
}

TEST(arena_over_borrowed_memory_leaves_it_usable_and_unfreed)
{
    float     *memory = aligned_alloc(LCSM_ALIGN, 1024);
    lcsm_arena a      = lcsm_arena_over(memory, 1024);
    assert_ptr_equal(lcsm_arena_f32(&a, 1, 16), memory);
    assert_null(lcsm_arena_f32(&a, 1, 1024));
    lcsm_arena_free(&a);
    for (int j = 0; j < 256; j++) memory[j] = 0;
    assert_true(memory[255] == 0);
    free(memory);
}

#if LCSM_ASAN
TEST(arena_gaps_are_poisoned_under_address_sanitizer)
{
    lcsm_arena a = {0};
    pieces     p;
    layout(&a, &p, 5);
    assert_int_equal(lcsm_arena_reserve(&a, NULL), LCSM_OK);
    layout(&a, &p, 5);
    assert_false(__asan_address_is_poisoned(p.a + 14));
    assert_true(__asan_address_is_poisoned(p.a + 16));
    assert_true(__asan_address_is_poisoned((char *)p.b - 1));
    lcsm_arena_free(&a);
}
#endif

TEST(arena_free_of_an_empty_arena_is_fine)
{
    lcsm_arena a = {0};
    lcsm_arena_free(&a);
    assert_null(a.base);
}
