/*
 * graph/state.h - the carried state of a graph: what its ops remember from one run to the next.
 *
 * A state is made for a graph and serves every graph of the same definition and batch size,
 * whatever its T: a prompt runs through one at T = n, the following tokens through one at T = 1.
 * It is a list of named entries in one block. A graph planned for training needs room for two
 * blocks, because backward reads the state from before its forward.
 */
#ifndef LCSM_GRAPH_STATE_H
#define LCSM_GRAPH_STATE_H
#include <stdint.h>

#include "base/error.h"
#include "graph/op.h"
#include "graph/tensor.h"

struct lcsm_graph;

typedef struct {
    char      *name; /* scope, op and, from the second in a scope on, a number */
    lcsm_dtype dtype;
    lcsm_shape shape;
    double     start;
    size_t     offset, bytes;
} lcsm_state_entry;

typedef struct {
    lcsm_state_entry *list;
    size_t            count;
    size_t            bytes;   /* of one block */
    int               blocks;  /* 1, or 2 for training */
    int               current; /* the block that the next run reads */
    uint64_t          key;     /* of the definition that it fits */
    unsigned char    *data;
} lcsm_state;

/* An empty state. The graph is planned. */
lcsm_status lcsm_state_create(lcsm_state **out, const struct lcsm_graph *g, lcsm_error *err);
void        lcsm_state_free(lcsm_state *s);

void        lcsm_state_clear(lcsm_state *s);                  /* as new */
void        lcsm_state_clear_row(lcsm_state *s, ptrdiff_t b); /* one sequence of the batch */
lcsm_status lcsm_state_copy(lcsm_state *dst, const lcsm_state *src, lcsm_error *err);

/* All numbers to a buffer of s->bytes, and back. */
void lcsm_state_save(const lcsm_state *s, void *buffer);
void lcsm_state_restore(lcsm_state *s, const void *buffer);

/* The first sequence of src to every sequence of dst, a state of the same definition. */
void lcsm_state_spread(lcsm_state *dst, const lcsm_state *src);

/* The numbers of an entry. */
void *lcsm_state_data(const lcsm_state *s, size_t entry);

/* Bytes of an entry, a multiple of LCSM_ALIGN. */
size_t lcsm_state_bytes(const lcsm_state_spec *spec);

#endif
