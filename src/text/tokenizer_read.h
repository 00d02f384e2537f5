/* tokenizer_read.h - what the readers of the parts of a tokenizer.json share. */
#ifndef LCSM_TEXT_TOKENIZER_READ_H
#define LCSM_TEXT_TOKENIZER_READ_H
#include "format/json_doc.h"
#include "text/tokenizer.h"

/* A file while it is read. */
typedef struct {
    lcsm_tokenizer *tok;
    lcsm_json       root, model;
    size_t          id_limit;
    char           *room; /* for the bytes of any two tokens */
    bool            byte_level;
} lcsm_tokenizer_reading;

/* false, or what *out is, where the member is absent or null. */
lcsm_status lcsm_tokenizer_get_flag(bool *out, const lcsm_json *object, const char *key,
                                    lcsm_error *err);
lcsm_status lcsm_tokenizer_get_id(int32_t *out, const lcsm_tokenizer_reading *r, lcsm_json v,
                                  lcsm_error *err);

/* Vocabulary, merges and added tokens. */
lcsm_status lcsm_tokenizer_read_model(lcsm_tokenizer_reading *r, const lcsm_json *added,
                                      lcsm_error *err);
lcsm_status lcsm_tokenizer_read_added(lcsm_tokenizer_reading *r, const lcsm_json *added,
                                      lcsm_error *err);

#endif
