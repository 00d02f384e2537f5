/*
 * lcsm/prefix.h - a cache of prompts on disk: what a session knows behind a prompt is kept in a
 * folder, so that a long prompt is read once, whichever process reads it.
 *
 *     lcsm_prefix_options o = {.size = sizeof o, .folder = "cache"};
 *     lcsm_session_feed_prefix(s, tokens, n, &o, &found, err);
 *
 * A file is found by the model and by the tokens, all of them, from the first on. It is a saved
 * state (lcsm_session_save_state), so one that is damaged, or of another model, is not used: it is
 * removed, the log of the context says why, and the tokens are read.
 *
 * Several processes may use one folder. Structs begin with their size. Errors as in
 * lcsm/session.h.
 */
#ifndef LCSM_PREFIX_H
#define LCSM_PREFIX_H
#include <lcsm/session.h>

LCSM_BEGIN_DECLS

/* All zeros but size and folder are the defaults. */
typedef struct {
    size_t      size;   /* sizeof(lcsm_prefix_options) */
    const char *folder; /* made if it is not there */
    uint64_t    budget; /* bytes of all files; those not used for the longest go; 0: 4 GiB */
    size_t      every;  /* tokens between states, beside that at the end; 0: 4096 */
} lcsm_prefix_options;

/* Reads the tokens of a prompt into a session of one sequence that has read none yet. The longest
 * beginning of them that is in the folder is not read again, and new states are added. found, if
 * not NULL, gets how many tokens that beginning had. Logits are then those of a session that read
 * the tokens, bit-identically if the beginning is all of them or a multiple of 256, and but for
 * rounding if not. */
LCSM_API lcsm_status lcsm_session_feed_prefix(lcsm_session *s, const int32_t *tokens, size_t n,
                                              const lcsm_prefix_options *options, size_t *found,
                                              lcsm_error *err);

LCSM_END_DECLS
#endif
