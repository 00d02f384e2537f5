/* test_context.c - options are checked, defaults filled in. */
#include <string.h>

#include <lcsm/context.h>

#include "base/thread.h"
#include "test.h"

TEST(context_by_default_uses_all_processors_and_the_best_kernels)
{
    lcsm_context *ctx = NULL;
    assert_int_equal(lcsm_context_create(&ctx, NULL, NULL), LCSM_OK);
    assert_int_equal(lcsm_context_threads(ctx), lcsm_thread_limit());
    assert_true(lcsm_context_isa(ctx) >= LCSM_ISA_PORTABLE);
    lcsm_context_free(ctx);
}

TEST(context_keeps_what_was_asked_for)
{
    lcsm_context_options options = {
        .size = sizeof options, .threads = 3, .isa = LCSM_ISA_REFERENCE};
    lcsm_context *ctx = NULL;
    assert_int_equal(lcsm_context_create(&ctx, &options, NULL), LCSM_OK);
    assert_int_equal(lcsm_context_threads(ctx), 3);
    assert_int_equal(lcsm_context_isa(ctx), LCSM_ISA_REFERENCE);
    assert_string_equal(lcsm_context_isa_name(ctx), "reference");
    lcsm_context_free(ctx);
}

static void assert_refused(lcsm_context_options options, lcsm_status status, const char *text)
{
    lcsm_context *ctx = (lcsm_context *)&options;
    lcsm_error    err = {0};
    assert_int_equal(lcsm_context_create(&ctx, &options, &err), status);
    assert_null(ctx);
    assert_non_null(strstr(err.text, text));
}

TEST(context_with_bad_options_says_which)
{
    assert_refused((lcsm_context_options){.size = sizeof(lcsm_context_options), .threads = -1},
                   LCSM_ERR_ARGUMENT, "threads is -1");
    assert_refused((lcsm_context_options){.size = sizeof(lcsm_context_options), .threads = 100000},
                   LCSM_ERR_ARGUMENT, "0 to 1024");
    assert_refused(
        (lcsm_context_options){.size = sizeof(lcsm_context_options), .isa = (lcsm_isa)17},
        LCSM_ERR_ARGUMENT, "isa is 17");
}

TEST(isa_names_end_with_null)
{
    assert_string_equal(lcsm_isa_name(LCSM_ISA_AUTO), "auto");
    assert_string_equal(lcsm_isa_name(LCSM_ISA_AVX512), "avx512");
    assert_string_equal(lcsm_isa_name(LCSM_ISA_AVX512_BF16), "avx512-bf16");
    assert_string_equal(lcsm_isa_name(LCSM_ISA_NEON), "neon");
    assert_null(lcsm_isa_name((lcsm_isa)(LCSM_ISA_NEON + 1)));
}

TEST(context_free_of_null_is_fine)
{
    lcsm_context_free(NULL);
}
