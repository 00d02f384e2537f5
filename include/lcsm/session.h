/*
 * lcsm/session.h - run a model token by token, with the memory carried along.
 *
 *     lcsm_session_create(&s, model, NULL, err);
 *     lcsm_session_feed(s, prompt, n, NULL, err);          any n, any number of times
 *     next = best of lcsm_session_logits(s);
 *     lcsm_session_feed(s, &next, 1, NULL, err);           and so on, without end
 *
 * A session has the same size however many tokens it has seen. How its tokens are cut into calls
 * makes no difference but that of rounding.
 *
 * Ownership  What _create returns, the caller gives to _free; _free(NULL) is fine. The model
 *            outlives the session. Logits are borrowed until the next call.
 * Threads    A session belongs to one thread at a time; sessions in several threads may share a
 *            model.
 * Options    begin with their size: {.size = sizeof options}.
 * Errors     A function that can fail returns lcsm_status and, if err is not NULL, says why. A feed
 *            that is refused for its arguments leaves the session as it was; after another failure
 *            of a feed the session is to be reset.
 */
#ifndef LCSM_SESSION_H
#define LCSM_SESSION_H
#include <lcsm/model.h>

LCSM_BEGIN_DECLS

typedef struct lcsm_session lcsm_session;

/* All zeros but size are the defaults. */
typedef struct {
    size_t size;   /* sizeof(lcsm_session_options) */
    size_t batch;  /* sequences side by side; 0: one */
    size_t chunk;  /* tokens of a prompt that are taken at once, at most; 0: 512 */
    size_t rewind; /* tokens that the session can go back from the last it has read; 0: none */
    size_t rewind_bytes; /* memory for that, at most; the less, the more is read again; 0: any */
} lcsm_session_options;

/* options may be NULL. A bidirectional model cannot run token by token: LCSM_ERR_UNSUPPORTED. */
LCSM_API lcsm_status lcsm_session_create(lcsm_session **out, const lcsm_model *model,
                                         const lcsm_session_options *options, lcsm_error *err);
LCSM_API void        lcsm_session_free(lcsm_session *s);

/* A session that continues from the same point, bit-identically and independently: for several
 * continuations of one prompt. */
LCSM_API lcsm_status lcsm_session_clone(lcsm_session **out, const lcsm_session *s, lcsm_error *err);

/* A session of n sequences, which all continue from where s, of one sequence, is: a prompt is read
 * once, and n memories are carried beside one set of weights. */
LCSM_API lcsm_status lcsm_session_branch(lcsm_session **out, const lcsm_session *s, size_t n,
                                         lcsm_error *err);

LCSM_API const lcsm_model *lcsm_session_model(const lcsm_session *s);
LCSM_API size_t            lcsm_session_batch(const lcsm_session *s);

/* Reads n more tokens of every sequence, tokens (B, n). all, if not NULL, gets the logits behind
 * each of them, (B, n, V). The first call with a length may reserve memory, later ones do not. */
LCSM_API lcsm_status lcsm_session_feed(lcsm_session *s, const int32_t *tokens, size_t n, float *all,
                                       lcsm_error *err);

/* The same, and hidden gets what the head reads behind each token: the hidden states of the last
 * layer after the final norm, (B, n, d_model). A mean of them is an embedding of a text. */
LCSM_API lcsm_status lcsm_session_feed_hidden(lcsm_session *s, const int32_t *tokens, size_t n,
                                              float *hidden, lcsm_error *err);

/* The logits behind the last token, (B, V); NULL before the first one. */
LCSM_API const float *lcsm_session_logits(const lcsm_session *s);

/* How many tokens every sequence has had. */
LCSM_API uint64_t lcsm_session_position(const lcsm_session *s);

/* Goes back by so many tokens: memory and logits are then bit-identical to those of a session that
 * never read them. If the place is inside what one call fed, to those of a session whose call ended
 * there. The option rewind says how far that must be possible, _rewindable how far it is; loading a
 * state, clone and branch start without a past. */
LCSM_API lcsm_status lcsm_session_rewind(lcsm_session *s, uint64_t tokens, lcsm_error *err);
LCSM_API uint64_t    lcsm_session_rewindable(const lcsm_session *s);

/* As new. */
LCSM_API void lcsm_session_reset(lcsm_session *s);

/* Memory, position and last logits as a file, and back. The file is versioned and carries the
 * SHA-256 of the model, its settings and weights; a session of another model or batch refuses it,
 * and is then as before. */
LCSM_API lcsm_status lcsm_session_save_state(const lcsm_session *s, const char *path,
                                             lcsm_error *err);
LCSM_API lcsm_status lcsm_session_load_state(lcsm_session *s, const char *path, lcsm_error *err);

/* The same bytes in memory. With a NULL buffer *size becomes the number of bytes needed; otherwise
 * it is the room in the buffer and becomes the number of bytes written. A buffer that is too small,
 * damaged or of another model is refused like such a file. Writing and reading hash all weights of
 * the model; to branch within one program, clone. */
LCSM_API lcsm_status lcsm_session_write_state(const lcsm_session *s, void *buffer, size_t *size,
                                              lcsm_error *err);
LCSM_API lcsm_status lcsm_session_read_state(lcsm_session *s, const void *buffer, size_t size,
                                             lcsm_error *err);

LCSM_END_DECLS
#endif
