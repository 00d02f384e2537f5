/* dataset.c - opens text as shards, from the cache where they are there already. */
#include "data/dataset.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/sized.h"
#include "data/tokenize.h"

enum { KEY_SIZE = 17, SHARD_TOKENS = 1 << 28 };

/* One call of lcsm_dataset_open. */
typedef struct {
    lcsm_dataset          *ds;
    lcsm_dataset_options   options;
    lcsm_shard_head        head;
    lcsm_tokenize_progress progress;
} opening;

static lcsm_status append(lcsm_dataset *ds, lcsm_shard *shard, lcsm_error *err)
{
    lcsm_shard *shards = realloc(ds->shards, (ds->shard_count + 1) * sizeof *shards);
    if (shards == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a list of shards");
    ds->shards                    = shards;
    ds->shards[ds->shard_count++] = *shard;
    *shard                        = (lcsm_shard){0};
    return LCSM_OK;
}

/* Forgets shards from `keep` on. */
static void drop(lcsm_dataset *ds, size_t keep)
{
    while (ds->shard_count > keep) lcsm_shard_close(&ds->shards[--ds->shard_count]);
}

static lcsm_status fits(const lcsm_shard *s, const lcsm_shard_head *want, const char *path,
                        lcsm_error *err)
{
    const lcsm_shard_head *h = &s->head;
    if (h->vocab == want->vocab && h->tokenizer == want->tokenizer && h->start == want->start)
        return LCSM_OK;
    return lcsm_fail(
        err, LCSM_ERR_FORMAT,
        "%s: tokens of another tokenizer: vocabulary %llu, hash %016llx; expected %llu, %016llx",
        path, (unsigned long long)h->vocab, (unsigned long long)h->tokenizer,
        (unsigned long long)want->vocab, (unsigned long long)want->tokenizer);
}

static lcsm_status take_shard(lcsm_dataset *ds, const char *path, const lcsm_shard_head *want,
                              lcsm_error *err)
{
    lcsm_status st    = LCSM_OK;
    lcsm_shard  shard = {0};
    LCSM_TRY(lcsm_shard_open(&shard, path, err));
    LCSM_TRY(fits(&shard, want, path, err));
    LCSM_TRY(append(ds, &shard, err));
cleanup:
    lcsm_shard_close(&shard);
    return st;
}

/* The name of a set: what its tokens depend on. */
static lcsm_status make_key(char key[KEY_SIZE], const opening *o, const lcsm_source *sources,
                            size_t count, lcsm_error *err)
{
    lcsm_strbuf text = {0};
    lcsm_strbuf_printf(&text, "%d %016llx %d %d %llu\n", LCSM_SHARD_VERSION,
                       (unsigned long long)o->head.tokenizer, (int)o->head.start, (int)o->head.ends,
                       (unsigned long long)o->options.shard_size);
    for (size_t j = 0; j < count; j++)
        lcsm_strbuf_printf(&text, "%llu %lld.%09lld %s\n", (unsigned long long)sources[j].size,
                           (long long)sources[j].seconds, (long long)sources[j].nanoseconds,
                           sources[j].path);
    bool failed = text.failed;
    if (!failed)
        (void)snprintf(key, KEY_SIZE, "%016llx",
                       (unsigned long long)XXH3_64bits(text.text, text.size));
    lcsm_strbuf_free(&text);
    return failed ? lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a list of files")
                  : LCSM_OK;
}

/* The shards of a set, if all are there and right. */
static lcsm_status take_set(opening *o, const char *key, lcsm_error *err)
{
    lcsm_status st     = LCSM_OK;
    size_t      before = o->ds->shard_count;
    char        path[LCSM_PATH_MAX];
    for (uint32_t part = 0;; part++) {
        LCSM_TRY(lcsm_shard_path(path, o->options.cache, key, part, err));
        LCSM_TRY(take_shard(o->ds, path, &o->head, err));
        const lcsm_shard_head *h = &o->ds->shards[o->ds->shard_count - 1].head;
        if (h->part != part) {
            st = lcsm_fail(err, LCSM_ERR_FORMAT, "%s: part %lu of its set; expected part %lu", path,
                           (unsigned long)h->part, (unsigned long)part);
            goto cleanup;
        }
        if (h->last != 0) break;
    }
cleanup:
    if (st != LCSM_OK) drop(o->ds, before);
    return st;
}

static lcsm_status make_set(opening *o, const char *key, const lcsm_source *sources, size_t count,
                            lcsm_error *err)
{
    lcsm_status       st     = LCSM_OK;
    lcsm_shard_writer w      = {0};
    lcsm_file         memory = {0};
    lcsm_shard        shard  = {0};
    LCSM_TRY(
        lcsm_shard_writer_open(&w, o->options.cache, key, &o->head, o->options.shard_size, err));
    LCSM_TRY(lcsm_tokenize(&w, sources, count, o->ds->tok, o->options.ends, &o->progress, err));
    LCSM_TRY(lcsm_shard_writer_finish(&w, &memory, err));
    if (o->options.cache != NULL) LCSM_TRY(take_set(o, key, err));
    else {
        LCSM_TRY(lcsm_shard_adopt(&shard, &memory, "tokens in memory", err));
        LCSM_TRY(append(o->ds, &shard, err));
    }
cleanup:
    lcsm_shard_close(&shard);
    lcsm_file_close(&memory);
    lcsm_shard_writer_close(&w);
    return st;
}

/* Text files that follow each other become one set. */
static lcsm_status take_texts(opening *o, const lcsm_source *sources, size_t count, lcsm_error *err)
{
    char       key[KEY_SIZE] = "";
    lcsm_error why;
    if (o->options.cache != NULL) {
        LCSM_OR_RETURN(make_key(key, o, sources, count, err));
        if (take_set(o, key, &why) == LCSM_OK) {
            for (size_t j = 0; j < count; j++) o->progress.done += sources[j].size;
            return LCSM_OK;
        }
    }
    return make_set(o, key, sources, count, err);
}

static lcsm_status take_all(opening *o, const lcsm_sources *s, lcsm_error *err)
{
    for (size_t j = 0, end = 0; j < s->count; j = end) {
        end = j + 1;
        if (s->items[j].shard) {
            LCSM_OR_RETURN(take_shard(o->ds, s->items[j].path, &o->head, err));
            o->progress.done += s->items[j].size;
            continue;
        }
        while (end < s->count && !s->items[end].shard) end++;
        LCSM_OR_RETURN(take_texts(o, &s->items[j], end - j, err));
    }
    return LCSM_OK;
}

/* Where each shard starts, and the sums. */
static lcsm_status settle(lcsm_dataset *ds, const char *name, lcsm_error *err)
{
    ds->starts = malloc((ds->shard_count + 1) * sizeof *ds->starts);
    if (ds->starts == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a list of shards");
    ds->starts[0] = 0;
    for (size_t j = 0; j < ds->shard_count; j++) {
        const lcsm_shard_head *h = &ds->shards[j].head;
        ds->starts[j + 1]        = ds->starts[j] + h->count;
        ds->text.bytes += h->text.bytes;
        ds->text.words += h->text.words;
        ds->text.lines += h->text.lines;
        ds->text.skipped += h->text.skipped;
    }
    ds->count = ds->starts[ds->shard_count];
    if (ds->count > 0 && ds->text.bytes > 0) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_FORMAT, "%s contains no text", name);
}

static lcsm_status check_options(const opening *o, size_t count, lcsm_error *err)
{
    if (count == 0) return lcsm_fail(err, LCSM_ERR_ARGUMENT, "no text files were given");
    if (o->options.ends > LCSM_ENDS_LINE)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "ends is %d; expected 0 to %d",
                         (int)o->options.ends, (int)LCSM_ENDS_LINE);
    if (o->options.ends != LCSM_ENDS_NEVER && lcsm_tokenizer_eos(o->ds->tok) < 0)
        return lcsm_fail(err, LCSM_ERR_CONFIG,
                         "lines or files are to end with the end-of-text token, but the tokenizer "
                         "has none (for example <|endoftext|>)");
    return LCSM_OK;
}

lcsm_status lcsm_dataset_open(lcsm_dataset **out, const char *const *paths, size_t count,
                              const lcsm_tokenizer *tok, const lcsm_dataset_options *options,
                              lcsm_dataset_progress *progress, void *user, lcsm_error *err)
{
    lcsm_status  st      = LCSM_OK;
    lcsm_sources sources = {0};
    opening      o = {.ds = calloc(1, sizeof *o.ds), .progress = {.fn = progress, .user = user}};
    *out           = NULL;
    if (o.ds == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a dataset");
    LCSM_TRY(LCSM_TAKE(lcsm_dataset_options, shard_size, &o.options, options, err));
    if (o.options.shard_size == 0) o.options.shard_size = SHARD_TOKENS;
    o.ds->tok = tok;
    o.head    = (lcsm_shard_head){
           .vocab     = lcsm_tokenizer_vocab(tok),
           .tokenizer = lcsm_tokenizer_hash(tok),
           .start     = lcsm_tokenizer_start(tok),
           .ends      = (uint32_t)o.options.ends,
    };
    LCSM_TRY(check_options(&o, count, err));
    LCSM_TRY(lcsm_sources_list(&sources, paths, count, err));
    o.progress.total = sources.size;
    o.ds->skipped    = sources.skipped;
    LCSM_TRY(take_all(&o, &sources, err));
    LCSM_TRY(settle(o.ds, paths[0], err));
    *out = o.ds;
    o.ds = NULL;
cleanup:
    lcsm_sources_free(&sources);
    lcsm_dataset_free(o.ds);
    return st;
}

void lcsm_dataset_free(lcsm_dataset *ds)
{
    if (ds == NULL) return;
    if (!ds->borrowed) {
        drop(ds, 0);
        free(ds->shards);
        free(ds->starts);
    }
    free(ds);
}

/* ---- parts ------------------------------------------------------------------------------ */

/* The text that tokens stand for; the end-of-text token is a line end where it replaced one. */
static lcsm_text_counts measure(const lcsm_dataset *ds)
{
    enum { STEP = 1024 };
    int32_t          ids[STEP];
    lcsm_text_counts counts  = {0};
    bool             inside  = false;
    bool             is_line = ds->shards[0].head.ends == LCSM_ENDS_LINE;
    int32_t          eos     = lcsm_tokenizer_eos(ds->tok);
    for (uint64_t at = 0; at < ds->count; at += STEP) {
        size_t now = ds->count - at < STEP ? (size_t)(ds->count - at) : STEP;
        lcsm_dataset_read(ds, at, now, ids);
        for (size_t j = 0; j < now; j++) {
            size_t      size  = 0;
            const char *bytes = lcsm_tokenizer_piece(ds->tok, ids[j], &size);
            if (ids[j] != eos) lcsm_text_count(&counts, &inside, bytes, size);
            else if (is_line) lcsm_text_count(&counts, &inside, "\n", 1);
        }
    }
    return counts;
}

static lcsm_dataset *part_of(const lcsm_dataset *ds, uint64_t first, uint64_t count)
{
    lcsm_dataset *part = malloc(sizeof *part);
    if (part == NULL) return NULL;
    *part          = *ds;
    part->borrowed = true;
    part->first    = ds->first + first;
    part->count    = count;
    return part;
}

static uint64_t minus(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

lcsm_status lcsm_dataset_split(const lcsm_dataset *ds, double fraction, lcsm_dataset **first,
                               lcsm_dataset **rest, lcsm_error *err)
{
    *first = *rest = NULL;
    if (!(fraction > 0 && fraction < 1))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "the fraction is %g; expected more than 0 and less than 1", fraction);
    if (ds->count < 2)
        return lcsm_fail(err, LCSM_ERR_FORMAT,
                         "a stream of %llu tokens cannot be split; expected at least 2",
                         (unsigned long long)ds->count);
    uint64_t cut = (uint64_t)floor((double)ds->count * fraction);
    if (cut == 0) cut = 1;
    if (cut >= ds->count) cut = ds->count - 1;
    lcsm_dataset *a = part_of(ds, 0, cut), *b = part_of(ds, cut, ds->count - cut);
    if (a == NULL || b == NULL) {
        free(a);
        free(b);
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a dataset");
    }
    b->text         = measure(b);
    b->text.skipped = ds->text.skipped;
    a->text         = (lcsm_text_counts){minus(ds->text.bytes, b->text.bytes),
                                         minus(ds->text.words, b->text.words),
                                         minus(ds->text.lines, b->text.lines), ds->text.skipped};
    *first          = a;
    *rest           = b;
    return LCSM_OK;
}

/* ---- what it is ------------------------------------------------------------------------- */

uint64_t lcsm_dataset_tokens(const lcsm_dataset *ds)
{
    return ds->count;
}

uint64_t lcsm_dataset_bytes(const lcsm_dataset *ds)
{
    return ds->text.bytes;
}

uint64_t lcsm_dataset_words(const lcsm_dataset *ds)
{
    return ds->text.words;
}

uint64_t lcsm_dataset_lines(const lcsm_dataset *ds)
{
    return ds->text.lines;
}

uint64_t lcsm_dataset_bytes_skipped(const lcsm_dataset *ds)
{
    return ds->text.skipped;
}

size_t lcsm_dataset_vocab(const lcsm_dataset *ds)
{
    return (size_t)ds->shards[0].head.vocab;
}

size_t lcsm_dataset_skipped(const lcsm_dataset *ds)
{
    return ds->skipped;
}

uint64_t lcsm_dataset_hash(const lcsm_dataset *ds)
{
    uint64_t sum = XXH3_64bits_withSeed(&ds->first, sizeof ds->first, ds->count);
    for (size_t j = 0; j < ds->shard_count; j++)
        sum = XXH3_64bits_withSeed(&ds->shards[j].head.sum, sizeof sum, sum);
    return sum;
}

void lcsm_dataset_read_at(const lcsm_dataset *ds, uint64_t at, size_t count, int32_t *out)
{
    size_t s = 0;
    while (count > 0) {
        while (at >= ds->starts[s + 1]) s++;
        uint64_t left = ds->starts[s + 1] - at;
        size_t   now  = count < left ? count : (size_t)left;
        lcsm_shard_read(&ds->shards[s], at - ds->starts[s], now, out);
        out += now;
        at += now;
        count -= now;
    }
}

void lcsm_dataset_read(const lcsm_dataset *ds, uint64_t first, size_t count, int32_t *out)
{
    assert(first <= ds->count && count <= ds->count - first);
    lcsm_dataset_read_at(ds, ds->first + first, count, out);
}
