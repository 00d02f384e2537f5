/*
 * infer/text.h - text on its way to token ids and back, as sessions read and write it.
 *
 * Out: bytes of tokens pass through two gates before they are handed on. One holds back the
 * beginning of a character, the other the beginning of a stop text. In: a model that was trained on
 * lines has a token in the place of each line end.
 */
#ifndef LCSM_INFER_TEXT_H
#define LCSM_INFER_TEXT_H
#include <lcsm/tokenizer.h>

#include "base/strbuf.h"

/* Takes whole characters; false stops. */
typedef bool lcsm_outlet_fn(void *user, const char *text, size_t size);

/* {0} with put and, if wanted, stop set is new. A failure of memory is sticky: lcsm_outlet_failed.
 */
typedef struct {
    const char *const *stop; /* texts that stop it, and are not handed on */
    size_t             stop_count;
    lcsm_outlet_fn    *put;
    void              *user;
    lcsm_utf8_stream   utf8;
    lcsm_strbuf        piece; /* room for the characters of a token */
    lcsm_strbuf        held;  /* characters that may begin a stop text */
    bool               stopped, refused;
} lcsm_outlet;

void lcsm_outlet_push(lcsm_outlet *o, const char *bytes, size_t size);

/* Nothing follows: what was held back is handed on. */
void lcsm_outlet_end(lcsm_outlet *o);
bool lcsm_outlet_failed(const lcsm_outlet *o);
void lcsm_outlet_free(lcsm_outlet *o);

/* Encodes a text; fn, which is the encoder's too, also gets `end`, if that is not negative, for
 * each line end. What stands behind the last one is the beginning of a line. */
lcsm_status lcsm_encode_lines(lcsm_encoder *encoder, int32_t end, const char *text, size_t size,
                              lcsm_ids_fn *fn, void *user, lcsm_error *err);

#endif
