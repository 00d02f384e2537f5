/* GGUF files: a good one of every type, one mistake at a time, and what llama.cpp has. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/gguf.h"
#include "format/json_doc.h"
#include "test.h"

/* ---- files made by hand ------------------------------------------------------------------ */

typedef struct {
    unsigned char bytes[8192];
    size_t        size;
} file;

static void put(file *f, const void *data, size_t size)
{
    assert_true(f->size + size <= sizeof f->bytes);
    memcpy(f->bytes + f->size, data, size);
    f->size += size;
}

static void put_u32(file *f, uint32_t v)
{
    put(f, &v, sizeof v);
}

static void put_u64(file *f, uint64_t v)
{
    put(f, &v, sizeof v);
}

static void put_text(file *f, const char *text)
{
    put_u64(f, strlen(text));
    put(f, text, strlen(text));
}

/* What a file has; zeros are a good one with one tensor "x" of 2 x 32 numbers of a type. */
typedef struct {
    uint32_t    version, type, rank, key_type;
    uint64_t    tensors, keys, offset, align, dim;
    const char *name, *second;
    size_t      cut;
} recipe;

static file make(recipe r)
{
    file     f       = {.size = 0};
    uint64_t dims[4] = {r.dim != 0 ? r.dim : 32, 2, 1, 1};
    uint64_t count   = r.tensors != 0 ? r.tensors : r.second != NULL ? 2 : 1;
    put(&f, "GGUF", 4);
    put_u32(&f, r.version != 0 ? r.version : 3);
    put_u64(&f, count);
    put_u64(&f, r.keys != 0 ? r.keys : 3);
    put_text(&f, "general.architecture");
    put_u32(&f, r.key_type != 0 ? r.key_type : 8);
    put_text(&f, "mamba");
    put_text(&f, "general.alignment");
    put_u32(&f, 4);
    put_u32(&f, r.align != 0 ? (uint32_t)r.align : 64);
    put_text(&f, "list");
    put_u32(&f, 9);
    put_u32(&f, 8);
    put_u64(&f, 2);
    put_text(&f, "a");
    put_text(&f, "bc");
    for (int j = 0; j < (r.second != NULL ? 2 : 1); j++) {
        put_text(&f, j == 0 && r.name != NULL ? r.name : j == 0 ? "x" : r.second);
        put_u32(&f, r.rank != 0 ? r.rank : 2);
        for (uint32_t k = 0; k < (r.rank != 0 && r.rank < 4 ? r.rank : 2); k++)
            put_u64(&f, dims[k]);
        put_u32(&f, r.type);
        put_u64(&f, r.offset);
    }
    while (f.size % 64 != 0) put(&f, "", 1);
    for (size_t j = 0; j < 256; j++) put(&f, &(unsigned char){(unsigned char)(7 * j % 60)}, 1);
    f.size -= r.cut;
    return f;
}

static lcsm_status parse(lcsm_gguf *g, recipe r, lcsm_error *err)
{
    static file f; /* outlives what is parsed */
    f = make(r);
    return lcsm_gguf_parse(g, "file", f.bytes, f.size, err);
}

TEST(gguf_reads_keys_and_tensors)
{
    lcsm_gguf         g;
    lcsm_error        err = {0};
    lcsm_named_tensor t;
    if (parse(&g, (recipe){0}, &err) != LCSM_OK) fail_msg("%s", err.text);
    assert_string_equal(json_string_value(json_object_get(g.keys, "general.architecture")),
                        "mamba");
    assert_int_equal(json_integer_value(json_object_get(g.keys, "general.alignment")), 64);
    assert_null(json_object_get(g.keys, "list"));
    assert_int_equal(g.count, 1);
    assert_int_equal(lcsm_gguf_tensors(&t, &g, &err), LCSM_OK);
    assert_int_equal(t.element, LCSM_ELEMENT_F32);
    assert_int_equal(t.shape[0], 2);
    assert_int_equal(t.shape[1], 32);
    lcsm_gguf_close(&g);
    assert_int_equal(parse(&g, (recipe){.type = 8, .version = 2}, &err), LCSM_OK);
    assert_int_equal(lcsm_gguf_tensors(&t, &g, &err), LCSM_OK);
    assert_int_equal(t.element, LCSM_ELEMENT_F32);
    lcsm_gguf_close(&g);
}

TEST(gguf_names_what_is_wrong)
{
    static const struct {
        recipe      r;
        const char *says;
    } cases[] = {
        {{.version = 1}, "GGUF version 1; expected 2 or 3"},
        {{.version = 0x03000000}, "big-endian"},
        {{.tensors = 1 << 20}, "more keys or tensors"},
        {{.keys = UINT64_MAX}, "more keys or tensors"},
        {{.tensors = 3}, "ends inside its header"},
        {{.key_type = 13}, "a value of the unknown type"},
        {{.key_type = 0x10000}, "a value of the unknown type"},
        {{.align = 48}, "not a power of two"},
        {{.offset = 32}, "not aligned"},
        {{.offset = 64}, "extends beyond"},
        {{.offset = UINT64_MAX - 63}, "extends beyond"},
        {{.type = 16}, "type 16, which is not supported"},
        {{.rank = 5}, "no axes, or more than 4"},
        {{.dim = 33, .type = 8}, "whole number of blocks"},
        {{.dim = UINT64_MAX / 2}, "overflows"},
        {{.name = ""}, "no letters, or more than 63"},
        {{.name = "\xff"}, "not UTF-8"},
        {{.second = "x"}, "overlap"},
        {{.cut = 257}, "extends beyond"},
        {{.cut = 400}, "ends inside its header"},
    };
    for (size_t j = 0; j < COUNT(cases); j++) {
        lcsm_gguf  g;
        lcsm_error err = {0};
        if (parse(&g, cases[j].r, &err) != LCSM_ERR_FORMAT)
            fail_msg("\"%s\" passed", cases[j].says);
        if (strstr(err.text, cases[j].says) == NULL)
            fail_msg("\"%s\" does not say \"%s\"", err.text, cases[j].says);
    }
}

TEST(gguf_every_length_that_is_cut_is_refused)
{
    file       f = make((recipe){.type = 8});
    lcsm_gguf  g;
    lcsm_error err;
    size_t     data = 2 * 34; /* behind them is room that no tensor uses */
    for (size_t n = 0; n < f.size - 256 + data; n++)
        assert_int_equal(lcsm_gguf_parse(&g, "file", f.bytes, n, &err), LCSM_ERR_FORMAT);
}

/* ---- numbers ----------------------------------------------------------------------------- */

TEST(half_precision_goes_there_and_back)
{
    for (uint32_t h = 0; h < 0x10000; h++) {
        float x = lcsm_half_to_float((uint16_t)h);
        if (!isnan(x)) assert_int_equal(lcsm_half_from_float(x), h);
    }
    assert_int_equal(lcsm_half_from_float(1 + 0x1p-11f), 0x3C00); /* a tie, to even */
    assert_int_equal(lcsm_half_from_float(1 + 3 * 0x1p-11f), 0x3C02);
    assert_int_equal(lcsm_half_from_float(65519), 0x7BFF);
    assert_int_equal(lcsm_half_from_float(65520), 0x7C00);
    assert_int_equal(lcsm_half_from_float(1e-9f), 0);
    assert_true(isnan(lcsm_half_to_float(lcsm_half_from_float(NAN))));
}

TEST(blocks_of_eight_bits_are_within_half_a_step)
{
    float         x[32], y[32];
    unsigned char block[34];
    for (int j = 0; j < 32; j++) x[j] = sinf((float)j) * 3;
    lcsm_block_encode_q8(block, x);
    lcsm_blocks_decode(y, lcsm_block_type_of(8), block, 32);
    /* half a step of 3 / 127, and the rounding of the scale to 11 bits */
    for (int j = 0; j < 32; j++) assert_true(fabsf(x[j] - y[j]) <= 3.0f / 127 * 0.57f);
    memset(x, 0, sizeof x);
    lcsm_block_encode_q8(block, x);
    lcsm_blocks_decode(y, lcsm_block_type_of(8), block, 32);
    for (int j = 0; j < 32; j++) assert_true(y[j] == 0);
}

/* Bytes and numbers that the gguf package made. */
TEST(blocks_of_every_type_are_exact)
{
    static const char path[] = "../shared/oracles-2/gguf_blocks.json";
    lcsm_json_doc     doc    = {0};
    if (lcsm_json_doc_read(&doc, path, LCSM_JSON_LARGE_SIZE, NULL) != LCSM_OK) skip();
    json_t *cases = json_object_get(doc.root, "cases");
    assert_int_equal(json_array_size(cases), 8);
    for (size_t c = 0; c < json_array_size(cases); c++) {
        json_t *one = json_array_get(cases, c), *in, *out;
        int     id;
        assert_int_equal(json_unpack(one, "{s:{s:i}, s:{s:{s:o}}, s:{s:{s:o}}}", "config",
                                     "ggml_type", &id, "inputs", "bytes", "data", &in, "outputs",
                                     "values", "data", &out),
                         0);
        const lcsm_block_type *type = lcsm_block_type_of((uint32_t)id);
        assert_non_null(type);
        unsigned char bytes[1024];
        float         values[1024];
        size_t        n = json_array_size(out);
        assert_true(n <= 1024 && json_array_size(in) == n / type->values * type->bytes);
        for (size_t j = 0; j < json_array_size(in); j++)
            bytes[j] = (unsigned char)json_integer_value(json_array_get(in, j));
        lcsm_blocks_decode(values, type, bytes, n);
        for (size_t j = 0; j < n; j++) {
            double want = json_number_value(json_array_get(out, j));
            if ((double)values[j] != want)
                fail_msg("%s: number %zu is %.9g, want %.9g", type->name, j, (double)values[j],
                         want);
        }
    }
    lcsm_json_doc_free(&doc);
}
