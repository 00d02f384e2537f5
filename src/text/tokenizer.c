/* tokenizer.c - what a tokenizer is, and decoding. */
#include "text/tokenizer.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/sized.h"

void lcsm_tokenizer_free(lcsm_tokenizer *tok)
{
    if (tok == NULL) return;
    lcsm_vocab_free(&tok->vocab);
    lcsm_merges_free(&tok->merges);
    lcsm_added_free(&tok->raw);
    lcsm_added_free(&tok->normalized);
    lcsm_normalizer_free(&tok->normalizer);
    lcsm_splitter_free(&tok->splitter);
    free(tok->prefix.ids);
    free(tok->suffix.ids);
    free(tok->reach);
    free(tok->json);
    free(tok);
}

lcsm_status lcsm_tokenizer_save(const lcsm_tokenizer *tok, const char *path, lcsm_error *err)
{
    return lcsm_file_write_atomic(path, tok->json, tok->json_size, err);
}

static size_t count_special(const lcsm_added *a)
{
    size_t count = 0;
    for (size_t j = 0; j < a->count; j++) count += a->tokens[j].special;
    return count;
}

lcsm_status lcsm_tokenizer_describe(const lcsm_tokenizer *tok, lcsm_tokenizer_info *out,
                                    lcsm_error *err)
{
    lcsm_status         st   = LCSM_SIZED(lcsm_tokenizer_info, pre_tokenizer, out, err);
    lcsm_tokenizer_info info = {
        .size          = sizeof info,
        .kind          = tok->bytes ? "bytes"
                       : tok->world ? "RWKV World"
                       : tok->chars ? "BPE with byte fallback"
                                    : "byte-level BPE",
        .vocab         = tok->vocab.count,
        .tokens        = tok->vocab.tokens,
        .merges        = tok->merge_count,
        .added         = tok->raw.count + tok->normalized.count,
        .special       = count_special(&tok->raw) + count_special(&tok->normalized),
        .longest       = tok->vocab.longest,
        .normalizer    = tok->normalizer_name[0] == '\0' ? "none" : tok->normalizer_name,
        .pre_tokenizer = tok->splitter_name[0] == '\0' ? "none" : tok->splitter_name,
    };
    if (st == LCSM_OK) lcsm_sized_fill(out, &info, sizeof info);
    return st;
}

size_t lcsm_tokenizer_vocab(const lcsm_tokenizer *tok)
{
    return tok->vocab.count;
}

int32_t lcsm_tokenizer_eos(const lcsm_tokenizer *tok)
{
    return tok->eos;
}

int32_t lcsm_tokenizer_start(const lcsm_tokenizer *tok)
{
    int32_t line = lcsm_vocab_find(&tok->vocab, "\n", 1);
    if (tok->eos >= 0) return tok->eos;
    return line >= 0 ? line : 0;
}

int32_t lcsm_tokenizer_find(const lcsm_tokenizer *tok, const char *text, size_t size)
{
    return lcsm_vocab_find(&tok->vocab, text, size);
}

uint64_t lcsm_tokenizer_hash(const lcsm_tokenizer *tok)
{
    return tok->hash;
}

const char *lcsm_tokenizer_piece(const lcsm_tokenizer *tok, int32_t id, size_t *size)
{
    return lcsm_vocab_bytes(&tok->vocab, id, size);
}

bool lcsm_tokenizer_is_special(const lcsm_tokenizer *tok, int32_t id)
{
    return id >= 0 && (size_t)id < tok->vocab.count && tok->vocab.entries[id].special;
}

lcsm_status lcsm_tokenizer_decode(const lcsm_tokenizer *tok, const int32_t *ids, size_t count,
                                  char **text, size_t *size, lcsm_error *err)
{
    lcsm_strbuf out = {0};
    *text           = NULL;
    *size           = 0;
    lcsm_strbuf_bytes(&out, "", 0);
    for (size_t j = 0; j < count; j++) {
        size_t      length;
        const char *bytes = lcsm_tokenizer_piece(tok, ids[j], &length);
        if (bytes == NULL) {
            lcsm_strbuf_free(&out);
            return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                             "id %ld is unused in this vocabulary; expected 0 to %zu", (long)ids[j],
                             tok->vocab.count - 1);
        }
        bool drop = tok->strips && j == 0 && length > 0 && bytes[0] == ' ';
        lcsm_strbuf_bytes(&out, bytes + drop, length - drop);
    }
    if (out.failed) {
        lcsm_strbuf_free(&out);
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for the text of %zu ids", count);
    }
    *text = out.text;
    *size = out.size;
    return LCSM_OK;
}
