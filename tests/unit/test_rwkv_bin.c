/* test_rwkv_bin.c - the tensor files of rwkv.cpp are read, and every broken one is named. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/rwkv_bin.h"
#include "test.h"

/* A file under construction: int32 values and bytes. */
typedef struct {
    unsigned char data[4096];
    size_t        size;
} maker;

static void put(maker *m, const void *bytes, size_t size)
{
    assert_true(m->size + size <= sizeof m->data);
    memcpy(m->data + m->size, bytes, size);
    m->size += size;
}

static void put_int(maker *m, int32_t value)
{
    put(m, &value, sizeof value);
}

static maker header(int32_t type)
{
    maker m = {0};
    put_int(&m, 0x67676d66);
    put_int(&m, 101);
    put_int(&m, 7);
    put_int(&m, 3);
    put_int(&m, 2);
    put_int(&m, type);
    return m;
}

/* A matrix of 2 rows and 3 columns, or a vector of 3. */
static void put_tensor(maker *m, const char *key, int32_t rank, int32_t type)
{
    put_int(m, rank);
    put_int(m, (int32_t)strlen(key));
    put_int(m, type);
    put_int(m, 3);
    if (rank == 2) put_int(m, 2);
    put(m, key, strlen(key));
    for (int j = 0; j < (rank == 2 ? 6 : 3); j++) {
        float    value = (float)j;
        uint16_t half  = (uint16_t)(0x3C00 + j); /* 1 + j / 1024 */
        if (type == 0) put(m, &value, sizeof value);
        else put(m, &half, sizeof half);
    }
}

static void refused(const maker *m, lcsm_status status, const char *words)
{
    lcsm_rwkv_bin  b;
    lcsm_error     err  = {0};
    unsigned char *copy = malloc(m->size == 0 ? 1 : m->size); /* its end is seen by the sanitizer */
    assert_non_null(copy);
    memcpy(copy, m->data, m->size);
    assert_int_equal(lcsm_rwkv_bin_parse(&b, "f.bin", copy, m->size, &err), status);
    if (strstr(err.text, words) == NULL) fail_msg("\"%s\" lacks \"%s\"", err.text, words);
    assert_null(b.rows);
    lcsm_rwkv_bin_close(&b);
    free(copy);
}

TEST(rwkv_bin_tensors_are_found_with_their_shape_reversed)
{
    maker             m = header(1);
    lcsm_rwkv_bin     b;
    lcsm_named_tensor t;
    lcsm_error        err = {0};
    float             values[6];
    put_tensor(&m, "emb.weight", 2, 1);
    put_tensor(&m, "blocks.0.ln0.weight", 1, 0);
    if (lcsm_rwkv_bin_parse(&b, "f.bin", m.data, m.size, &err) != LCSM_OK) fail_msg("%s", err.text);
    assert_int_equal(b.version, 101);
    assert_int_equal(b.vocab, 7);
    assert_int_equal(b.embed, 3);
    assert_int_equal(b.layers, 2);
    assert_int_equal(b.element, LCSM_ELEMENT_F16);
    assert_int_equal(b.count, 2);
    assert_true(lcsm_rwkv_bin_find(&t, &b, "emb.weight"));
    assert_string_equal(t.name, "emb.weight");
    assert_int_equal(t.rank, 2);
    assert_int_equal(t.shape[0], 2);
    assert_int_equal(t.shape[1], 3);
    assert_int_equal(lcsm_named_tensor_f32(values, &t, NULL), LCSM_OK);
    assert_true(values[0] == 1.0f && values[5] == 1.0f + 5.0f / 1024);
    assert_true(lcsm_rwkv_bin_find(&t, &b, "blocks.0.ln0.weight"));
    assert_int_equal(t.element, LCSM_ELEMENT_F32);
    assert_int_equal(lcsm_named_tensor_f32(values, &t, NULL), LCSM_OK);
    assert_true(values[2] == 2.0f);
    assert_false(lcsm_rwkv_bin_find(&t, &b, "emb"));
    lcsm_rwkv_bin_close(&b);
    lcsm_rwkv_bin_close(&b);
}

TEST(rwkv_bin_without_tensors_is_valid)
{
    maker             m = header(0);
    lcsm_rwkv_bin     b;
    lcsm_named_tensor t;
    assert_int_equal(lcsm_rwkv_bin_parse(&b, "f.bin", m.data, m.size, NULL), LCSM_OK);
    assert_int_equal(b.count, 0);
    assert_false(lcsm_rwkv_bin_find(&t, &b, "a"));
    lcsm_rwkv_bin_close(&b);
}

static void header_with(size_t index, int32_t value, lcsm_status status, const char *words)
{
    maker m = header(0);
    memcpy(m.data + 4 * index, &value, sizeof value);
    refused(&m, status, words);
}

TEST(rwkv_bin_header_that_is_wrong_is_refused)
{
    header_with(0, 0x12345678, LCSM_ERR_FORMAT, "magic 0x12345678; expected 0x67676d66");
    header_with(1, 99, LCSM_ERR_FORMAT, "version 99; expected 100 or 101");
    header_with(1, 102, LCSM_ERR_FORMAT, "version 102");
    header_with(2, 0, LCSM_ERR_FORMAT, "n_vocab is 0; expected at least 1");
    header_with(3, -5, LCSM_ERR_FORMAT, "n_embed is -5");
    header_with(4, 0, LCSM_ERR_FORMAT, "n_layer is 0");
    header_with(5, 2, LCSM_ERR_FORMAT, "data type 2; expected 0 (F32) or 1 (F16)");
    header_with(5, -1, LCSM_ERR_FORMAT, "data type -1");
}

static void entry_with(size_t index, int32_t value, const char *words)
{
    maker m = header(0);
    put_tensor(&m, "key", 2, 0);
    memcpy(m.data + 24 + 4 * index, &value, sizeof value);
    refused(&m, LCSM_ERR_FORMAT, words);
}

TEST(rwkv_bin_tensor_that_is_wrong_is_refused)
{
    entry_with(0, 0, "the tensor at byte 24 has 0 axes; expected 1 to 8");
    entry_with(0, 9, "has 9 axes");
    entry_with(0, -1, "has -1 axes");
    entry_with(1, 0, "has a key of 0 bytes; expected 1 to 512");
    entry_with(1, 513, "has a key of 513 bytes");
    entry_with(1, INT32_MIN, "has a key of -2147483648 bytes");
    entry_with(1, 400, "extends beyond the end");
    entry_with(2, 1, "has data type 1 in a file of F32");
    entry_with(2, 7, "has data type 7");
    entry_with(3, 0, "key has an axis of 0; expected at least 1");
    entry_with(4, -2, "key has an axis of -2");
    entry_with(3, INT32_MAX, "extends beyond the end");
    entry_with(4, 3, "extends beyond the end");
    entry_with(5, 0x79656Bff, "is not UTF-8 without zeros");
    entry_with(5, 0, "is not UTF-8 without zeros");
}

TEST(rwkv_bin_shape_whose_product_overflows_is_refused)
{
    maker m = header(0);
    put_int(&m, 8);
    put_int(&m, 1);
    put_int(&m, 0);
    for (int j = 0; j < 8; j++) put_int(&m, INT32_MAX);
    put(&m, "k", 1);
    refused(&m, LCSM_ERR_FORMAT, "extends beyond the end");
}

TEST(rwkv_bin_cut_anywhere_is_refused_but_between_tensors)
{
    maker         m = header(0);
    lcsm_rwkv_bin b;
    put_tensor(&m, "a", 1, 0);
    size_t one = m.size;
    put_tensor(&m, "b", 2, 0);
    size_t whole = m.size;
    for (m.size = 0; m.size < whole; m.size++) {
        if (m.size != 24 && m.size != one) {
            refused(&m, LCSM_ERR_FORMAT, m.size < 24 ? "expected a header" : "beyond the end");
            continue;
        }
        assert_int_equal(lcsm_rwkv_bin_parse(&b, "f.bin", m.data, m.size, NULL), LCSM_OK);
        lcsm_rwkv_bin_close(&b);
    }
}

TEST(rwkv_bin_duplicate_keys_are_refused)
{
    maker m = header(0);
    put_tensor(&m, "a", 1, 0);
    put_tensor(&m, "b", 1, 0);
    put_tensor(&m, "a", 2, 0);
    refused(&m, LCSM_ERR_FORMAT, "two tensors have the name a");
}

TEST(rwkv_bin_released_tiny_model_is_read_where_it_is)
{
    static const char PATH[] = "../shared/data/rwkv-tiny/tiny-rwkv-4v0-660K-FP32.bin";
    lcsm_rwkv_bin     b;
    lcsm_named_tensor t;
    lcsm_error        err   = {0};
    size_t            total = 0;
    if (access(PATH, R_OK) != 0) skip();
    if (lcsm_rwkv_bin_open(&b, PATH, &err) != LCSM_OK) fail_msg("%s", err.text);
    assert_int_equal(b.version, 100);
    assert_int_equal(b.vocab, 256);
    assert_int_equal(b.embed, 128);
    assert_int_equal(b.layers, 4);
    assert_true(lcsm_rwkv_bin_find(&t, &b, "emb.weight"));
    assert_int_equal(t.shape[0], 256);
    assert_int_equal(t.shape[1], 128);
    assert_true(lcsm_rwkv_bin_find(&t, &b, "blocks.3.ffn.key.weight"));
    assert_int_equal(t.shape[1], 128);
    for (size_t j = 0; j < b.count; j++) {
        size_t count = 0, bytes = 0;
        t = lcsm_rwkv_bin_at(&b, j);
        assert_true(lcsm_named_tensor_measure(&t, &count, &bytes));
        assert_int_equal(lcsm_named_tensor_nonfinite(&t), 0);
        total += count;
    }
    assert_in_range(total, 650000, 670000);
    lcsm_rwkv_bin_close(&b);
}
