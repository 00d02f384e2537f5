/* tokenizer.c - what a tokenizer is, and decoding. */
#include "text/tokenizer.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/file.h"
#include "base/size.h"

lcsm_status lcsm_tokenizer_bytes(lcsm_tokenizer **out, lcsm_error *err)
{
    lcsm_status     st  = LCSM_OK;
    lcsm_tokenizer *tok = calloc(1, sizeof *tok);
    *out                = NULL;
    if (tok == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "no memory for a tokenizer");
    tok->eos   = -1;
    tok->bytes = true;
    tok->hash  = XXH3_64bits("bytes", 5);
    LCSM_TRY(lcsm_vocab_create(&tok->vocab, 256, err));
    for (int j = 0; j < 256; j++) {
        char c = (char)j;
        if (lcsm_vocab_put(&tok->vocab, j, &c, 1)) continue;
        st = lcsm_fail(err, LCSM_ERR_MEMORY, "no memory for a vocabulary");
        goto cleanup;
    }
    *out = tok;
    tok  = NULL;
cleanup:
    lcsm_tokenizer_free(tok);
    return st;
}

void lcsm_tokenizer_free(lcsm_tokenizer *tok)
{
    if (tok == NULL) return;
    lcsm_vocab_free(&tok->vocab);
    free(tok->json);
    free(tok);
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
            return lcsm_fail(err, LCSM_ERR_ARGUMENT, "id %ld stands for nothing, want 0..%zu",
                             (long)ids[j], tok->vocab.count - 1);
        }
        lcsm_strbuf_bytes(&out, bytes, length);
    }
    if (out.failed) {
        lcsm_strbuf_free(&out);
        return lcsm_fail(err, LCSM_ERR_MEMORY, "no memory for the text of %zu ids", count);
    }
    *text = out.text;
    *size = out.size;
    return LCSM_OK;
}
