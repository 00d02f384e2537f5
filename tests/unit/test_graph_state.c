/* Carried state of a whole graph: splits, copies, single sequences, training on parts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "graph/layers.h"
#include "test.h"

enum { B = 2, D = 12, K = 5, STEPS = 9 };

typedef struct {
    lcsm_graph  *g;
    lcsm_tensor *x, *y;
    ptrdiff_t    T;
} net;

static lcsm_context *ctx;
static lcsm_params  *params;

static lcsm_tensor *param(lcsm_graph *g, const char *name, lcsm_shape shape)
{
    return lcsm_param_tensor(g, name, shape, lcsm_init_normal(0.3), 0);
}

static lcsm_tensor *layer(lcsm_graph *g, lcsm_tensor *x, int j)
{
    lcsm_scope_push(g, "layers.%d", j);
    lcsm_block_begin(g);
    lcsm_tensor *h =
        lcsm_token_shift(g, &(lcsm_shift_attr){0}, x, param(g, "mu", lcsm_dims(D)), NULL);
    h = lcsm_short_conv(g, &(lcsm_conv_attr){0}, h, param(g, "conv", lcsm_dims(D, 4)), NULL, NULL);
    lcsm_tensor      *k = lcsm_linear(g, h, param(g, "k", lcsm_dims(K, D)), NULL);
    lcsm_eos_operands o = {.H   = 1,
                           .K   = K,
                           .D   = D,
                           .i   = {h, LCSM_AXIS_T | LCSM_AXIS_D},
                           .e   = {k, LCSM_AXIS_T | LCSM_AXIS_K},
                           .s   = {k, LCSM_AXIS_T | LCSM_AXIS_K},
                           .row = {lcsm_gate(g, k, 4), LCSM_AXIS_T | LCSM_AXIS_K}};
    x                   = lcsm_add(g, x, lcsm_recurrence(g, &o, NULL));
    lcsm_block_end(g);
    lcsm_scope_pop(g);
    return x;
}

static net build(ptrdiff_t batch, ptrdiff_t T, const lcsm_plan_options *opt)
{
    net        n   = {.T = T};
    lcsm_error err = {0};
    assert_int_equal(lcsm_graph_create(&n.g, ctx, params, &err), LCSM_OK);
    n.x = lcsm_input(n.g, "x", LCSM_F64, lcsm_dims(batch, T, D));
    n.y = n.x;
    for (int j = 0; j < 2; j++) n.y = layer(n.g, n.y, j);
    lcsm_keep(n.g, n.y);
    if (opt != NULL && opt->train) lcsm_loss(n.g, lcsm_sum(n.g, lcsm_mul(n.g, n.y, n.y)));
    if (lcsm_graph_plan(n.g, opt, &err) != LCSM_OK) fail_msg("%s", err.text);
    return n;
}

static void start(void)
{
    assert_int_equal(lcsm_context_create(&ctx, NULL, NULL), LCSM_OK);
    assert_int_equal(lcsm_params_create(&params, LCSM_F64, 1, NULL), LCSM_OK);
}

static void finish(void)
{
    lcsm_params_free(params);
    lcsm_context_free(ctx);
}

static double in_at(ptrdiff_t b, ptrdiff_t t, ptrdiff_t d)
{
    return lcsm_rng_normal(5, 1, (uint64_t)((b * STEPS + t) * D + d));
}

/* Steps t0 .. of the input, forward and, if wanted, backward. */
static void run(const net *n, lcsm_state *carried, ptrdiff_t t0, bool backward)
{
    lcsm_error             err = {0};
    const lcsm_run_options opt = {.state = carried, .training = backward};
    for (ptrdiff_t b = 0; b < n->x->shape.dim[0]; b++)
        for (ptrdiff_t t = 0; t < n->T; t++)
            for (ptrdiff_t d = 0; d < D; d++)
                ((double *)n->x->data)[(b * n->T + t) * D + d] = in_at(b, t0 + t, d);
    if (lcsm_graph_forward(n->g, &opt, &err) != LCSM_OK) fail_msg("%s", err.text);
    if (backward && lcsm_graph_backward(n->g, &opt, &err) != LCSM_OK) fail_msg("%s", err.text);
}

/* The largest difference to steps t0 .. of the whole, for the sequences that both have. */
static double difference(const net *part, const net *all, ptrdiff_t t0)
{
    double worst = 0;
    for (ptrdiff_t b = 0; b < part->x->shape.dim[0]; b++)
        for (ptrdiff_t j = 0; j < part->T * D; j++)
            worst = fmax(worst, fabs(((double *)part->y->data)[b * part->T * D + j]
                                     - ((double *)all->y->data)[(b * all->T + t0) * D + j]));
    return worst;
}

TEST(state_any_split_of_a_sequence_gives_the_same)
{
    start();
    net all = build(B, STEPS, NULL), one = build(B, 1, NULL);
    run(&all, NULL, 0, false);
    lcsm_state *carried, *copy;
    assert_int_equal(lcsm_state_create(&carried, one.g, NULL), LCSM_OK);
    assert_int_equal(lcsm_state_create(&copy, one.g, NULL), LCSM_OK);
    for (ptrdiff_t cut = 0; cut <= STEPS; cut++) {
        net a = build(B, cut, NULL), b = build(B, STEPS - cut, NULL);
        lcsm_state_clear(carried);
        run(&a, carried, 0, false);
        assert_int_equal(lcsm_state_copy(copy, carried, NULL), LCSM_OK);
        run(&b, carried, cut, false);
        assert_true(difference(&a, &all, 0) < 1e-12 && difference(&b, &all, cut) < 1e-12);
        for (ptrdiff_t t = cut; t < STEPS; t++) {
            run(&one, copy, t, false);
            assert_true(difference(&one, &all, t) < 1e-12);
        }
        lcsm_graph_free(a.g);
        lcsm_graph_free(b.g);
    }
    lcsm_state_free(carried);
    lcsm_state_free(copy);
    lcsm_graph_free(all.g);
    lcsm_graph_free(one.g);
    finish();
}

/* Two parts with carried state: backward of the second reads what its forward read.
 */
static void train_in_parts(bool recompute, bool separate, double *grads)
{
    const lcsm_plan_options opt = {.train = true, .recompute = recompute, .separate = separate};
    net                     a   = build(B, 4, &opt);
    lcsm_state             *carried;
    assert_int_equal(lcsm_state_create(&carried, a.g, NULL), LCSM_OK);
    run(&a, carried, 0, true);
    run(&a, carried, 4, true);
    memcpy(grads, params->grads, params->block * sizeof *grads);
    lcsm_state_free(carried);
    lcsm_graph_free(a.g);
}

TEST(state_training_on_parts_with_recompute_gives_the_same_bits)
{
    start();
    const lcsm_plan_options opt = {.train = true};
    lcsm_graph_free(build(B, 4, &opt).g); /* closes the list of parameters */
    double *want = calloc(params->block, sizeof *want), *got = calloc(params->block, sizeof *got);
    train_in_parts(false, true, want);
    train_in_parts(false, false, got);
    assert_memory_equal(want, got, params->block * sizeof *want);
    train_in_parts(true, false, got);
    assert_memory_equal(want, got, params->block * sizeof *want);
    free(want);
    free(got);
    finish();
}

TEST(state_one_sequence_starts_anew)
{
    start();
    net         one = build(B, 1, NULL), other = build(B, 1, NULL);
    lcsm_state *carried, *fresh;
    assert_int_equal(lcsm_state_create(&carried, one.g, NULL), LCSM_OK);
    assert_int_equal(lcsm_state_create(&fresh, one.g, NULL), LCSM_OK);
    run(&one, carried, 0, false);
    run(&one, carried, 1, false);
    lcsm_state_clear_row(carried, 1);
    run(&one, carried, 2, false);
    run(&other, fresh, 2, false);
    const double *a = one.y->data, *b = other.y->data;
    assert_memory_equal(a + D, b + D, D * sizeof *a);
    assert_memory_not_equal(a, b, D * sizeof *a);
    lcsm_state_free(carried);
    lcsm_state_free(fresh);
    lcsm_graph_free(one.g);
    lcsm_graph_free(other.g);
    finish();
}

TEST(state_entries_have_names)
{
    start();
    net         one = build(B, 1, NULL);
    lcsm_state *carried;
    assert_int_equal(lcsm_state_create(&carried, one.g, NULL), LCSM_OK);
    const char *want[] = {"layers.0.shift", "layers.0.conv", "layers.0.eos",
                          "layers.1.shift", "layers.1.conv", "layers.1.eos"};
    assert_int_equal(carried->count, COUNT(want));
    for (size_t j = 0; j < COUNT(want); j++) assert_string_equal(carried->list[j].name, want[j]);
    assert_int_equal(lcsm_graph_report(one.g).state, carried->bytes);
    lcsm_state_free(carried);
    lcsm_graph_free(one.g);
    finish();
}

TEST(state_of_another_batch_size_or_plan_is_refused)
{
    start();
    net                     one = build(B, 1, NULL), more = build(B + 1, 1, NULL);
    const lcsm_plan_options opt   = {.train = true};
    net                     train = build(B, 1, &opt);
    lcsm_state             *carried, *other;
    lcsm_error              err;
    assert_int_equal(lcsm_state_create(&carried, one.g, NULL), LCSM_OK);
    assert_int_equal(lcsm_state_create(&other, more.g, NULL), LCSM_OK);
    const lcsm_run_options run_opt = {.state = carried};
    assert_int_equal(lcsm_graph_forward(more.g, &run_opt, &err), LCSM_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "another model or batch size"));
    assert_int_equal(lcsm_graph_forward(train.g, &run_opt, &err), LCSM_ERR_ARGUMENT);
    assert_non_null(strstr(err.text, "for training"));
    assert_int_equal(lcsm_state_copy(other, carried, &err), LCSM_ERR_ARGUMENT);
    lcsm_state_free(carried);
    lcsm_state_free(other);
    lcsm_graph_free(one.g);
    lcsm_graph_free(more.g);
    lcsm_graph_free(train.g);
    finish();
}
