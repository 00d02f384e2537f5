/* test_one_operator.c - one operator computes them all: every row of the method table but softmax
 * attention runs through eos, and nothing else carries a memory of its own. */
#include <stdio.h>
#include <string.h>

#include "eos/method.h"
#include "graph/internal.h"
#include "model/config.h"
#include "model/model_graph.h"
#include "test.h"

enum { B = 2, T = 5 };

static lcsm_model_config config_of(const lcsm_method *method, lcsm_flavour flavour)
{
    lcsm_model_config m;
    lcsm_model_config_defaults(&m);
    m.vocab = 11, m.d_model = 8, m.layers = 1, m.state_size = 4, m.rank = 2, m.tied = false;
    m.flavour = (int)flavour;
    (void)snprintf(m.method, sizeof m.method, "%s", method->name);
    if (strcmp(method->name, "code") == 0) (void)snprintf(m.code, sizeof m.code, "1-1-1-0");
    return m;
}

/* What carries something from step to step beside eos: the last tokens, a position, a maximum. */
static bool is_small(const lcsm_node *n)
{
    static const char *const NAMES[] = {"shift", "conv", "rotate", "running_max", "signs"};
    for (size_t j = 0; j < COUNT(NAMES); j++)
        if (strcmp(n->op->name, NAMES[j]) == 0) return true;
    return false;
}

static void check(const lcsm_context *ctx, const lcsm_method *method, lcsm_flavour flavour)
{
    lcsm_params      *params = NULL;
    lcsm_graph       *g      = NULL;
    lcsm_model_io     io;
    lcsm_error        err  = {0};
    lcsm_model_want   want = {.logits = true, .ignore = -1};
    lcsm_model_config cfg  = config_of(method, flavour);
    int               eos  = 0;
    assert_int_equal(lcsm_params_create(&params, LCSM_F32, 3, NULL), LCSM_OK);
    assert_int_equal(lcsm_graph_create(&g, ctx, params, NULL), LCSM_OK);
    if (lcsm_model_build(g, &cfg, B, T, &want, &io, &err) != LCSM_OK)
        fail_msg("%s: %s", method->name, err.text);
    for (int j = 0; j < g->node_list.count; j++) {
        const lcsm_node *n = lcsm_node_at(g, j);
        if (n->op == lcsm_op_row(LCSM_OP_eos, LCSM_F32)) eos++;
        else if (n->n_state > 0 && !is_small(n))
            fail_msg("%s has a memory in the op %s", method->name, n->op->name);
    }
    if (eos == 0) fail_msg("%s does not run through eos", method->name);
    lcsm_graph_free(g);
    lcsm_params_free(params);
}

TEST(every_method_but_attention_runs_through_the_one_operator)
{
    lcsm_context *ctx = NULL;
    assert_int_equal(lcsm_context_create(&ctx, NULL, NULL), LCSM_OK);
    for (size_t j = 0; j < LCSM_METHOD_COUNT; j++) {
        const lcsm_method *m = &LCSM_METHODS[j];
        if (strcmp(m->name, "attention") == 0) continue;
        check(ctx, m, LCSM_FLAVOUR_NATIVE);
        if (lcsm_method_has_bare(m)) check(ctx, m, LCSM_FLAVOUR_BARE);
    }
    lcsm_context_free(ctx);
}
