/*
 * inspect_pieces.h - a model as a graph that reads a few tokens at a time and keeps what the EOS
 * operator of each layer works with.
 */
#ifndef LCSM_INSPECT_PIECES_H
#define LCSM_INSPECT_PIECES_H
#include <lcsm/model.h>

#include "graph/eos_node.h"
#include "graph/graph.h"
#include "model/model_graph.h"

/* The first EOS operator of a layer; its node is NULL where there is none. */
typedef struct {
    const lcsm_node *node;
    lcsm_eos_plan    plan;
} lcsm_inspect_source;

/* {0} is empty and may be freed. */
typedef struct {
    lcsm_graph          *g;
    lcsm_model_io        io;
    size_t               steps, layers;
    lcsm_inspect_source *sources; /* by layer */
} lcsm_inspect_piece;

/* NULL where the layer has none, and of an empty piece. */
static inline const lcsm_node *lcsm_inspect_node(const lcsm_inspect_piece *p, size_t layer)
{
    return p->sources == NULL ? NULL : p->sources[layer].node;
}

/* Whether an operator is one to look at. */
typedef bool lcsm_inspect_takes(const lcsm_node *n);

/* `kept`: the operands, as bits, whose values stay after a run. */
lcsm_status lcsm_inspect_piece_create(lcsm_inspect_piece *p, const lcsm_model *model, size_t steps,
                                      lcsm_inspect_takes *takes, unsigned kept, lcsm_error *err);
void        lcsm_inspect_piece_free(lcsm_inspect_piece *p);

/* Reads p->steps tokens, with the memory in `state`; `check`: a number that is not finite is an
 * error. */
lcsm_status lcsm_inspect_piece_read(const lcsm_inspect_piece *p, lcsm_state *state,
                                    const int32_t *ids, bool check, lcsm_error *err);

lcsm_status lcsm_inspect_no_room(lcsm_error *err);
#endif
