/* infer/session.h - the inside of a session. */
#ifndef LCSM_INFER_SESSION_H
#define LCSM_INFER_SESSION_H
#include <lcsm/session.h>

#include "graph/graph.h"
#include "infer/history.h"
#include "infer/state_file.h"
#include "model/model_graph.h"

enum {
    LCSM_SESSION_LENGTHS = 6, /* how many lengths a piece may have */
    LCSM_SESSION_RECENT  = LCSM_STATE_RECENT,
};

/* A planned graph of some length; g is NULL until it is first needed. */
typedef struct {
    lcsm_graph   *g;
    lcsm_model_io io;
    uint64_t      used; /* when, in passes */
} lcsm_session_graph;

struct lcsm_session {
    const lcsm_model    *model;
    lcsm_session_options options; /* with the defaults in place */
    size_t               batch, vocab;
    lcsm_session_graph   last[LCSM_SESSION_LENGTHS]; /* logits of the last step */
    lcsm_session_graph   all[LCSM_SESSION_LENGTHS];  /* logits of every step */
    lcsm_state          *state;
    uint64_t             position;
    float               *logits; /* (B, V) */
    int32_t             *recent; /* (B, LCSM_SESSION_RECENT), token t at t % LCSM_SESSION_RECENT */
    lcsm_history         history;
    int32_t             *again; /* (B, longest piece): tokens that are read again */
};

/* Refuses a model whose head does not read hidden states of its width. */
lcsm_status lcsm_check_hidden(const lcsm_model_config *cfg, const lcsm_model_io *io,
                              lcsm_error *err);

/* Refuses tokens (B, n) that the model does not have. */
lcsm_status lcsm_session_check_tokens(const lcsm_session *s, const int32_t *tokens, size_t n,
                                      lcsm_error *err);

/* A state to a file and back, where the SHA-256 of the model is known. */
lcsm_status lcsm_session_save_known(const lcsm_session *s, const char *path,
                                    char sha256[LCSM_SHA256_TEXT], lcsm_error *err);
lcsm_status lcsm_session_load_known(lcsm_session *s, const char *path,
                                    char sha256[LCSM_SHA256_TEXT], lcsm_error *err);

/* The history begins here: what came before cannot be gone back to. */
void lcsm_session_restart_history(lcsm_session *s);

/* Token t of sequence b, which is one of the last LCSM_SESSION_RECENT. */
static inline int32_t *lcsm_session_recent(const lcsm_session *s, size_t b, uint64_t t)
{
    return &s->recent[b * LCSM_SESSION_RECENT + t % LCSM_SESSION_RECENT];
}

#endif
