/*
 * bpe_train.c - learns merges.
 *
 * Every different word is kept once, as tokens, with its count. A merge visits only the words that
 * have the pair, and changes only the counts of the pairs beside it.
 */
#include "text/bpe_train.h"

#include <stdlib.h>
#include <string.h>

#include "text/byte_map.h"
#include "text/pair_table.h"
#include "text/tokenizer.h"
#include "text/tokenizer_write.h"

typedef struct {
    uint64_t count;
    size_t   at; /* in tokens */
    uint32_t size;
    uint32_t merge; /* the last merge that visited it, from 1 */
} word;

typedef struct {
    const lcsm_tokenizer_training *options;
    lcsm_vocab                     vocab; /* room for all that may come */
    size_t                         tokens;
    int32_t (*merges)[2];
    size_t          merge_count;
    word           *words;
    size_t          word_count;
    int32_t        *ids;
    lcsm_pair_table pairs;
    lcsm_strbuf     room;
} training;

static lcsm_status no_memory(lcsm_error *err)
{
    return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory to train a tokenizer");
}

/* The end-of-text token, then the 256 bytes in the order of their characters. */
static lcsm_status first_tokens(training *t, int32_t byte_id[256], lcsm_error *err)
{
    const char *eos = t->options->eos;
    if (*eos != '\0' && !lcsm_vocab_put(&t->vocab, (int32_t)t->tokens++, eos, strlen(eos), true))
        return no_memory(err);
    for (uint32_t code = 0; code < 0x144; code++) {
        for (unsigned byte = 0; byte < 256; byte++) {
            char c = (char)byte;
            if (lcsm_byte_map_code(byte) != code) continue;
            byte_id[byte] = (int32_t)t->tokens++;
            if (!lcsm_vocab_put(&t->vocab, byte_id[byte], &c, 1, true)) return no_memory(err);
        }
    }
    return LCSM_OK;
}

/* Words as tokens, and all their pairs. */
static lcsm_status spell(training *t, const lcsm_word_count *counts, const int32_t byte_id[256],
                         lcsm_error *err)
{
    size_t at = 0;
    t->words  = calloc(counts->used + 1, sizeof *t->words);
    t->ids    = malloc((counts->pool.size + 1) * sizeof *t->ids);
    if (t->words == NULL || t->ids == NULL) return no_memory(err);
    for (size_t j = 0; counts->slots != NULL && j <= counts->mask; j++) {
        const lcsm_counted_word *c = &counts->slots[j];
        if (c->count == 0) continue;
        uint32_t number  = (uint32_t)t->word_count++;
        t->words[number] = (word){.count = c->count, .at = at, .size = c->size};
        for (size_t k = 0; k < c->size; k++) {
            t->ids[at + k] = byte_id[(unsigned char)counts->pool.text[c->at + k]];
            if (k > 0
                && !lcsm_pair_table_change(&t->pairs, t->ids[at + k - 1], t->ids[at + k],
                                           (int64_t)c->count, number))
                return no_memory(err);
        }
        at += c->size;
    }
    return lcsm_pair_table_queue(&t->pairs) ? LCSM_OK : no_memory(err);
}

/* A pair that was left | right is gone, and one with the new token is there. */
static bool swap_pair(training *t, const int32_t gone[2], const int32_t come[2], uint32_t number)
{
    int64_t count = (int64_t)t->words[number].count;
    return lcsm_pair_table_change(&t->pairs, gone[0], gone[1], -count, number)
        && lcsm_pair_table_change(&t->pairs, come[0], come[1], count, number);
}

/* Merges left, right to id in one word, from its start on. */
static bool merge_word(training *t, uint32_t number, int32_t left, int32_t right, int32_t id)
{
    word    *w   = &t->words[number];
    int32_t *ids = t->ids + w->at;
    uint32_t to  = 0;
    for (uint32_t from = 0; from < w->size; from++, to++) {
        ids[to] = ids[from];
        if (ids[from] != left || from + 1 == w->size || ids[from + 1] != right) continue;
        ids[to] = id;
        if (to > 0
            && !swap_pair(t, (const int32_t[]){ids[to - 1], left},
                          (const int32_t[]){ids[to - 1], id}, number))
            return false;
        if (from + 2 < w->size
            && !swap_pair(t, (const int32_t[]){right, ids[from + 2]},
                          (const int32_t[]){id, ids[from + 2]}, number))
            return false;
        from++;
    }
    w->size = to;
    return true;
}

/* The token of two joined ones, which another pair may have made already. */
static int32_t token_of(training *t, int32_t left, int32_t right)
{
    size_t      a, b;
    const char *first = lcsm_vocab_bytes(&t->vocab, left, &a);
    t->room.size      = 0;
    lcsm_strbuf_bytes(&t->room, first, a);
    const char *second = lcsm_vocab_bytes(&t->vocab, right, &b);
    lcsm_strbuf_bytes(&t->room, second, b);
    if (t->room.failed) return -1;
    int32_t id = lcsm_vocab_find(&t->vocab, t->room.text, t->room.size);
    if (id >= 0) return id;
    id = (int32_t)t->tokens++;
    return lcsm_vocab_put(&t->vocab, id, t->room.text, t->room.size, true) ? id : -1;
}

static bool note_merge(training *t, int32_t left, int32_t right)
{
    if ((t->merge_count & (t->merge_count + 1)) == 0) { /* 2^n - 1: the block is full */
        void *more = realloc(t->merges, 2 * (t->merge_count + 1) * sizeof *t->merges);
        if (more == NULL) return false;
        t->merges = more;
    }
    t->merges[t->merge_count][0]   = left;
    t->merges[t->merge_count++][1] = right;
    return true;
}

static bool merge_everywhere(training *t, lcsm_pair_info info)
{
    int32_t left = (int32_t)(info.pair >> 32), right = (int32_t)(uint32_t)info.pair;
    int32_t id   = token_of(t, left, right);
    bool    fine = id >= 0 && note_merge(t, left, right);
    for (uint32_t j = 0; fine && j < info.word_count; j++) {
        word *w = &t->words[info.words[j]];
        if (w->merge == t->merge_count) continue;
        w->merge = (uint32_t)t->merge_count;
        fine     = merge_word(t, info.words[j], left, right, id);
    }
    return fine && lcsm_pair_table_queue(&t->pairs);
}

static lcsm_status learn(training *t, lcsm_tokenizer_progress *progress, void *user,
                         lcsm_error *err)
{
    while (t->tokens < t->options->vocab) {
        const lcsm_pair_info *top = lcsm_pair_table_pop(&t->pairs);
        if (top == NULL || top->count < (int64_t)t->options->min_count) break;
        if (!merge_everywhere(t, *top)) return no_memory(err);
        if (progress != NULL && t->merge_count % 64 == 0)
            progress(user, "merging", t->tokens, t->options->vocab);
    }
    t->vocab.count = t->tokens;
    if (progress != NULL) progress(user, "merging", t->tokens, t->tokens);
    return LCSM_OK;
}

static void training_free(training *t)
{
    lcsm_vocab_free(&t->vocab);
    lcsm_pair_table_free(&t->pairs);
    lcsm_strbuf_free(&t->room);
    free(t->merges);
    free(t->words);
    free(t->ids);
}

lcsm_status lcsm_bpe_train(lcsm_tokenizer **out, const lcsm_word_count *words,
                           const lcsm_tokenizer_training *options,
                           lcsm_tokenizer_progress *progress, void *user, lcsm_error *err)
{
    lcsm_status st   = LCSM_OK;
    training    t    = {.options = options};
    char       *json = NULL;
    size_t      size = 0;
    int32_t     byte_id[256];
    *out = NULL;
    LCSM_TRY(lcsm_vocab_create(&t.vocab, options->vocab, err));
    LCSM_TRY(first_tokens(&t, byte_id, err));
    LCSM_TRY(spell(&t, words, byte_id, err));
    LCSM_TRY(learn(&t, progress, user, err));
    const lcsm_tokenizer_parts parts = {.vocab       = &t.vocab,
                                        .merges      = (const int32_t(*)[2])t.merges,
                                        .merge_count = t.merge_count,
                                        .words       = true,
                                        .eos         = *options->eos == '\0' ? NULL : options->eos};
    LCSM_TRY(lcsm_tokenizer_write(&json, &size, &parts, err));
    LCSM_TRY(lcsm_tokenizer_parse(out, "the trained tokenizer", json, size, err));
cleanup:
    free(json);
    training_free(&t);
    return st;
}
