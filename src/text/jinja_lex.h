/* jinja_lex.h - the words of a template. */
#ifndef LCSM_TEXT_JINJA_LEX_H
#define LCSM_TEXT_JINJA_LEX_H
#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"

typedef enum {
    JINJA_T_END,   /* of the source */
    JINJA_T_TEXT,  /* outside of tags: text */
    JINJA_T_PRINT, /* {{ */
    JINJA_T_BLOCK, /* {% */
    JINJA_T_CLOSE, /* }} or %} */
    JINJA_T_NAME,
    JINJA_T_STRING,
    JINJA_T_NUMBER,
    JINJA_T_OPERATOR,
} jinja_token;

typedef struct {
    const char *label;
    const char *at, *end;
    size_t      line;
    bool        line_begins; /* the text at `at` begins a line */
    bool        inside;      /* of a tag */
    int         brackets;
    bool        block;    /* the tag is a block */
    bool        strip;    /* spaces in front of the next text go */
    jinja_token token;    /* the one under the cursor */
    json_t     *value;    /* of a text, string or number */
    char        word[64]; /* a name or operator */
    lcsm_error *err;
} jinja_lexer;

/* Begins at the first token. The lexer is given to _free also after a failure. */
lcsm_status jinja_lex_begin(jinja_lexer *x, const char *label, const char *source, size_t size,
                            lcsm_error *err);
lcsm_status jinja_lex_next(jinja_lexer *x);
void        jinja_lex_free(jinja_lexer *x);

/* "LABEL: line N: ..." */
lcsm_status jinja_lex_fail(const jinja_lexer *x, const char *fmt, ...) LCSM_PRINTF(2, 3);

#endif
