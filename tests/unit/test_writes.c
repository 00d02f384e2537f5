/* What tokens write: against the memory behind the first one, and for any cut of a text. */
#include <jansson.h>
#include <lcsm/inspect.h>
#include <lcsm/session.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "infer/session.h"
#include "model/config.h"
#include "test.h"

enum { V = 13, MOST = 200 };

typedef struct {
    lcsm_context *ctx;
    lcsm_model   *m;
    int32_t       tokens[MOST];
    lcsm_error    err;
} rig;

static rig rig_of(const char *method)
{
    rig               r = {0};
    lcsm_model_config cfg;
    lcsm_model_config_defaults(&cfg);
    (void)snprintf(cfg.method, sizeof cfg.method, "%s", method);
    cfg.vocab   = V;
    cfg.d_model = 32;
    cfg.layers  = 2;
    assert_int_equal(lcsm_context_create(&r.ctx, NULL, NULL), LCSM_OK);
    assert_int_equal(lcsm_model_create(&r.m, r.ctx, &cfg, 5, NULL), LCSM_OK);
    for (int j = 0; j < MOST; j++) r.tokens[j] = (j * j + 3 * j) % V;
    return r;
}

static void rig_free(rig *r)
{
    lcsm_model_free(r->m);
    lcsm_context_free(r->ctx);
}

/* The writes of a layer, a list of n numbers; NULL: it has none. */
static json_t *writes_of(rig *r, size_t n, json_t **root)
{
    char *text = NULL;
    if (lcsm_inspect_writes(r->m, r->tokens, n, &text, &r->err) != LCSM_OK)
        fail_msg("%s", r->err.text);
    *root = json_loads(text, 0, NULL);
    free(text);
    assert_non_null(*root);
    return json_object_get(*root, "layers");
}

static double at(const json_t *layers, size_t layer, size_t t)
{
    const json_t *list = json_object_get(json_array_get(layers, layer), "write");
    return json_number_value(json_array_get(list, t));
}

/* The norm of the memory of a layer's recurrence after one token. */
static double memory_of(const lcsm_session *s, size_t layer)
{
    char   name[32];
    double sum = 0;
    (void)snprintf(name, sizeof name, "layers.%zu.", layer);
    for (size_t j = 0; j < s->state->count; j++) {
        const lcsm_state_entry *e = &s->state->list[j];
        if (strncmp(e->name, name, strlen(name)) != 0 || strstr(e->name, ".eos") == NULL) continue;
        const float *x = lcsm_state_data(s->state, j);
        ptrdiff_t    n = 1;
        for (int k = 0; k < e->shape.rank; k++) n *= e->shape.dim[k];
        for (ptrdiff_t k = 0; k < n; k++) sum += (double)x[k] * (double)x[k];
        return sqrt(sum);
    }
    fail_msg("layer %zu carries no memory", layer);
    return 0;
}

/* A memory that was empty is what the first token wrote. */
TEST(the_first_write_is_the_memory_behind_it)
{
    static const char *const methods[] = {"gla",   "mamba", "mamba2", "gated-deltanet",
                                          "rwkv6", "s4d"};
    for (size_t m = 0; m < COUNT(methods); m++) {
        rig           r = rig_of(methods[m]);
        lcsm_session *s = NULL;
        json_t       *root, *layers = writes_of(&r, 1, &root);
        assert_int_equal(json_array_size(layers), 2);
        assert_int_equal(lcsm_session_create(&s, r.m, NULL, NULL), LCSM_OK);
        assert_int_equal(lcsm_session_feed(s, r.tokens, 1, NULL, NULL), LCSM_OK);
        for (size_t layer = 0; layer < 2; layer++) {
            double want = memory_of(s, layer), have = at(layers, layer, 0);
            if (!(want > 0) || fabs(have - want) > 1e-5 * want)
                fail_msg("%s, layer %zu: wrote %g, and the memory has %g", methods[m], layer, have,
                         want);
        }
        json_decref(root);
        lcsm_session_free(s);
        rig_free(&r);
    }
}

TEST(writes_do_not_depend_on_how_a_text_is_cut)
{
    static const size_t counts[] = {1, 63, 64, 65, 129};
    rig                 r        = rig_of("gated-deltanet");
    json_t             *all, *layers = writes_of(&r, MOST, &all);
    for (size_t n = 0; n < COUNT(counts); n++) {
        json_t *root, *some = writes_of(&r, counts[n], &root);
        for (size_t layer = 0; layer < 2; layer++)
            for (size_t t = 0; t < counts[n]; t++)
                assert_true(fabs(at(some, layer, t) - at(layers, layer, t))
                            <= 1e-4 * at(layers, layer, t));
        json_decref(root);
    }
    json_decref(all);
    rig_free(&r);
}

TEST(what_cannot_be_read_has_no_writes)
{
    rig     r    = rig_of("attention");
    char   *text = NULL;
    json_t *root, *layers = writes_of(&r, 3, &root);
    assert_true(json_is_null(json_object_get(json_array_get(layers, 0), "write")));
    json_decref(root);
    assert_int_equal(lcsm_inspect_writes(r.m, r.tokens, 0, &text, &r.err), LCSM_ERR_ARGUMENT);
    r.tokens[1] = V;
    assert_int_equal(lcsm_inspect_writes(r.m, r.tokens, 2, &text, &r.err), LCSM_ERR_ARGUMENT);
    assert_string_equal(r.err.text, "token 13 at position 1; expected 0 to 12");
    rig_free(&r);
}
