/* infer/state_file.h - sequences of a carried state as a file or as bytes, and back. */
#ifndef LCSM_INFER_STATE_FILE_H
#define LCSM_INFER_STATE_FILE_H
#include "format/sha256.h"
#include "graph/state.h"
#include "model/model_weights.h"

enum { LCSM_STATE_RECENT = 64 /* tokens of each sequence that are remembered for the sampler */ };

/* B sequences of a state, from `row` on, with what belongs to them. */
typedef struct {
    const lcsm_model *model;
    lcsm_state       *state;
    ptrdiff_t         row;
    size_t            batch, vocab;
    float            *logits; /* (B, V) */
    int32_t          *recent; /* (B, LCSM_STATE_RECENT) */
    uint64_t         *position;
    char             *sha256; /* of the model, LCSM_SHA256_TEXT bytes; empty: not known yet */
} lcsm_state_part;

lcsm_status lcsm_state_part_save(const lcsm_state_part *s, const char *path, lcsm_error *err);
lcsm_status lcsm_state_part_write(const lcsm_state_part *s, void *buffer, size_t *size,
                                  lcsm_error *err);

/* All or nothing. */
lcsm_status lcsm_state_part_load(const lcsm_state_part *s, const char *path, lcsm_error *err);
lcsm_status lcsm_state_part_read(const lcsm_state_part *s, const void *buffer, size_t size,
                                 lcsm_error *err);

#endif
