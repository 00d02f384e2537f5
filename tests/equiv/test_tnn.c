/* TNN beyond its longest lag: the convolution of a whole sequence and the carried recurrence. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "graph/state.h"
#include "model/config.h"
#include "model/model_graph.h"
#include "test.h"

enum { VOCAB = 5, LENGTH = 3100, CUT = 2400 };

static void run(lcsm_context *ctx, const lcsm_model_config *cfg, lcsm_params *params,
                const int *length, int pieces, float *logits)
{
    lcsm_state *state = NULL;
    lcsm_error  err;
    for (int p = 0, t = 0; p < pieces; t += length[p++]) {
        lcsm_model_want want = {.whole = pieces == 1, .logits = true, .ignore = -1};
        lcsm_model_io   io;
        lcsm_graph     *g;
        lcsm_state     *now = NULL;
        assert_int_equal(lcsm_graph_create(&g, ctx, params, &err), LCSM_OK);
        assert_int_equal(lcsm_model_build(g, cfg, 1, length[p], &want, &io, &err), LCSM_OK);
        assert_int_equal(lcsm_graph_plan(g, &(lcsm_plan_options){0}, &err), LCSM_OK);
        assert_int_equal(lcsm_state_create(&now, g, &err), LCSM_OK);
        if (state != NULL) assert_int_equal(lcsm_state_copy(now, state, &err), LCSM_OK);
        for (int j = 0; j < length[p]; j++)
            ((int32_t *)io.tokens->data)[j] = (7 * (t + j) + (t + j) / 3) % VOCAB;
        lcsm_run_options opt = {.state = pieces == 1 ? NULL : now};
        assert_int_equal(lcsm_graph_forward(g, &opt, &err), LCSM_OK);
        memcpy(logits + (size_t)t * VOCAB, io.logits->data,
               (size_t)length[p] * VOCAB * sizeof *logits);
        lcsm_state_free(state);
        state = now;
        lcsm_graph_free(g);
    }
    lcsm_state_free(state);
}

TEST(tnn_of_any_length_is_the_same_whole_and_carried)
{
    static float      whole[LENGTH * VOCAB], carried[LENGTH * VOCAB];
    lcsm_context     *ctx;
    lcsm_params      *params;
    lcsm_model_config cfg;
    lcsm_error        err;
    double            worst = 0, size = 0;
    lcsm_model_config_defaults(&cfg);
    snprintf(cfg.method, sizeof cfg.method, "tnn");
    cfg.vocab      = VOCAB;
    cfg.d_model    = 4;
    cfg.layers     = 1;
    cfg.max_length = 4096;
    assert_int_equal(lcsm_context_create(&ctx, NULL, &err), LCSM_OK);
    assert_int_equal(lcsm_params_create(&params, LCSM_F32, 2, &err), LCSM_OK);
    run(ctx, &cfg, params, (int[]){LENGTH}, 1, whole);
    run(ctx, &cfg, params, (int[]){CUT, LENGTH - CUT}, 2, carried);
    for (size_t j = 0; j < LENGTH * VOCAB; j++) {
        worst = fmax(worst, fabs((double)whole[j] - (double)carried[j]));
        size  = fmax(size, fabs((double)whole[j]));
    }
    /* 897 rows turn in float and cancel to about a tenth of their size: ten times sqrt(897) half
     * ulps. */
    if (!(worst <= 3e-5 * size)) fail_msg("differs by %g of %g", worst, size);
    lcsm_params_free(params);
    lcsm_context_free(ctx);
}
