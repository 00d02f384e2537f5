/*
 * test_format_memory.c - readers allocate no more than the size of a file allows, whatever the
 * file says.
 *
 * The functions of this file stand in for the allocator of the C library and count; where a
 * sanitizer does so itself there is nothing to test.
 */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/sanitizer.h"
#include "base/strbuf.h"
#include "format/rwkv_bin.h"
#include "format/safetensors.h"
#include "test.h"

static size_t in_use, peak;

#if defined(__GLIBC__) && !LCSM_ASAN && !defined(__SANITIZE_THREAD__)
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *p, size_t size);
void  __libc_free(void *p);

#define SEEN __attribute__((visibility("default"))) /* by the C library too */

static void *counted(void *p)
{
    in_use += malloc_usable_size(p);
    if (in_use > peak) peak = in_use;
    return p;
}

SEEN void *malloc(size_t size)
{
    return counted(__libc_malloc(size));
}

SEEN void *calloc(size_t count, size_t size)
{
    return counted(__libc_calloc(count, size));
}

/* While a block moves, both places may be in use. */
SEEN void *realloc(void *p, size_t size)
{
    size_t before = malloc_usable_size(p);
    void  *q      = counted(__libc_realloc(p, size));
    if (q != NULL || size == 0) in_use -= before;
    return q;
}

SEEN void free(void *p)
{
    in_use -= malloc_usable_size(p);
    __libc_free(p);
}

static bool counting(void)
{
    return true;
}
#else
static bool counting(void)
{
    return false;
}
#endif

/* What the reader takes at its peak for a file with this header. */
static size_t cost_of(const lcsm_strbuf *header, lcsm_status want)
{
    lcsm_safetensors s;
    size_t           size   = 8 + header->size;
    uint64_t         length = header->size;
    unsigned char   *data   = malloc(size);
    assert_non_null(data);
    memcpy(data, &length, 8);
    memcpy(data + 8, header->text, header->size);
    size_t before = peak = in_use;
    assert_int_equal(lcsm_safetensors_parse(&s, "f", data, size, 0, NULL), want);
    size_t cost = peak - before;
    lcsm_safetensors_close(&s);
    free(data);
    return cost;
}

TEST(safetensors_headers_of_many_small_things_cost_nothing)
{
    static const char *const OPEN[]  = {"{\"a\":[", "{", "{", "{", "{\"__metadata__\":{"};
    static const char *const PIECE[] = {"[],", "\"\":0,", "\"a\":0,", "\"a\":{},", "\"a\":0,"};
    static const char *const CLOSE[] = {"]}", "}", "}", "}", "}}"};
    if (!counting()) skip();
    for (size_t j = 0; j < COUNT(PIECE); j++) {
        lcsm_strbuf text = {0};
        lcsm_strbuf_add(&text, OPEN[j]);
        while (text.size < 1000000) lcsm_strbuf_add(&text, PIECE[j]);
        text.size--; /* the last comma */
        lcsm_strbuf_add(&text, CLOSE[j]);
        assert_in_range(cost_of(&text, LCSM_ERR_FORMAT), 1, 1000);
        lcsm_strbuf_free(&text);
    }
}

TEST(safetensors_header_of_as_many_tensors_as_fit_costs_less_than_twice_its_size)
{
    static const char NAMES[] = "abcdefghijklmnopqrstuvwxyz";
    lcsm_strbuf       text    = {0};
    if (!counting()) skip();
    for (size_t n = 26; n <= 26 * 26 * 26 * 26; n *= 26) {
        lcsm_strbuf_add(&text, "{");
        for (size_t j = 0; j < n; j++) {
            lcsm_strbuf_add(&text, j == 0 ? "\"" : ",\"");
            for (size_t left = j, top = n; top > 1; left /= 26, top /= 26)
                lcsm_strbuf_bytes(&text, &NAMES[left % 26], 1);
            lcsm_strbuf_add(&text, "\":{\"dtype\":\"F4\",\"shape\":[0],\"data_offsets\":[0,0]}");
        }
        lcsm_strbuf_add(&text, "}");
        assert_in_range(cost_of(&text, LCSM_OK), 32 * n, 2 * text.size);
        lcsm_strbuf_free(&text);
    }
}

TEST(safetensors_header_of_as_many_metadata_as_fit_costs_less_than_twice_its_size_and_2_MB)
{
    lcsm_strbuf text = {0};
    if (!counting()) skip();
    lcsm_strbuf_add(&text, "{\"__metadata__\":{\"a\":\"\"");
    for (int j = 1; j < LCSM_SAFETENSORS_METADATA; j++) lcsm_strbuf_add(&text, ",\"a\":\"\"");
    lcsm_strbuf_add(&text, "}}");
    assert_in_range(cost_of(&text, LCSM_ERR_FORMAT), 1, 2 * text.size + (2 << 20));
    lcsm_strbuf_free(&text);
}

TEST(rwkv_bin_of_as_many_tensors_as_fit_costs_less_than_twice_its_size)
{
    static const int32_t HEADER[] = {0x67676d66, 101, 1, 1, 1, 1}, ENTRY[] = {1, 3, 1, 1};
    lcsm_strbuf          text = {0};
    lcsm_rwkv_bin        b;
    if (!counting()) skip();
    lcsm_strbuf_bytes(&text, (const char *)HEADER, sizeof HEADER);
    for (int j = 0; j < 100 * 100 * 100; j++) {
        const char key[3] = {(char)(1 + j % 100), (char)(1 + j / 100 % 100), (char)(1 + j / 10000)};
        lcsm_strbuf_bytes(&text, (const char *)ENTRY, sizeof ENTRY);
        lcsm_strbuf_bytes(&text, key, sizeof key);
        lcsm_strbuf_bytes(&text, "\0", 2);
    }
    size_t before = peak = in_use;
    assert_int_equal(
        lcsm_rwkv_bin_parse(&b, "f", (const unsigned char *)text.text, text.size, NULL), LCSM_OK);
    assert_int_equal(b.count, 1000000);
    assert_in_range(peak - before, 1, 2 * text.size);
    lcsm_rwkv_bin_close(&b);
    lcsm_strbuf_free(&text);
}
