/*
 * No allocation in a run: this program has its own malloc and friends, which count. It is silent
 * where a sanitizer has its own allocator.
 */
#include <stdatomic.h>
#include <stdlib.h>

#include "base/rng.h"
#include "base/sanitizer.h"
#include "graph/layers.h"
#include "test.h"

#if defined(__SANITIZE_THREAD__)
#define COUNTING 0
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define COUNTING 0
#endif
#endif
#ifndef COUNTING
#if defined(__GLIBC__) && !LCSM_ASAN
#define COUNTING 1
#else
#define COUNTING 0
#endif
#endif

static atomic_int allocations;

#if COUNTING
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t align, size_t n);
void *aligned_alloc(size_t align, size_t n);

void *malloc(size_t n)
{
    allocations++;
    return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    allocations++;
    return __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
    allocations++;
    return __libc_realloc(p, n);
}

void *aligned_alloc(size_t align, size_t n)
{
    allocations++;
    return __libc_memalign(align, n);
}
#endif

enum { B = 2, T = 48, D = 64, K = 16, V = 50 };

static lcsm_tensor *param(lcsm_graph *g, const char *name, lcsm_shape shape)
{
    return lcsm_param_tensor(g, name, shape, lcsm_init_normal(0.1), 0);
}

/* A small language model with an op of every kind: carried state, saved memory, a loss. */
static lcsm_graph *model(const lcsm_context *ctx, lcsm_params *params, bool train, bool recompute)
{
    lcsm_graph *g;
    lcsm_error  err = {0};
    assert_int_equal(lcsm_graph_create(&g, ctx, params, &err), LCSM_OK);
    lcsm_tensor *tokens = lcsm_input(g, "tokens", LCSM_I32, lcsm_dims(B, T));
    lcsm_tensor *table  = param(g, "table", lcsm_dims(V, D));
    lcsm_tensor *x      = lcsm_embed(g, tokens, table, 1);
    lcsm_block_begin(g);
    lcsm_tensor *h = lcsm_rms_norm(g, x, param(g, "norm", lcsm_dims(D)), 1e-5);
    h = lcsm_short_conv(g, &(lcsm_conv_attr){0}, h, param(g, "conv", lcsm_dims(D, 4)), NULL, NULL);
    lcsm_tensor      *p = lcsm_linear(g, h, param(g, "w", lcsm_dims(D + 3 * K, D)), NULL);
    lcsm_eos_operands o = {
        .H   = 1,
        .K   = K,
        .D   = D,
        .i   = {lcsm_slice(g, p, 2, 0, D), LCSM_AXIS_T | LCSM_AXIS_D},
        .e   = {lcsm_slice(g, p, 2, D, K), LCSM_AXIS_T | LCSM_AXIS_K},
        .s   = {lcsm_slice(g, p, 2, D + K, K), LCSM_AXIS_T | LCSM_AXIS_K},
        .row = {lcsm_gate(g, lcsm_slice(g, p, 2, D + 2 * K, K), 16), LCSM_AXIS_T | LCSM_AXIS_K}};
    x = lcsm_add(g, x, lcsm_dropout(g, lcsm_recurrence(g, &o, NULL), 0.1));
    lcsm_block_end(g);
    lcsm_loss(g, lcsm_linear_cross_entropy(g, &(lcsm_loss_attr){0}, x, table, tokens, NULL));
    const lcsm_plan_options opt = {.train = train, .recompute = recompute};
    if (lcsm_graph_plan(g, &opt, &err) != LCSM_OK) fail_msg("%s", err.text);
    for (int j = 0; j < B * T; j++)
        ((int32_t *)tokens->data)[j] = (int32_t)(lcsm_rng(1, 1, (uint64_t)j).v[0] % V);
    return g;
}

static void step(lcsm_graph *g, lcsm_state *state, bool train)
{
    lcsm_error             err = {0};
    const lcsm_run_options opt = {.training = train, .seed = 4, .state = state};
    if (lcsm_graph_forward(g, &opt, &err) != LCSM_OK
        || (train && lcsm_graph_backward(g, &opt, &err) != LCSM_OK))
        fail_msg("%s", err.text);
}

static void check(int threads, bool train, bool recompute)
{
    lcsm_context        *ctx;
    lcsm_params         *params;
    lcsm_state          *state;
    lcsm_context_options options = {.size = sizeof options, .threads = threads};
    assert_int_equal(lcsm_context_create(&ctx, &options, NULL), LCSM_OK);
    assert_int_equal(lcsm_params_create(&params, LCSM_F32, 1, NULL), LCSM_OK);
    lcsm_graph *g = model(ctx, params, train, recompute);
    assert_int_equal(lcsm_state_create(&state, g, NULL), LCSM_OK);
    step(g, state, train); /* the first run starts the threads */
    allocations = 0;
    for (int j = 0; j < 3; j++) step(g, state, train);
    assert_int_equal(allocations, 0);
    lcsm_state_free(state);
    lcsm_graph_free(g);
    lcsm_params_free(params);
    lcsm_context_free(ctx);
}

TEST(graph_run_allocates_nothing)
{
    for (int threads = 1; threads <= 2; threads++) {
        check(threads, false, false);
        check(threads, true, false);
        check(threads, true, true);
    }
}

TEST(graph_alloc_counter_counts)
{
    allocations      = 0;
    void *volatile p = malloc(10);
    free(p);
    assert_int_equal(allocations, COUNTING);
}
