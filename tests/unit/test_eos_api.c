/* The public operator: bad descriptors and arguments are refused, in words; small truths. */
#include <float.h>
#include <lcsm/eos.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"

enum { T = LCSM_AXIS_T, K = LCSM_AXIS_K, D = LCSM_AXIS_D, KK = LCSM_AXIS_KK };

static lcsm_context *context(void)
{
    static lcsm_context *ctx;
    if (ctx == NULL) assert_int_equal(lcsm_context_create(&ctx, NULL, NULL), LCSM_OK);
    return ctx;
}

static lcsm_eos_desc good(void)
{
    lcsm_eos_desc d = {.size = sizeof d};
    lcsm_eos_desc_init(&d, 2, 6, 2, 3, 4);
    d.i   = lcsm_eos_axes(T | D);
    d.e   = lcsm_eos_axes(T | K);
    d.s   = lcsm_eos_axes(T | K);
    d.row = lcsm_eos_axes(T | K);
    return d;
}

/* The descriptor is refused, the sentence has the word, and nothing came out. */
static void refused(const lcsm_eos_desc *d, lcsm_status status, const char *word)
{
    lcsm_eos  *op  = (lcsm_eos *)&status; /* not NULL, to see that it becomes so */
    lcsm_error err = {0};
    assert_int_equal(lcsm_eos_create(&op, context(), d, &err), status);
    assert_null(op);
    assert_int_equal(err.status, status);
    if (strstr(err.text, word) == NULL) fail_msg("'%s' does not say '%s'", err.text, word);
    assert_int_equal(lcsm_eos_create(&op, context(), d, NULL), status);
}

TEST(eos_sizes_out_of_range_are_refused)
{
    const ptrdiff_t bad[][5] = {{-1, 6, 2, 3, 4}, {2, -1, 2, 3, 4}, {2, 6, 0, 3, 4},
                                {2, 6, 2, 0, 4},  {2, 6, 2, 3, 0},  {2, 6, 2, -3, 4}};
    const char     *word[]   = {"B is -1", "T is -1", "H is 0", "K is 0", "D is 0", "K is -3"};
    for (size_t j = 0; j < 6; j++) {
        lcsm_eos_desc d = good();
        d.B             = bad[j][0];
        d.T             = bad[j][1];
        d.H             = bad[j][2];
        d.K             = bad[j][3];
        d.D             = bad[j][4];
        refused(&d, LCSM_ERR_ARGUMENT, word[j]);
    }
}

TEST(eos_sizes_that_overflow_are_refused)
{
    lcsm_eos_desc d = good();
    d.K = d.D = PTRDIFF_MAX / 2;
    refused(&d, LCSM_ERR_ARGUMENT, "overflow");
    d   = good();
    d.B = d.T = (ptrdiff_t)1 << 40;
    refused(&d, LCSM_ERR_ARGUMENT, "overflow");
}

TEST(eos_missing_operand_is_named)
{
    lcsm_eos_desc d = good();
    d.s.present     = false;
    refused(&d, LCSM_ERR_ARGUMENT, "operand s is missing");
}

TEST(eos_wrong_axes_are_named)
{
    lcsm_eos_desc d = good();
    d.i             = lcsm_eos_axes(T | K);
    refused(&d, LCSM_ERR_ARGUMENT, "expected T D");
    d   = good();
    d.e = lcsm_eos_axes(T | K | D);
    refused(&d, LCSM_ERR_ARGUMENT, "expected T K, K or K D");
    d          = good();
    d.row.axes = 64;
    refused(&d, LCSM_ERR_ARGUMENT, "row has the axes");
    d                = good();
    d.row.is_complex = true;
    refused(&d, LCSM_ERR_ARGUMENT, "row is complex");
}

TEST(eos_mismatched_strides_are_refused)
{
    lcsm_eos_desc d = good();
    d.e.stride_t    = 2; /* two heads of three rows need at least 6 */
    refused(&d, LCSM_ERR_ARGUMENT, "stride_");
    d            = good();
    d.e.stride_h = -3;
    refused(&d, LCSM_ERR_ARGUMENT, "stride_h of e is -3");
    d              = good();
    d.row          = lcsm_eos_axes(K);
    d.row.stride_t = 3;
    refused(&d, LCSM_ERR_ARGUMENT, "row is static");
    d            = good();
    d.i.stride_b = PTRDIFF_MAX;
    d.i.stride_t = PTRDIFF_MAX / 2;
    refused(&d, LCSM_ERR_ARGUMENT, "overflow");
}

TEST(eos_strides_of_a_wider_array_and_of_heads_outside_are_fine)
{
    lcsm_eos_desc d  = good();
    lcsm_eos     *op = NULL;
    d.e.stride_t     = 40; /* a slice of rows of 40 */
    d.i.stride_t     = 4;  /* heads outside: (B, H, T, D) */
    d.i.stride_h     = 24;
    assert_int_equal(lcsm_eos_create(&op, context(), &d, NULL), LCSM_OK);
    lcsm_eos_free(op);
}

TEST(eos_bad_tau_scale_and_generator_are_refused)
{
    lcsm_eos_desc d = good();
    d.gen           = LCSM_GEN_GATE;
    refused(&d, LCSM_ERR_ARGUMENT, "needs gen, u and w");
    d.u                = lcsm_eos_axes(T | K);
    d.w                = lcsm_eos_axes(K | D);
    const double bad[] = {NAN, 0, -1, INFINITY};
    for (size_t j = 0; j < 4; j++) {
        d.tau = bad[j];
        refused(&d, LCSM_ERR_ARGUMENT, "tau is");
    }
    d.tau = 16;
    d.gen = (lcsm_eos_gen)17;
    refused(&d, LCSM_ERR_ARGUMENT, "gen is 17");
    d       = good();
    d.scale = NAN;
    refused(&d, LCSM_ERR_ARGUMENT, "scale is");
}

TEST(eos_unsupported_combinations_are_refused)
{
    lcsm_eos_desc d = good();
    d.dense         = lcsm_eos_axes(KK);
    refused(&d, LCSM_ERR_UNSUPPORTED, "dense is the whole oscillation");
    d      = good();
    d.form = LCSM_FORM_DELTA;
    refused(&d, LCSM_ERR_UNSUPPORTED, "form delta");
    d.form = LCSM_FORM_CONVOLUTION;
    refused(&d, LCSM_ERR_UNSUPPORTED, "form conv");
    d.form = (lcsm_eos_form)99;
    refused(&d, LCSM_ERR_UNSUPPORTED, "form unknown");
    d       = good();
    d.chunk = -1;
    refused(&d, LCSM_ERR_ARGUMENT, "chunk is -1");
}

TEST(eos_reads_out_of_range_are_refused)
{
    lcsm_eos_desc d = good();
    d.reads         = -1;
    refused(&d, LCSM_ERR_ARGUMENT, "reads is -1 of 12");
    d.reads = 13;
    refused(&d, LCSM_ERR_ARGUMENT, "reads is 13 of 12");
    d.reads   = 3;
    d.reverse = true;
    refused(&d, LCSM_ERR_UNSUPPORTED, "backward");
    d.reverse = false;
    d.s       = lcsm_eos_axes(K);
    refused(&d, LCSM_ERR_UNSUPPORTED, "a static s");
    d       = good();
    d.reads = 1;
    d.T     = 2049;
    refused(&d, LCSM_ERR_UNSUPPORTED, "2049");
    d.T    = 6;
    d.form = LCSM_FORM_SCAN;
    refused(&d, LCSM_ERR_UNSUPPORTED, "form scan");
}

/* Arrays of the good descriptor, all ones, and decay 1. */
typedef struct {
    float y[96], i[96], e[72], s[72], row[72], m[96];
} arrays;

TEST(eos_missing_arrays_are_named_and_nothing_is_written)
{
    lcsm_eos_desc d = good();
    lcsm_eos     *op;
    lcsm_error    err;
    static arrays a;
    assert_int_equal(lcsm_eos_create(&op, context(), &d, &err), LCSM_OK);
    void           *ws = aligned_alloc(64, (lcsm_eos_forward_workspace(op) / 64 + 1) * 64);
    lcsm_eos_states x  = {.i = a.i, .e = a.e, .s = a.s};
    a.y[0]             = 7;
    assert_int_equal(lcsm_eos_forward(op, &x, a.y, NULL, NULL, ws, &err), LCSM_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "row is NULL"));
    x.row = a.row;
    assert_int_equal(lcsm_eos_forward(op, &x, a.y, NULL, NULL, NULL, &err), LCSM_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "workspace is NULL"));
    assert_int_equal(lcsm_eos_forward(op, &x, a.y, NULL, NULL, (char *)ws + 4, &err),
                     LCSM_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "aligned"));
    assert_int_equal(lcsm_eos_forward(op, &x, NULL, NULL, NULL, ws, &err), LCSM_ERR_ARGUMENT);
    assert_int_equal(lcsm_eos_forward(NULL, &x, a.y, NULL, NULL, ws, &err), LCSM_ERR_ARGUMENT);
    int32_t reset[12] = {0};
    x.reset           = reset;
    assert_int_equal(lcsm_eos_forward(op, &x, a.y, NULL, NULL, ws, &err), LCSM_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "resets = true"));
    assert_true(a.y[0] == 7);
    free(ws);
    lcsm_eos_free(op);
}

/* Sixteen equal tokens: the memory counts them. Stepping gives what the whole pass gives. */
TEST(eos_step_by_step_equals_the_whole_pass)
{
    lcsm_eos_desc d = good();
    lcsm_eos     *op;
    static arrays a, one;
    assert_int_equal(lcsm_eos_create(&op, context(), &d, NULL), LCSM_OK);
    size_t bytes = lcsm_eos_forward_workspace(op) + lcsm_eos_step_workspace(op);
    void  *ws    = aligned_alloc(64, (bytes / 64 + 1) * 64);
    for (int j = 0; j < 96; j++) a.i[j] = 1;
    for (int j = 0; j < 72; j++) a.e[j] = a.s[j] = 1;
    lcsm_eos_states x = {.i = a.i, .e = a.e, .s = a.s, .row = a.row};
    assert_int_equal(lcsm_eos_forward(op, &x, a.y, a.m, NULL, ws, NULL), LCSM_OK);
    for (int t = 0; t < 6; t++) {
        /* equal tokens, so a pointer to the first two sequences' worth serves every step */
        lcsm_eos_states step = {.i = a.i, .e = a.e, .s = a.s, .row = a.row};
        assert_int_equal(lcsm_eos_step(op, &step, one.m, one.y, ws, NULL), LCSM_OK);
        assert_true(one.y[0] == 3 * (float)(t + 1));
        assert_true(a.y[t * 8] == one.y[0]);
    }
    assert_memory_equal(a.m, one.m, sizeof a.m);
    free(ws);
    lcsm_eos_free(op);
}

/* The memory counts equal tokens; it is read after steps 2 and 6 of the first sequence and after
 * step 1 of the second. The fourth row is none. */
TEST(eos_only_the_reads_come_out)
{
    static const int32_t read[4] = {1, 5, 6, 6};
    lcsm_eos_desc        d       = good();
    lcsm_eos            *op;
    lcsm_error           err;
    static arrays        a;
    d.reads = 4;
    assert_int_equal(lcsm_eos_create(&op, context(), &d, NULL), LCSM_OK);
    void *ws = aligned_alloc(64, (lcsm_eos_forward_workspace(op) / 64 + 1) * 64);
    for (int j = 0; j < 96; j++) a.i[j] = a.y[j] = 1;
    for (int j = 0; j < 72; j++) a.e[j] = a.s[j] = 1;
    lcsm_eos_states x = {.i = a.i, .e = a.e, .s = a.s, .row = a.row};
    assert_int_equal(lcsm_eos_forward(op, &x, a.y, NULL, NULL, ws, &err), LCSM_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "list of reads is NULL"));
    x.read = read;
    assert_int_equal(lcsm_eos_forward(op, &x, a.y, NULL, NULL, ws, NULL), LCSM_OK);
    static const float want[] = {6, 18, 3, 0, 1}; /* three rows of the memory */
    for (int j = 0; j < 4 * 8; j++) /* some sets of kernels divide by decays: a few roundings */
        assert_float_equal(a.y[j], want[j / 8], 18 * 4 * FLT_EPSILON);
    assert_true(a.y[4 * 8] == 1);
    free(ws);
    lcsm_eos_free(op);
}

TEST(eos_gradient_of_an_absent_operand_is_refused)
{
    lcsm_eos_desc d = good();
    lcsm_eos     *op;
    lcsm_error    err;
    static arrays a;
    assert_int_equal(lcsm_eos_create(&op, context(), &d, &err), LCSM_OK);
    lcsm_eos_states x = {.i = a.i, .e = a.e, .s = a.s, .row = a.row};
    lcsm_eos_grads  g = {.col = a.m};
    assert_int_equal(lcsm_eos_backward(op, &x, a.y, a.y, NULL, &g, NULL, NULL, &err),
                     LCSM_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "no such operand"));
    lcsm_eos_free(op);
}

/* A pass in double on the numbers of a pass in float: the same up to float's rounding, and each
 * refuses the other's plan. */
TEST(eos_doubles_are_those_of_floats_and_plans_do_not_mix)
{
    enum {
        B    = 2,
        N    = 6,
        H    = 2,
        ROWS = 3,
        COLS = 4,
        IN   = B * N * H * COLS,
        KEYS = B * N * H * ROWS
    };
    float         i[IN], e[KEYS], s[KEYS], row[KEYS], y[IN], g_e[KEYS]       = {0};
    double        di[IN], de[KEYS], ds[KEYS], drow[KEYS], dy[IN], dg_e[KEYS] = {0};
    lcsm_eos_desc d = good();
    lcsm_eos     *single, *twice;
    lcsm_error    err = {0};
    for (int j = 0; j < IN; j++) di[j] = i[j] = sinf((float)j);
    for (int j = 0; j < KEYS; j++) {
        de[j] = e[j] = cosf((float)j);
        ds[j] = s[j] = sinf(3 * (float)j);
        drow[j] = row[j] = -0.3f - 0.2f * cosf(5 * (float)j);
    }
    assert_int_equal(lcsm_eos_create(&single, context(), &d, &err), LCSM_OK);
    d.double_precision = 1;
    assert_int_equal(lcsm_eos_create(&twice, context(), &d, &err), LCSM_OK);
    assert_int_equal(lcsm_eos_tape(twice), 2 * lcsm_eos_tape(single));
    void *ws   = aligned_alloc(64, 1 << 20);
    void *kept = aligned_alloc(64, 1 << 20);
    assert_true(lcsm_eos_backward_workspace(twice) < 1 << 20 && lcsm_eos_tape(twice) < 1 << 20);

    lcsm_eos_states        x  = {.i = i, .e = e, .s = s, .row = row};
    lcsm_eos_states_double dx = {.i = di, .e = de, .s = ds, .row = drow};
    lcsm_eos_grads         g  = {.e = g_e};
    lcsm_eos_grads_double  dg = {.e = dg_e};
    assert_int_equal(lcsm_eos_forward(twice, &x, y, NULL, NULL, ws, &err), LCSM_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "for doubles; use the functions with _double"));
    assert_int_equal(lcsm_eos_step_double(single, &dx, dy, dy, ws, &err), LCSM_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "for floats; use the functions without _double"));

    assert_int_equal(lcsm_eos_forward(single, &x, y, NULL, kept, ws, &err), LCSM_OK);
    assert_int_equal(lcsm_eos_backward(single, &x, y, y, NULL, &g, kept, ws, &err), LCSM_OK);
    assert_int_equal(lcsm_eos_forward_double(twice, &dx, dy, NULL, kept, ws, &err), LCSM_OK);
    assert_int_equal(lcsm_eos_backward_double(twice, &dx, dy, dy, NULL, &dg, kept, ws, &err),
                     LCSM_OK);
    for (int j = 0; j < IN; j++) assert_true(fabs(y[j] - dy[j]) < 1e-5);
    for (int j = 0; j < KEYS; j++) assert_true(fabs(g_e[j] - dg_e[j]) < 1e-4);
    free(ws);
    free(kept);
    lcsm_eos_free(single);
    lcsm_eos_free(twice);
}
