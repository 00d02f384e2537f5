/* normalizer.h - the normalizer of a tokenizer: steps that turn UTF-8 into UTF-8. */
#ifndef LCSM_TEXT_NORMALIZER_H
#define LCSM_TEXT_NORMALIZER_H
#include <stdint.h>

#include "base/strbuf.h"

typedef enum {
    LCSM_NORMALIZE_NFC,
    LCSM_NORMALIZE_NFD,
    LCSM_NORMALIZE_NFKC,
    LCSM_NORMALIZE_NFKD,
    LCSM_NORMALIZE_PREPEND, /* `with` before the text, unless that is empty */
    LCSM_NORMALIZE_REPLACE, /* `with` in the place of each `what` */
} lcsm_normalize_kind;

typedef struct {
    lcsm_normalize_kind kind;
    char               *what, *with;
} lcsm_normalize_step;

/* {0} is empty and may be freed. */
typedef struct {
    lcsm_normalize_step *steps;
    size_t               count;
} lcsm_normalizer;

lcsm_status lcsm_normalizer_put(lcsm_normalizer *n, lcsm_normalize_kind kind, const char *what,
                                const char *with, lcsm_error *err);
void        lcsm_normalizer_free(lcsm_normalizer *n);

/* False if the steps leave this text as it is, which is seen fast for plain text. */
bool lcsm_normalizer_changes(const lcsm_normalizer *n, const char *text, size_t size);

/* Whether text may be cut before this character: in each normal form the parts, normalised by
 * themselves, then make up the whole. */
bool lcsm_normalizer_cuts_before(uint32_t code);

/* All steps, over UTF-8; the result is *out, whose content before is lost. spare is room. */
lcsm_status lcsm_normalize(const lcsm_normalizer *n, const char *text, size_t size,
                           lcsm_strbuf *out, lcsm_strbuf *spare, lcsm_error *err);

#endif
