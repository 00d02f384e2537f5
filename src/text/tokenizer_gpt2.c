/* tokenizer_gpt2.c - the two files of GPT-2: encoder.json maps tokens to ids, vocab.bpe has a line
 * "#version" and then one merge a line, "a b". */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "format/json_doc.h"
#include "text/byte_map.h"
#include "text/tokenizer_read.h"
#include "text/tokenizer_write.h"

#define EOS "<|endoftext|>"

/* The files while they are read. */
typedef struct {
    lcsm_vocab vocab;
    int32_t (*merges)[2];
    size_t merge_count;
    char  *room;
    size_t room_size;
} reading;

static lcsm_status read_vocab(reading *r, const char *path, lcsm_error *err)
{
    lcsm_status   st    = LCSM_OK;
    size_t        count = 0;
    lcsm_json_doc doc   = {0};
    LCSM_TRY(lcsm_json_doc_read(&doc, path, LCSM_JSON_LARGE_SIZE, err));
    lcsm_json root = lcsm_json_root(&doc);
    LCSM_TRY(lcsm_json_get_object(&root, root, err));
    count = lcsm_json_count(&root);
    LCSM_TRY(lcsm_vocab_create(&r->vocab, count, err));
    for (lcsm_json m = lcsm_json_first(&root); m.value != NULL; m = lcsm_json_next(&m)) {
        int64_t id   = 0;
        size_t  size = strlen(m.key);
        bool    mapped;
        LCSM_TRY(lcsm_json_get_int(&id, m, 0, (int64_t)count - 1, err));
        if (r->vocab.entries[id].there) {
            st = lcsm_json_fail(&m, err, "an id that no other token has");
            goto cleanup;
        }
        if (size > r->room_size) {
            char *room = realloc(r->room, 2 * size);
            if (room == NULL) st = lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a token");
            if (room == NULL) goto cleanup;
            r->room      = room;
            r->room_size = 2 * size;
        }
        size = lcsm_byte_map_read(r->room, m.key, size, &mapped);
        if (!lcsm_vocab_put(&r->vocab, (int32_t)id, r->room, size, mapped)) {
            st = lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a vocabulary");
            goto cleanup;
        }
    }
cleanup:
    lcsm_json_doc_free(&doc);
    return st;
}

static int32_t find(const reading *r, char *room, const char *text, size_t size)
{
    bool mapped;
    size = lcsm_byte_map_read(room, text, size, &mapped);
    return mapped ? lcsm_vocab_find_mapped(&r->vocab, room, size) : -1;
}

/* One line. room has as many bytes as the line. */
static lcsm_status read_merge(reading *r, char *room, const char *line, size_t size,
                              const char *path, size_t number, lcsm_error *err)
{
    const char *space = memchr(line, ' ', size);
    int32_t     left = -1, right = -1;
    if (space != NULL && space > line && space + 1 < line + size) {
        size_t half = (size_t)(space - line);
        left        = find(r, room, line, half);
        right       = find(r, room, space + 1, size - half - 1);
    }
    if (left < 0 || right < 0)
        return lcsm_fail(
            err, LCSM_ERR_FORMAT,
            "%s:%zu: \"%.*s\"; expected two tokens of the vocabulary separated by a space", path,
            number, (int)(size < 60 ? size : 60), line);
    r->merges[r->merge_count][0]   = left;
    r->merges[r->merge_count++][1] = right;
    return LCSM_OK;
}

static lcsm_status read_merges(reading *r, const char *path, lcsm_error *err)
{
    lcsm_status st   = LCSM_OK;
    lcsm_file   file = {0};
    char       *room = NULL;
    LCSM_TRY(lcsm_file_read(&file, path, LCSM_JSON_LARGE_SIZE, err));
    room      = malloc(file.size + 1);
    r->merges = malloc((file.size / 4 + 1) * sizeof *r->merges); /* "a b\n" is the shortest */
    if (room == NULL || r->merges == NULL) {
        st = lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for merges");
        goto cleanup;
    }
    const char *at = (const char *)file.data, *end = at + file.size;
    for (size_t number = 1; at < end; number++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (stop == NULL) stop = end;
        size_t size = (size_t)(stop - at);
        if (size > 0 && at[size - 1] == '\r') size--;
        bool comment = number == 1 && size >= 8 && memcmp(at, "#version", 8) == 0;
        if (size > 0 && !comment) LCSM_TRY(read_merge(r, room, at, size, path, number, err));
        at = stop == end ? end : stop + 1;
    }
cleanup:
    free(room);
    lcsm_file_close(&file);
    return st;
}

lcsm_status lcsm_tokenizer_load_gpt2(lcsm_tokenizer **out, const char *encoder, const char *merges,
                                     lcsm_error *err)
{
    lcsm_status st   = LCSM_OK;
    reading     r    = {0};
    char       *json = NULL;
    size_t      size = 0;
    *out             = NULL;
    LCSM_TRY(read_vocab(&r, encoder, err));
    LCSM_TRY(read_merges(&r, merges, err));
    int32_t                    eos   = lcsm_vocab_find(&r.vocab, EOS, strlen(EOS));
    const lcsm_tokenizer_parts parts = {.vocab       = &r.vocab,
                                        .merges      = (const int32_t(*)[2])r.merges,
                                        .merge_count = r.merge_count,
                                        .words       = true,
                                        .eos         = eos < 0 ? NULL : EOS,
                                        .eos_id      = eos};
    LCSM_TRY(lcsm_tokenizer_write(&json, &size, &parts, err));
    LCSM_TRY(lcsm_tokenizer_parse(out, encoder, json, size, err));
cleanup:
    free(json);
    free(r.merges);
    free(r.room);
    lcsm_vocab_free(&r.vocab);
    return lcsm_file_fault(st, err);
}
