/* What comes from parameters alone, computed once and kept, gives the same numbers. */
#include <stdio.h>
#include <string.h>

#include "eos/method.h"
#include "graph/state.h"
#include "model/config.h"
#include "model/model_graph.h"
#include "test.h"

enum { STEPS = 4, VOCAB = 11 };

/* Logits of STEPS single tokens with a carried memory. */
static void decode(lcsm_context *ctx, const lcsm_model_config *cfg, lcsm_plan_options opt,
                   float out[STEPS][VOCAB])
{
    lcsm_model_want want = {.logits = true, .ignore = -1};
    lcsm_model_io   io;
    lcsm_params    *params;
    lcsm_graph     *g;
    lcsm_state     *state;
    lcsm_error      err;
    assert_int_equal(lcsm_params_create(&params, LCSM_F32, 5, &err), LCSM_OK);
    assert_int_equal(lcsm_graph_create(&g, ctx, params, &err), LCSM_OK);
    assert_int_equal(lcsm_model_build(g, cfg, 1, 1, &want, &io, &err), LCSM_OK);
    if (lcsm_graph_plan(g, &opt, &err) != LCSM_OK) fail_msg("%s: %s", cfg->method, err.text);
    assert_int_equal(lcsm_state_create(&state, g, &err), LCSM_OK);
    for (int t = 0; t < STEPS; t++) {
        *(int32_t *)io.tokens->data = (3 * t + 1) % VOCAB;
        assert_int_equal(lcsm_graph_forward(g, &(lcsm_run_options){.state = state}, &err), LCSM_OK);
        memcpy(out[t], io.logits->data, sizeof out[t]);
    }
    lcsm_state_free(state);
    lcsm_graph_free(g);
    lcsm_params_free(params);
}

TEST(values_from_parameters_alone_may_be_kept_from_the_first_run)
{
    lcsm_context *ctx;
    lcsm_error    err;
    assert_int_equal(lcsm_context_create(&ctx, NULL, &err), LCSM_OK);
    for (size_t j = 0; j < LCSM_METHOD_COUNT; j++) {
        lcsm_model_config cfg;
        float             plain[STEPS][VOCAB], fixed[STEPS][VOCAB];
        if (strcmp(LCSM_METHODS[j].name, "code") == 0) continue;
        lcsm_model_config_defaults(&cfg);
        snprintf(cfg.method, sizeof cfg.method, "%s", LCSM_METHODS[j].name);
        cfg.vocab      = VOCAB;
        cfg.d_model    = 8;
        cfg.state_size = 6;
        cfg.rank       = 3;
        cfg.max_length = 9;
        decode(ctx, &cfg, (lcsm_plan_options){0}, plain);
        decode(ctx, &cfg, (lcsm_plan_options){.fixed = true}, fixed);
        if (memcmp(plain, fixed, sizeof plain) != 0) fail_msg("%s differs", cfg.method);
    }
    lcsm_context_free(ctx);
}
