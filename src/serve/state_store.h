/*
 * serve/state_store.h - kept states: memories of conversations, by id.
 *
 * A state never changes: to continue one gives another, whose parent it is. The states that were
 * used least recently go when their bytes exceed a budget. With a folder they outlive the server:
 * ID.state has the bytes of a session's state, ID.json the facts, which are written last.
 *
 * Many threads may call; results are copies.
 */
#ifndef LCSM_SERVE_STATE_STORE_H
#define LCSM_SERVE_STATE_STORE_H
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

enum { LCSM_STATE_ID = 40, LCSM_STATE_TOKENS = 1 << 16 /* that are remembered, at most */ };

typedef struct {
    char     id[LCSM_STATE_ID], parent[LCSM_STATE_ID]; /* parent "": none */
    char     model[128];
    uint64_t position; /* tokens it has read */
    size_t   bytes;
    double   created;
    int32_t *tokens;                    /* read since the parent; NULL: not known */
    size_t   token_count, prompt_count; /* of them read as a prompt, and not one by one */
} lcsm_state_facts;

typedef struct lcsm_state_store lcsm_state_store;

/* folder may be NULL. Files that are damaged are skipped and counted. */
lcsm_status lcsm_state_store_open(lcsm_state_store **out, const char *folder, size_t budget,
                                  size_t *skipped, lcsm_error *err);
void        lcsm_state_store_close(lcsm_state_store *s);

/* "state-" and 32 hexadecimal digits: no name of a file but its own. */
bool lcsm_state_id_is_valid(const char *id);

/* Keeps a copy. facts->id, bytes and created are filled in. LCSM_ERR_SPACE if the budget is too
 * small for this state alone. */
lcsm_status lcsm_state_store_put(lcsm_state_store *s, lcsm_state_facts *facts, const void *bytes,
                                 lcsm_error *err);

/* Facts, whose tokens are to be freed, and with `bytes` not NULL the state itself, to be freed.
 * LCSM_ERR_ARGUMENT: there is none of this id (any more). */
lcsm_status lcsm_state_store_get(lcsm_state_store *s, const char *id, lcsm_state_facts *facts,
                                 void **bytes, lcsm_error *err);
lcsm_status lcsm_state_store_drop(lcsm_state_store *s, const char *id, lcsm_error *err);

/* {"id", "object", "model", "parent", "position", "bytes", "created"}; NULL without memory. */
json_t *lcsm_state_json(const lcsm_state_facts *facts);
json_t *lcsm_state_store_list(lcsm_state_store *s); /* the last used first */

void lcsm_state_store_measure(lcsm_state_store *s, size_t *count, size_t *bytes, uint64_t *evicted);

#endif
