/* shard_writer.c - tokens are gathered in a buffer, summed, and written as it fills. */
#include "data/shard_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

lcsm_status lcsm_shard_path(char out[LCSM_PATH_MAX], const char *folder, const char *key,
                            uint32_t part, lcsm_error *err)
{
    char name[64];
    (void)snprintf(name, sizeof name, "%.32s-%03lu.lcsm-tokens", key, (unsigned long)part);
    return lcsm_path_join(out, folder, name, err);
}

static lcsm_status write_bytes(lcsm_shard_writer *w, const void *data, size_t size, lcsm_error *err)
{
    if (w->folder != NULL) return lcsm_file_writer_write(&w->file, data, size, err);
    lcsm_strbuf_bytes(&w->memory, data, size);
    if (!w->memory.failed) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_MEMORY,
                     "not enough memory for %llu tokens; use a cache folder to keep them on disk",
                     (unsigned long long)w->head.count);
}

static lcsm_status flush(lcsm_shard_writer *w, lcsm_error *err)
{
    size_t size = w->used;
    w->used     = 0;
    (void)XXH3_64bits_update(w->state, w->buffer, size);
    return write_bytes(w, w->buffer, size, err);
}

/* Begins the next shard with an empty header, which its end fills in. */
static lcsm_status begin(lcsm_shard_writer *w, lcsm_error *err)
{
    static const unsigned char zeros[LCSM_SHARD_HEADER] = {0};
    char                       path[LCSM_PATH_MAX];
    if (w->folder != NULL) {
        LCSM_OR_RETURN(lcsm_shard_path(path, w->folder, w->key, w->head.part, err));
        LCSM_OR_RETURN(lcsm_file_writer_open(&w->file, path, err));
    }
    w->open       = true;
    w->head.count = 0;
    w->head.text  = (lcsm_text_counts){0};
    (void)XXH3_64bits_reset(w->state);
    return write_bytes(w, zeros, sizeof zeros, err);
}

static lcsm_status end(lcsm_shard_writer *w, bool last, lcsm_error *err)
{
    unsigned char header[LCSM_SHARD_HEADER];
    LCSM_OR_RETURN(flush(w, err));
    w->head.last = last;
    w->head.sum  = XXH3_64bits_digest(w->state);
    lcsm_shard_pack(header, &w->head);
    if (w->folder == NULL) memcpy(w->memory.text, header, sizeof header);
    else {
        LCSM_OR_RETURN(lcsm_file_writer_patch(&w->file, 0, header, sizeof header, err));
        LCSM_OR_RETURN(lcsm_file_writer_commit(&w->file, err));
    }
    w->open = false;
    w->head.part++;
    return LCSM_OK;
}

lcsm_status lcsm_shard_writer_open(lcsm_shard_writer *w, const char *folder, const char *key,
                                   const lcsm_shard_head *head, uint64_t limit, lcsm_error *err)
{
    *w = (lcsm_shard_writer){
        .folder = folder,
        .key    = key,
        .limit  = folder == NULL ? UINT64_MAX : limit,
        .head   = *head,
        .width  = lcsm_shard_width(head->vocab),
        .state  = XXH3_createState(),
        .buffer = malloc(LCSM_SHARD_BUFFER),
    };
    if (w->state == NULL || w->buffer == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a buffer of tokens");
    lcsm_status st = folder == NULL ? LCSM_OK : lcsm_folder_make(folder, err);
    return st != LCSM_OK ? st : begin(w, err);
}

static void store(lcsm_shard_writer *w, const int32_t *ids, size_t count)
{
    unsigned char *to = w->buffer + w->used;
    for (size_t j = 0; j < count; j++) {
        uint16_t narrow = (uint16_t)ids[j];
        if (w->width == 1) to[j] = (unsigned char)ids[j];
        else if (w->width == 2) memcpy(to + 2 * j, &narrow, 2);
        else memcpy(to + 4 * j, &ids[j], 4);
    }
    w->used += count * w->width;
    w->head.count += count;
}

lcsm_status lcsm_shard_writer_put(void *writer, const int32_t *ids, size_t count, lcsm_error *err)
{
    lcsm_shard_writer *w = writer;
    while (count > 0) {
        if (w->head.count == w->limit) {
            LCSM_OR_RETURN(end(w, false, err));
            LCSM_OR_RETURN(begin(w, err));
        }
        size_t   room = (LCSM_SHARD_BUFFER - w->used) / w->width;
        uint64_t left = w->limit - w->head.count;
        size_t   now  = count < room ? count : room;
        if (now > left) now = (size_t)left;
        store(w, ids, now);
        if (w->used == LCSM_SHARD_BUFFER) LCSM_OR_RETURN(flush(w, err));
        ids += now;
        count -= now;
    }
    return LCSM_OK;
}

void lcsm_shard_writer_text(lcsm_shard_writer *w, lcsm_text_counts more)
{
    w->head.text.bytes += more.bytes;
    w->head.text.words += more.words;
    w->head.text.lines += more.lines;
    w->head.text.skipped += more.skipped;
}

lcsm_status lcsm_shard_writer_finish(lcsm_shard_writer *w, lcsm_file *memory, lcsm_error *err)
{
    lcsm_status st = end(w, true, err);
    if (st != LCSM_OK || w->folder != NULL) return st;
    *memory   = (lcsm_file){.data = (unsigned char *)w->memory.text, .size = w->memory.size};
    w->memory = (lcsm_strbuf){0};
    return LCSM_OK;
}

void lcsm_shard_writer_close(lcsm_shard_writer *w)
{
    if (w->folder != NULL) lcsm_file_writer_close(&w->file);
    lcsm_strbuf_free(&w->memory);
    (void)XXH3_freeState(w->state);
    free(w->buffer);
    *w = (lcsm_shard_writer){0};
}
