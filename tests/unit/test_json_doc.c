/* test_json_doc.c - documents are read strictly, and every message says file, place and remedy. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "format/json_doc.h"
#include "test.h"

static lcsm_json_doc parse(const char *text)
{
    lcsm_json_doc doc;
    lcsm_error    err = {0};
    if (lcsm_json_doc_parse(&doc, "c.json", text, strlen(text), &err) != LCSM_OK)
        fail_msg("%s", err.text);
    return doc;
}

TEST(json_doc_refuses_what_is_not_strict_json)
{
    static const struct {
        const char *text, *says;
    } BAD[] = {
        {"", "c.json:1:1: the text ends where a value is expected"},
        {"1", "c.json:1:1: '[' or '{' expected"},
        {"{\"a\":1,\"a\":2}", "duplicate object key"},
        {"{\"a\":{\"b\":1,\"\\u0062\":2}}", "duplicate object key"},
        {"{} x", "c.json:1:4: text after the value"},
        {"{\n\"a\": nan}", "c.json:2:6: not a JSON value"},
        {"{\"a\":\n\n\"\xff\"}", "c.json:3:2: not UTF-8"},
        {"{\"a\":99999999999999999999}", "too big integer"},
        {"{\"a\":1e999}", "real number overflow"},
        {"{\"a\":01}", "c.json:1:7: a number has a leading zero"},
        {"{\"a\":1,}", "c.json:1:8: a member without a name in quotes"},
        {"{\"a\":\"\\u0000\"}", "\\u0000 is not allowed"},
    };
    for (size_t j = 0; j < COUNT(BAD); j++) {
        lcsm_json_doc doc;
        lcsm_error    err = {0};
        assert_int_equal(
            lcsm_json_doc_parse(&doc, "c.json", BAD[j].text, strlen(BAD[j].text), &err),
            LCSM_ERR_FORMAT);
        if (strstr(err.text, BAD[j].says) == NULL) fail_msg("%s", err.text);
        assert_null(doc.root);
        lcsm_json_doc_free(&doc);
    }
}

/* jansson alone takes it. */
TEST(json_doc_refuses_a_zero_byte_behind_a_number)
{
    static const char TEXT[] = "{\"a\":6\0}";
    lcsm_json_doc     doc;
    lcsm_error        err = {0};
    assert_int_equal(lcsm_json_doc_parse(&doc, "c.json", TEXT, sizeof TEXT - 1, &err),
                     LCSM_ERR_FORMAT);
    assert_string_equal(err.text, "c.json:1:7: a comma or a closing bracket is missing");
}

TEST(json_doc_nested_too_deep_is_refused_before_it_is_parsed)
{
    char          text[2 * LCSM_JSON_DEPTH + 2];
    lcsm_json_doc doc;
    lcsm_error    err = {0};
    memset(text, '[', LCSM_JSON_DEPTH + 1);
    memset(text + LCSM_JSON_DEPTH + 1, ']', LCSM_JSON_DEPTH + 1);
    assert_int_equal(lcsm_json_doc_parse(&doc, "c.json", text, sizeof text, &err), LCSM_ERR_FORMAT);
    assert_string_equal(err.text, "c.json:1:65: the nesting is too deep");
    assert_int_equal(lcsm_json_doc_parse(&doc, "c.json", text + 1, sizeof text - 2, &err), LCSM_OK);
    lcsm_json_doc_free(&doc);
    doc =
        parse("[\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\\\"[\"]");
    lcsm_json_doc_free(&doc);
}

TEST(json_doc_is_read_from_a_file_of_limited_size)
{
    char          path[] = "/tmp/lcsm-test-XXXXXX";
    lcsm_json_doc doc;
    lcsm_error    err = {0};
    int           fd  = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(lcsm_file_write_atomic(path, "{\"a\": 1}", 8, NULL), LCSM_OK);
    assert_int_equal(lcsm_json_doc_read(&doc, path, 8, &err), LCSM_OK);
    assert_int_equal(json_integer_value(json_object_get(doc.root, "a")), 1);
    lcsm_json_doc_free(&doc);
    assert_int_equal(lcsm_json_doc_read(&doc, path, 7, &err), LCSM_ERR_IO);
    assert_non_null(strstr(err.text, "has 8 bytes; expected at most 7"));
    unlink(path);
    assert_int_equal(lcsm_json_doc_read(&doc, path, 7, &err), LCSM_ERR_IO);
    lcsm_json_doc_free(&doc);
}

static const char SAMPLE[] =
    "{\"hidden_size\": \"768\", \"layers\": 12, \"eps\": 1e-5, \"tied\": true,"
    "\"name\": \"gla\", \"none\": null, \"ssm\": {\"dims\": [1, 2.5, -3]}}";

TEST(json_getters_give_what_is_there)
{
    static const char *const NAMES[] = {"mamba", "gla"};
    lcsm_json_doc            doc     = parse(SAMPLE);
    lcsm_json                root    = lcsm_json_root(&doc), ssm, dims;
    int64_t                  i       = 0;
    size_t                   n       = 0;
    double                   x       = 0;
    bool                     b       = false;
    const char              *text    = NULL;
    assert_int_equal(lcsm_json_get_int(&i, lcsm_json_need(&root, "layers"), 12, 12, NULL), 0);
    assert_int_equal(i, 12);
    assert_int_equal(lcsm_json_get_size(&n, lcsm_json_may(&root, "layers"), 0, SIZE_MAX, NULL), 0);
    assert_int_equal(n, 12);
    assert_int_equal(lcsm_json_get_real(&x, lcsm_json_need(&root, "eps"), 0, 1, NULL), 0);
    assert_true(x == 1e-5);
    assert_int_equal(
        lcsm_json_get_real(&x, lcsm_json_need(&root, "layers"), -INFINITY, INFINITY, NULL), 0);
    assert_true(x == 12.0);
    assert_int_equal(lcsm_json_get_bool(&b, lcsm_json_need(&root, "tied"), NULL), 0);
    assert_true(b);
    assert_int_equal(lcsm_json_get_text(&text, lcsm_json_need(&root, "name"), NULL), 0);
    assert_string_equal(text, "gla");
    assert_int_equal(lcsm_json_get_choice(&n, lcsm_json_need(&root, "name"), NAMES, 2, NULL), 0);
    assert_int_equal(n, 1);
    assert_int_equal(lcsm_json_get_object(&ssm, lcsm_json_need(&root, "ssm"), NULL), 0);
    assert_int_equal(lcsm_json_get_array(&dims, lcsm_json_need(&ssm, "dims"), 3, 3, NULL), 0);
    assert_int_equal(lcsm_json_get_int(&i, lcsm_json_item(&dims, 2), -3, 0, NULL), 0);
    assert_int_equal(i, -3);
    assert_int_equal(lcsm_json_count(&dims), 3);
    assert_int_equal(lcsm_json_count(&root), 7);
    assert_true(lcsm_json_has(&root, "name"));
    assert_false(lcsm_json_has(&root, "none"));
    assert_false(lcsm_json_has(&root, "other"));
    lcsm_json_doc_free(&doc);
}

TEST(json_getters_leave_an_absent_optional_value_alone)
{
    lcsm_json_doc doc  = parse("{\"null\": null}");
    lcsm_json     root = lcsm_json_root(&doc), v = {0};
    lcsm_json     none = lcsm_json_may(&root, "none");
    int64_t       i    = 5;
    size_t        n = 6, c = 8;
    double        x    = 7;
    bool          b    = true;
    const char   *text = "kept";
    assert_int_equal(lcsm_json_get_int(&i, none, 1, 2, NULL), LCSM_OK);
    assert_int_equal(lcsm_json_get_size(&n, none, 1, 2, NULL), LCSM_OK);
    assert_int_equal(lcsm_json_get_real(&x, none, 1, 2, NULL), LCSM_OK);
    assert_int_equal(lcsm_json_get_bool(&b, none, NULL), LCSM_OK);
    assert_int_equal(lcsm_json_get_text(&text, none, NULL), LCSM_OK);
    assert_int_equal(lcsm_json_get_choice(&c, none, NULL, 0, NULL), LCSM_OK);
    assert_int_equal(lcsm_json_get_object(&v, none, NULL), LCSM_OK);
    assert_int_equal(lcsm_json_get_array(&v, none, 0, 1, NULL), LCSM_OK);
    assert_true(i == 5 && n == 6 && x == 7.0 && b && c == 8 && v.doc == NULL);
    assert_string_equal(text, "kept");
    assert_int_equal(lcsm_json_get_int(&i, lcsm_json_may(&root, "null"), 1, 2, NULL),
                     LCSM_ERR_CONFIG);
    lcsm_json_doc_free(&doc);
}

#define SAYS(call, words)                                                                          \
    do {                                                                                           \
        assert_int_equal((call), LCSM_ERR_CONFIG);                                                 \
        assert_string_equal(err.text, (words));                                                    \
    } while (0)

TEST(json_getters_name_file_path_finding_and_remedy)
{
    static const char *const NAMES[] = {"mamba", "rwkv4"};
    lcsm_json_doc            doc     = parse(SAMPLE);
    lcsm_json                root = lcsm_json_root(&doc), ssm = lcsm_json_need(&root, "ssm");
    lcsm_json                dims = lcsm_json_need(&ssm, "dims"), v;
    lcsm_error               err  = {0};
    int64_t                  i    = 0;
    size_t                   n    = 0;
    double                   x    = 0;
    bool                     b    = false;
    const char              *text = NULL;
    SAYS(lcsm_json_get_int(&i, lcsm_json_need(&root, "hidden_size"), 1, 65536, &err),
         "c.json: hidden_size is \"768\" (a string); expected an integer from 1 to 65536");
    SAYS(lcsm_json_get_size(&n, lcsm_json_need(&root, "layers"), 13, 99, &err),
         "c.json: layers is 12; expected an integer from 13 to 99");
    SAYS(lcsm_json_get_int(&i, lcsm_json_need(&root, "depth"), 1, 9, &err),
         "c.json: depth is missing; expected an integer from 1 to 9");
    SAYS(lcsm_json_get_int(&i, lcsm_json_item(&dims, 1), 0, 9, &err),
         "c.json: ssm.dims[1] is 2.5 (a real); expected an integer from 0 to 9");
    SAYS(lcsm_json_get_int(&i, lcsm_json_item(&dims, 3), 0, 9, &err),
         "c.json: ssm.dims[3] is missing; expected an integer from 0 to 9");
    SAYS(lcsm_json_get_real(&x, lcsm_json_need(&root, "layers"), 0, 0.5, &err),
         "c.json: layers is 12; expected a number from 0 to 0.5");
    SAYS(lcsm_json_get_real(&x, dims, -INFINITY, INFINITY, &err),
         "c.json: ssm.dims is an array of 3 items; expected a number");
    SAYS(lcsm_json_get_bool(&b, lcsm_json_need(&root, "none"), &err),
         "c.json: none is null; expected true or false");
    SAYS(lcsm_json_get_text(&text, lcsm_json_need(&root, "tied"), &err),
         "c.json: tied is true; expected a string");
    SAYS(lcsm_json_get_choice(&n, lcsm_json_need(&root, "name"), NAMES, 2, &err),
         "c.json: name is \"gla\" (a string); expected \"mamba\" or \"rwkv4\"");
    SAYS(lcsm_json_get_choice(&n, lcsm_json_need(&root, "layers"), NAMES, 2, &err),
         "c.json: layers is 12; expected \"mamba\" or \"rwkv4\"");
    SAYS(lcsm_json_get_object(&v, lcsm_json_need(&root, "tied"), &err),
         "c.json: tied is true; expected an object");
    SAYS(lcsm_json_get_array(&v, lcsm_json_need(&root, "ssm"), 2, 2, &err),
         "c.json: ssm is an object; expected an array of 2 items");
    SAYS(lcsm_json_get_array(&v, dims, 4, 5, &err),
         "c.json: ssm.dims is an array of 3 items; expected an array of 4 to 5 items");
    SAYS(lcsm_json_get_array(&v, root, 0, 5, &err),
         "c.json: the document is an object; expected an array of 0 to 5 items");
    lcsm_json_doc_free(&doc);
}

TEST(json_choice_that_is_mistyped_gets_the_nearest)
{
    static const char *const NAMES[] = {"mamba", "linear-attention", "rwkv4"};
    lcsm_json_doc            doc     = parse("{\"method\": \"manba\"}");
    lcsm_json                root    = lcsm_json_root(&doc);
    lcsm_error               err     = {0};
    size_t                   n       = 0;
    SAYS(lcsm_json_get_choice(&n, lcsm_json_need(&root, "method"), NAMES, 3, &err),
         "c.json: method is \"manba\" (a string); expected perhaps \"mamba\"");
    lcsm_json_doc_free(&doc);
}

TEST(json_known_keys_names_the_stranger_and_the_nearest)
{
    static const char *const KNOWN[] = {"hidden_size", "layers"};
    lcsm_error               err     = {0};
    lcsm_json_doc            doc     = parse("{\"layers\": 1, \"hiden_size\": 2, \"zzz\": 3}");
    lcsm_json                root    = lcsm_json_root(&doc);
    SAYS(lcsm_json_known_keys(&root, KNOWN, 2, &err),
         "c.json: hiden_size is not a known key; did you mean \"hidden_size\"?");
    lcsm_json_doc_free(&doc);

    doc            = parse("{\"a\": {\"zzz\": 3}}");
    root           = lcsm_json_root(&doc);
    lcsm_json deep = lcsm_json_need(&root, "a");
    SAYS(lcsm_json_known_keys(&deep, KNOWN, 2, &err), "c.json: a.zzz is not a known key");
    lcsm_json_doc_free(&doc);

    doc  = parse("{\"layers\": 1, \"hidden_size\": 2}");
    root = lcsm_json_root(&doc);
    assert_int_equal(lcsm_json_known_keys(&root, KNOWN, 2, &err), LCSM_OK);
    lcsm_json_doc_free(&doc);
}

TEST(json_members_come_in_the_order_of_the_file)
{
    static const char *const KEYS[] = {"z", "", "a", "m"};
    lcsm_json_doc            doc    = parse("{\"z\": 1, \"\": 2, \"a\": 3, \"m\": 4}");
    lcsm_json                root   = lcsm_json_root(&doc);
    int64_t                  n      = 0;
    for (lcsm_json m = lcsm_json_first(&root); m.value != NULL; m = lcsm_json_next(&m)) {
        int64_t value = 0;
        assert_string_equal(m.key, KEYS[n]);
        assert_int_equal(lcsm_json_get_int(&value, m, n + 1, n + 1, NULL), LCSM_OK);
        n++;
    }
    assert_int_equal(n, 4);
    lcsm_json_doc_free(&doc);
}
