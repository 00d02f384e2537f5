/* models_check.c - which models are proven: every method and flavour, every code. */
#include <lcsm/model.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/model_check.h"
#include "eos/method.h"

typedef struct {
    const lcsm_context       *ctx;
    const lcsm_check_options *options;
    lcsm_check_sink          *sink;
    void                     *user;
} checker;

/* Two layers, small and odd sizes. */
static lcsm_model_config small(void)
{
    lcsm_model_config cfg;
    lcsm_model_config_defaults(&cfg);
    cfg.vocab      = 11;
    cfg.d_model    = 8;
    cfg.layers     = 2;
    cfg.expand     = 4;
    cfg.rank       = 3;
    cfg.state_size = 4;
    cfg.max_length = 32;
    return cfg;
}

static lcsm_status check_method(const checker *c, const lcsm_method *m, lcsm_error *err)
{
    for (int v = 0; v < 4; v++) {
        lcsm_model_config cfg = small();
        char              name[96];
        cfg.flavour       = v % 2;
        cfg.bidirectional = v / 2 == 1;
        if (cfg.flavour == LCSM_FLAVOUR_BARE && m->states == NULL) continue;
        (void)snprintf(cfg.method, sizeof cfg.method, "%s", m->name);
        (void)snprintf(name, sizeof name, "%s%s%s", m->name, v % 2 == 1 ? " bare" : "",
                       cfg.bidirectional ? " both ways" : "");
        lcsm_status st = lcsm_check_model(c->ctx, &cfg, name, c->sink, c->user, err);
        if (st != LCSM_OK) return st;
    }
    return LCSM_OK;
}

static lcsm_status check_code(const checker *c, const char *code, double tau, lcsm_error *err)
{
    lcsm_model_config cfg = small();
    char              name[48];
    (void)snprintf(cfg.code, sizeof cfg.code, "%s", code);
    cfg.tau    = tau;
    cfg.wiring = LCSM_WIRING_MQAR;
    (void)snprintf(name, sizeof name, tau == 16 ? "%s" : "%s tau %g", code, tau);
    return lcsm_check_model(c->ctx, &cfg, name, c->sink, c->user, err);
}

static bool wanted(const checker *c, const char *name)
{
    return c->options->filter == NULL || strstr(name, c->options->filter) != NULL;
}

/* All e-o-s-a; the selection takes every o with one activation each. */
static lcsm_status check_codes(const checker *c, lcsm_error *err)
{
    lcsm_status st = wanted(c, "ssm") ? check_code(c, "0", 16, err) : LCSM_OK;
    for (int n = 0; n < 2 * 12 * 2 * 8 && st == LCSM_OK; n++) {
        int  a = n % 8, s = n / 8 % 2, o = n / 16 % 12, e = n / 192;
        char code[24];
        (void)snprintf(code, sizeof code, "%d-%d-%d-%d", e, o, s, a);
        bool chosen = c->options->full || a == (e + o + 2 * s) % 8;
        if (chosen && wanted(c, code)) st = check_code(c, code, 16, err);
    }
    for (double tau = 1; tau <= 64 && st == LCSM_OK; tau *= 2)
        if (tau != 16 && wanted(c, "1-1-1-0")) st = check_code(c, "1-1-1-0", tau, err);
    return st;
}

lcsm_status lcsm_check_models(const lcsm_context *ctx, const char *name,
                              const lcsm_check_options *options, lcsm_check_sink *sink, void *user,
                              lcsm_error *err)
{
    lcsm_check_options none = {0};
    checker            c    = {ctx, options == NULL ? &none : options, sink, user};
    if (strcmp(name, "codes") == 0) return check_codes(&c, err);
    if (name[0] >= '0' && name[0] <= '9') return check_code(&c, name, 16, err);
    if (strcmp(name, "methods") == 0) {
        lcsm_status st = LCSM_OK;
        for (size_t j = 0; j < LCSM_METHOD_COUNT && st == LCSM_OK; j++)
            if (strcmp(LCSM_METHODS[j].name, "code") != 0 && wanted(&c, LCSM_METHODS[j].name))
                st = check_method(&c, &LCSM_METHODS[j], err);
        return st;
    }
    const lcsm_method *m = lcsm_method_find(name);
    if (m != NULL) return check_method(&c, m, err);
    return lcsm_fail(err, LCSM_ERR_ARGUMENT, "there is no method \"%s\"; the nearest is %s", name,
                     lcsm_method_nearest(name));
}
