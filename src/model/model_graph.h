/*
 * model/model_graph.h - a whole model as a graph: embedding, blocks, final norm, head.
 *
 *     lm     x = x + mixer(norm x);  x = x + channel(norm x);  ...  logits = head(norm x)
 *     mqar   the recall model as the authors' code wires it: every layer also adds norm2(r) to the
 *            residual stream
 *     autoencoder   as lm, but the last position alone is decoded into all of them: copied to each,
 *            a table of sines and cosines added, two layers norm, linear map, GELU
 *     stacked   a position is a pair: half of its width is the key, half the value, both rows of a
 *            table that is not trained; logits are products with the rows of values
 *
 * The same definition at T = n trains and reads a prompt, and at T = 1 decodes: parameters are
 * shared by name, states carry over.
 */
#ifndef LCSM_MODEL_GRAPH_H
#define LCSM_MODEL_GRAPH_H
#include "eos/mixer.h"
#include "graph/graph.h"
#include "model/config.h"

typedef struct {
    bool packed;    /* a reset input says where sequences begin */
    bool whole;     /* every run has whole sequences and carries no state: long convolutions may be
                       taken that have none */
    bool    logits; /* (B, T, V), kept */
    bool    last;   /* of these only the last step's, (B, 1, V) */
    bool    loss;   /* from a targets input, with details */
    int32_t ignore; /* a target that does not count */
    /* 0, or: only B * labels steps have targets, those whose rows (b T + t) are in a places input.
     * The others are left out as soon as no step reads its neighbours any more. */
    ptrdiff_t labels;
} lcsm_model_want;

typedef struct {
    lcsm_tensor *tokens, *targets, *reset; /* I32 (B, T) inputs; NULL if not wanted */
    lcsm_tensor
        *second; /* I32 (B, T) input of the wiring stacked; then a token is key * (values + 1)
                  * + value + 1, or without the last two */
    ptrdiff_t    values;
    lcsm_tensor *places; /* I32 (B, labels) input; then targets are so too */
    lcsm_tensor *hidden; /* (B, T or labels, D) before the head */
    lcsm_tensor *logits, *loss;
    lcsm_tensor *row_loss, *right; /* details of the loss */
} lcsm_model_io;

/* Adds the model to an empty graph. */
lcsm_status lcsm_model_build(lcsm_graph *g, const lcsm_model_config *cfg, ptrdiff_t B, ptrdiff_t T,
                             const lcsm_model_want *want, lcsm_model_io *io, lcsm_error *err);

/* The second half of a block by itself: m->x -> (B, T, D). */
lcsm_tensor *lcsm_channel_build(const lcsm_mixer *m, lcsm_channel kind);

/* A graph of one sequence that is built and not planned: it shows what the model is made of, and
 * adds its parameters to the list. On failure too, *g is to be freed. */
lcsm_status lcsm_model_sketch(lcsm_graph **g, const lcsm_context *ctx, lcsm_params *params,
                              const lcsm_model_config *cfg, ptrdiff_t T, bool train,
                              lcsm_error *err);
#endif
