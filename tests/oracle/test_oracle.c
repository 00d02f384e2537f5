/*
 * Oracle files: our own (made by tools/make-oracles) and, where they are, those of the folder
 * shared/ beside the source folder or at LCSM_SHARED. Every case must pass on every instruction
 * set, and a case with a wrong number must not.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sanitizer.h"
#include "lab/lab.h"
#include "temp_folder.h"
#include "test.h"

typedef struct {
    int    rows, failed, refused; /* those that are refused have failed too */
    char   detail[400];           /* of the last failure */
    double worst;                 /* error as a part of its bound */
} tally;

static void count(void *user, const lcsm_check_row *row)
{
    tally *t = user;
    t->rows++;
    if (row->ok) {
        t->worst = fmax(t->worst, row->output_error / row->output_bound);
        return;
    }
    t->failed++;
    t->refused += row->refused;
    (void)snprintf(t->detail, sizeof t->detail, "%s %s: %s", row->name, row->precision,
                   row->detail);
}

static lcsm_status check(const char *path, lcsm_isa isa, tally *t, lcsm_error *err)
{
    lcsm_context        *ctx;
    lcsm_context_options options = {.size = sizeof options, .isa = isa, .threads = 2};
    lcsm_status          st      = lcsm_context_create(&ctx, &options, err);
    if (st == LCSM_ERR_UNSUPPORTED) return LCSM_OK; /* not on this processor */
    assert_int_equal(st, LCSM_OK);
    st = lcsm_lab_check_oracle(ctx, path, count, t, err);
    lcsm_context_free(ctx);
    return st;
}

/* AddressSanitizer sees the fastest set alone: most of its time is that of fresh memory for the
 * graph of each case, and the slower sets run under it in tests/equiv. */
static void must_pass(const char *path)
{
    static const lcsm_isa sets[] = {LCSM_ISA_AUTO, LCSM_ISA_REFERENCE, LCSM_ISA_PORTABLE,
                                    LCSM_ISA_AVX2};
    for (size_t j = 0; j < COUNT(sets) && !(LCSM_ASAN && j > 0); j++) {
        tally      t   = {0};
        lcsm_error err = {0};
        if (check(path, sets[j], &t, &err) != LCSM_OK) fail_msg("%s", err.text);
        if (t.failed > 0) fail_msg("%s: %d of %d failed, %s", path, t.failed, t.rows, t.detail);
    }
}

/* ---- cases ---- */

TEST(oracle_cases_of_our_own_pass)
{
    must_pass("tests/oracle/core.json");
    must_pass("tests/oracle/operators.json");
    must_pass("tests/oracle/layers.json");
}

/* Grouped queries, one beta for all heads, half precision, swish. */
TEST(oracle_cases_as_other_programs_record_them_pass)
{
    must_pass("tests/oracle/others.json");
}

/* An activation, an input, an operator and numbers of heads that are not known, and NaN: by name,
 * neither passed nor run. */
TEST(oracle_cases_that_cannot_be_read_are_refused)
{
    tally      t   = {0};
    lcsm_error err = {0};
    assert_int_equal(check("tests/oracle/others_refused.json", LCSM_ISA_AUTO, &t, &err), LCSM_OK);
    assert_int_equal(t.rows, 5);
    assert_int_equal(t.refused, 5);
}

static const char *shared(const char *file)
{
    static char path[512];
    const char *root = getenv("LCSM_SHARED");
    (void)snprintf(path, sizeof path, "%s/%s", root != NULL ? root : "../shared", file);
    FILE *there = fopen(path, "rb");
    if (there == NULL) skip();
    fclose(there);
    return path;
}

TEST(oracle_cases_of_operator_layers_and_optimiser_pass)
{
    static const char *const files[] = {
        "core_type1", "core_type2",  "core_complex", "activations", "misc_layers", "optim",
        "noncausal",  "eos_o_codes", "eos_es_codes", "eos_act_tau", "eos_layer"};
    for (size_t j = 0; j < sizeof files / sizeof *files; j++) {
        char file[64];
        (void)snprintf(file, sizeof file, "oracles/%s.json", files[j]);
        must_pass(shared(file));
    }
}

TEST(oracle_cases_of_methods_pass)
{
    static const char *const files[] = {"linear_attention",
                                        "retnet_tnl",
                                        "cosformer_lrpe",
                                        "gla_gateloop",
                                        "dur_gfw",
                                        "hgrn_lrn",
                                        "rwkv4",
                                        "mamba",
                                        "s4",
                                        "s5",
                                        "dss",
                                        "tnn",
                                        "fwp_m123"};
    for (size_t j = 0; j < sizeof files / sizeof *files; j++) {
        char file[64];
        (void)snprintf(file, sizeof file, "oracles/%s.json", files[j]);
        must_pass(shared(file));
    }
}

TEST(oracle_cases_of_mixers_of_other_libraries_pass)
{
    must_pass(shared("oracles-2/delta_family.json"));
    must_pass(shared("oracles-2/mamba2_family.json"));
}

TEST(oracle_cases_of_models_tables_and_tasks_pass)
{
    must_pass(shared("oracles/models.json"));
    must_pass(shared("oracles/tables.json"));
    must_pass(shared("oracles/mqar.json"));
}

TEST(oracle_outputs_of_other_programs_pass)
{
    must_pass(shared("data/mamba-cuda/cases.json"));
    must_pass(shared("data/onnx-linear-attention/cases.json"));
}

/* ---- wrong numbers and wrong files ---- */

static const char CASE[] =
    "{\"format\": \"lcsm-oracle-1\", \"title\": \"t\", \"cases\": [{\"name\": \"ones\", "
    "\"config\": {}, \"inputs\": {\"i\": {\"shape\": [1, 1], \"data\": [2.0]}, "
    "\"e\": {\"shape\": [1, 1], \"data\": [3.0]}, \"s\": {\"shape\": [1, 1], \"data\": [5.0]}}, "
    "\"outputs\": {\"y\": {\"shape\": [1, 1], \"data\": [30.0]}}, "
    "\"dy\": {\"y\": {\"shape\": [1, 1], \"data\": [1.0]}}, "
    "\"grads\": {\"e\": {\"shape\": [1, 1], \"data\": [10.0]}}}]}";

/* CASE with the first `from` replaced, through the check. */
static lcsm_status check_edited(const char *from, const char *to, tally *t, lcsm_error *err)
{
    char        text[1024];
    temp_folder f  = temp_folder_make();
    const char *at = strstr(CASE, from);
    assert_non_null(at);
    int size =
        snprintf(text, sizeof text, "%.*s%s%s", (int)(at - CASE), CASE, to, at + strlen(from));
    temp_write(&f, "case.json", text, (size_t)size);
    *t             = (tally){0};
    lcsm_status st = check(temp_path(&f, "case.json"), LCSM_ISA_AUTO, t, err);
    temp_folder_remove(&f);
    return st;
}

TEST(oracle_case_with_right_numbers_passes)
{
    tally      t;
    lcsm_error err;
    assert_int_equal(check_edited("30.0", "30.0", &t, &err), LCSM_OK);
    assert_int_equal(t.rows, 2);
    assert_int_equal(t.failed, 0);
}

TEST(oracle_case_with_a_wrong_number_fails)
{
    static const char *const edits[][2] = {{"30.0", "30.001"}, {"[10.0]", "[10.01]"}};
    tally                    t;
    lcsm_error               err;
    for (size_t j = 0; j < sizeof edits / sizeof *edits; j++) {
        assert_int_equal(check_edited(edits[j][0], edits[j][1], &t, &err), LCSM_OK);
        assert_int_equal(t.failed, 2);
    }
}

/* 1000.1 - 1000 in float has lost four digits, however it is computed. */
static const char CANCELLING[] =
    "{\"format\": \"lcsm-oracle-1\", \"title\": \"t\", \"cases\": [{\"name\": \"ones\", "
    "\"config\": {}, "
    "\"inputs\": {\"i\": {\"shape\": [2, 1], \"data\": [1000.1, -1000.0]}, "
    "\"e\": {\"shape\": [2, 1], \"data\": [1.0, 1.0]}, \"s\": {\"shape\": [2, 1], \"data\": [1.0, "
    "1.0]}}, "
    "\"outputs\": {\"y\": {\"shape\": [2, 1], \"data\": [1000.1, 0.1]}}}]}";

TEST(oracle_case_that_loses_digits_in_every_float_is_judged_by_the_reference)
{
    lcsm_error  err = {0};
    tally       t   = {0};
    temp_folder f   = temp_folder_make();
    temp_write(&f, "case.json", CANCELLING, sizeof CANCELLING - 1);
    assert_int_equal(check(temp_path(&f, "case.json"), LCSM_ISA_AUTO, &t, &err), LCSM_OK);
    temp_folder_remove(&f);
    assert_int_equal(t.rows, 2);
    assert_int_equal(t.failed, 0);
}

TEST(oracle_case_that_is_unknown_says_so_and_fails)
{
    tally      t;
    lcsm_error err;
    assert_int_equal(check_edited("\"e\":", "\"f\":", &t, &err), LCSM_OK);
    assert_int_equal(t.failed, 1);
    assert_non_null(strstr(t.detail, "unknown case"));
}

TEST(oracle_case_none_of_whose_outputs_is_compared_fails)
{
    tally      t;
    lcsm_error err;
    assert_int_equal(check_edited("\"outputs\": {\"y\"", "\"outputs\": {\"z\"", &t, &err), LCSM_OK);
    assert_int_equal(t.failed, t.rows);
}

TEST(oracle_file_that_breaks_the_format_is_refused_with_its_place)
{
    static const struct {
        const char *from, *to, *says;
    } edits[] = {
        {"[30.0]", "[30.0, 1.0]", "array y: \"data\" has 2 numbers; its shape needs 1"},
        {"[30.0]", "[\"30\"]", "array y: \"data\" is not a list of numbers"},
        {"[1, 1], \"data\": [30.0]", "[1, -1], \"data\": [30.0]", "array y: \"shape\""},
        {"\"title\"", "\"format\"", "format"}, /* twice */
        {"lcsm-oracle-1", "lcsm-oracle-9", "lcsm-oracle-9"},
        {"}]}", "}", "case.json"},
        {"\"name\": \"ones\", ", "", "case 1 has no name"},
    };
    tally t;
    for (size_t j = 0; j < sizeof edits / sizeof *edits; j++) {
        lcsm_error err = {0};
        assert_int_equal(check_edited(edits[j].from, edits[j].to, &t, &err), LCSM_ERR_FORMAT);
        assert_int_equal(t.rows, 0);
        if (strstr(err.text, edits[j].says) == NULL)
            fail_msg("'%s' does not say '%s'", err.text, edits[j].says);
    }
}

TEST(oracle_case_whose_arrays_do_not_fit_each_other_fails)
{
    static const char *const edits[][2] = {
        {"\"e\": {\"shape\": [1, 1], \"data\": [3.0]}", "\"e\": {\"shape\": [1], \"data\": [3.0]}"},
        {"\"i\": {\"shape\": [1, 1], \"data\": [2.0]}",
         "\"i\": {\"shape\": [2, 1], \"data\": [2.0, 1.0]}"},
        {"\"e\": {\"shape\": [1, 1], \"data\": [10.0]}",
         "\"e\": {\"shape\": [2], \"data\": [10.0, 1.0]}"},
    };
    tally      t;
    lcsm_error err;
    for (size_t j = 0; j < sizeof edits / sizeof *edits; j++) {
        assert_int_equal(check_edited(edits[j][0], edits[j][1], &t, &err), LCSM_OK);
        assert_int_equal(t.failed, t.rows);
    }
}
