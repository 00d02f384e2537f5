/* inspect/inspect.h - the parts of an inspection: tokens, memories, influence. */
#ifndef LCSM_INSPECT_INSPECT_H
#define LCSM_INSPECT_INSPECT_H
#include <lcsm/inspect.h>
#include <lcsm/model.h>
#include <stdint.h>

#include "format/json_write.h"
#include "model/config.h"

/* Sequences of one length, one after another, each read by an empty memory: a text is one of them,
 * recall has many. {0} is empty and may be freed. */
typedef struct {
    int32_t *ids;
    size_t   count, length; /* of all, a multiple of the length; of a sequence */
    size_t   window;        /* how far back an influence is looked for, at most the length */
    char     source[320];   /* what they are, for people */
} lcsm_inspect_tokens;

lcsm_status lcsm_inspect_tokens_read(lcsm_inspect_tokens *out, const lcsm_model *model,
                                     const lcsm_inspect_options *options, lcsm_error *err);
void        lcsm_inspect_tokens_free(lcsm_inspect_tokens *t);

/* Puts "state_norm_every" and "layers". */
lcsm_status lcsm_inspect_memory(lcsm_json_writer *w, const lcsm_model *model,
                                const lcsm_inspect_tokens *tokens, lcsm_error *err);

/* Puts "influence", "effective_context" and "effective_context_open". */
lcsm_status lcsm_inspect_influence(lcsm_json_writer *w, const lcsm_model *model,
                                   const lcsm_inspect_tokens *tokens, lcsm_error *err);

#endif
