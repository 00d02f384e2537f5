/* model_roster.c - which models are proven: every method and flavour, every code. */
#include <lcsm/model.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sized.h"
#include "check/model_proof.h"
#include "eos/method.h"
#include "model/config.h"
#include "model/pattern.h"

typedef struct {
    const lcsm_context       *ctx;
    const lcsm_check_options *options;
    lcsm_check_sink          *sink;
    void                     *user;
} checker;

static lcsm_model_config normal(void)
{
    lcsm_model_config cfg;
    lcsm_model_config_defaults(&cfg);
    return cfg;
}

/* Two layers, small and odd sizes. */
static lcsm_model_config small(void)
{
    lcsm_model_config cfg = normal();
    cfg.vocab             = 11;
    cfg.d_model           = 8;
    cfg.layers            = 2;
    cfg.expand            = 4;
    cfg.rank              = 3;
    cfg.state_size        = 4;
    cfg.max_length        = 32;
    return cfg;
}

/* A method with one setting that is not its default. */
typedef struct {
    const char *method, *key, *value;
} variant;

static const variant VARIANTS[] = {
    {"s4", "s4_kind", "dense"},
    {"s4", "s4_kind", "diagonal"},
    {"s4d", "s4_init", "lin"},
    {"s4d", "s4_init", "inv"},
    {"s4d", "s4_init", "real"},
    {"s5", "disc", "bilinear"},
    {"dss", "dss_kind", "softmax"},
    {"linear-attention", "denominator", "false"},
    {"cosformer", "denominator", "false"},
    {"retnet", "rotation", "false"},
    {"hgrn", "complex", "false"},
    {"fwp", "feature", "dpfp"},
    {"fwp", "feature", "l2"},
    {"attention", "attention.heads", "4"},
    {"attention", "attention.head_dim", "6"},
    {"attention", "attention.window", "3"},
    {"attention", "attention.window", "1"},
    {"attention", "attention.rotary", "0.5"},
    {"attention", "attention.rotary", "0"},
    {"attention", "attention.rope_base", "500"},
    {"attention", "attention.rope_scale", "4"},
    {"attention", "attention.gate", "true"},
    {"attention", "attention.qk_norm", "true"},
    {"attention", "attention.bias", "true"},
    {"attention", "attention.out_bias", "true"},
    {"attention", "channel_mixer", "geglu"},
    {"attention", "channel_bias", "true"},
    {"attention", "soft_cap", "2"},
    {"attention", "experts", "3"},
    {"attention", "residual.normed", "true"},
    {"attention", "residual.attention_alpha", "2"},
    {"attention", "residual.channel_beta", "0.5"},
    {"attention", "attention.latent", "5"},
    {"falcon-mamba", "norm_weight", "true"},
    {"linear-attention", "feature", "product"},
    {"linear-attention", "feature", "none"},
    {"linear-attention", "feature", "relu"},
    {"linear-attention", "head_norm", "true"},
    {"retnet", "norm_weight", "true"},
    {"gla", "value_ratio", "2"},
    {"m1", "raw", "true"},
    {"m2", "raw", "true"},
    {"m3", "raw", "true"},
    {"deltanet", "beta_max", "2"},
    {"deltanet", "conv_width", "0"},
    {"deltanet", "output_gate", "silu"},
    {"gated-deltanet", "groups", "2"},
    {"gated-deltanet", "value_ratio", "2"},
    {"kda", "gate_bound", "5"},
    {"complex-kda", "beta_max", "2"},
    {"complex-kda", "groups", "2"},
    {"gated-deltanet-2", "groups", "2"},
    {"comba", "groups", "2"},
    {"deltaproduct", "forget_gate", "false"},
    {"deltaproduct", "householders", "3"},
    {"rwkv5", "output_gate", "none"},
    {"rwkv6", "expand", "3"},
    {"mlstm", "gate_cap", "0"},
    {"mamba3", "groups", "2"},
    {"mamba3", "state_rotary", "1"},
    {"mamba2", "groups", "2"},
    {"mamba2", "dt_max", "0.01"},
    {"mamba2", "signed_gates", "true"},
    {"mamba", "signed_gates", "true"},
    {"mingru", "log_space", "true"},
    {"minlstm", "log_space", "true"},
    {"rg-lru", "conv_width", "0"},
};

/* One flavour, in one direction of time or in both; v may be NULL. */
static lcsm_status check_flavour(const checker *c, const lcsm_method *m, const variant *v, int way,
                                 lcsm_error *err)
{
    lcsm_model_config cfg = small();
    char              name[128];
    cfg.flavour       = way % 2;
    cfg.bidirectional = way / 2 == 1;
    if (cfg.flavour == LCSM_FLAVOUR_BARE && !lcsm_method_has_bare(m)) return LCSM_OK;
    (void)snprintf(cfg.method, sizeof cfg.method, "%s", m->name);
    (void)snprintf(name, sizeof name, "%s%s%s%s%s%s", m->name, v == NULL ? "" : " ",
                   v == NULL ? "" : v->key, v == NULL ? "" : "=", v == NULL ? "" : v->value,
                   way == 3 ? " bare both ways"
                            : (way == 2   ? " both ways"
                               : way == 1 ? " bare"
                                          : ""));
    lcsm_status st = v == NULL ? LCSM_OK : lcsm_model_config_set(&cfg, v->key, v->value, err);
    return st != LCSM_OK ? st : lcsm_check_model(c->ctx, &cfg, name, c->sink, c->user, err);
}

/* A flavour in the sizes that people use. */
static void check_sizes(const checker *c, const lcsm_method *m, int flavour)
{
    lcsm_model_config large = normal(), little = small();
    char              name[64];
    if (flavour == LCSM_FLAVOUR_BARE && !lcsm_method_has_bare(m)) return;
    large.flavour = little.flavour = flavour;
    (void)snprintf(large.method, sizeof large.method, "%s", m->name);
    (void)snprintf(little.method, sizeof little.method, "%s", m->name);
    (void)snprintf(name, sizeof name, "%s%s", m->name, flavour == LCSM_FLAVOUR_BARE ? " bare" : "");
    lcsm_check_sizes(c->ctx, &large, &little, name, c->sink, c->user);
}

/* Every flavour and direction of a method, its sizes, and each of its variants forward, in full as
 * well. */
static lcsm_status check_method(const checker *c, const lcsm_method *m, lcsm_error *err)
{
    for (int way = 0; way < 4; way++) LCSM_OR_RETURN(check_flavour(c, m, NULL, way, err));
    check_sizes(c, m, LCSM_FLAVOUR_NATIVE);
    check_sizes(c, m, LCSM_FLAVOUR_BARE);
    for (size_t j = 0; j < COUNT(VARIANTS); j++) {
        if (strcmp(VARIANTS[j].method, m->name) != 0) continue;
        for (int way = 0; way < (c->options->full ? 4 : 1); way++)
            LCSM_OR_RETURN(check_flavour(c, m, &VARIANTS[j], way, err));
    }
    return LCSM_OK;
}

/* Patterns of layers: recurrences of several kinds around attention, other norms and channel mixers
 * side by side, codes, a sum of mixers. */
static const struct {
    const char *pattern, *keys[8][2]; /* settings that are not the defaults */
} HYBRIDS[] = {
    {"gla*2,attention", {{NULL}}},
    {"mamba,attention", {{NULL}}},
    {"hgrn,rwkv4,retnet", {{NULL}}},
    {"attention,rwkv7", {{NULL}}},
    {"1-1-1-0,fwp", {{NULL}}},
    {"mamba+attention", {{NULL}}},
    {"gla+lrn*2,attention", {{NULL}}},
    {"lrn,attention",
     {{"attention.heads", "4"},
      {"attention.kv_heads", "2"},
      {"attention.head_dim", "6"},
      {"attention.window", "3"},
      {"attention.rotary", "0.5"},
      {"attention.gate", "true"},
      {"attention.qk_norm", "true"}}},
};

/* A row of the table, or a pattern by itself. */
static lcsm_status check_hybrid(const checker *c, const char *pattern, const char *const (*keys)[2],
                                lcsm_error *err)
{
    lcsm_model_config cfg = small();
    LCSM_OR_RETURN(lcsm_model_config_set(&cfg, "layers_pattern", pattern, err));
    cfg.layers = 4;
    if (lcsm_pattern_length(&cfg) > cfg.layers) cfg.layers = lcsm_pattern_length(&cfg);
    for (; keys != NULL && (*keys)[0] != NULL; keys++)
        LCSM_OR_RETURN(lcsm_model_config_set(&cfg, (*keys)[0], (*keys)[1], err));
    return lcsm_check_model(c->ctx, &cfg, pattern, c->sink, c->user, err);
}

static lcsm_status check_code(const checker *c, const char *code, double tau, bool sizes,
                              lcsm_error *err)
{
    lcsm_model_config cfg = small();
    char              name[48];
    (void)snprintf(cfg.code, sizeof cfg.code, "%s", code);
    cfg.tau    = tau;
    cfg.wiring = LCSM_WIRING_MQAR;
    (void)snprintf(name, sizeof name, tau == 16 ? "%s" : "%s tau %g", code, tau);
    lcsm_status st = lcsm_check_model(c->ctx, &cfg, name, c->sink, c->user, err);
    if (st != LCSM_OK || !sizes) return st;
    lcsm_model_config large = normal();
    (void)snprintf(large.code, sizeof large.code, "%s", code);
    lcsm_check_sizes(c->ctx, &large, &cfg, name, c->sink, c->user);
    return LCSM_OK;
}

static bool wanted(const checker *c, const char *name)
{
    return c->options->filter == NULL || strstr(name, c->options->filter) != NULL;
}

/* All e-o-s-a; the selection takes every o with one activation each, and the sizes of those whose e
 * and s come from the data. */
static lcsm_status check_codes(const checker *c, lcsm_error *err)
{
    lcsm_status st = wanted(c, "ssm") ? check_code(c, "0", 16, true, err) : LCSM_OK;
    for (int n = 0; n < 2 * 12 * 2 * 8 && st == LCSM_OK; n++) {
        int  a = n % 8, s = n / 8 % 2, o = n / 16 % 12, e = n / 192;
        char code[24];
        (void)snprintf(code, sizeof code, "%d-%d-%d-%d", e, o, s, a);
        bool chosen = c->options->full || a == (e + o + 2 * s) % 8;
        if (chosen && wanted(c, code))
            st = check_code(c, code, 16, (e == 1 && s == 1) || c->options->full, err);
    }
    for (double tau = 1; tau <= 64 && st == LCSM_OK; tau *= 2)
        if (tau != 16 && wanted(c, "1-1-1-0")) st = check_code(c, "1-1-1-0", tau, false, err);
    return st;
}

static lcsm_status check_hybrids(const checker *c, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    for (size_t j = 0; j < COUNT(HYBRIDS) && st == LCSM_OK; j++)
        if (wanted(c, HYBRIDS[j].pattern))
            st = check_hybrid(c, HYBRIDS[j].pattern, HYBRIDS[j].keys, err);
    return st;
}

lcsm_status lcsm_check_models(const lcsm_context *ctx, const char *name,
                              const lcsm_check_options *options, lcsm_check_sink *sink, void *user,
                              lcsm_error *err)
{
    lcsm_check_options own;
    char               hint[LCSM_METHOD_HINT];
    checker            c = {ctx, &own, sink, user};
    LCSM_OR_RETURN(LCSM_TAKE(lcsm_check_options, filter, &own, options, err));
    if (strcmp(name, "codes") == 0) return check_codes(&c, err);
    if (strcmp(name, "hybrids") == 0) return check_hybrids(&c, err);
    if (lcsm_pattern_is(name)) return check_hybrid(&c, name, NULL, err);
    if ((name[0] >= '0' && name[0] <= '9') || strcmp(name, "ssm") == 0)
        return check_code(&c, name, 16, true, err);
    if (strcmp(name, "methods") == 0) {
        lcsm_status st = LCSM_OK;
        for (size_t j = 0; j < LCSM_METHOD_COUNT && st == LCSM_OK; j++)
            if (strcmp(LCSM_METHODS[j].name, "code") != 0 && wanted(&c, LCSM_METHODS[j].name))
                st = check_method(&c, &LCSM_METHODS[j], err);
        return st;
    }
    const lcsm_method *m = lcsm_method_find(name);
    if (m != NULL) return check_method(&c, m, err);
    return lcsm_fail(err, LCSM_ERR_ARGUMENT, "\"%s\" is not a method%s", name,
                     lcsm_method_hint(name, hint));
}
