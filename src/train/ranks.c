/*
 * ranks.c - what a run of several ranks depends on, as one JSON object: rank 0 sends its own, and
 * every other rank looks for the first key that it has otherwise.
 */
#include "train/ranks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/this_build.h"
#include "format/json_doc.h"
#include "format/keys.h"
#include "model/config.h"

/* What is no setting. Its names are those of the sentence. */
#define BUILD   "the build of lcsm"
#define PROGRAM "the program's file"
#define DATA    "the training data"
#define VALID   "the validation data"
#define TEST    "the test data"
#define TOKENS  "the tokenizer"

static json_t *hex(uint64_t x)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%016" PRIx64, x);
    return json_string(text);
}

static json_t *of_text(const lcsm_batches *b)
{
    char text[80];
    if (b->data == NULL || b->T == 0) return json_string("");
    (void)snprintf(text, sizeof text, "%llu tokens with the checksum %016" PRIx64,
                   (unsigned long long)lcsm_dataset_tokens(b->data), lcsm_dataset_hash(b->data));
    return json_string(text);
}

static bool put(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value) == 0;
}

static json_t *describe(const lcsm_run_inputs *j)
{
    json_t *o  = lcsm_run_inputs_settings(j);
    bool    ok = o != NULL && put(o, BUILD, json_string(lcsm_build_text()))
           && put(o, PROGRAM, hex(lcsm_build_hash())) && put(o, DATA, of_text(&j->train))
           && put(o, VALID, of_text(&j->valid)) && put(o, TEST, of_text(&j->test))
           && put(o, TOKENS, hex(j->tok == NULL ? 0 : lcsm_tokenizer_hash(j->tok)));
    if (ok) return o;
    json_decref(o);
    return NULL;
}

/* The text of rank 0, on every rank; to be freed. */
static lcsm_status receive(char **out, const lcsm_run_inputs *j, const json_t *own, lcsm_error *err)
{
    uint64_t    size = 0;
    lcsm_status st   = LCSM_OK;
    *out             = NULL;
    if (lcsm_dist_first(j->dist)) {
        *out = json_dumps(own, JSON_COMPACT | JSON_SORT_KEYS);
        size = *out == NULL ? 0 : strlen(*out) + 1;
    }
    LCSM_OR_RETURN(lcsm_dist_broadcast(j->dist, &size, sizeof size, 0, err));
    if (!lcsm_dist_first(j->dist) && size > 0) *out = calloc(1, (size_t)size);
    if (*out == NULL) st = lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for settings");
    LCSM_OR_RETURN(lcsm_dist_agree(j->dist, st, err));
    return lcsm_dist_broadcast(j->dist, *out, (size_t)size, 0, err);
}

static const char *text_of(char text[LCSM_KEY_TEXT_SIZE], const json_t *value)
{
    return *lcsm_setting_text(text, value) == '\0' ? "none" : text;
}

static lcsm_status compare(json_t *own, json_t *first, lcsm_error *err)
{
    static const char *const ahead[] = {BUILD, PROGRAM};
    const char              *key, *differs = NULL;
    char                     a[LCSM_KEY_TEXT_SIZE], b[LCSM_KEY_TEXT_SIZE];
    json_t                  *value;
    json_object_foreach(first, key, value)
    {
        if (differs == NULL && !json_equal(value, json_object_get(own, key))) differs = key;
    }
    for (size_t k = COUNT(ahead); k-- > 0;)
        if (!json_equal(json_object_get(own, ahead[k]), json_object_get(first, ahead[k])))
            differs = ahead[k];
    if (differs == NULL) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                     "%s differs: %.80s, but rank 0 has %.80s; all ranks train the same run",
                     differs, text_of(a, json_object_get(own, differs)),
                     text_of(b, json_object_get(first, differs)));
}

lcsm_status lcsm_ranks_compare(const lcsm_run_inputs *j, lcsm_error *err)
{
    json_t     *own = NULL, *first = NULL;
    char       *text = NULL;
    lcsm_status st   = LCSM_OK;
    if (lcsm_dist_size(j->dist) == 1) return LCSM_OK;
    own = describe(j);
    LCSM_TRY(receive(&text, j, own, err));
    first = json_loads(text, 0, NULL);
    if (own == NULL || first == NULL)
        st = lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for settings");
    else st = compare(own, first, err);
    st = lcsm_dist_agree(j->dist, st, err);
cleanup:
    free(text);
    json_decref(own);
    json_decref(first);
    return st;
}

/* ---- memory ------------------------------------------------------------------------------- */

enum { ALL, MOMENTS, KINDS };

static int compare_bytes(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void put_range(lcsm_strbuf *s, const uint64_t *sorted, int count)
{
    double least = (double)sorted[0] / 1e6, most = (double)sorted[count - 1] / 1e6;
    int    digits = most < 10 ? 1 : 0;
    if (most - least > 0.05 * most) lcsm_strbuf_printf(s, "%.*f to ", digits, least);
    lcsm_strbuf_printf(s, "%.*f MB", digits, most);
}

lcsm_status lcsm_ranks_memory(lcsm_strbuf *s, const lcsm_trainer *t, lcsm_error *err)
{
    const lcsm_optimizer *o    = t->optimizer;
    lcsm_dist            *d    = t->shards.dist;
    int                   size = lcsm_dist_size(d);
    uint64_t own[KINDS]        = {lcsm_trainer_bytes(t), 2 * (o->end - o->first) * sizeof(float)};
    if (size == 1) return LCSM_OK;
    uint64_t   *all = calloc((size_t)size, sizeof *all);
    lcsm_status st =
        all == NULL ? lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for ranks") : LCSM_OK;
    st = lcsm_dist_agree(d, st, err);
    for (int k = 0; k < KINDS && st == LCSM_OK && all != NULL; k++) {
        st = lcsm_dist_all_gather(d, &own[k], sizeof own[k], all, err);
        qsort(all, (size_t)size, sizeof *all, compare_bytes);
        if (k == ALL) lcsm_strbuf_printf(s, ", %d ranks of ", size);
        else lcsm_strbuf_printf(s, " with ");
        put_range(s, all, size);
    }
    if (st == LCSM_OK) lcsm_strbuf_printf(s, " of the optimizer's moments");
    free(all);
    return st;
}
