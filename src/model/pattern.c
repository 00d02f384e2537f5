/* pattern.c - a mixer for each layer. */
#include "model/pattern.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "eos/code.h"
#include "eos/method.h"
#include "model/config.h"

enum { MOST_TIMES = 1024, NAME = sizeof((lcsm_model_config *)NULL)->method };

/* Some layers of the same mixers. */
typedef struct {
    char      name[LCSM_LAYER_MIXERS][NAME];
    int       mixers;
    ptrdiff_t times;
} entry;

/* Where the reader is. */
typedef struct {
    const char *text, *at;
    lcsm_error *err;
} reader;

static bool refuse(const reader *r, const char *at, const char *what)
{
    (void)lcsm_fail(r->err, LCSM_ERR_CONFIG, "layers_pattern \"%s\", character %td: %s", r->text,
                    at - r->text + 1, what);
    return false;
}

static void skip_spaces(reader *r)
{
    r->at += strspn(r->at, " ");
}

static bool check_name(const reader *r, const char *at, const char *name)
{
    lcsm_code_states c;
    char             hint[LCSM_METHOD_HINT], what[LCSM_METHOD_HINT + NAME + 32];
    if (strcmp(name, "code") == 0) return refuse(r, at, "write the code itself, such as 1-1-1-0");
    if (lcsm_method_find(name) != NULL || lcsm_code_parse(name, &c, NULL) == LCSM_OK) return true;
    (void)snprintf(what, sizeof what, "\"%s\" is not a method%s", name,
                   lcsm_method_hint(name, hint));
    return refuse(r, at, what);
}

static bool read_name(reader *r, char name[NAME])
{
    skip_spaces(r);
    const char *start  = r->at;
    size_t      length = strcspn(start, " ,+*");
    if (length == 0 || length >= NAME)
        return refuse(r, start, "expected the name of a method, or a code");
    memcpy(name, start, length);
    name[length] = 0;
    r->at += length;
    skip_spaces(r);
    return check_name(r, start, name);
}

static bool read_times(reader *r, ptrdiff_t *times)
{
    char *end;
    r->at++;
    skip_spaces(r);
    const char *start = r->at;
    long        n     = *start >= '0' && *start <= '9' ? strtol(start, &end, 10) : 0;
    if (n < 1 || n > MOST_TIMES)
        return refuse(r, start, "expected a number from 1 to 1024 after *");
    *times = n;
    r->at  = end;
    skip_spaces(r);
    return true;
}

/* An entry and what ends it; false after the last, or after an error. */
static bool read_entry(reader *r, entry *e)
{
    *e = (entry){.times = 1};
    do {
        if (e->mixers == LCSM_LAYER_MIXERS)
            return refuse(r, r->at, "a layer adds at most two mixers");
        r->at += e->mixers > 0; /* the plus */
        if (!read_name(r, e->name[e->mixers])) return false;
        e->mixers++;
    } while (*r->at == '+');
    if (*r->at == '*' && !read_times(r, &e->times)) return false;
    if (*r->at != ',' && *r->at != 0)
        return refuse(r, r->at, "expected a comma and the next mixer");
    return true;
}

/* The entry of layer `wanted`; with a negative one all are read. Returns the number of layers that
 * were read, or -1. */
static ptrdiff_t read_pattern(const char *text, ptrdiff_t wanted, entry *e, lcsm_error *err)
{
    reader    r     = {text, text, err};
    ptrdiff_t count = 0;
    for (;; r.at++) {
        if (!read_entry(&r, e)) return -1;
        count += e->times;
        if (*r.at == 0 || (wanted >= 0 && wanted < count)) return count;
    }
}

bool lcsm_pattern_is(const char *name)
{
    return name[strcspn(name, ",+*")] != 0;
}

ptrdiff_t lcsm_pattern_length(const lcsm_model_config *cfg)
{
    entry     e;
    ptrdiff_t count =
        cfg->layers_pattern[0] == 0 ? 1 : read_pattern(cfg->layers_pattern, -1, &e, NULL);
    return count > 0 ? count : 1;
}

lcsm_status lcsm_pattern_check(const lcsm_model_config *cfg, lcsm_error *err)
{
    entry     e;
    ptrdiff_t count, layers = lcsm_model_config_layers(cfg);
    if (cfg->layers_pattern[0] == 0) return LCSM_OK;
    count = read_pattern(cfg->layers_pattern, -1, &e, err);
    if (count < 0) return LCSM_ERR_CONFIG;
    if (count > layers)
        return lcsm_fail(err, LCSM_ERR_CONFIG,
                         "layers_pattern \"%s\" names %td layers, but the model has %td; use a "
                         "shorter pattern, or --layers %td or more",
                         cfg->layers_pattern, count, layers, count);
    return LCSM_OK;
}

bool lcsm_pattern_layer(lcsm_model_config *out, const lcsm_model_config *cfg, ptrdiff_t layer,
                        int mixer)
{
    entry e;
    *out = *cfg;
    if (cfg->layers_pattern[0] == 0) return mixer == 0;
    layer %= lcsm_pattern_length(cfg);
    if (read_pattern(cfg->layers_pattern, layer, &e, NULL) < 0 || mixer >= e.mixers) return false;
    const char *name       = e.name[mixer];
    bool        method     = lcsm_method_find(name) != NULL;
    out->layers_pattern[0] = out->code[0] = 0;
    (void)snprintf(method ? out->method : out->code, NAME, "%s", name);
    return true;
}
