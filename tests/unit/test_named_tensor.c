/* test_named_tensor.c - every element type has its size, and every number its value. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "format/named_tensor.h"
#include "test.h"

TEST(element_is_found_by_its_whole_name)
{
    lcsm_element found = LCSM_ELEMENT_COUNT;
    for (int j = 0; j < LCSM_ELEMENT_COUNT; j++) {
        const char *name = lcsm_element_name((lcsm_element)j);
        assert_true(lcsm_element_find(&found, name, strlen(name)));
        assert_int_equal(found, j);
    }
    assert_false(lcsm_element_find(&found, "F3", 2));
    assert_false(lcsm_element_find(&found, "F32x", 4));
    assert_false(lcsm_element_find(&found, "f32", 3));
    assert_false(lcsm_element_find(&found, "", 0));
    assert_int_equal(lcsm_element_bits(LCSM_ELEMENT_F6_E2M3), 6);
    assert_int_equal(lcsm_element_bits(LCSM_ELEMENT_C64), 64);
}

TEST(tensor_measure_checks_every_product)
{
    static const struct {
        lcsm_element element;
        size_t       rank, shape[3];
        bool         fits;
        size_t       count, bytes;
    } CASES[] = {
        {LCSM_ELEMENT_F32, 0, {0}, true, 1, 4},
        {LCSM_ELEMENT_F32, 1, {0}, true, 0, 0},
        {LCSM_ELEMENT_F64, 3, {2, 3, 5}, true, 30, 240},
        {LCSM_ELEMENT_F4, 1, {6}, true, 6, 3},
        {LCSM_ELEMENT_F4, 1, {7}, false, 0, 0},
        {LCSM_ELEMENT_F4, 0, {0}, false, 0, 0},
        {LCSM_ELEMENT_F6_E3M2, 1, {4}, true, 4, 3},
        {LCSM_ELEMENT_F6_E3M2, 1, {2}, false, 0, 0},
        {LCSM_ELEMENT_U8, 2, {SIZE_MAX / 2, 3}, false, 0, 0},
        {LCSM_ELEMENT_F64, 1, {SIZE_MAX / 32}, false, 0, 0},
    };
    for (size_t j = 0; j < COUNT(CASES); j++) {
        lcsm_named_tensor t     = {.element = CASES[j].element, .rank = CASES[j].rank};
        size_t            count = 0, bytes = 0;
        memcpy(t.shape, CASES[j].shape, sizeof CASES[j].shape);
        assert_int_equal(lcsm_named_tensor_measure(&t, &count, &bytes), CASES[j].fits);
        assert_int_equal(count, CASES[j].count);
        assert_int_equal(bytes, CASES[j].bytes);
    }
}

TEST(tensor_text_has_type_and_shape)
{
    char              text[LCSM_NAMED_TEXT];
    lcsm_named_tensor t = {.element = LCSM_ELEMENT_BF16, .rank = 2, .shape = {13, 8}};
    assert_string_equal(lcsm_named_tensor_text(text, &t), "BF16 [13, 8]");
    t.rank = 0;
    assert_string_equal(lcsm_named_tensor_text(text, &t), "BF16 []");
    t.element = LCSM_ELEMENT_F8_E4M3FNUZ;
    t.rank    = LCSM_NAMED_RANK;
    for (size_t j = 0; j < LCSM_NAMED_RANK; j++) t.shape[j] = SIZE_MAX;
    assert_int_equal(strlen(lcsm_named_tensor_text(text, &t)), 11 + 1 + 8 * 20 + 7 * 2 + 2);
}

/* The value of 16 bits with so many of exponent, by its definition. */
static double small_value(unsigned bits, int exponent_bits, int fraction_bits)
{
    int    top = (1 << exponent_bits) - 1, bias = top / 2;
    int    exponent = (int)(bits >> fraction_bits) & top;
    double fraction = ldexp((double)(bits & ((1U << fraction_bits) - 1)), -fraction_bits);
    double size     = exponent == top ? (fraction == 0.0 ? (double)INFINITY : (double)NAN)
                    : exponent == 0   ? ldexp(fraction, 1 - bias)
                                      : ldexp(1.0 + fraction, exponent - bias);
    return (bits & 0x8000) != 0 ? -size : size;
}

static void check_all_small(lcsm_element element, int exponent_bits, int fraction_bits)
{
    enum { N = 65536 };
    unsigned char    *bytes = malloc(2 * N + 1); /* one byte off any alignment */
    float            *f     = malloc(N * sizeof *f);
    double           *d     = malloc(N * sizeof *d);
    lcsm_named_tensor t     = {.element = element, .rank = 1, .shape = {N}, .data = bytes + 1};
    size_t            wild  = 0;
    assert_true(bytes != NULL && f != NULL && d != NULL);
    for (size_t j = 0; j < N; j++) {
        bytes[1 + 2 * j] = (unsigned char)(j & 0xFF);
        bytes[2 + 2 * j] = (unsigned char)(j >> 8);
    }
    assert_int_equal(lcsm_named_tensor_f32(f, &t, NULL), LCSM_OK);
    assert_int_equal(lcsm_named_tensor_f64(d, &t, NULL), LCSM_OK);
    for (unsigned j = 0; j < N; j++) {
        double want = small_value(j, exponent_bits, fraction_bits);
        wild += isfinite(want) ? 0 : 1;
        if (isnan(want)) {
            assert_true(isnan(f[j]) && isnan(d[j]));
        } else {
            assert_true(f[j] == (float)want && d[j] == want);
            assert_true(!signbit(f[j]) == !signbit(want));
        }
    }
    assert_int_equal(lcsm_named_tensor_nonfinite(&t), wild);
    free(bytes);
    free(f);
    free(d);
}

TEST(tensor_f16_every_value_is_its_definition)
{
    check_all_small(LCSM_ELEMENT_F16, 5, 10);
}

TEST(tensor_bf16_every_value_is_its_definition)
{
    check_all_small(LCSM_ELEMENT_BF16, 8, 7);
}

TEST(tensor_f32_and_f64_are_read_from_any_address)
{
    static const double VALUES[] = {0.0, -1.5, 1e-300, 3.14159, 1e30, -0.0, 5e-324};
    enum { N = COUNT(VALUES) };
    unsigned char bytes[8 * N + 8];
    float         f[N], floats[N];
    double        d[N];
    for (size_t j = 0; j < N; j++) floats[j] = (float)VALUES[j];
    for (size_t shift = 0; shift < 8; shift++) {
        lcsm_named_tensor t = {.name = "x", .rank = 1, .shape = {N}, .data = bytes + shift};
        memcpy(bytes + shift, VALUES, sizeof VALUES);
        t.element = LCSM_ELEMENT_F64;
        assert_int_equal(lcsm_named_tensor_f64(d, &t, NULL), LCSM_OK);
        assert_memory_equal(d, VALUES, sizeof VALUES);
        assert_int_equal(lcsm_named_tensor_f32(f, &t, NULL), LCSM_OK);
        assert_memory_equal(f, floats, sizeof floats);
        memcpy(bytes + shift, floats, sizeof floats);
        t.element = LCSM_ELEMENT_F32;
        assert_int_equal(lcsm_named_tensor_f32(f, &t, NULL), LCSM_OK);
        assert_memory_equal(f, floats, sizeof floats);
        assert_int_equal(lcsm_named_tensor_f64(d, &t, NULL), LCSM_OK);
        for (size_t j = 0; j < N; j++) assert_true(d[j] == (double)floats[j]);
    }
}

TEST(tensor_of_integers_is_no_weight)
{
    lcsm_error        err = {0};
    float             f[1];
    double            d[1];
    int64_t           data = -1;
    lcsm_named_tensor t    = {.name = "ids", .element = LCSM_ELEMENT_I64, .data = &data};
    assert_int_equal(lcsm_named_tensor_f32(f, &t, &err), LCSM_ERR_FORMAT);
    assert_string_equal(err.text, "ids has type I64; expected F64, F32, F16 or BF16");
    assert_int_equal(lcsm_named_tensor_f64(d, &t, &err), LCSM_ERR_FORMAT);
    assert_int_equal(lcsm_named_tensor_nonfinite(&t), 0);
}

TEST(tensor_nonfinite_counts_infinities_and_nans)
{
    const float       f[] = {1.0f, INFINITY, -INFINITY, NAN, FLT_MAX, 0.0f};
    const double      d[] = {1.0, (double)INFINITY, DBL_MAX, (double)NAN};
    lcsm_named_tensor t   = {.element = LCSM_ELEMENT_F32, .rank = 1, .shape = {6}, .data = f};
    assert_int_equal(lcsm_named_tensor_nonfinite(&t), 3);
    t.element  = LCSM_ELEMENT_C64;
    t.shape[0] = 3;
    assert_int_equal(lcsm_named_tensor_nonfinite(&t), 3);
    t = (lcsm_named_tensor){.element = LCSM_ELEMENT_F64, .rank = 1, .shape = {4}, .data = d};
    assert_int_equal(lcsm_named_tensor_nonfinite(&t), 2);
}
