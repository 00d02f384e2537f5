/* tokenizer_write.c - tokens and merges as a tokenizer.json, and the byte tokenizer. */
#include "text/tokenizer_write.h"

#include <stdlib.h>

#include "format/json_write.h"
#include "text/byte_map.h"
#include "text/tokenizer.h"

static void put_byte_level(lcsm_json_writer *w, const char *key, bool regex)
{
    lcsm_json_open_object(w, key);
    lcsm_json_put_text(w, "type", "ByteLevel");
    lcsm_json_put_bool(w, "add_prefix_space", false);
    lcsm_json_put_bool(w, "trim_offsets", true);
    lcsm_json_put_bool(w, "use_regex", regex);
    lcsm_json_close(w);
}

static void put_eos(lcsm_json_writer *w, const lcsm_tokenizer_parts *parts)
{
    static const char *const FALSE[] = {"single_word", "lstrip", "rstrip", "normalized"};
    lcsm_json_open_array(w, "added_tokens");
    if (parts->eos != NULL) {
        lcsm_json_open_object(w, NULL);
        lcsm_json_put_int(w, "id", parts->eos_id);
        lcsm_json_put_text(w, "content", parts->eos);
        for (size_t j = 0; j < COUNT(FALSE); j++) lcsm_json_put_bool(w, FALSE[j], false);
        lcsm_json_put_bool(w, "special", true);
        lcsm_json_close(w);
    }
    lcsm_json_close(w);
}

/* A token as it is written: in the characters of its bytes, or as it is. */
static const char *written(lcsm_strbuf *room, const lcsm_vocab *vocab, int32_t id)
{
    size_t      size;
    const char *bytes = lcsm_vocab_bytes(vocab, id, &size);
    if (!vocab->entries[id].mapped) lcsm_strbuf_bytes(room, bytes, size);
    else lcsm_byte_map_write(room, bytes, size);
    return lcsm_strbuf_text(room);
}

static void put_model(lcsm_json_writer *w, const lcsm_tokenizer_parts *parts)
{
    static const char *const NULLS[] = {"dropout", "unk_token", "continuing_subword_prefix",
                                        "end_of_word_suffix"};
    static const char *const FALSE[] = {"fuse_unk", "byte_fallback", "ignore_merges"};
    lcsm_strbuf              room    = {0};
    lcsm_json_open_object(w, "model");
    lcsm_json_put_text(w, "type", "BPE");
    for (size_t j = 0; j < COUNT(NULLS); j++) lcsm_json_put_null(w, NULLS[j]);
    for (size_t j = 0; j < COUNT(FALSE); j++) lcsm_json_put_bool(w, FALSE[j], false);
    lcsm_json_open_object(w, "vocab");
    for (size_t j = 0; j < parts->vocab->count; j++) {
        room.size = 0;
        if (!parts->vocab->entries[j].there) continue;
        lcsm_json_put_int(w, written(&room, parts->vocab, (int32_t)j), (int64_t)j);
    }
    lcsm_json_close(w);
    lcsm_json_open_array(w, "merges");
    for (size_t j = 0; j < parts->merge_count; j++) {
        room.size = 0;
        (void)written(&room, parts->vocab, parts->merges[j][0]);
        lcsm_strbuf_add(&room, " ");
        lcsm_json_put_text(w, NULL, written(&room, parts->vocab, parts->merges[j][1]));
    }
    lcsm_json_close(w);
    lcsm_json_close(w);
    w->text.failed = w->text.failed || room.failed;
    lcsm_strbuf_free(&room);
}

lcsm_status lcsm_tokenizer_write(char **out, size_t *size, const lcsm_tokenizer_parts *parts,
                                 lcsm_error *err)
{
    lcsm_status      st = LCSM_OK;
    lcsm_json_writer w  = lcsm_json_writer_pretty();
    *out                = NULL;
    lcsm_json_open_object(&w, NULL);
    lcsm_json_put_text(&w, "version", "1.0");
    lcsm_json_put_null(&w, "truncation");
    lcsm_json_put_null(&w, "padding");
    put_eos(&w, parts);
    lcsm_json_put_null(&w, "normalizer");
    put_byte_level(&w, "pre_tokenizer", parts->words);
    lcsm_json_put_null(&w, "post_processor");
    put_byte_level(&w, "decoder", true);
    put_model(&w, parts);
    lcsm_json_close(&w);
    LCSM_TRY(lcsm_json_writer_finish(&w, err));
    *out   = w.text.text;
    *size  = w.text.size;
    w.text = (lcsm_strbuf){0};
cleanup:
    lcsm_json_writer_free(&w);
    return st;
}

static lcsm_status bytes_only(lcsm_tokenizer **out, bool words, lcsm_error *err)
{
    lcsm_status                st    = LCSM_OK;
    lcsm_vocab                 vocab = {0};
    char                      *json  = NULL;
    size_t                     size  = 0;
    const lcsm_tokenizer_parts parts = {.vocab = &vocab, .words = words};
    *out                             = NULL;
    LCSM_TRY(lcsm_vocab_create(&vocab, 256, err));
    for (int j = 0; j < 256; j++) {
        char c = (char)j;
        if (lcsm_vocab_put(&vocab, j, &c, 1, true)) continue;
        st = lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a vocabulary");
        goto cleanup;
    }
    LCSM_TRY(lcsm_tokenizer_write(&json, &size, &parts, err));
    LCSM_TRY(lcsm_tokenizer_parse(out, "the byte tokenizer", json, size, err));
cleanup:
    free(json);
    lcsm_vocab_free(&vocab);
    return st;
}

lcsm_status lcsm_tokenizer_bytes(lcsm_tokenizer **out, lcsm_error *err)
{
    return bytes_only(out, false, err);
}

lcsm_status lcsm_tokenizer_words(lcsm_tokenizer **out, lcsm_error *err)
{
    return bytes_only(out, true, err);
}
