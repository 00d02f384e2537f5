/* Which codes run the operator only where the labels of recall are: those that the planner has a
 * fast form for. */
#include <lcsm/model.h>
#include <stdio.h>

#include "graph/eos_node.h"
#include "graph/internal.h"
#include "model/model_graph.h"
#include "test.h"

typedef struct {
    int       e, o, s;
    bool      both_ways;
    ptrdiff_t T;
} kind;

/* Whether the model's operator reads only some steps. */
static bool reads(const lcsm_context *ctx, const kind *k)
{
    lcsm_model_config cfg;
    lcsm_params      *params;
    lcsm_graph       *g;
    lcsm_model_io     io;
    lcsm_error        err   = {0};
    lcsm_model_want   want  = {.whole = true, .loss = true, .ignore = -1, .labels = 2};
    int               found = -1;
    lcsm_model_config_defaults(&cfg);
    snprintf(cfg.code, sizeof cfg.code, "%d-%d-%d-0", k->e, k->o, k->s);
    cfg.wiring        = LCSM_WIRING_MQAR;
    cfg.bidirectional = k->both_ways;
    cfg.vocab = cfg.d_model = 8;
    cfg.expand              = 4;
    cfg.layers              = 1;
    assert_int_equal(lcsm_params_create(&params, LCSM_F32, 1, &err), LCSM_OK);
    assert_int_equal(lcsm_graph_create(&g, ctx, params, &err), LCSM_OK);
    if (lcsm_model_build(g, &cfg, 1, k->T, &want, &io, &err) != LCSM_OK)
        fail_msg("%s: %s", cfg.code, err.text);
    for (int j = 0; j < g->node_list.count; j++) {
        const lcsm_node *n = lcsm_node_at(g, j);
        if (n->op != lcsm_op_row(LCSM_OP_eos, LCSM_F32)) continue;
        found = n->n_in > LCSM_EOS_READ && n->in[LCSM_EOS_READ] != NULL;
    }
    lcsm_graph_free(g);
    lcsm_params_free(params);
    assert_int_not_equal(found, -1);
    return found != 0;
}

/* o is an outer product in codes 1 to 5 and 10; the planner reads at most 2048 steps forward. */
TEST(codes_whose_o_is_an_outer_product_read_only_at_labels)
{
    lcsm_context *ctx;
    assert_int_equal(
        lcsm_context_create(
            &ctx, &(lcsm_context_options){.size = sizeof(lcsm_context_options), .threads = 1},
            NULL),
        LCSM_OK);
    for (int n = 0; n < 2 * 12 * 2 * 2 * 2; n++) {
        kind k     = {n % 2, n / 4 % 12, n / 2 % 2, n / 48 % 2 != 0, n / 96 != 0 ? 2049 : 2048};
        bool outer = (k.o >= 1 && k.o <= 5) || k.o == 10;
        bool want  = k.e == 1 && k.s == 1 && outer && !k.both_ways && k.T <= 2048;
        if (reads(ctx, &k) != want)
            fail_msg("%d-%d-%d%s with %td steps: reads %s", k.e, k.o, k.s,
                     k.both_ways ? " both ways" : "", k.T, want ? "all" : "only at labels");
    }
    lcsm_context_free(ctx);
}
