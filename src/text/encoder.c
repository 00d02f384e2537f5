/* encoder.c - text in pieces of any size to ids. */
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "text/tokenizer.h"

enum { IDS = 4096 };

struct lcsm_encoder {
    const lcsm_tokenizer *tok;
    unsigned              flags;
    lcsm_ids_fn          *fn;
    void                 *user;
    int32_t               ids[IDS];
    size_t                count;
};

lcsm_status lcsm_encoder_create(lcsm_encoder **out, const lcsm_tokenizer *tok, unsigned flags,
                                lcsm_ids_fn *fn, void *user, lcsm_error *err)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "no memory for an encoder");
    (*out)->tok   = tok;
    (*out)->flags = flags;
    (*out)->fn    = fn;
    (*out)->user  = user;
    return LCSM_OK;
}

void lcsm_encoder_free(lcsm_encoder *enc)
{
    free(enc);
}

static lcsm_status flush(lcsm_encoder *enc, lcsm_error *err)
{
    size_t count = enc->count;
    enc->count   = 0;
    return count == 0 ? LCSM_OK : enc->fn(enc->user, enc->ids, count, err);
}

lcsm_status lcsm_encoder_feed(lcsm_encoder *enc, const char *text, size_t size, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    for (size_t j = 0; j < size; j++) {
        if (enc->count == IDS) LCSM_TRY(flush(enc, err));
        enc->ids[enc->count++] = (unsigned char)text[j];
    }
cleanup:
    return st;
}

lcsm_status lcsm_encoder_finish(lcsm_encoder *enc, lcsm_error *err)
{
    return flush(enc, err);
}
