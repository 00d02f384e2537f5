/* test_json_write.c - what is written is in order, exact, and refused when JSON cannot say it. */
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/error.h"
#include "base/rng.h"
#include "format/json_write.h"
#include "test.h"

static void put_sample(lcsm_json_writer *w)
{
    lcsm_json_open_object(w, NULL);
    lcsm_json_put_text(w, "z", "a \"quoted\" \\ line\n\x01 \xC3\xA9");
    lcsm_json_put_int(w, "a", INT64_MIN);
    lcsm_json_open_array(w, "list");
    lcsm_json_put_real(w, NULL, 0.1);
    lcsm_json_put_bool(w, NULL, true);
    lcsm_json_put_null(w, NULL);
    lcsm_json_open_object(w, NULL);
    lcsm_json_close(w);
    lcsm_json_close(w);
    lcsm_json_put_size(w, "n", 3);
    lcsm_json_close(w);
}

TEST(json_pretty_text_keeps_the_order_of_its_members)
{
    lcsm_json_writer w = lcsm_json_writer_pretty();
    put_sample(&w);
    assert_int_equal(lcsm_json_writer_finish(&w, NULL), LCSM_OK);
    assert_string_equal(lcsm_strbuf_text(&w.text),
                        "{\n"
                        "  \"z\": \"a \\\"quoted\\\" \\\\ line\\n\\u0001 \xC3\xA9\",\n"
                        "  \"a\": -9223372036854775808,\n"
                        "  \"list\": [\n"
                        "    0.1,\n"
                        "    true,\n"
                        "    null,\n"
                        "    {}\n"
                        "  ],\n"
                        "  \"n\": 3\n"
                        "}\n");
    lcsm_json_writer_free(&w);
}

TEST(json_compact_text_is_one_line)
{
    lcsm_json_writer w = lcsm_json_writer_compact();
    put_sample(&w);
    assert_int_equal(lcsm_json_writer_finish(&w, NULL), LCSM_OK);
    assert_string_equal(lcsm_strbuf_text(&w.text),
                        "{\"z\":\"a \\\"quoted\\\" \\\\ line\\n\\u0001 \xC3\xA9\","
                        "\"a\":-9223372036854775808,\"list\":[0.1,true,null,{}],\"n\":3}");
    lcsm_json_writer_free(&w);
}

static void assert_real_survives(double value)
{
    lcsm_json_writer w = lcsm_json_writer_compact();
    lcsm_json_open_array(&w, NULL);
    lcsm_json_put_real(&w, NULL, value);
    lcsm_json_close(&w);
    assert_int_equal(lcsm_json_writer_finish(&w, NULL), LCSM_OK);
    json_t *root = json_loads(lcsm_strbuf_text(&w.text), 0, NULL);
    assert_non_null(root);
    assert_true(json_is_real(json_array_get(root, 0)));
    double back = json_real_value(json_array_get(root, 0));
    assert_memory_equal(&back, &value, sizeof value);
    json_decref(root);
    lcsm_json_writer_free(&w);
}

TEST(json_reals_read_back_as_the_same_bits)
{
    static const double SOME[] = {0.0,     -0.0,     1.0,     -3.0,       0.1,
                                  1e-5,    1e22,     1e23,    5e-324,     DBL_MIN,
                                  DBL_MAX, -DBL_MAX, 1.0 / 3, 1e15 + 0.5, 123456789012345680.0};
    for (size_t j = 0; j < COUNT(SOME); j++) assert_real_survives(SOME[j]);
    for (uint64_t j = 0; j < 2000; j++) {
        lcsm_u32x4 bits = lcsm_rng(1, 2, j);
        uint64_t   u    = ((uint64_t)bits.v[0] << 32) | bits.v[1];
        double     value;
        memcpy(&value, &u, sizeof value);
        if (isfinite(value)) assert_real_survives(value);
    }
}

TEST(json_reals_have_a_dot_in_any_locale)
{
    static const char *const COMMA[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fr_FR"};
    for (size_t j = 0; j < COUNT(COMMA); j++) {
        if (setlocale(LC_NUMERIC, COMMA[j]) == NULL) continue;
        assert_real_survives(0.25);
        assert_real_survives(1e-300);
        setlocale(LC_NUMERIC, "C");
        return;
    }
    print_message("no locale with a decimal comma is installed here\n");
    skip();
}

static void expect_status(lcsm_json_writer *w, lcsm_status status, const char *problem)
{
    lcsm_error err = {0};
    assert_int_equal(lcsm_json_writer_finish(w, &err), status);
    assert_non_null(strstr(err.text, problem));
    lcsm_json_writer_free(w);
}

static void expect_problem(lcsm_json_writer *w, const char *problem)
{
    expect_status(w, LCSM_ERR_ARGUMENT, problem);
}

TEST(json_values_of_a_document_are_written_with_the_fewest_digits)
{
    static const char text[] = "{\"a\":[0.1,2,true,null],\"b\":{\"c\":\"x\",\"d\":1e-05}}";
    lcsm_json_writer  w      = lcsm_json_writer_compact();
    json_t           *value  = json_loads(text, 0, NULL);
    assert_non_null(value);
    lcsm_json_put_value(&w, NULL, value);
    assert_int_equal(lcsm_json_writer_finish(&w, NULL), LCSM_OK);
    assert_string_equal(lcsm_strbuf_text(&w.text), text);
    json_decref(value);
    lcsm_json_writer_free(&w);
}

TEST(json_that_cannot_be_written_is_refused_at_the_end)
{
    lcsm_json_writer w = {0};
    expect_problem(&w, "not complete");

    lcsm_json_open_array(&w, NULL);
    expect_problem(&w, "not complete");

    lcsm_json_open_array(&w, NULL);
    lcsm_json_put_real(&w, NULL, (double)NAN);
    lcsm_json_close(&w);
    expect_status(&w, LCSM_ERR_NUMBER, "NaN or infinite: [0]");

    lcsm_json_open_array(&w, NULL);
    lcsm_json_put_text(&w, NULL, "\xFF");
    lcsm_json_close(&w);
    expect_problem(&w, "not UTF-8");

    lcsm_json_open_array(&w, NULL);
    lcsm_json_put_int(&w, "key", 1);
    lcsm_json_close(&w);
    expect_problem(&w, "a name is missing, or is not expected here");

    lcsm_json_open_object(&w, NULL);
    lcsm_json_put_int(&w, NULL, 1);
    lcsm_json_close(&w);
    expect_problem(&w, "a name is missing, or is not expected here");

    lcsm_json_put_int(&w, NULL, 1);
    lcsm_json_put_int(&w, NULL, 2);
    expect_problem(&w, "a second value");

    lcsm_json_put_int(&w, NULL, 1);
    lcsm_json_close(&w);
    expect_problem(&w, "more levels closed");

    for (int j = 0; j <= LCSM_JSON_WRITE_DEPTH; j++) lcsm_json_open_array(&w, NULL);
    expect_problem(&w, "too deep");

    lcsm_json_put_size(&w, NULL, SIZE_MAX);
    expect_problem(&w, "2^63");
}

TEST(json_that_cannot_be_written_says_where)
{
    char             text[100];
    lcsm_json_writer w = lcsm_json_writer_pretty();
    lcsm_json_open_object(&w, NULL);
    lcsm_json_put_int(&w, "version", 1);
    lcsm_json_open_array(&w, "layers");
    lcsm_json_open_object(&w, NULL);
    lcsm_json_close(&w);
    lcsm_json_open_object(&w, NULL);
    lcsm_json_put_real(&w, "norm", (double)NAN);
    lcsm_json_close(&w);
    lcsm_json_put_real(&w, NULL, (double)NAN); /* the first counts */
    lcsm_json_close(&w);
    lcsm_json_close(&w);
    expect_status(&w, LCSM_ERR_NUMBER, "a number is NaN or infinite: layers[1].norm");

    lcsm_json_open_object(&w, NULL);
    lcsm_json_put_text(&w, "command", "run --data a\xFF.txt");
    lcsm_json_close(&w);
    expect_problem(&w, "a text is not UTF-8: command after \"run --data a\"");

    memset(text, 'x', sizeof text);
    memcpy(text + sizeof text - 3, "y\xFF", 3);
    lcsm_json_put_text(&w, NULL, text);
    expect_problem(&w, "a text is not UTF-8: after \"...xxx");

    lcsm_json_open_object(&w, NULL);
    lcsm_json_put_int(&w, "\xFF", 1);
    lcsm_json_close(&w);
    expect_problem(&w, "a text is not UTF-8");
}
