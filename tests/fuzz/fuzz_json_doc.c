/*
 * fuzz_json_doc.c - documents survive being written again, and the scanner and jansson agree on
 * what JSON is.
 */
#include <math.h>
#include <string.h>

#include "format/json_doc.h"
#include "format/json_scan.h"
#include "format/json_write.h"
#include "fuzz.h"

/* Puts a value as it is; the depth of the writer is less than that of documents. */
static void put(lcsm_json_writer *w, const char *key, const lcsm_json *v)
{
    int64_t     i    = 0;
    double      x    = 0;
    bool        b    = false;
    const char *text = NULL;
    lcsm_json   deeper;
    if (lcsm_json_get_int(&i, *v, INT64_MIN, INT64_MAX, NULL) == LCSM_OK) {
        lcsm_json_put_int(w, key, i);
    } else if (lcsm_json_get_real(&x, *v, (double)-INFINITY, (double)INFINITY, NULL) == LCSM_OK) {
        lcsm_json_put_real(w, key, x);
    } else if (lcsm_json_get_bool(&b, *v, NULL) == LCSM_OK) {
        lcsm_json_put_bool(w, key, b);
    } else if (lcsm_json_get_text(&text, *v, NULL) == LCSM_OK) {
        lcsm_json_put_text(w, key, text);
    } else if (lcsm_json_get_array(&deeper, *v, 0, SIZE_MAX, NULL) == LCSM_OK) {
        lcsm_json_open_array(w, key);
        for (size_t j = 0; j < lcsm_json_count(&deeper); j++) {
            lcsm_json item = lcsm_json_item(&deeper, j);
            put(w, NULL, &item);
        }
        lcsm_json_close(w);
    } else if (lcsm_json_get_object(&deeper, *v, NULL) == LCSM_OK) {
        lcsm_json_open_object(w, key);
        for (lcsm_json m = lcsm_json_first(&deeper); m.value != NULL; m = lcsm_json_next(&m))
            put(w, m.key, &m);
        lcsm_json_close(w);
    } else {
        lcsm_error err = {0};
        PROMISE(json_is_null(v->value));
        PROMISE(lcsm_json_fail(v, &err, "no null") == LCSM_ERR_CONFIG && err.text[0] != '\0');
        lcsm_json_put_null(w, key);
    }
}

static void write_again(const lcsm_json_doc *doc, bool pretty)
{
    lcsm_json_writer w    = {.pretty = pretty};
    lcsm_json        root = lcsm_json_root(doc);
    lcsm_json_doc    again;
    put(&w, NULL, &root);
    if (lcsm_json_writer_finish(&w, NULL) == LCSM_OK) {
        PROMISE(lcsm_json_doc_parse(&again, "again", w.text.text, w.text.size, NULL) == LCSM_OK);
        PROMISE(json_equal(doc->root, again.root));
        lcsm_json_doc_free(&again);
    } else {
        PROMISE(strcmp(w.problem, "the nesting is too deep") == 0);
    }
    lcsm_json_writer_free(&w);
}

static bool scanner_accepts(const char *text, size_t size)
{
    size_t at = lcsm_json_space(text, size, 0);
    return lcsm_utf8_check(text, size) == size && lcsm_json_check(text, size, 2000, &at) == NULL
        && lcsm_json_space(text, size, at) == size;
}

/* The two differ only where jansson has a limit of its own, and on zero bytes: jansson takes one
 * behind a number for nothing. */
static void compare(const char *text, size_t size)
{
    json_error_t error;
    json_t      *root =
        json_loadb(text, size, JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, &error);
    bool ours = scanner_accepts(text, size);
    if (root != NULL) PROMISE(ours || memchr(text, 0, size) != NULL);
    else if (ours)
        PROMISE(json_error_code(&error) == json_error_numeric_overflow
                || json_error_code(&error) == json_error_null_byte_in_key);
    json_decref(root);
}

bool fuzz_one(const unsigned char *data, size_t size)
{
    lcsm_json_doc doc;
    lcsm_error    err  = {0};
    const char   *text = (const char *)data;
    compare(text, size);
    if (lcsm_json_doc_parse(&doc, "fuzz", text, size, &err) != LCSM_OK) {
        PROMISE(err.status != LCSM_OK && err.text[0] != '\0' && doc.root == NULL);
        return false;
    }
    write_again(&doc, true);
    write_again(&doc, false);
    lcsm_json_doc_free(&doc);
    return true;
}

size_t fuzz_seed(size_t n, unsigned char *out, size_t capacity)
{
    static const char *const SEEDS[] = {
        "{\"a\": [1, -2.5e-3, \"\\u00e9\\n\\\"\", true, false, null, {}], \"b\": {\"c\": []}}",
        "[\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\", 1e300, 0, -0, -0.0, 9223372036854775807]",
        "{\"metadata\": {\"total_size\": 60}, \"weight_map\": {\"x.y\": \"model-1\"}}",
        "[[[[[[[[]]]]]]], \"\\ud83d\\ude00\", \"\\u0001\", 1.7976931348623157e308, 5e-324]",
    };
    if (n >= COUNT(SEEDS)) return 0;
    PROMISE(strlen(SEEDS[n]) <= capacity);
    memcpy(out, SEEDS[n], strlen(SEEDS[n]));
    return strlen(SEEDS[n]);
}
