/*
 * lcsm/generate.h - text from a model: sampling, and a loop that hands out whole characters.
 *
 *     lcsm_session_create(&s, model, NULL, err);
 *     lcsm_generate_options o = {.size = sizeof o, .tokens = 100};
 *     lcsm_generate_prompt(s, tok, &o, "Once", 4, err);
 *     lcsm_generate(s, tok, &o, put, NULL, &end, err);
 *
 * Memory is the same after a million tokens as after one. A number drawn depends on the seed and
 * the place of its token in the text and on nothing else, so the same seed gives the same text,
 * also when a state was saved and loaded in between.
 *
 * Ownership  What _create returns, the caller gives to _free; _free(NULL) is fine.
 * Threads    A sampler and a session belong to one thread at a time.
 * Structs    Options and results begin with their size, which the caller sets.
 * Errors     A function that can fail returns lcsm_status and, if err is not NULL, says why.
 */
#ifndef LCSM_GENERATE_H
#define LCSM_GENERATE_H
#include <lcsm/session.h>
#include <lcsm/tokenizer.h>

LCSM_BEGIN_DECLS

/* ---- sampling --------------------------------------------------------------------------- */

/* In the order in which they act. All zeros but size: the most probable token,
 * always. */
typedef struct {
    size_t size;           /* sizeof(lcsm_sample_options) */
    double repeat_penalty; /* positive logits of recent tokens are divided by it, negative ones
                            * multiplied; 0 or 1: none */
    double   temperature;  /* divides the logits; 0: take the most probable token */
    size_t   top_k;        /* only so many of the most probable; 0: all */
    double   top_p;        /* of these, the fewest whose probabilities make this sum; 0: all */
    double   min_p;        /* and of these, those with this part of the largest probability */
    uint64_t seed;
} lcsm_sample_options;

typedef struct lcsm_sampler lcsm_sampler;

LCSM_API lcsm_status lcsm_sampler_create(lcsm_sampler **out, size_t vocab,
                                         const lcsm_sample_options *options, lcsm_error *err);
LCSM_API void        lcsm_sampler_free(lcsm_sampler *s);

/* A token for logits (V). index numbers the draws: the same one gives the same token. recent, of
 * which there may be none, is what the penalty is for. LCSM_ERR_NUMBER if a logit is NaN or
 * all are minus infinity. */
LCSM_API lcsm_status lcsm_sampler_next(lcsm_sampler *s, const float *logits, uint64_t index,
                                       const int32_t *recent, size_t recent_count, int32_t *token,
                                       lcsm_error *err);

/* ---- text ------------------------------------------------------------------------------- */

/* Takes text as it is made, in whole characters; false stops. */
typedef bool lcsm_text_fn(void *user, const char *text, size_t size);

typedef enum {
    LCSM_END_TOKENS  = 0, /* as many as were asked for */
    LCSM_END_STOP    = 1, /* a stop text, which is not handed out */
    LCSM_END_OF_TEXT = 2, /* the tokenizer's end-of-text token */
    LCSM_END_CALLER  = 3, /* the function said so */
} lcsm_generate_reason;

/* All zeros but size are the defaults. */
typedef struct {
    size_t                     size;   /* sizeof(lcsm_generate_options) */
    const lcsm_sample_options *sample; /* NULL: the most probable token, always */
    uint64_t                   tokens; /* at most; 0: unlimited, until something else stops it */
    const char *const         *stop;   /* texts that stop it */
    size_t                     stop_count;
    bool                       ignore_end; /* continue after an end-of-text token */
    bool                       lines;      /* that token is a line end, as lcsm_train teaches it */
    const char                *cache; /* folder of lcsm/prefix.h for the first prompt; NULL: none */
    lcsm_session *draft; /* of a smaller model of the same vocabulary that has read the same
                          * text: it proposes tokens, and the model reads several of them at
                          * once; the text is distributed as without it. NULL: none */
    size_t draft_tokens; /* read at once, 2 to 64; 0: 4 */
} lcsm_generate_options;

/* Reads a text. In a new session an empty one is the token that stands before every text. Of the
 * options `lines`, `cache` and `draft`, which reads it too, count. Bytes that the vocabulary lacks
 * are skipped, and the log of the context says how many. */
LCSM_API lcsm_status lcsm_generate_prompt(lcsm_session *s, const lcsm_tokenizer *tok,
                                          const lcsm_generate_options *options, const char *text,
                                          size_t size, lcsm_error *err);

typedef struct {
    size_t               size; /* sizeof(lcsm_generate_end), set by the caller */
    uint64_t             tokens;
    lcsm_generate_reason reason;
    uint64_t             proposed, accepted; /* tokens of the draft */
} lcsm_generate_end;

/* Continues from what the session, of one sequence, has read. All generated tokens, a stop text
 * too, have been read by the session at the end. result may be NULL. */
LCSM_API lcsm_status lcsm_generate(lcsm_session *s, const lcsm_tokenizer *tok,
                                   const lcsm_generate_options *options, lcsm_text_fn *put,
                                   void *user, lcsm_generate_end *result, lcsm_error *err);

/* The same for every sequence of a session, as lcsm_session_branch makes it: several continuations
 * of one prompt, which share each pass over the weights. put gets the number of the sequence with
 * its text; what it returns stops that sequence only. results, of which there is one for each
 * sequence, may be NULL. The first sequence draws the numbers that it would draw alone. */
typedef bool lcsm_branch_fn(void *user, size_t branch, const char *text, size_t size);

LCSM_API lcsm_status lcsm_generate_branches(lcsm_session *s, const lcsm_tokenizer *tok,
                                            const lcsm_generate_options *options,
                                            lcsm_branch_fn *put, void *user,
                                            lcsm_generate_end *results, lcsm_error *err);

LCSM_END_DECLS
#endif
