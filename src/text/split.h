/*
 * split.h - the pre-tokenizer: stages that cut a text into words.
 *
 * A stage is a pattern (PCRE2, with Unicode's classes) and what to do with its matches; or the
 * pattern of GPT-2, for which ASCII text has a scanner of its own; or, in front of either, a space
 * that is put before a text that has none.
 */
#ifndef LCSM_TEXT_SPLIT_H
#define LCSM_TEXT_SPLIT_H
#include "base/strbuf.h"

#define LCSM_GPT2_PATTERN                                                                          \
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"

typedef enum {
    LCSM_SPLIT_REMOVED,
    LCSM_SPLIT_ISOLATED,
    LCSM_SPLIT_PREVIOUS,   /* a match joins what stands before */
    LCSM_SPLIT_NEXT,       /* a match joins what stands behind */
    LCSM_SPLIT_CONTIGUOUS, /* neighbours of the same kind are one */
} lcsm_split_behavior;

typedef struct {
    bool                      prefix_space;
    bool                      gpt2;
    bool                      invert; /* what lies between matches counts as the match */
    lcsm_split_behavior       behavior;
    struct pcre2_real_code_8 *code; /* NULL: no cut */
} lcsm_split_stage;

/* {0} is empty, whose word is the whole text; it may be freed. */
typedef struct {
    lcsm_split_stage *stages;
    size_t            count;
} lcsm_splitter;

/* Compiles the pattern, unless it is NULL. The stage's code is overwritten. */
lcsm_status lcsm_splitter_put(lcsm_splitter *s, lcsm_split_stage stage, const char *pattern,
                              lcsm_error *err);
/* A pattern that stands for a text itself. */
lcsm_status lcsm_splitter_put_text(lcsm_splitter *s, lcsm_split_stage stage, const char *text,
                                   lcsm_error *err);
void        lcsm_splitter_free(lcsm_splitter *s);

/* What one thread needs to split. {0} may be freed. */
typedef struct {
    struct pcre2_real_match_data_8    *match;
    struct pcre2_real_match_context_8 *context;
    struct pcre2_real_jit_stack_8     *stack;
    lcsm_strbuf                        prefixed;
} lcsm_split_room;

lcsm_status lcsm_split_room_create(lcsm_split_room *room, lcsm_error *err);
void        lcsm_split_room_free(lcsm_split_room *room);

typedef lcsm_status lcsm_word_fn(void *user, const char *word, size_t size, lcsm_error *err);

/* Gives the words of a text, which is UTF-8, to fn, in order. A text that goes on from one before
 * gets no space in front. */
lcsm_status lcsm_split(const lcsm_splitter *s, lcsm_split_room *room, const char *text, size_t size,
                       bool goes_on, lcsm_word_fn *fn, void *user, lcsm_error *err);

#endif
