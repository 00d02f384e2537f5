/* Dropout: what is kept is divided by 1 - rate, so the expectation stays; at the op, and where a
 * model has it. */
#define LCSM_VARIANT_F32_OP
#include <lcsm/context.h>
#include <lcsm/model.h>
#include <math.h>
#include <string.h>

#include "kernel/context.h"
#include "kernel/kernels.h"
#include "model/config.h"
#include "model/model_graph.h"
#include "near.h"
#include "test.h"

static const double RATE = 0.3;

/* Five deviations of a share of n. */
static double far(double share, size_t n)
{
    return 5 * sqrt(share * (1 - share) / (double)n);
}

static lcsm_context *context(lcsm_isa isa)
{
    lcsm_context *ctx = NULL;
    lcsm_error    err;
    if (lcsm_context_create(
            &ctx,
            &(lcsm_context_options){.size = sizeof(lcsm_context_options), .threads = 1, .isa = isa},
            &err)
        != LCSM_OK)
        fail_msg("%s", err.text);
    return ctx;
}

/* ---- the kernel and the op -------------------------------------------------------------- */

enum { N = 20011 };

TEST(drop_kernel_multiplies_what_it_keeps_by_the_factor_and_adds_if_asked)
{
    static float  x[N], y[N];
    lcsm_context *ctx = context(LCSM_ISA_REFERENCE);
    lcsm_drop_f32 d = {.seed = 3, .purpose = 1, .below = (uint32_t)(RATE * 0x1p32), .factor = 1.5f};
    size_t        zeros = 0;
    for (size_t j = 0; j < N; j++) x[j] = (float)(j + 1);
    ctx->f32->drop->run(&d, N, x, false, y);
    ctx->f32->drop->run(&d, N, x, true, y);
    for (size_t j = 0; j < N; j++) {
        zeros += y[j] == 0;
        assert_true(y[j] == 0 || y[j] == 2 * (1.5f * x[j]));
    }
    assert_near((double)zeros / N, RATE, far(RATE, N));
    lcsm_context_free(ctx);
}

/* y = dropout(x) of ones, and the gradient of sum(w y). */
static void run_op(bool training, double *y, double *g)
{
    lcsm_context *ctx    = context(LCSM_ISA_AUTO);
    lcsm_params  *params = NULL;
    lcsm_graph   *graph  = NULL;
    lcsm_error    err    = {0};
    lcsm_shape    shape  = lcsm_dims(1, N);
    assert_int_equal(lcsm_params_create(&params, LCSM_F64, 1, &err), LCSM_OK);
    assert_int_equal(lcsm_graph_create(&graph, ctx, params, &err), LCSM_OK);
    lcsm_tensor *x   = lcsm_param_tensor(graph, "x", shape, lcsm_init_constant(1), 0);
    lcsm_tensor *out = lcsm_dropout(graph, x, RATE);
    lcsm_keep(graph, out);
    lcsm_loss(graph, lcsm_sum(graph, out));
    lcsm_run_options run = {.training = training, .seed = 5};
    if (lcsm_graph_plan(graph, &(lcsm_plan_options){.train = true}, &err) != LCSM_OK)
        fail_msg("%s", err.text);
    assert_int_equal(lcsm_graph_forward(graph, &run, &err), LCSM_OK);
    assert_int_equal(lcsm_graph_backward(graph, &run, &err), LCSM_OK);
    memcpy(y, out->data, N * sizeof *y);
    memcpy(g, lcsm_param_grads(params, 0), N * sizeof *g);
    lcsm_graph_free(graph);
    lcsm_params_free(params);
    lcsm_context_free(ctx);
}

TEST(dropout_keeps_the_expectation_forward_and_backward)
{
    static double y[N], g[N];
    size_t        zeros = 0;
    double        sum   = 0;
    run_op(true, y, g);
    for (size_t j = 0; j < N; j++) {
        zeros += y[j] == 0;
        sum += y[j];
        if (y[j] != 0) assert_near(y[j], 1 / (1 - RATE), 1e-12);
        assert_true(g[j] == y[j]);
    }
    assert_near((double)zeros / N, RATE, far(RATE, N));
    assert_near(sum / N, 1, far(RATE, N) / (1 - RATE));
}

TEST(dropout_in_evaluation_is_the_identity)
{
    static double y[N], g[N];
    run_op(false, y, g);
    for (size_t j = 0; j < N; j++) assert_true(y[j] == 1 && g[j] == 1);
}

/* ---- a model ---------------------------------------------------------------------------- */

/* One block whose weights are zero: the embedding is 4, the mixer gives 1 and the channel mixer 2.
 * A plain RMS norm with epsilon 1 is all that stands between the residual stream and the result. */
enum { B = 16, T = 8, D = 32, STREAM = B * T * D };

static void one_block(lcsm_model_config *cfg)
{
    static const char *const SETTINGS[][2] = {{"method", "linear-attention"},
                                              {"vocab", "3"},
                                              {"d_model", "32"},
                                              {"layers", "1"},
                                              {"channel_mixer", "ffn"},
                                              {"norm", "simple"},
                                              {"norm_eps", "1"},
                                              {"dropout", "0.3"},
                                              {"embed_scale", "1"},
                                              {"final_norm_eps", "1"}};
    lcsm_model_config_defaults(cfg);
    for (size_t j = 0; j < sizeof SETTINGS / sizeof *SETTINGS; j++)
        assert_int_equal(lcsm_model_config_set(cfg, SETTINGS[j][0], SETTINGS[j][1], NULL), LCSM_OK);
}

static void set_all(lcsm_params *params)
{
    static const struct {
        const char *name;
        double      value;
    } VALUES[] = {
        {"embedding.weight", 4}, {"layers.0.mixer.out.bias", 1}, {"layers.0.channel.w2.bias", 2}};
    memset(params->values, 0, params->block * sizeof(double));
    for (size_t v = 0; v < sizeof VALUES / sizeof *VALUES; v++) {
        int row = lcsm_params_find(params, VALUES[v].name);
        assert_true(row >= 0);
        double *x = lcsm_param_values(params, row);
        for (size_t j = 0; j < params->list[row].count; j++) x[j] = VALUES[v].value;
    }
}

/* The residual stream before the final norm: y = x / sqrt(mean x^2 + 1), turned round. */
static void undo_norm(const double *y, double *x)
{
    double mean = 0;
    for (int d = 0; d < D; d++) mean += y[d] * y[d] / D;
    for (int d = 0; d < D; d++) x[d] = y[d] * sqrt(1 / (1 - mean));
}

static void stream_of(bool training, double *x)
{
    lcsm_context     *ctx    = context(LCSM_ISA_AUTO);
    lcsm_params      *params = NULL;
    lcsm_graph       *g      = NULL;
    lcsm_error        err    = {0};
    lcsm_model_io     io;
    lcsm_model_config cfg;
    one_block(&cfg);
    assert_int_equal(lcsm_params_create(&params, LCSM_F64, 1, &err), LCSM_OK);
    assert_int_equal(lcsm_graph_create(&g, ctx, params, &err), LCSM_OK);
    assert_int_equal(lcsm_model_build(g, &cfg, B, T, &(lcsm_model_want){.logits = true}, &io, &err),
                     LCSM_OK);
    if (lcsm_graph_plan(g, &(lcsm_plan_options){0}, &err) != LCSM_OK) fail_msg("%s", err.text);
    set_all(params);
    memset(io.tokens->data, 0, B * T * sizeof(int32_t));
    assert_int_equal(
        lcsm_graph_forward(g, &(lcsm_run_options){.training = training, .seed = 9}, &err), LCSM_OK);
    for (size_t r = 0; r < (size_t)B * T; r++)
        undo_norm((const double *)io.hidden->data + r * D, x + r * D);
    lcsm_graph_free(g);
    lcsm_params_free(params);
    lcsm_context_free(ctx);
}

TEST(dropout_of_a_model_acts_on_embedding_and_branches_by_themselves)
{
    static double x[STREAM];
    size_t        kept[3] = {0};
    stream_of(true, x);
    for (size_t j = 0; j < STREAM; j++) {
        double whole = x[j] * (1 - RATE);
        long   parts = lround(whole);
        assert_near(whole, (double)parts, 1e-9);
        assert_in_range(parts, 0, 7);
        for (int bit = 0; bit < 3; bit++) kept[bit] += parts >> bit & 1;
    }
    for (int bit = 0; bit < 3; bit++)
        assert_near((double)kept[bit] / STREAM, 1 - RATE, far(RATE, STREAM));
}

TEST(dropout_of_a_model_in_evaluation_does_nothing)
{
    static double x[STREAM];
    stream_of(false, x);
    for (size_t j = 0; j < STREAM; j++) assert_near(x[j], 7, 1e-9);
}
