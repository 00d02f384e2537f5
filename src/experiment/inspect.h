/* inspect.h - the parts of an inspection: tokens, memories, influence. */
#ifndef LCSM_EXPERIMENT_INSPECT_H
#define LCSM_EXPERIMENT_INSPECT_H
#include <lcsm/inspect.h>
#include <lcsm/model.h>
#include <stdint.h>

#include "format/json_write.h"

/* {0} is empty and may be freed. */
typedef struct {
    int32_t *ids;
    size_t   count;
    char     source[320]; /* what they are, for people */
} lcsm_inspect_tokens;

lcsm_status lcsm_inspect_tokens_read(lcsm_inspect_tokens *out, const lcsm_model *model,
                                     const lcsm_inspect_options *options, lcsm_error *err);
void        lcsm_inspect_tokens_free(lcsm_inspect_tokens *t);

/* Puts the member "layers". */
lcsm_status lcsm_inspect_memory(lcsm_json_writer *w, const lcsm_model *model,
                                const lcsm_inspect_tokens *tokens, lcsm_error *err);

/* Puts "influence" and "effective_context". The windows that are looked at have `window` tokens. */
lcsm_status lcsm_inspect_influence(lcsm_json_writer *w, const lcsm_model *model,
                                   const lcsm_inspect_tokens *tokens, size_t window,
                                   lcsm_error *err);

#endif
