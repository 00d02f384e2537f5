/* test_sized.c - structs that begin with their size: older and newer callers, and those without. */
#include <lcsm/tools.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <lcsm/lcsm.h>

#include "base/sized.h"
#include "test.h"

/* A struct of options as three versions of a header have it; the library has the middle one. */
typedef struct {
    size_t size, a;
} older;

typedef struct {
    size_t size, a, b;
} current;

typedef struct {
    size_t size, a, b, c, d;
} newer;

static lcsm_status take(current *own, const void *given, lcsm_error *err)
{
    memset(own, 0x55, sizeof *own);
    return LCSM_TAKE(current, a, own, given, err);
}

TEST(sized_options_of_no_caller_are_zero)
{
    current own;
    assert_int_equal(take(&own, NULL, NULL), LCSM_OK);
    assert_int_equal(own.size, sizeof own);
    assert_true(own.a == 0 && own.b == 0);
}

TEST(sized_options_without_a_size_or_shorter_than_the_first_version_are_refused)
{
    current    own, given = {.a = 1, .b = 2};
    lcsm_error err = {0};
    assert_int_equal(take(&own, &given, &err), LCSM_ERR_ARGUMENT);
    assert_string_equal(err.text, "current.size is 0; expected sizeof(current)");
    given.size = sizeof(older) - 1;
    assert_int_equal(take(&own, &given, &err), LCSM_ERR_ARGUMENT);
    assert_string_equal(err.text, "current.size is 15; expected sizeof(current)");
}

TEST(sized_options_of_an_older_header_lack_what_is_new)
{
    current own;
    older   given = {.size = sizeof given, .a = 7};
    assert_int_equal(take(&own, &given, NULL), LCSM_OK);
    assert_int_equal(own.size, sizeof own);
    assert_true(own.a == 7 && own.b == 0);
}

TEST(sized_options_of_the_same_header_are_copied)
{
    current own, given = {.size = sizeof given, .a = 7, .b = 8};
    assert_int_equal(take(&own, &given, NULL), LCSM_OK);
    assert_true(own.a == 7 && own.b == 8);
}

TEST(sized_options_of_a_newer_header_may_not_set_what_is_unknown)
{
    current    own;
    newer      given = {.size = sizeof given, .a = 7, .b = 8};
    lcsm_error err   = {0};
    assert_int_equal(take(&own, &given, &err), LCSM_OK);
    assert_int_equal(own.size, sizeof own);
    assert_true(own.a == 7 && own.b == 8);
    ((unsigned char *)&given)[sizeof given - 1] = 1;
    assert_int_equal(take(&own, &given, &err), LCSM_ERR_UNSUPPORTED);
    assert_non_null(strstr(err.text, "current sets a member that this version"));
}

TEST(sized_results_are_filled_as_far_as_the_caller_knows_them)
{
    current own = {.size = sizeof own, .a = 7, .b = 8}, none;
    struct {
        older  r;
        size_t guard;
    } small = {{.size = sizeof(older)}, 99};
    newer large;
    memset(&large, 0x55, sizeof large);
    large.size = sizeof large;
    lcsm_sized_fill(&small, &own, sizeof own);
    assert_true(small.r.size == sizeof(older) && small.r.a == 7 && small.guard == 99);
    lcsm_sized_fill(&large, &own, sizeof own);
    assert_true(large.size == sizeof large && large.a == 7 && large.b == 8);
    assert_true(large.c == 0 && large.d == 0);
    memset(&none, 0x55, sizeof none);
    none.size = 0;
    lcsm_sized_fill(&none, &own, sizeof own);
    assert_true(none.size == 0 && none.a == none.b && none.a != 7);
}

/* ---- through the public functions ------------------------------------------------------- */

static void expect(lcsm_status st, const lcsm_error *err, const char *type)
{
    char text[160];
    (void)snprintf(text, sizeof text, "%s.size is 0; expected sizeof(%s)", type, type);
    assert_int_equal(st, LCSM_ERR_ARGUMENT);
    assert_string_equal(err->text, text);
}

typedef struct {
    lcsm_context      *ctx;
    lcsm_model_config *cfg;
    lcsm_model        *model;
    lcsm_tokenizer    *tok;
    lcsm_error         err;
} fixture;

static const char *const PATHS[] = {"README.md"};

static fixture make(void)
{
    fixture              x = {0};
    lcsm_context_options o = {.size = sizeof o, .threads = 1};
    assert_int_equal(lcsm_context_create(&x.ctx, &o, NULL), LCSM_OK);
    assert_int_equal(lcsm_model_config_create(&x.cfg, NULL), LCSM_OK);
    assert_int_equal(lcsm_model_config_set_number(x.cfg, "d_model", 16, NULL), LCSM_OK);
    assert_int_equal(lcsm_model_config_set_number(x.cfg, "layers", 1, NULL), LCSM_OK);
    assert_int_equal(lcsm_model_config_set_number(x.cfg, "heads", 1, NULL), LCSM_OK);
    assert_int_equal(lcsm_model_config_set_number(x.cfg, "vocab", 256, NULL), LCSM_OK);
    assert_int_equal(lcsm_model_create(&x.model, x.ctx, x.cfg, 1, NULL), LCSM_OK);
    assert_int_equal(lcsm_tokenizer_bytes(&x.tok, NULL), LCSM_OK);
    return x;
}

static void done(fixture *x)
{
    lcsm_tokenizer_free(x->tok);
    lcsm_model_free(x->model);
    lcsm_model_config_free(x->cfg);
    lcsm_context_free(x->ctx);
}

TEST(sized_options_without_a_size_open_nothing)
{
    fixture                 x        = make();
    lcsm_context           *ctx      = NULL;
    lcsm_session           *s        = NULL;
    lcsm_sampler           *sampler  = NULL;
    lcsm_dataset           *ds       = NULL;
    lcsm_tokenizer         *tok      = NULL;
    lcsm_eos               *op       = NULL;
    lcsm_context_options    context  = {.threads = 1};
    lcsm_session_options    session  = {.batch = 1};
    lcsm_sample_options     sample   = {.temperature = 1};
    lcsm_dataset_options    dataset  = {.ends = LCSM_ENDS_NEVER};
    lcsm_tokenizer_training training = {.vocab = 300};
    lcsm_eos_desc           desc     = {.B = 3};
    expect(lcsm_context_create(&ctx, &context, &x.err), &x.err, "lcsm_context_options");
    expect(lcsm_session_create(&s, x.model, &session, &x.err), &x.err, "lcsm_session_options");
    expect(lcsm_sampler_create(&sampler, 9, &sample, &x.err), &x.err, "lcsm_sample_options");
    expect(lcsm_dataset_open(&ds, PATHS, 1, x.tok, &dataset, NULL, NULL, &x.err), &x.err,
           "lcsm_dataset_options");
    expect(lcsm_tokenizer_train(&tok, PATHS, 1, &training, NULL, NULL, &x.err), &x.err,
           "lcsm_tokenizer_training");
    lcsm_eos_desc_init(&desc, 1, 1, 1, 1, 1);
    assert_int_equal(desc.B, 3);
    expect(lcsm_eos_create(&op, x.ctx, &desc, &x.err), &x.err, "lcsm_eos_desc");
    assert_true(ctx == NULL && s == NULL && sampler == NULL);
    assert_true(ds == NULL && tok == NULL && op == NULL);
    done(&x);
}

TEST(sized_results_without_a_size_are_refused)
{
    fixture             x       = make();
    lcsm_tokenizer_info about   = {0};
    lcsm_model_summary  summary = {0};
    lcsm_method_info    method  = {0};
    lcsm_code_info      code    = {0};
    lcsm_import_options options = {0};
    lcsm_import_result  result  = {0};
    expect(lcsm_tokenizer_describe(x.tok, &about, &x.err), &x.err, "lcsm_tokenizer_info");
    expect(lcsm_model_describe(x.ctx, x.cfg, 8, &summary, NULL, NULL, &x.err), &x.err,
           "lcsm_model_summary");
    expect(lcsm_method_at(0, &method, &x.err), &x.err, "lcsm_method_info");
    expect(lcsm_code_at(0, &code, &x.err), &x.err, "lcsm_code_info");
    expect(lcsm_import(x.ctx, "x", "y", &options, NULL, &x.err), &x.err, "lcsm_import_options");
    expect(lcsm_import(x.ctx, "x", "y", NULL, &result, &x.err), &x.err, "lcsm_import_result");
    done(&x);
}

TEST(sized_rows_of_a_table_end)
{
    lcsm_method_info method = {.size = sizeof method};
    lcsm_code_info   code   = {.size = sizeof code};
    assert_int_equal(lcsm_method_at(lcsm_method_count() - 1, &method, NULL), LCSM_OK);
    assert_int_equal(lcsm_method_at(lcsm_method_count(), &method, NULL), LCSM_ERR_ARGUMENT);
    assert_int_equal(lcsm_code_at(lcsm_code_count() - 1, &code, NULL), LCSM_OK);
    assert_int_equal(lcsm_code_at(lcsm_code_count(), &code, NULL), LCSM_ERR_ARGUMENT);
}

TEST(sized_structs_of_generation_and_evaluation_need_a_size)
{
    fixture               x        = make();
    lcsm_session         *s        = NULL;
    lcsm_dataset         *ds       = NULL;
    lcsm_generate_options generate = {0}, good = {.size = sizeof good, .tokens = 1};
    lcsm_generate_end     end      = {0};
    lcsm_evaluate_options evaluate = {0};
    lcsm_evaluation       without = {0}, with = {.size = sizeof with};
    assert_int_equal(lcsm_session_create(&s, x.model, NULL, NULL), LCSM_OK);
    expect(lcsm_generate_prompt(s, x.tok, &generate, "a", 1, &x.err), &x.err,
           "lcsm_generate_options");
    assert_int_equal(lcsm_generate_prompt(s, x.tok, &good, "a", 1, NULL), LCSM_OK);
    expect(lcsm_generate(s, x.tok, &generate, NULL, NULL, NULL, &x.err), &x.err,
           "lcsm_generate_options");
    expect(lcsm_generate(s, x.tok, &good, NULL, NULL, &end, &x.err), &x.err, "lcsm_generate_end");
    assert_int_equal(lcsm_session_position(s), 1);
    assert_int_equal(lcsm_dataset_open(&ds, PATHS, 1, x.tok, NULL, NULL, NULL, NULL), LCSM_OK);
    expect(lcsm_evaluate(x.model, ds, &evaluate, &with, NULL, NULL, &x.err), &x.err,
           "lcsm_evaluate_options");
    expect(lcsm_evaluate(x.model, ds, NULL, &without, NULL, NULL, &x.err), &x.err,
           "lcsm_evaluation");
    lcsm_dataset_free(ds);
    lcsm_session_free(s);
    done(&x);
}

TEST(sized_structs_of_training_need_a_size)
{
    fixture            x      = make();
    lcsm_train_config *cfg    = NULL;
    lcsm_trainer      *t      = NULL;
    lcsm_update        update = {0};
    lcsm_train_job     none = {0}, job = {.size = sizeof job};
    lcsm_train_hooks   hooks     = {0};
    lcsm_train_result  result    = {0};
    int32_t            tokens[8] = {0};
    expect(lcsm_train(x.ctx, &none, NULL, NULL, &x.err), &x.err, "lcsm_train_job");
    expect(lcsm_train(x.ctx, &job, &hooks, NULL, &x.err), &x.err, "lcsm_train_hooks");
    expect(lcsm_train(x.ctx, &job, NULL, &result, &x.err), &x.err, "lcsm_train_result");
    assert_int_equal(lcsm_train_config_create(&cfg, NULL), LCSM_OK);
    assert_int_equal(lcsm_train_config_set_number(cfg, "batch_size", 1, NULL), LCSM_OK);
    assert_int_equal(lcsm_train_config_set_number(cfg, "seq_len", 8, NULL), LCSM_OK);
    assert_int_equal(lcsm_trainer_create(&t, x.model, cfg, 10, NULL), LCSM_OK);
    expect(lcsm_trainer_step(t, tokens, tokens, NULL, &update, &x.err), &x.err, "lcsm_update");
    lcsm_trainer_free(t);
    lcsm_train_config_free(cfg);
    done(&x);
}

/* A program whose header has one member more, which it leaves at zero or not. */
TEST(sized_options_of_a_newer_program_work_unless_they_ask_for_more)
{
    struct {
        lcsm_context_options o;
        size_t               new_member;
    } later           = {{.size = sizeof later, .threads = 2}, 0};
    lcsm_context *ctx = NULL;
    lcsm_error    err = {0};
    assert_int_equal(lcsm_context_create(&ctx, &later.o, &err), LCSM_OK);
    assert_int_equal(lcsm_context_threads(ctx), 2);
    lcsm_context_free(ctx);
    later.new_member = 1;
    assert_int_equal(lcsm_context_create(&ctx, &later.o, &err), LCSM_ERR_UNSUPPORTED);
    assert_null(ctx);
}

/* Every entry of the tools refuses options and results whose size is not set, before it does
 * anything. */
TEST(sized_tools_refuse_a_struct_without_a_size)
{
    lcsm_error              err;
    char                   *json;
    lcsm_report_options     report     = {0};
    lcsm_report_summary     sum        = {0};
    lcsm_inspect_options    inspect    = {0};
    lcsm_experiment_options experiment = {0};
    lcsm_check_options      check      = {0};
    lcsm_bench_options      bench      = {0};
    lcsm_bench_sink         sink       = {0};
    assert_int_equal(lcsm_report_write(&report, NULL, &err), LCSM_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "expected sizeof(lcsm_report_options)"));
    report.size = sizeof report;
    assert_int_equal(lcsm_report_write(&report, &sum, &err), LCSM_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "expected sizeof(lcsm_report_summary)"));
    assert_int_equal(lcsm_inspect(NULL, &inspect, &json, &err), LCSM_ERR_ARGUMENT);
    assert_int_equal(lcsm_experiment_run(NULL, &experiment, NULL, NULL, &err), LCSM_ERR_ARGUMENT);
    assert_int_equal(lcsm_check_eos(NULL, &check, NULL, NULL, &err), LCSM_ERR_ARGUMENT);
    assert_int_equal(lcsm_check_models(NULL, "gla", &check, NULL, NULL, &err), LCSM_ERR_ARGUMENT);
    assert_int_equal(lcsm_bench_eos(&bench, &sink, &err), LCSM_ERR_ARGUMENT);
    bench.size = sizeof bench;
    assert_int_equal(lcsm_bench_eos(&bench, &sink, &err), LCSM_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "expected sizeof(lcsm_bench_sink)"));
}
