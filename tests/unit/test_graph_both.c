/* A loss that runs forward and backward at once gives the bits of one after the other. */
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "graph/layers.h"
#include "test.h"

enum { D = 33, IGNORE = -1 };

typedef struct {
    lcsm_context *ctx;
    lcsm_params  *params;
    lcsm_graph   *g;
    lcsm_tensor  *x, *tokens, *targets, *loss, *rows[2];
} model;

/* Embedding, a layer, the loss over the same table. */
static void build(model *m, ptrdiff_t rows, ptrdiff_t V, int threads, bool both)
{
    lcsm_context_options o    = {.size = sizeof o, .threads = threads};
    lcsm_loss_attr       attr = {.ignore = IGNORE, .z = 0.01, .details = true};
    lcsm_plan_options    plan = {.train = true, .both = both};
    lcsm_error           err;
    memset(m, 0, sizeof *m);
    assert_int_equal(lcsm_context_create(&m->ctx, &o, &err), LCSM_OK);
    assert_int_equal(lcsm_params_create(&m->params, LCSM_F32, 3, &err), LCSM_OK);
    assert_int_equal(lcsm_graph_create(&m->g, m->ctx, m->params, &err), LCSM_OK);
    m->tokens          = lcsm_input(m->g, "tokens", LCSM_I32, lcsm_dims(rows));
    m->targets         = lcsm_input(m->g, "targets", LCSM_I32, lcsm_dims(rows));
    lcsm_tensor *table = lcsm_param_tensor(m->g, "table", lcsm_dims(V, D), lcsm_init_normal(1), 0);
    lcsm_tensor *w     = lcsm_param_tensor(m->g, "w", lcsm_dims(D, D), lcsm_init_normal(0.2), 0);
    lcsm_tensor *h     = lcsm_linear(m->g, lcsm_embed(m->g, m->tokens, table, 1), w, NULL);
    m->loss            = lcsm_linear_cross_entropy(m->g, &attr, h, table, m->targets, m->rows);
    lcsm_keep(m->g, m->loss);
    lcsm_keep(m->g, m->rows[0]);
    lcsm_keep(m->g, m->rows[1]);
    lcsm_loss(m->g, m->loss);
    assert_int_equal(lcsm_graph_plan(m->g, &plan, &err), LCSM_OK);
}

static void close_model(model *m)
{
    lcsm_graph_free(m->g);
    lcsm_params_free(m->params);
    lcsm_context_free(m->ctx);
}

/* Two batches, the second added to the gradients of the first. */
static void run(model *m, ptrdiff_t rows, ptrdiff_t V, bool learn)
{
    int32_t   *tokens = m->tokens->data, *targets = m->targets->data;
    lcsm_error err;
    for (int batch = 0; batch < 2; batch++) {
        lcsm_run_options opt = {.training   = true,
                                .accumulate = batch > 0,
                                .loss_scale = batch > 0 ? 0.25 : 0.75,
                                .learn      = learn};
        for (ptrdiff_t r = 0; r < rows; r++) {
            uint32_t bits = lcsm_rng(9, (uint32_t)batch, (uint64_t)r).v[0];
            tokens[r]     = (int32_t)(bits % (uint32_t)V);
            targets[r]    = bits % 3 == 0 ? IGNORE : (int32_t)((bits >> 4) % (uint32_t)V);
        }
        assert_int_equal(lcsm_graph_forward(m->g, &opt, &err), LCSM_OK);
        assert_int_equal(lcsm_graph_backward(m->g, &opt, &err), LCSM_OK);
    }
}

static void compare(const model *a, const model *b, ptrdiff_t rows)
{
    size_t bytes = a->params->block * sizeof(float);
    assert_memory_equal(a->loss->data, b->loss->data, sizeof(float));
    assert_memory_equal(a->rows[0]->data, b->rows[0]->data, (size_t)rows * sizeof(float));
    assert_memory_equal(a->rows[1]->data, b->rows[1]->data, sizeof(float));
    assert_memory_equal(a->params->grads, b->params->grads, bytes);
}

static void check(ptrdiff_t rows, ptrdiff_t V)
{
    model apart, once, threads;
    build(&apart, rows, V, 1, false);
    build(&once, rows, V, 1, true);
    build(&threads, rows, V, 3, true);
    run(&apart, rows, V, true); /* its plan does not, so it is one after the other */
    run(&once, rows, V, true);
    run(&threads, rows, V, true);
    compare(&apart, &once, rows);
    compare(&apart, &threads, rows);
    run(&once, rows, V, false); /* the plan may, the run does not */
    compare(&apart, &once, rows);
    close_model(&apart);
    close_model(&once);
    close_model(&threads);
}

TEST(graph_loss_at_once_equals_forward_then_backward)
{
    check(1, 1);
    check(5, 17);
    check(67, 300);
}

TEST(graph_loss_at_once_equals_forward_then_backward_in_several_stages)
{
    check(3001, 70);
    check(700, 9001);
}
