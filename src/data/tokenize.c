/* tokenize.c - reads pieces of a megabyte, counts them, and gives them to an encoder. */
#include "data/tokenize.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE = 1 << 20 };

static bool is_space(unsigned char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

void lcsm_text_count(lcsm_text_counts *counts, bool *inside, const char *text, size_t size)
{
    bool     in    = *inside;
    uint64_t words = 0, lines = 0;
    for (size_t j = 0; j < size; j++) {
        bool letter = !is_space((unsigned char)text[j]);
        words += letter && !in;
        lines += text[j] == '\n';
        in = letter;
    }
    counts->bytes += size;
    counts->words += words;
    counts->lines += lines;
    *inside = in;
}

/* What one call of lcsm_tokenize has in hand. */
typedef struct {
    lcsm_shard_writer *w;
    lcsm_encoder      *encoder;
    lcsm_text_ends     ends;
    int32_t            eos;
    bool               started; /* the line has bytes, or the file has lines before */
    char              *piece;
} job;

/* Line by line: the end-of-text token stands for each line end. */
static lcsm_status feed_lines(job *j, const char *text, size_t size, lcsm_error *err)
{
    while (size > 0) {
        const char *end  = memchr(text, '\n', size);
        size_t      here = end == NULL ? size : (size_t)(end - text);
        LCSM_OR_RETURN(lcsm_encoder_feed(j->encoder, text, here, err));
        j->started = true;
        if (end == NULL) break;
        LCSM_OR_RETURN(lcsm_encoder_finish(j->encoder, err));
        LCSM_OR_RETURN(lcsm_shard_writer_put(j->w, &j->eos, 1, err));
        j->started = false;
        text += here + 1;
        size -= here + 1;
    }
    return LCSM_OK;
}

static lcsm_status end_file(job *j, lcsm_error *err)
{
    LCSM_OR_RETURN(lcsm_encoder_finish(j->encoder, err));
    bool open_line = j->ends == LCSM_ENDS_LINE && j->started;
    if (j->ends == LCSM_ENDS_FILE || open_line)
        LCSM_OR_RETURN(lcsm_shard_writer_put(j->w, &j->eos, 1, err));
    j->started = false;
    return LCSM_OK;
}

static void tell(const lcsm_tokenize_progress *p, const char *path, uint64_t here)
{
    if (p->fn != NULL) p->fn(p->user, path, p->done + here, p->total);
}

static lcsm_status read_file(job *j, const lcsm_source *source, lcsm_tokenize_progress *progress,
                             lcsm_error *err)
{
    lcsm_status st     = LCSM_OK;
    lcsm_reader r      = {0};
    bool        inside = false;
    LCSM_TRY(lcsm_reader_open(&r, source->path, err));
    for (size_t size = 0;; tell(progress, source->path, lcsm_reader_position(&r))) {
        lcsm_text_counts counts = {0};
        LCSM_TRY(lcsm_reader_read(&r, j->piece, PIECE, &size, err));
        if (size == 0) break;
        lcsm_text_count(&counts, &inside, j->piece, size);
        lcsm_shard_writer_text(j->w, counts);
        if (j->ends == LCSM_ENDS_LINE) LCSM_TRY(feed_lines(j, j->piece, size, err));
        else LCSM_TRY(lcsm_encoder_feed(j->encoder, j->piece, size, err));
    }
    LCSM_TRY(end_file(j, err));
    tell(progress, source->path, source->size);
cleanup:
    lcsm_reader_close(&r);
    return st;
}

lcsm_status lcsm_tokenize(lcsm_shard_writer *w, const lcsm_source *sources, size_t count,
                          const lcsm_tokenizer *tok, lcsm_text_ends ends,
                          lcsm_tokenize_progress *progress, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    job         j  = {.w = w, .ends = ends, .eos = lcsm_tokenizer_eos(tok), .piece = malloc(PIECE)};
    if (j.piece == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a piece of text");
    LCSM_TRY(lcsm_encoder_create(&j.encoder, tok, LCSM_ENCODE_SKIP, lcsm_shard_writer_put, w, err));
    for (size_t s = 0; s < count; s++) {
        LCSM_TRY(read_file(&j, &sources[s], progress, err));
        progress->done += sources[s].size;
    }
    lcsm_shard_writer_text(w, (lcsm_text_counts){.skipped = lcsm_encoder_skipped(j.encoder)});
cleanup:
    lcsm_encoder_free(j.encoder);
    free(j.piece);
    return st;
}
