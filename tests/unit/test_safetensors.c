/*
 * test_safetensors.c - the reader takes what the format allows and nothing else.
 *
 * Tests of one rule carry its number: s1 to s15.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "format/safetensors.h"
#include "temp_folder.h"
#include "test.h"

/* Writes a file of the given length field, header and zeros behind it, and opens it. */
static lcsm_status open_raw(lcsm_safetensors *s, uint64_t length, const void *header, size_t size,
                            size_t buffer, unsigned flags, lcsm_error *err)
{
    temp_folder    f     = temp_folder_make();
    size_t         whole = 8 + size + buffer;
    unsigned char *data  = calloc(1, whole);
    assert_non_null(data);
    memcpy(data, &length, 8);
    memcpy(data + 8, header, size);
    temp_write(&f, "file", data, whole);
    free(data);
    lcsm_status st = lcsm_safetensors_open(s, temp_path(&f, "file"), flags, err);
    temp_folder_remove(&f);
    return st;
}

static lcsm_status open_text(lcsm_safetensors *s, const char *header, size_t buffer,
                             lcsm_error *err)
{
    return open_raw(s, strlen(header), header, strlen(header), buffer, 0, err);
}

/* The file is refused, and the message has these words. */
static void refused(const char *header, size_t buffer, const char *words)
{
    lcsm_safetensors s;
    lcsm_error       err = {0};
    assert_int_equal(open_text(&s, header, buffer, &err), LCSM_ERR_FORMAT);
    if (strstr(err.text, words) == NULL) fail_msg("\"%s\" lacks \"%s\"", err.text, words);
    assert_null(s.rows);
    assert_null(s.file.data);
    lcsm_safetensors_close(&s);
}

static void accepted(const char *header, size_t buffer)
{
    lcsm_safetensors s;
    lcsm_error       err = {0};
    if (open_text(&s, header, buffer, &err) != LCSM_OK) fail_msg("%s", err.text);
    lcsm_safetensors_close(&s);
}

#define F32_AT(begin, end) "\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[" #begin "," #end "]"

TEST(safetensors_s1_file_below_eight_bytes_is_refused)
{
    lcsm_safetensors    s;
    lcsm_error          err     = {0};
    const unsigned char data[8] = {2, 0, 0, 0, 0, 0, 0, 0};
    for (size_t size = 0; size < 8; size++) {
        assert_int_equal(lcsm_safetensors_parse(&s, "f", data, size, 0, &err), LCSM_ERR_FORMAT);
        assert_non_null(strstr(err.text, "f: header too small"));
    }
    temp_folder f = temp_folder_make();
    temp_write(&f, "file", "", 0);
    assert_int_equal(lcsm_safetensors_open(&s, temp_path(&f, "file"), 0, &err), LCSM_ERR_FORMAT);
    assert_non_null(strstr(err.text, "header too small: 0 bytes"));
    temp_folder_remove(&f);
}

TEST(safetensors_s2_header_longer_than_the_limit_is_refused)
{
    lcsm_safetensors s;
    lcsm_error       err = {0};
    assert_int_equal(open_raw(&s, 100000001, "{}", 2, 0, 0, &err), LCSM_ERR_FORMAT);
    assert_non_null(strstr(err.text, "header too large: 100000001"));
}

TEST(safetensors_s2_header_longer_than_the_file_is_refused_without_overflow)
{
    static const uint64_t LENGTHS[] = {3, 100000000, UINT64_MAX, UINT64_MAX - 7, (uint64_t)1 << 63};
    lcsm_safetensors      s;
    lcsm_error            err = {0};
    for (size_t j = 0; j < COUNT(LENGTHS); j++) {
        assert_int_equal(open_raw(&s, LENGTHS[j], "{}", 2, 0, 0, &err), LCSM_ERR_FORMAT);
        assert_non_null(strstr(err.text, j < 2 ? "invalid header length" : "header too large"));
    }
}

TEST(safetensors_s3_anything_but_whitespace_around_the_object_is_refused)
{
    refused("", 0, "invalid start");
    refused("   ", 0, "invalid start");
    refused("x{}", 0, "invalid start");
    refused("[]", 0, "invalid start");
    refused("\xEF\xBB\xBF{}", 0, "invalid start");
    refused("\v{}", 0, "invalid start");
    refused("{}x", 0, "trailing data: byte 2");
    refused("{} {}", 0, "trailing data: byte 3");
    refused("{}\v", 0, "trailing data");
    lcsm_safetensors s;
    lcsm_error       err = {0};
    assert_int_equal(open_raw(&s, 3, "{}\0", 3, 0, 0, &err), LCSM_ERR_FORMAT);
    assert_non_null(strstr(err.text, "trailing data"));
}

TEST(safetensors_s3_leading_whitespace_is_refused_only_when_strict)
{
    static const char TEXT[] = " \t\r\n{} \t\r\n";
    lcsm_safetensors  s;
    lcsm_error        err = {0};
    assert_int_equal(open_raw(&s, strlen(TEXT), TEXT, strlen(TEXT), 0, 0, &err), LCSM_OK);
    lcsm_safetensors_close(&s);
    assert_int_equal(
        open_raw(&s, strlen(TEXT), TEXT, strlen(TEXT), 0, LCSM_SAFETENSORS_STRICT, &err),
        LCSM_ERR_FORMAT);
    assert_non_null(strstr(err.text, "invalid start"));
    assert_int_equal(open_raw(&s, 4, "{}  ", 4, 0, LCSM_SAFETENSORS_STRICT, &err), LCSM_OK);
    lcsm_safetensors_close(&s);
}

TEST(safetensors_s4_header_that_is_not_utf8_is_refused)
{
    refused("{\"__metadata__\":{\"a\":\"\xC0\xAF\"}}", 0, "not UTF-8: byte 22");
    refused("{\"__metadata__\":{\"a\":\"\xED\xA0\x80\"}}", 0, "not UTF-8");
    refused("{\"\xFF\":{" F32_AT(0, 4) "}}", 4, "not UTF-8: byte 2 of the header is 0xff");
    refused("{}\xC2", 0, "not UTF-8");
    accepted("{\"__metadata__\":{\"\xC3\xA9\":\"\xF0\x9F\x98\x80\"}}", 0);
}

TEST(safetensors_s5_header_that_is_not_strict_json_is_refused)
{
    refused("{\"a\":NaN}", 0, "bad JSON: byte 5");
    refused("{\"a\":1,}", 0, "bad JSON");
    refused("{'a':1}", 0, "bad JSON");
    refused("{/**/}", 0, "bad JSON");
    refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[01],\"data_offsets\":[0,4]}}", 4, "leading zero");
    refused("{\"__metadata__\":{\"a\":\"\n\"}}", 0, "control character");
    refused("{\"__metadata__\":{\"a\":\"\\ud800\"}}", 0, "half a surrogate pair");
    refused("{", 0, "bad JSON");
    refused("{\"a\":[[[[]]]]}", 0, "the nesting is too deep");
    refused("{\"a\":[[[]]]}", 0, "bad tensor entry"); /* four levels are JSON still */
}

TEST(safetensors_s6_duplicate_names_are_refused_at_every_level)
{
    refused("{\"a\":{" F32_AT(0, 4) "},\"a\":{" F32_AT(4, 8) "}}", 8, "duplicate key: a");
    refused("{\"a\":{" F32_AT(0, 4) "},\"\\u0061\":{" F32_AT(4, 8) "}}", 8, "duplicate key: a");
    refused("{\"a\":{\"dtype\":\"F32\"," F32_AT(0, 4) "}}", 4, "duplicate key: a has dtype twice");
    refused("{\"a\":{\"\\u0064type\":\"F32\"," F32_AT(0, 4) "}}", 4, "duplicate key");
    refused("{\"__metadata__\":{\"k\":\"1\",\"\\u006b\":\"2\"}}", 0,
            "duplicate key: __metadata__.k");
    refused("{\"__metadata__\":{},\"__metadata__\":{}}", 0, "duplicate key: __metadata__");
    refused("{\"__metadata__\":{},\"\\u005f_metadata__\":{}}", 0, "duplicate key: __metadata__");
}

TEST(safetensors_s7_numbers_other_than_naturals_below_2_to_the_63_are_refused)
{
    static const char *const BAD[] = {"-1",
                                      "-0",
                                      "1.0",
                                      "1e0",
                                      "9223372036854775808",
                                      "\"1\"",
                                      "null",
                                      "[]",
                                      "99999999999999999999999"};
    for (size_t j = 0; j < COUNT(BAD); j++) {
        static const char *const PLACES[] = {
            "{\"a\":{\"dtype\":\"F32\",\"shape\":[%s],\"data_offsets\":[0,4]}}",
            "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[%s,4]}}",
            "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,%s]}}",
        };
        for (size_t p = 0; p < COUNT(PLACES); p++) {
            const char *hole = strstr(PLACES[p], "%s");
            char        text[160];
            (void)snprintf(text, sizeof text, "%.*s%s%s", (int)(hole - PLACES[p]), PLACES[p],
                           BAD[j], hole + 2);
            refused(text, 4, "bad integer");
        }
    }
}

TEST(safetensors_s8_entry_without_exactly_its_three_members_is_refused)
{
    refused("{\"a\":1}", 0, "bad tensor entry: a is not an object");
    refused("{\"a\":{}}", 0, "lacks a member");
    refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, "lacks a member");
    refused("{\"a\":{" F32_AT(0, 4) ",\"x\":1}}", 4, "has an unknown member");
    refused("{\"a\":{" F32_AT(0, 4) ",\"Dtype\":\"F32\"}}", 4, "has an unknown member");
    refused("{\"a\":{\"dtype\":\"F31\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "unknown dtype");
    refused("{\"a\":{\"dtype\":\"f32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "unknown dtype");
    refused("{\"a\":{\"dtype\":\"\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "unknown dtype");
    refused("{\"a\":{\"dtype\":32,\"shape\":[1],\"data_offsets\":[0,4]}}", 4, "unknown dtype");
    refused("{\"a\":{\"dtype\":\"F32\",\"shape\":1,\"data_offsets\":[0,4]}}", 4, "not an array");
    refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":4}}", 4, "not an array");
    refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4]}}", 4,
            "does not have two data_offsets");
    refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4,4]}}", 4, "more than 2");
    refused("{\"__metadata__\":1}", 0, "__metadata__ is not an object");
    refused("{\"__metadata__\":{\"a\":1}}", 0, "\"a\" is not a string");
    accepted("{\"a\":{\"\\u0064type\":\"\\u004632\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4);
}

TEST(safetensors_s9_offsets_outside_the_buffer_are_refused)
{
    refused("{\"a\":{" F32_AT(0, 4) "}}", 3, "offset out of range: a has 0..4 of 3 bytes");
    refused("{\"a\":{" F32_AT(4, 0) "}}", 4, "offset out of range");
    refused("{\"a\":{" F32_AT(0, 9223372036854775807) "}}", 4, "offset out of range");
    refused("{\"a\":{" F32_AT(9223372036854775803, 9223372036854775807) "}}", 4,
            "offset out of range");
}

TEST(safetensors_s10_shape_that_does_not_match_the_bytes_is_refused)
{
#define SHAPED(type, shape)                                                                        \
    "{\"a\":{\"dtype\":\"" type "\",\"shape\":[" shape "],\"data_offsets\":[0,8]}}"
    refused(SHAPED("F32", "3"), 8, "shape/size mismatch: a is F32 [3] but has 8 bytes");
    refused(SHAPED("F32", "1"), 8, "shape/size mismatch");
    refused(SHAPED("F32", ""), 8, "shape/size mismatch");
    refused(SHAPED("F32", "0"), 8, "shape/size mismatch");
    refused(SHAPED("F32", "4294967296,4294967296"), 8, "shape/size mismatch"); /* 2^64 elements */
    refused(SHAPED("F64", "2305843009213693953"), 8, "shape/size mismatch");   /* 2^64 + 8 bytes */
    refused(SHAPED("F32", "9223372036854775807,2,2"), 8, "shape/size mismatch");
    refused(SHAPED("F4", "17"), 8, "shape/size mismatch"); /* 8 bytes and a half */
    refused(SHAPED("F6_E2M3", "11"), 8, "shape/size mismatch");
    accepted(SHAPED("F4", "16"), 8);
    accepted(SHAPED("C64", "1"), 8);
    accepted(SHAPED("BOOL", "2,2,2"), 8);
}

TEST(safetensors_s11_overlaps_and_holes_are_refused)
{
    refused("{\"a\":{" F32_AT(0, 4) "},\"b\":{" F32_AT(0, 4) "}}", 4, "overlap: ");
    refused("{\"a\":{" F32_AT(0, 4) "},\"b\":{" F32_AT(3, 7) "}}", 7,
            "overlap: b begins at byte 3");
    refused("{\"a\":{" F32_AT(0, 4) "},\"b\":{" F32_AT(5, 9) "}}", 9, "hole: b begins at byte 5");
    refused("{\"a\":{" F32_AT(1, 5) "}}", 5, "hole: a begins at byte 1; expected 0");
    accepted("{\"a\":{" F32_AT(4, 8) "},\"b\":{" F32_AT(0, 4) "}}", 8);
}

TEST(safetensors_s12_bytes_behind_the_last_tensor_are_refused)
{
    refused("{\"a\":{" F32_AT(0, 4) "}}", 5,
            "incomplete or trailing buffer: tensors end at byte 4; the buffer ends at 5");
    refused("{}", 1, "incomplete or trailing buffer");
    accepted("{}", 0);
}

TEST(safetensors_s13_rank_above_eight_is_refused)
{
    refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,4]}}", 4,
            "limit: an array of a has more than 8 numbers");
    accepted("{\"a\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1,1,1,1,1],\"data_offsets\":[0,4]}}", 4);
}

TEST(safetensors_s13_name_that_is_empty_long_or_has_a_zero_is_refused)
{
    char name[514], text[700];
    memset(name, 'n', sizeof name);
    for (size_t size = 512; size <= 513; size++) {
        (void)snprintf(text, sizeof text, "{\"%.*s\":{" F32_AT(0, 4) "}}", (int)size, name);
        if (size == 512) accepted(text, 4);
        else refused(text, 4, "limit: a name of 513 bytes; expected 1 to 512");
    }
    refused("{\"\":{" F32_AT(0, 4) "}}", 4, "limit: a name of 0 bytes");
    refused("{\"a\\u0000b\":{" F32_AT(0, 4) "}}", 4, "limit: a name with a zero byte");
}

/* A header of n empty tensors with the names 0, 1, ... */
static void put_many(lcsm_strbuf *text, size_t n)
{
    lcsm_strbuf_add(text, "{");
    for (size_t j = 0; j < n; j++)
        lcsm_strbuf_printf(text,
                           "%s\"%zu\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}",
                           j == 0 ? "" : ",", j);
    lcsm_strbuf_add(text, "}");
    assert_false(text->failed);
}

TEST(safetensors_s13_more_than_a_million_tensors_are_refused)
{
    lcsm_strbuf text = {0};
    put_many(&text, 1000001);
    refused(text.text, 0, "limit: more than 1000000 tensors");
    lcsm_strbuf_free(&text);
}

TEST(safetensors_s13_too_many_metadata_are_refused)
{
    lcsm_strbuf text = {0};
    lcsm_strbuf_add(&text, "{\"__metadata__\":{\"\":\"\"");
    for (int j = 0; j < LCSM_SAFETENSORS_METADATA; j++)
        lcsm_strbuf_printf(&text, ",\"%d\":\"\"", j);
    lcsm_strbuf_add(&text, "}}");
    refused(text.text, 0, "limit: more than 65536 metadata");
    lcsm_strbuf_free(&text);
}

TEST(safetensors_s14_empty_tensors_and_scalars_are_valid)
{
    lcsm_safetensors  s;
    lcsm_named_tensor t;
    lcsm_error        err = {0};
    if (open_text(&s,
                  "{\"e\":{\"dtype\":\"F64\",\"shape\":[3,0,5],\"data_offsets\":[0,0]},"
                  "\"f\":{\"dtype\":\"F64\",\"shape\":[0],\"data_offsets\":[0,0]},"
                  "\"s\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]},"
                  "\"z\":{\"dtype\":\"I8\",\"shape\":[0],\"data_offsets\":[4,4]}}",
                  4, &err)
        != LCSM_OK)
        fail_msg("%s", err.text);
    assert_int_equal(s.count, 4);
    assert_true(lcsm_safetensors_find(&t, &s, "e"));
    assert_int_equal(t.rank, 3);
    assert_int_equal(t.shape[0], 3);
    assert_int_equal(t.shape[1], 0);
    assert_int_equal(t.shape[2], 5);
    assert_true(lcsm_safetensors_find(&t, &s, "s"));
    assert_int_equal(t.rank, 0);
    lcsm_safetensors_close(&s);
    /* and a scalar that claims no bytes is not */
    refused("{\"s\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,0]}}", 0,
            "shape/size mismatch");
}

TEST(safetensors_s15_nonfinite_weights_are_read_and_counted_and_refused_on_demand)
{
    const float       values[4] = {1.0f, INFINITY, NAN, -2.0f};
    lcsm_named_tensor list[2]   = {
          {.name = "good", .element = LCSM_ELEMENT_F32, .rank = 1, .shape = {1}, .data = values},
          {.name = "wild", .element = LCSM_ELEMENT_F32, .rank = 1, .shape = {4}, .data = values}};
    temp_folder      f    = temp_folder_make();
    const char      *path = temp_path(&f, "file");
    lcsm_safetensors s;
    lcsm_error       err = {0};
    assert_int_equal(lcsm_safetensors_save(path, list, 2, NULL, 0, NULL), LCSM_OK);
    assert_int_equal(lcsm_safetensors_open(&s, path, 0, NULL), LCSM_OK);
    assert_int_equal(lcsm_safetensors_check_finite(&s, &err), LCSM_ERR_NUMBER);
    assert_non_null(strstr(err.text, "non-finite weights: 2 of the 4 numbers of wild"));
    lcsm_safetensors_close(&s);
    assert_int_equal(lcsm_safetensors_save(path, list, 1, NULL, 0, NULL), LCSM_OK);
    assert_int_equal(lcsm_safetensors_open(&s, path, 0, NULL), LCSM_OK);
    assert_int_equal(lcsm_safetensors_check_finite(&s, &err), LCSM_OK);
    lcsm_safetensors_close(&s);
    temp_folder_remove(&f);
}

TEST(safetensors_index_finds_every_name_and_no_other)
{
    lcsm_strbuf       text = {0};
    lcsm_safetensors  s;
    lcsm_named_tensor t;
    put_many(&text, 2000);
    assert_int_equal(open_text(&s, text.text, 0, NULL), LCSM_OK);
    assert_int_equal(s.count, 2000);
    for (size_t j = 0; j < 2000; j++) {
        char name[16];
        (void)snprintf(name, sizeof name, "%zu", j);
        assert_true(lcsm_safetensors_find(&t, &s, name));
        assert_string_equal(t.name, name);
        if (j > 0) assert_true(strcmp(s.rows[j - 1].name, s.rows[j].name) < 0);
    }
    assert_false(lcsm_safetensors_find(&t, &s, "2000"));
    assert_false(lcsm_safetensors_find(&t, &s, ""));
    lcsm_safetensors_close(&s);
    lcsm_strbuf_free(&text);
    assert_int_equal(open_text(&s, "{}", 0, NULL), LCSM_OK);
    assert_false(lcsm_safetensors_find(&t, &s, "a"));
    lcsm_safetensors_close(&s);
}

TEST(safetensors_metadata_are_unescaped)
{
    lcsm_safetensors s;
    assert_int_equal(
        open_text(&s, "{\"__metadata__\":{\"format\":\"p\\u0074\",\"\\n\":\"\"}}", 0, NULL),
        LCSM_OK);
    assert_string_equal(lcsm_safetensors_metadata(&s, "format"), "pt");
    assert_string_equal(lcsm_safetensors_metadata(&s, "\n"), "");
    assert_null(lcsm_safetensors_metadata(&s, "other"));
    assert_int_equal(s.count, 0);
    lcsm_safetensors_close(&s);
}

TEST(safetensors_released_tiny_models_are_read_where_they_are)
{
    static const struct {
        const char *path, *name;
        size_t      count, rows, cols;
    } FILES[] = {
        {"../shared/data/hf-tiny/tiny_mamba.safetensors", "backbone.embeddings.weight", 22, 13, 8},
        {"../shared/data/hf-tiny/tiny_rwkv.safetensors", "head.weight", 42, 13, 8},
    };
    for (size_t j = 0; j < COUNT(FILES); j++) {
        lcsm_safetensors  s;
        lcsm_named_tensor t;
        lcsm_error        err = {0};
        if (access(FILES[j].path, R_OK) != 0) skip();
        if (lcsm_safetensors_open(&s, FILES[j].path, LCSM_SAFETENSORS_STRICT, &err) != LCSM_OK)
            fail_msg("%s", err.text);
        assert_int_equal(s.count, FILES[j].count);
        assert_true(lcsm_safetensors_find(&t, &s, FILES[j].name));
        assert_int_equal(t.element, LCSM_ELEMENT_F32);
        assert_int_equal(t.rank, 2);
        assert_int_equal(t.shape[0], FILES[j].rows);
        assert_int_equal(t.shape[1], FILES[j].cols);
        assert_int_equal(lcsm_safetensors_check_finite(&s, NULL), LCSM_OK);
        lcsm_safetensors_close(&s);
    }
}
