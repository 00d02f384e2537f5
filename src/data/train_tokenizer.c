/* train_tokenizer.c - files and folders through the counter of words into a tokenizer. */
#include <stdlib.h>
#include <string.h>

#include "base/sized.h"
#include "data/source.h"
#include "text/bpe_train.h"
#include "text/tokenizer.h"
#include "text/tokenizer_write.h"

enum { PIECE = 1 << 20, VOCAB = 8192, MOST = 1 << 24 };

static lcsm_status check(lcsm_tokenizer_training *o, size_t count, lcsm_error *err)
{
    if (o->vocab == 0) o->vocab = VOCAB;
    if (o->eos == NULL) o->eos = "<|endoftext|>";
    if (o->min_count == 0) o->min_count = 2;
    size_t least = *o->eos == '\0' ? 256 : 257, length = strlen(o->eos);
    if (count == 0) return lcsm_fail(err, LCSM_ERR_ARGUMENT, "no text files were given");
    if (o->vocab < least || o->vocab > MOST)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "a vocabulary of %zu; expected %zu to %d",
                         o->vocab, least, MOST);
    for (const char *p = o->eos; *p != '\0'; p++)
        if (*p <= ' ' || *p > '~' || length == 1)
            return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                             "the end-of-text token is \"%.40s\"; expected none, or at least two "
                             "visible ASCII characters",
                             o->eos);
    return LCSM_OK;
}

static lcsm_status count_file(lcsm_encoder *enc, const lcsm_source *source, char *piece,
                              uint64_t done, uint64_t total, lcsm_tokenizer_progress *progress,
                              void *user, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    lcsm_reader r  = {0};
    if (source->shard)
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%s is a token file; expected text", source->path);
    LCSM_TRY(lcsm_reader_open(&r, source->path, err));
    for (size_t size = 0;;) {
        LCSM_TRY(lcsm_reader_read(&r, piece, PIECE, &size, err));
        if (size == 0) break;
        LCSM_TRY(lcsm_encoder_feed(enc, piece, size, err));
        if (progress != NULL) progress(user, "reading", done + lcsm_reader_position(&r), total);
    }
    LCSM_TRY(lcsm_encoder_finish(enc, err));
cleanup:
    lcsm_reader_close(&r);
    return st;
}

static lcsm_status count_words(lcsm_word_count *words, const lcsm_sources *sources,
                               lcsm_tokenizer_progress *progress, void *user, lcsm_error *err)
{
    lcsm_status     st    = LCSM_OK;
    lcsm_tokenizer *tok   = NULL;
    lcsm_encoder   *enc   = NULL;
    char           *piece = malloc(PIECE);
    uint64_t        done  = 0;
    if (piece == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a piece of text");
    LCSM_TRY(lcsm_tokenizer_words(&tok, err));
    LCSM_TRY(lcsm_encoder_create_words(&enc, tok, lcsm_word_count_add, words, err));
    for (size_t j = 0; j < sources->count; j++) {
        LCSM_TRY(
            count_file(enc, &sources->items[j], piece, done, sources->size, progress, user, err));
        done += sources->items[j].size;
    }
    if (progress != NULL) progress(user, "reading", sources->size, sources->size);
cleanup:
    lcsm_encoder_free(enc);
    lcsm_tokenizer_free(tok);
    free(piece);
    return st;
}

lcsm_status lcsm_tokenizer_train(lcsm_tokenizer **out, const char *const *paths, size_t count,
                                 const lcsm_tokenizer_training *options,
                                 lcsm_tokenizer_progress *progress, void *user, lcsm_error *err)
{
    lcsm_status             st = LCSM_OK;
    lcsm_tokenizer_training o;
    lcsm_sources            sources = {0};
    lcsm_word_count         words   = {0};
    *out                            = NULL;
    LCSM_TRY(LCSM_TAKE(lcsm_tokenizer_training, min_count, &o, options, err));
    LCSM_TRY(check(&o, count, err));
    LCSM_TRY(lcsm_sources_list(&sources, paths, count, err));
    LCSM_TRY(count_words(&words, &sources, progress, user, err));
    if (words.used == 0) {
        st = lcsm_fail(err, LCSM_ERR_FORMAT, "%s contains no text", paths[0]);
        goto cleanup;
    }
    LCSM_TRY(lcsm_bpe_train(out, &words, &o, progress, user, err));
cleanup:
    lcsm_word_count_free(&words);
    lcsm_sources_free(&sources);
    return st;
}
