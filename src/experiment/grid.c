/* grid.c - from grid.json to a list of runs. */
#include "experiment/grid.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "base/strdist.h"
#include "experiment/as_run.h"
#include "experiment/catalogue.h"
#include "experiment/grid_read.h"
#include "format/keys.h"
#include "model/config.h"
#include "report/escape.h"
#include "report/study.h"

const char *const LCSM_GRID_SCALE_NAMES[LCSM_GRID_SCALES] = {"tiny", "small", "paper"};

/* ---- one run ------------------------------------------------------------------------------- */

static lcsm_status no_room(lcsm_error *err)
{
    return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for the runs of an experiment");
}

/* Members of an object of settings over those that are there; `label` and `at` are no settings. */
static lcsm_status merge(json_t *to, const json_t *from, lcsm_error *err)
{
    const char *key;
    json_t     *value;
    json_object_foreach((json_t *)(uintptr_t)from, key, value)
    {
        if (strcmp(key, "label") == 0 || strcmp(key, "at") == 0) continue;
        if (json_object_set(to, key, value) != 0) return no_room(err);
    }
    return LCSM_OK;
}

static lcsm_status set_number(json_t *to, const char *key, double value, lcsm_error *err)
{
    bool    whole  = fabs(value) < 1e15 && floor(value) >= value;
    json_t *number = whole ? json_integer((json_int_t)value) : json_real(value);
    return json_object_set_new(to, key, number) == 0 ? LCSM_OK : no_room(err);
}

/* A setting is one value. */
static lcsm_status check_kind(const char *key, const json_t *value, lcsm_error *err)
{
    static const char *const found[] = {
        [JSON_OBJECT] = "an object", [JSON_ARRAY] = "a list", [JSON_STRING] = NULL,
        [JSON_INTEGER] = NULL,       [JSON_REAL] = NULL,      [JSON_TRUE] = NULL,
        [JSON_FALSE] = NULL,         [JSON_NULL] = "null"};
    const char *kind = found[json_typeof(value)];
    if (kind == NULL) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_CONFIG,
                     "%.60s is %s; expected a number, a string, true or false", key, kind);
}

/* The settings over the defaults. */
static lcsm_status apply(lcsm_model_config *model, lcsm_train_config *train, json_t *settings,
                         lcsm_error *err)
{
    const char *key;
    json_t     *value;
    char        text[LCSM_KEY_TEXT_SIZE];
    lcsm_model_config_defaults(model);
    lcsm_train_config_defaults(train);
    json_object_foreach(settings, key, value)
    {
        LCSM_OR_RETURN(check_kind(key, value, err));
        lcsm_setting_text(text, value);
        LCSM_OR_RETURN(lcsm_setting_apply(model, train, key, text, err));
    }
    return LCSM_OK;
}

/* Tries every setting in the tables of models and of training. */
static lcsm_status try_settings(lcsm_grid_run *r, const lcsm_model_config *shared, lcsm_error *err)
{
    LCSM_OR_RETURN(apply(&r->model, &r->train, r->settings, err));
    LCSM_OR_RETURN(lcsm_model_config_check(&r->model, err));
    LCSM_OR_RETURN(lcsm_model_config_unused(&r->model, shared, err));
    return lcsm_train_config_unused(&r->train, err);
}

/* Settings that all variants share and that this one does not read are none of the run's. */
static void drop_unread(lcsm_grid_run *r)
{
    const char *key;
    json_t     *value;
    void       *next;
    json_object_foreach_safe(r->settings, next, key, value)
    {
        if (!lcsm_model_config_reads(&r->model, key)) (void)json_object_del(r->settings, key);
    }
}

static double tokens_of(const lcsm_train_config *t)
{
    double update = (double)t->batch_size * (double)t->seq_len * (double)t->accumulate;
    if (!lcsm_task_reads_text(lcsm_train_task(t)) && t->steps == 0)
        return (double)t->epochs * (double)t->examples * (double)t->seq_len;
    return t->steps > 0 ? (double)t->steps * update : (double)t->tokens;
}

/* "_key-0.01", with as many digits as a setting has where six do not tell it from its neighbour. */
static void put_number(lcsm_strbuf *s, const char *key, double x)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%g", x);
    bool told = strtod(text, NULL) == x;
    lcsm_strbuf_printf(s, "_%s-%.*g", key, told ? 6 : 10, x);
}

/* A name that stays the same: the label, the axes, the rate and the seed. */
static lcsm_status name_run(lcsm_grid_run *r, const lcsm_grid *g, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    lcsm_strbuf s  = {0};
    lcsm_put_slug(&s, g->variants[r->variant]);
    for (size_t j = 0; j < g->axis_count; j++)
        if (strcmp(g->axes[j], "task") != 0) put_number(&s, g->axes[j], r->axes[j]);
        else lcsm_strbuf_printf(&s, "_task-%s", LCSM_TASKS[(size_t)r->axes[j]]->name);
    put_number(&s, "lr", r->lr);
    put_number(&s, "seed", r->seed);
    if ((r->readings & 1u << LCSM_READING_DESCRIBED) == 0)
        lcsm_strbuf_printf(&s, "_%s", LCSM_READING_NAMES[LCSM_READING_AS_RUN]);
    if (s.failed) st = no_room(err);
    else if (s.size >= sizeof r->name)
        st = lcsm_fail(err, LCSM_ERR_CONFIG,
                       "the name of the run %.40s... has %zu characters; expected at most %zu; "
                       "give its variant a shorter label",
                       s.text, s.size, sizeof r->name - 1);
    else (void)snprintf(r->name, sizeof r->name, "%s", lcsm_strbuf_text(&s));
    lcsm_strbuf_free(&s);
    return st;
}

/* ---- the product of all axes --------------------------------------------------------------- */

/* Where a run stands: its variant, the point on each axis, the rate, the seed, the reading. */
typedef struct {
    const lcsm_grid_source *source;
    size_t                  variant, point[LCSM_GRID_AXES], lr, seed;
    lcsm_reading            reading;
} place;

/* The settings of the run's place on each axis. */
static lcsm_status read_points(json_t *to, lcsm_grid_run *r, const lcsm_grid *g, const place *p,
                               lcsm_error *err)
{
    for (size_t j = 0; j < g->axis_count; j++) {
        const json_t *point = json_array_get(p->source->axes[j], p->point[j]);
        const json_t *value = json_is_object(point) ? json_object_get(point, g->axes[j]) : point;
        r->axes[j]          = lcsm_axis_value(value);
        if (json_is_object(point)) LCSM_OR_RETURN(merge(to, point, err));
        else LCSM_OR_RETURN(set_number(to, g->axes[j], r->axes[j], err));
    }
    return LCSM_OK;
}

/* A variant that sets what an axis sets would be the same as another on it. */
static lcsm_status check_apart(json_t *points, const json_t *variant, const json_t *at,
                               lcsm_error *err)
{
    const char *key;
    json_t     *value;
    json_object_foreach(points, key, value)
    {
        if (json_object_get(variant, key) != NULL || json_object_get(at, key) != NULL)
            return lcsm_fail(
                err, LCSM_ERR_CONFIG,
                "%.60s is set by the variant and by an axis; set it in only one of them", key);
    }
    return LCSM_OK;
}

static lcsm_status add_points(lcsm_grid_run *r, const lcsm_grid *g, const place *p,
                              const json_t *variant, const json_t *at, lcsm_error *err)
{
    lcsm_status st     = LCSM_OK;
    json_t     *points = json_object();
    if (points == NULL) return no_room(err);
    LCSM_TRY(read_points(points, r, g, p, err));
    LCSM_TRY(check_apart(points, variant, at, err));
    LCSM_TRY(merge(r->settings, points, err));
cleanup:
    json_decref(points);
    return st;
}

/* A rate of the variant's own takes the place of the scale's; those of the command line hold for
 * all. */
static lcsm_status take_rate(lcsm_grid_run *r, const lcsm_grid_source *s, const json_t *own,
                             lcsm_error *err)
{
    char        text[LCSM_KEY_TEXT_SIZE];
    lcsm_status st;
    if (own == NULL || s->rates == NULL) return set_number(r->settings, "lr", r->lr, err);
    if ((st = check_kind("lr", own, err)) != LCSM_OK) return st;
    lcsm_setting_text(text, own);
    if (!json_is_number(own))
        return lcsm_fail(err, LCSM_ERR_CONFIG, "lr is %.60s; expected a number", text);
    if (s->lr_count > 1)
        return lcsm_fail(err, LCSM_ERR_CONFIG,
                         "lr is %.60s; expected none, because the scale has %zu learning rates",
                         text, s->lr_count);
    r->lr = json_number_value(own);
    return LCSM_OK;
}

/* A run that both readings train alike belongs to both. */
static lcsm_status take_reading(lcsm_grid_run *r, const lcsm_grid *g, const place *p,
                                lcsm_error *err)
{
    bool    differs;
    json_t *as_run = json_copy(r->settings);
    if (as_run == NULL) return no_room(err);
    lcsm_status st = lcsm_as_run(as_run, g->task, &differs, err);
    r->readings    = differs ? 1u << p->reading : LCSM_READING_ALL;
    if (st == LCSM_OK && p->reading == LCSM_READING_AS_RUN) st = merge(r->settings, as_run, err);
    json_decref(as_run);
    return st;
}

/* The settings of a run, each part over those before it, and its name. */
static lcsm_status settle(lcsm_grid_run *r, const lcsm_grid *g, const place *p, lcsm_error *err)
{
    const lcsm_grid_source *s       = p->source;
    const json_t           *variant = json_array_get(s->variants, p->variant);
    const json_t           *at      = json_object_get(json_object_get(variant, "at"), g->scale);
    const json_t           *rate    = json_array_get(s->rates, p->lr), *own;
    lcsm_model_config       shared;
    lcsm_train_config       train;
    own = json_object_get(json_object_get(at, "lr") != NULL ? at : variant, "lr");
    LCSM_OR_RETURN(merge(r->settings, s->fixed, err));
    LCSM_OR_RETURN(merge(r->settings, s->scale_fixed, err));
    (void)apply(&shared, &train, r->settings, NULL); /* what is wrong is wrong in the whole, too */
    LCSM_OR_RETURN(merge(r->settings, rate, err));   /* a number has no members */
    LCSM_OR_RETURN(merge(r->settings, variant, err));
    LCSM_OR_RETURN(merge(r->settings, at, err));
    LCSM_OR_RETURN(add_points(r, g, p, variant, at, err));
    LCSM_OR_RETURN(take_rate(r, s, own, err));
    LCSM_OR_RETURN(set_number(r->settings, "seed", r->seed, err));
    LCSM_OR_RETURN(take_reading(r, g, p, err));
    LCSM_OR_RETURN(name_run(r, g, err));
    LCSM_OR_RETURN(try_settings(r, &shared, err));
    drop_unread(r);
    return LCSM_OK;
}

/* The task comes first, because it gives other settings their values; an axis may change it. */
static lcsm_status make_run(lcsm_grid_run *r, const lcsm_grid *g, const place *p, lcsm_error *err)
{
    bool       several = strcmp(g->task, LCSM_GRID_SEVERAL) == 0;
    lcsm_error why;
    *r = (lcsm_grid_run){.variant  = p->variant,
                         .settings = json_object(),
                         .lr       = p->source->lr[p->lr],
                         .seed     = (double)(p->seed + 1)};
    if (r->settings == NULL
        || json_object_set_new(r->settings, "task", json_string(several ? "lm" : g->task)) != 0)
        return no_room(err);
    if (settle(r, g, p, &why) != LCSM_OK)
        return lcsm_fail(err, why.status, "%s/grid.json, %.60s: %.150s", g->name,
                         g->variants[p->variant], why.text);
    r->tokens = tokens_of(&r->train);
    return LCSM_OK;
}

/* The next place, the last coordinate first; false after the last one. */
static bool step(place *p, const lcsm_grid *g)
{
    if (++p->reading < LCSM_READINGS) return true;
    p->reading = 0;
    if (++p->seed < p->source->seeds) return true;
    p->seed = 0;
    if (++p->lr < p->source->lr_count) return true;
    p->lr = 0;
    for (size_t j = g->axis_count; j-- > 0;) {
        if (++p->point[j] < json_array_size(p->source->axes[j])) return true;
        p->point[j] = 0;
    }
    return ++p->variant < g->variant_count;
}

static size_t find_label(const lcsm_grid *g, const char *text, size_t size)
{
    size_t j = 0;
    while (j < g->variant_count
           && (strlen(g->variants[j]) != size || strncmp(g->variants[j], text, size) != 0))
        j++;
    return j;
}

static lcsm_status no_variant(const lcsm_grid *g, const char *text, size_t size, lcsm_error *err)
{
    char word[80];
    (void)snprintf(word, sizeof word, "%.*s", (int)(size < sizeof word ? size : sizeof word), text);
    const char *near = lcsm_suggest(word, g->variants, g->variant_count);
    return lcsm_fail(err, LCSM_ERR_ARGUMENT, "%s has no variant \"%s\"; %s \"%.60s\"%s", g->name,
                     word, near == NULL ? "its first is" : "did you mean",
                     near == NULL ? g->variants[0] : near, near == NULL ? "" : "?");
}

/* "a,b" names the variants a and b, or one that has this label. NULL names all. */
static lcsm_status choose(bool *wanted, const lcsm_grid *g, const char *only, lcsm_error *err)
{
    size_t whole = only == NULL ? 0 : find_label(g, only, strlen(only));
    for (size_t j = 0; j < g->variant_count; j++) wanted[j] = only == NULL || j == whole;
    for (const char *p = only; whole == g->variant_count; p++) {
        size_t size = strcspn(p, ","), j = find_label(g, p, size);
        if (j == g->variant_count) return no_variant(g, p, size, err);
        wanted[j] = true;
        p += size;
        if (*p == '\0') break;
    }
    return LCSM_OK;
}

/* The last run is the one before it, if both readings are asked for and it belongs to both. */
static void drop_second(lcsm_grid *g)
{
    lcsm_grid_run *last = &g->runs[g->run_count - 1];
    if (g->run_count < 2 || strcmp(last[-1].name, last->name) != 0
        || last->readings != LCSM_READING_ALL)
        return;
    json_decref(last->settings);
    *last = (lcsm_grid_run){0};
    g->run_count--;
}

static lcsm_status expand(lcsm_grid *g, const lcsm_grid_source *source, const char *only,
                          lcsm_error *err)
{
    lcsm_status st     = LCSM_OK;
    place       p      = {.source = source};
    bool       *wanted = NULL;
    size_t      count  = g->variant_count;
    bool        fits   = lcsm_size_mul(count, source->lr_count, &count)
             && lcsm_size_mul(count, source->seeds, &count);
    for (size_t j = 0; j < g->axis_count; j++)
        fits = fits && lcsm_size_mul(count, json_array_size(source->axes[j]), &count);
    fits = fits && lcsm_size_mul(count, g->readings == LCSM_READING_ALL ? 2 : 1, &count);
    if (!fits || count > LCSM_GRID_RUNS)
        return lcsm_fail(err, LCSM_ERR_CONFIG, "%s: %zu runs; expected at most %d", g->name,
                         fits ? count : SIZE_MAX, LCSM_GRID_RUNS);
    g->runs = calloc(count, sizeof *g->runs);
    wanted  = calloc(g->variant_count, sizeof *wanted);
    if (g->runs == NULL || wanted == NULL) {
        st = no_room(err);
        goto cleanup;
    }
    LCSM_TRY(choose(wanted, g, only, err));
    do {
        if (!wanted[p.variant] || (g->readings & 1u << p.reading) == 0) continue;
        g->run_count++; /* freed with the rest, also when it fails */
        LCSM_TRY(make_run(&g->runs[g->run_count - 1], g, &p, err));
        drop_second(g);
    } while (step(&p, g));
cleanup:
    free(wanted);
    return st;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Runs of one name would be trained in one folder. */
static lcsm_status check_names(const lcsm_grid *g, lcsm_error *err)
{
    lcsm_status  st    = LCSM_OK;
    const char **names = malloc((g->run_count + 1) * sizeof *names);
    if (names == NULL) return no_room(err);
    for (size_t j = 0; j < g->run_count; j++) names[j] = g->runs[j].name;
    qsort(names, g->run_count, sizeof *names, by_name);
    for (size_t j = 1; j < g->run_count && st == LCSM_OK; j++)
        if (strcmp(names[j - 1], names[j]) == 0)
            st = lcsm_fail(err, LCSM_ERR_CONFIG,
                           "%s: two runs are named %s; labels, points and learning rates must "
                           "differ within ten digits",
                           g->name, names[j]);
    free(names);
    return st;
}

/* ---- the whole ----------------------------------------------------------------------------- */

lcsm_status lcsm_grid_open(lcsm_grid *out, const lcsm_experiment_options *options, lcsm_error *err)
{
    lcsm_status      st     = LCSM_OK;
    lcsm_grid_source source = {0};
    *out                    = (lcsm_grid){0};
    out->readings           = lcsm_readings_of(options->reading);
    if (out->readings == 0)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "unknown reading \"%.40s\"; expected described, as-run or both",
                         options->reading);
    LCSM_TRY(lcsm_grid_load(out, options->name, err));
    LCSM_TRY(lcsm_grid_read(out, &source, options->scale, err));
    if (options->lr_count > 0) {
        if (options->lr_count > COUNT(source.lr))
            LCSM_TRY(lcsm_fail(err, LCSM_ERR_ARGUMENT, "%zu learning rates; expected at most %zu",
                               options->lr_count, COUNT(source.lr)));
        memcpy(source.lr, options->lr, options->lr_count * sizeof source.lr[0]);
        source.lr_count = options->lr_count;
        source.rates    = NULL;
    }
    if (options->seeds > 0) source.seeds = options->seeds;
    LCSM_TRY(expand(out, &source, options->only, err));
    LCSM_TRY(check_names(out, err));
cleanup:
    if (st != LCSM_OK) lcsm_grid_free(out);
    return st;
}

void lcsm_grid_free(lcsm_grid *g)
{
    for (size_t j = 0; j < g->run_count; j++) json_decref(g->runs[j].settings);
    free(g->runs);
    free(g->variants);
    lcsm_json_doc_free(&g->grid);
    lcsm_json_doc_free(&g->paper);
    *g = (lcsm_grid){0};
}

lcsm_status lcsm_experiment_list(void (*each)(void *user, const lcsm_experiment_info *info),
                                 void *user, lcsm_error *err)
{
    for (size_t j = 0; j < LCSM_CATALOGUE_COUNT; j++) {
        lcsm_experiment_info info = {.size = sizeof info, .name = LCSM_CATALOGUE[j].name};
        lcsm_grid            g    = {0};
        for (size_t k = 0; k < LCSM_GRID_SCALES; k++) {
            lcsm_experiment_options o = {.name = info.name, .scale = LCSM_GRID_SCALE_NAMES[k]};
            lcsm_grid_free(&g);
            lcsm_status st = lcsm_grid_open(&g, &o, err);
            if (st != LCSM_OK) return st;
            info.runs[k] = g.run_count;
        }
        info.title    = g.title;
        info.about    = g.about;
        info.task     = g.task;
        info.metric   = g.metric;
        info.variants = g.variant_count;
        each(user, &info);
        lcsm_grid_free(&g);
    }
    return LCSM_OK;
}
