/* test_safetensors_write.c - what is written is read back bit for bit, in the order promised. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lcsm/lcsm.h>

#include "base/strbuf.h"
#include "format/safetensors.h"
#include "test.h"

static unsigned char BYTES[4096];

static lcsm_named_tensor tensor(const char *name, lcsm_element element, size_t rank, size_t a,
                                size_t b)
{
    for (size_t j = 0; j < sizeof BYTES; j++) BYTES[j] = (unsigned char)(j * 31 + j / 256);
    return (lcsm_named_tensor){
        .name = name, .element = element, .rank = rank, .shape = {a, b}, .data = BYTES};
}

static lcsm_status to_text(void *to, const void *data, size_t size, lcsm_error *err)
{
    lcsm_strbuf_bytes(to, data, size);
    return ((lcsm_strbuf *)to)->failed ? lcsm_fail(err, LCSM_ERR_MEMORY, "full") : LCSM_OK;
}

static lcsm_strbuf write_all(const lcsm_named_tensor *list, size_t count)
{
    lcsm_strbuf text = {0};
    lcsm_error  err  = {0};
    if (lcsm_safetensors_write(to_text, &text, list, count, NULL, 0, &err) != LCSM_OK)
        fail_msg("%s", err.text);
    return text;
}

TEST(safetensors_writer_round_trips_every_type_and_rank)
{
    lcsm_named_tensor list[LCSM_ELEMENT_COUNT + 3];
    char              names[LCSM_ELEMENT_COUNT][16];
    size_t            n = 0;
    for (; n < LCSM_ELEMENT_COUNT; n++) {
        (void)snprintf(names[n], sizeof names[n], "t%zu", n);
        list[n] = tensor(names[n], (lcsm_element)n, 2, 4, n + 1);
    }
    list[n++] = tensor("scalar", LCSM_ELEMENT_F16, 0, 0, 0);
    list[n++] = tensor("empty", LCSM_ELEMENT_F64, 2, 0, 7);
    list[n++] = tensor("\"quoted\" \xC3\xA9\n", LCSM_ELEMENT_U8, 1, 5, 0);

    lcsm_strbuf      text = write_all(list, n);
    lcsm_safetensors s;
    lcsm_error       err = {0};
    if (lcsm_safetensors_parse(&s, "f", (const unsigned char *)text.text, text.size,
                               LCSM_SAFETENSORS_STRICT, &err)
        != LCSM_OK)
        fail_msg("%s", err.text);
    assert_int_equal(s.count, n);
    for (size_t j = 0; j < n; j++) {
        lcsm_named_tensor t;
        size_t            count, bytes = 0;
        assert_true(lcsm_safetensors_find(&t, &s, list[j].name));
        assert_int_equal(t.element, list[j].element);
        assert_int_equal(t.rank, list[j].rank);
        assert_memory_equal(t.shape, list[j].shape, t.rank * sizeof *t.shape);
        assert_true(lcsm_named_tensor_measure(&t, &count, &bytes));
        assert_int_equal(memcmp(t.data, BYTES, bytes), 0);
    }
    lcsm_safetensors_close(&s);
    lcsm_strbuf_free(&text);
}

TEST(safetensors_writer_orders_by_width_then_name_and_aligns_the_buffer)
{
    const lcsm_named_tensor list[] = {
        tensor("b", LCSM_ELEMENT_U8, 1, 3, 0),   tensor("z", LCSM_ELEMENT_F32, 1, 1, 0),
        tensor("a", LCSM_ELEMENT_BF16, 1, 1, 0), tensor("c", LCSM_ELEMENT_F32, 1, 2, 0),
        tensor("y", LCSM_ELEMENT_F64, 1, 1, 0),
    };
    lcsm_strbuf text = write_all(list, COUNT(list));
    uint64_t    length;
    memcpy(&length, text.text, sizeof length);
    assert_int_equal((8 + length) % 64, 0);
    assert_int_equal(text.size, 8 + length + 8 + 8 + 4 + 2 + 3);
    static const char WANT[] =
        "{\"__metadata__\":{\"format\":\"pt\",\"lcsm_version\":\"" LCSM_VERSION "\"},"
        "\"y\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[0,8]},"
        "\"c\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,16]},"
        "\"z\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[16,20]},"
        "\"a\":{\"dtype\":\"BF16\",\"shape\":[1],\"data_offsets\":[20,22]},"
        "\"b\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[22,25]}}";
    assert_memory_equal(text.text + 8, WANT, strlen(WANT));
    for (size_t j = strlen(WANT); j < length; j++) assert_int_equal(text.text[8 + j], ' ');
    lcsm_strbuf_free(&text);
}

TEST(safetensors_writer_pads_headers_of_every_length_to_64)
{
    char name[80] = {0};
    for (size_t size = 1; size < sizeof name; size++) {
        memset(name, 'n', size);
        lcsm_named_tensor t    = tensor(name, LCSM_ELEMENT_U8, 1, 1, 0);
        lcsm_strbuf       text = write_all(&t, 1);
        lcsm_safetensors  s;
        assert_int_equal(text.size % 64, 1);
        assert_int_equal(lcsm_safetensors_parse(&s, "f", (const unsigned char *)text.text,
                                                text.size, LCSM_SAFETENSORS_STRICT, NULL),
                         LCSM_OK);
        lcsm_safetensors_close(&s);
        lcsm_strbuf_free(&text);
    }
}

TEST(safetensors_writer_takes_metadata_over_its_own)
{
    static const lcsm_safetensors_pair PAIRS[] = {{"lcsm_config_sha256", "ab"}, {"format", "np"}};
    lcsm_strbuf                        text    = {0};
    lcsm_safetensors                   s;
    lcsm_error                         err = {0};
    assert_int_equal(lcsm_safetensors_write(to_text, &text, NULL, 0, PAIRS, 2, NULL), LCSM_OK);
    assert_int_equal(
        lcsm_safetensors_parse(&s, "f", (const unsigned char *)text.text, text.size, 0, NULL),
        LCSM_OK);
    assert_string_equal(lcsm_safetensors_metadata(&s, "format"), "np");
    assert_string_equal(lcsm_safetensors_metadata(&s, "lcsm_version"), LCSM_VERSION);
    assert_string_equal(lcsm_safetensors_metadata(&s, "lcsm_config_sha256"), "ab");
    lcsm_safetensors_close(&s);
    lcsm_strbuf_free(&text);

    static const lcsm_safetensors_pair TWICE[] = {{"a", "1"}, {"b", "2"}, {"a", "3"}};
    assert_int_equal(lcsm_safetensors_write(to_text, &text, NULL, 0, TWICE, 3, &err),
                     LCSM_ERR_ARGUMENT);
    assert_string_equal(err.text, "the metadata contain a twice");
    assert_int_equal(text.size, 0);
}

static void refused(const lcsm_named_tensor *list, size_t count, const char *words)
{
    lcsm_strbuf text = {0};
    lcsm_error  err  = {0};
    assert_int_equal(lcsm_safetensors_write(to_text, &text, list, count, NULL, 0, &err),
                     LCSM_ERR_ARGUMENT);
    if (strstr(err.text, words) == NULL) fail_msg("\"%s\" lacks \"%s\"", err.text, words);
    assert_int_equal(text.size, 0);
}

TEST(safetensors_writer_refuses_what_no_reader_would_take)
{
    char name[514];
    memset(name, 'n', sizeof name);
    name[513]                 = '\0';
    lcsm_named_tensor list[2] = {tensor("a", LCSM_ELEMENT_U8, 1, 1, 0),
                                 tensor("a", LCSM_ELEMENT_F64, 1, 1, 0)};
    refused(list, 2, "two tensors have the name a");
    refused((lcsm_named_tensor[]){tensor("", LCSM_ELEMENT_U8, 1, 1, 0)}, 1,
            "is not a valid tensor name");
    refused((lcsm_named_tensor[]){tensor(name, LCSM_ELEMENT_U8, 1, 1, 0)}, 1,
            "is not a valid tensor name");
    refused((lcsm_named_tensor[]){tensor("\xFF", LCSM_ELEMENT_U8, 1, 1, 0)}, 1,
            "is not a valid tensor name");
    refused((lcsm_named_tensor[]){tensor("__metadata__", LCSM_ELEMENT_U8, 1, 1, 0)}, 1,
            "is not a valid tensor name");
    refused((lcsm_named_tensor[]){tensor("r", LCSM_ELEMENT_U8, 9, 1, 0)}, 1, "rank 9");
    refused((lcsm_named_tensor[]){tensor("o", LCSM_ELEMENT_U8, 2, SIZE_MAX, 2)}, 1,
            "whose size in bytes is not defined");
    refused((lcsm_named_tensor[]){tensor("h", LCSM_ELEMENT_F4, 1, 1, 0)}, 1,
            "whose size in bytes is not defined");
    lcsm_named_tensor many[9];
    for (size_t j = 0; j < COUNT(many); j++)
        many[j] = tensor(&name[513 - 1 - j], LCSM_ELEMENT_U8, 1, SIZE_MAX / 8, 0);
    refused(many, COUNT(many), "too large");
    refused(NULL, LCSM_SAFETENSORS_TENSORS + 1, "1000001 tensors for one file");
}

/* Fails at the n-th call. */
typedef struct {
    lcsm_strbuf text;
    int         left;
} failing;

static lcsm_status to_failing(void *to, const void *data, size_t size, lcsm_error *err)
{
    failing *f = to;
    if (f->left-- == 0) return lcsm_fail(err, LCSM_ERR_IO, "disk full");
    return to_text(&f->text, data, size, err);
}

TEST(safetensors_writer_passes_on_the_failure_of_any_write)
{
    const lcsm_named_tensor list[] = {tensor("a", LCSM_ELEMENT_F32, 1, 3, 0),
                                      tensor("b", LCSM_ELEMENT_F32, 2, 3, 4)};
    lcsm_status             st     = LCSM_ERR_IO;
    int                     calls  = 0;
    for (; st != LCSM_OK; calls++) {
        failing    f   = {.left = calls};
        lcsm_error err = {0};
        st             = lcsm_safetensors_write(to_failing, &f, list, 2, NULL, 0, &err);
        if (st != LCSM_OK) assert_string_equal(err.text, "disk full");
        lcsm_strbuf_free(&f.text);
    }
    assert_int_equal(calls, 6); /* length, header, spaces, two tensors, and the one that works */
}

/* tools/check-safetensors exchanges files with the reference implementation through this. */
TEST(safetensors_files_are_exchanged_when_the_environment_names_a_folder)
{
    const char *folder = getenv("LCSM_EXCHANGE");
    char        path[512];
    if (folder == NULL) skip();
    float values[24];
    for (size_t j = 0; j < COUNT(values); j++) values[j] = (float)j / 4 - 1;
    lcsm_named_tensor list[] = {
        {.name    = "ramp",
         .element = LCSM_ELEMENT_F32,
         .rank    = 3,
         .shape   = {2, 3, 4},
         .data    = values},
        {.name = "one", .element = LCSM_ELEMENT_F32, .rank = 0, .data = values},
        {.name = "none", .element = LCSM_ELEMENT_F64, .rank = 2, .shape = {0, 4}, .data = values},
        tensor("bytes", LCSM_ELEMENT_U8, 1, 7, 0),
    };
    (void)snprintf(path, sizeof path, "%s/ours.safetensors", folder);
    assert_int_equal(lcsm_safetensors_save(path, list, COUNT(list), NULL, 0, NULL), LCSM_OK);

    lcsm_safetensors  s;
    lcsm_named_tensor t;
    lcsm_error        err = {0};
    float             got[24];
    (void)snprintf(path, sizeof path, "%s/theirs.safetensors", folder);
    if (lcsm_safetensors_open(&s, path, LCSM_SAFETENSORS_STRICT, &err) != LCSM_OK)
        fail_msg("%s", err.text);
    for (size_t j = 0; j < 3; j++) {
        static const char *const NAMES[] = {"f16", "f32", "f64"};
        assert_true(lcsm_safetensors_find(&t, &s, NAMES[j]));
        assert_int_equal(t.rank, 3);
        assert_int_equal(lcsm_named_tensor_f32(got, &t, NULL), LCSM_OK);
        assert_memory_equal(got, values, sizeof values);
    }
    lcsm_safetensors_close(&s);
}
