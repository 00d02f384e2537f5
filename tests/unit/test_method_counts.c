/* Parameters of the methods' own mixers, by the formulas of their papers. */
#include <lcsm/model.h>
#include <stdio.h>
#include <string.h>

#include "model/config.h"
#include "test.h"

enum { D = 24, L = 3, V = 7, N = 10, R = 5, H = 2, W = 4 };

/* Trained parameters of one layer's mixer, and of what all layers share. */
typedef struct {
    long mixer, shared;
} counted;

static void count_mixer(void *user, const lcsm_parameter_info *row)
{
    counted *c = user;
    if (row->frozen) return;
    if (strncmp(row->name, "layers.1.mixer.", 15) == 0) c->mixer += (long)row->count;
    if (strcmp(row->name, "lower_bounds") == 0) c->shared += (long)row->count;
}

static counted count_of(const char *method, const char *key, const char *value)
{
    lcsm_model_config  cfg;
    lcsm_model_summary m = {.size = sizeof m};
    lcsm_context      *ctx;
    lcsm_error         err;
    counted            c = {0};
    lcsm_model_config_defaults(&cfg);
    snprintf(cfg.method, sizeof cfg.method, "%s", method);
    cfg.d_model    = D;
    cfg.layers     = L;
    cfg.vocab      = V;
    cfg.state_size = N;
    cfg.rank       = R;
    cfg.heads      = strcmp(method, "mamba") == 0 ? 0 : H;
    cfg.rpe_layers = 3;
    if (key != NULL) assert_int_equal(lcsm_model_config_set(&cfg, key, value, &err), LCSM_OK);
    assert_int_equal(lcsm_context_create(&ctx, NULL, &err), LCSM_OK);
    if (lcsm_model_describe(ctx, &cfg, 8, &m, count_mixer, &c, &err) != LCSM_OK)
        fail_msg("%s: %s", method, err.text);
    lcsm_context_free(ctx);
    return c;
}

TEST(native_mixers_have_the_parameters_of_their_formulas)
{
    enum { D2 = D * D, P = N / 2, w = 3 * D, Di = 2 * D };
    const struct {
        const char *method, *key, *value;
        long        count;
    } rows[] = {
        {"s4d", NULL, NULL, D * (2 * N + 2) + 2 * D2 + 2 * D},
        {"s4", "s4_kind", "diagonal", D * (2 * N + 2) + 2 * D2 + 2 * D},
        {"s4", NULL, NULL, D * (4 * N + 2) + 2 * D2 + 2 * D},
        {"s4", "s4_kind", "dense", N * N + N + D * (N + 2) + 2 * D2 + 2 * D},
        {"s5", NULL, NULL, 3 * P + 4 * P * D + D + D2 + D},
        {"dss", NULL, NULL, 2 * N + 2 * N * D + D + D + D2 + D},
        {"tnn", NULL, NULL, 3 * D * w + 2 * w + D + 2 * R + 3 * (R * R + R) + R * w + w},
        {"linear-attention", NULL, NULL, 4 * D2 + 4 * D},
        {"retnet", NULL, NULL, 2 * D2 + 3 * D * D},
        {"mamba", NULL, NULL,
         2 * D * Di + Di * (W + 1) + Di * (R + 2 * N) + R * Di + Di + Di * N + Di + Di * D},
        {"rwkv4", NULL, NULL, 4 * D2 + 5 * D},
        {"cosformer", NULL, NULL, 4 * D2 + 4 * D},
        {"lrpe", NULL, NULL, 4 * D2 + 4 * D + D},
        {"gla", NULL, NULL, D2 + 3 * D2 + R * D + R * D / 2 + D / 2 + D / H},
        {"gateloop", NULL, NULL, 5 * D2 + 2 * D2 + 2 * D},
        {"dur", NULL, NULL, 4 * D2 + 2 * D2 + 2 * D},
        {"hgrn", NULL, NULL, 7 * D2 + 11 * D},
        {"hgrn", "complex", "false", 4 * D2 + 6 * D},
        {"lrn", NULL, NULL, 2 * D2 + 2 * D},
        {"fwp", NULL, NULL, 4 * D2 + H * D},
        {"mamba2", NULL, NULL,
         D * (2 * Di + 2 * N + H) + (Di + 2 * N) * (W + 1) + 3 * H + Di + Di * D},
        {"mamba3", "state_rotary", "1",
         D * (2 * Di + 2 * N + 3 * H + N / 2) + 2 * H + 2 * N + 2 * H * N + Di * D},
        {"falcon-mamba", NULL, NULL,
         2 * D * Di + Di * (W + 1) + Di * (R + 2 * N) + R * Di + Di + Di * N + Di + Di * D},
        {"longhorn", NULL, NULL,
         2 * D * Di + Di * (W + 1) + Di * (R + 2 * N) + R * Di + Di + Di + Di * D},
        {"gsa", "slots", "5", 4 * D2 + 5 * H * D + D},
        {"lightning", NULL, NULL, 5 * D2 + D},
        {"based", NULL, NULL, 2 * D2 + 2 * 16 * H * D},
        {"rebased", NULL, NULL, 2 * D2 + 2 * 16 * H * D + 2 * 16},
        {"rg-lru", NULL, NULL, 3 * D2 + 3 * D + D * (W + 1) + 2 * (D2 / H + D) + D},
        {"mingru", NULL, NULL, 3 * D2 + 3 * D + D * (W + 1)},
        {"minlstm", NULL, NULL, 4 * D2 + 4 * D + D * (W + 1)},
        {"rwkv5", NULL, NULL, 5 * D2 + 4 * D + 2 * D + 2 * D},
        {"rwkv5", "output_gate", "none", 4 * D2 + 3 * D + 2 * D + 2 * D},
        {"rwkv6", "rwkv.mix_rank", "5", 5 * D2 + 6 * D + 50 * D + 128 * D + 2 * D + 2 * D},
        {"hgrn2", NULL, NULL, 4 * D2 + D},
        {"deltanet", NULL, NULL, 4 * D2 + H * D + 3 * W * D + D / H},
        {"gated-deltanet", NULL, NULL, 5 * D2 + 2 * H * D + 3 * W * D + 2 * H + D / H},
        {"kda", NULL, NULL, 4 * D2 + H * D + 3 * W * D + 4 * D / H * D + 2 * D + H + D / H},
        {"complex-kda", NULL, NULL, 4 * D2 + H * D + 3 * W * D + 4 * D / H * D + 2 * D + H + D / H},
        {"gated-deltanet-2", NULL, NULL, 6 * D2 + 3 * W * D + 4 * D / H * D + 2 * D + H + D / H},
        {"comba", NULL, NULL, 5 * D2 + 2 * H * D + 3 * W * D + 4 * H + D / H},
        {"mlstm", NULL, NULL, 4 * D2 + 2 * H * D + 2 * H + D},
        {"deltaproduct", NULL, NULL, 7 * D2 + 3 * H * D + 5 * W * D + 2 * H + D / H},
    };
    for (size_t j = 0; j < sizeof rows / sizeof rows[0]; j++) {
        long found = count_of(rows[j].method, rows[j].key, rows[j].value).mixer;
        if (found != rows[j].count)
            fail_msg("%s has %ld parameters, want %ld", rows[j].method, found, rows[j].count);
    }
}

/* TNL turns its keys in the first layer only, so the second has none of LRPE's angles. m1 to m3
 * have no block of their own: the LayerNorm of the bare end comes on top. */
TEST(mixers_without_a_row_of_their_own_have_their_parts)
{
    assert_int_equal(count_of("tnl", NULL, NULL).mixer, 5 * D * D);
    assert_int_equal(count_of("m1", NULL, NULL).mixer, 4 * D * D + 2 * D);
    assert_int_equal(count_of("m3", NULL, NULL).mixer, 4 * D * D + 2 * D);
    assert_int_equal(count_of("m2", "raw", "true").mixer, 5 * D * D + 2 * D);
}

TEST(lower_bounds_are_counted_once_for_all_layers)
{
    assert_int_equal(count_of("hgrn", NULL, NULL).shared, L * D);
}

/* ---- what describe says ---- */

static const char *source_of(const lcsm_model_summary *m, const char *name)
{
    for (size_t j = 0; j < m->state_count; j++)
        if (strcmp(m->states[j].name, name) == 0) return m->states[j].from;
    return "absent";
}

TEST(states_say_where_they_come_from)
{
    const struct {
        const char *code, *state, *from, *shape;
    } rows[] = {{"1-0-0-0", "e", "data", "[T, 1, 4]"},
                {"1-0-0-0", "s", "learned", "[1, 4, 24]"},
                {"1-0-0-0", "full", "learned", "[1, 4, 24]"},
                {"1-1-1-0", "row", "data", "[T, 1, 4]"},
                {"1-1-1-0", "col", "data", "[T, 1, 24]"},
                {"1-11-1-0", "row_phase", "fixed", "[1, 4]"},
                {"1-10-1-0", "row", "absent", ""}};
    lcsm_context *ctx;
    lcsm_error    err;
    assert_int_equal(lcsm_context_create(&ctx, NULL, &err), LCSM_OK);
    for (size_t j = 0; j < sizeof rows / sizeof rows[0]; j++) {
        lcsm_model_config  cfg;
        lcsm_model_summary m = {.size = sizeof m};
        lcsm_model_config_defaults(&cfg);
        snprintf(cfg.code, sizeof cfg.code, "%s", rows[j].code);
        cfg.d_model = D;
        cfg.expand  = 4;
        assert_int_equal(lcsm_model_describe(ctx, &cfg, 8, &m, NULL, NULL, &err), LCSM_OK);
        assert_string_equal(m.op, "eos");
        assert_string_equal(source_of(&m, rows[j].state), rows[j].from);
        for (size_t k = 0; k < m.state_count; k++)
            if (strcmp(m.states[k].name, rows[j].state) == 0)
                assert_string_equal(m.states[k].shape, rows[j].shape);
    }
    lcsm_context_free(ctx);
}
