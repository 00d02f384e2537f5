/*
 * graph/state.h - the carried state of a graph: what its ops remember from one run to the next.
 *
 * A state is made for a graph and serves every graph of the same definition, whatever its T: a
 * prompt runs through one at T = n, the following tokens through one at T = 1. It may have more
 * sequences than the graph, which then works on some of them that lie side by side: sequence b is
 * row b of every entry.
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
    size_t     row;   /* bytes of one sequence */
    int        param; /* the row of the parameter that an empty sequence begins with; -1: start */
    ptrdiff_t  at;    /* the element of it */
} lcsm_state_entry;

typedef struct {
    lcsm_state_entry *list;
    size_t            count;
    size_t            bytes;   /* of one block */
    int               blocks;  /* 1, or 2 for training */
    int               current; /* the block that the next run reads */
    ptrdiff_t         rows;    /* sequences: the first axis of all shapes */
    ptrdiff_t         room;    /* steps of a sequence that fit; 0: any number */
    uint64_t          key;     /* of the definition that it fits */
    unsigned char    *data;

    const struct lcsm_params *params; /* of the graph; they outlive the state */
} lcsm_state;

/* An empty state. The graph is planned. rows: sequences; 0: as many as the graph has. */
lcsm_status lcsm_state_create(lcsm_state **out, const struct lcsm_graph *g, lcsm_error *err);
lcsm_status lcsm_state_create_rows(lcsm_state **out, const struct lcsm_graph *g, ptrdiff_t rows,
                                   lcsm_error *err);
void        lcsm_state_free(lcsm_state *s);

void        lcsm_state_clear(lcsm_state *s);                  /* as new */
void        lcsm_state_zero(lcsm_state *s);                   /* as gradients of nothing */
void        lcsm_state_clear_row(lcsm_state *s, ptrdiff_t b); /* one sequence of the batch */
lcsm_status lcsm_state_copy(lcsm_state *dst, const lcsm_state *src, lcsm_error *err);

/* All numbers of some sequences to a buffer of so many times the bytes of one, and back. */
size_t lcsm_state_row_bytes(const lcsm_state *s);
void   lcsm_state_save(const lcsm_state *s, ptrdiff_t first, ptrdiff_t count, void *buffer);
void   lcsm_state_restore(lcsm_state *s, ptrdiff_t first, ptrdiff_t count, const void *buffer);

/* One sequence over another, of the same state or of two of one definition. */
void lcsm_state_copy_row(lcsm_state *dst, ptrdiff_t to, const lcsm_state *src, ptrdiff_t from);

/* The numbers of an entry, those of one sequence in it, and where these are in a block. */
void *lcsm_state_data(const lcsm_state *s, size_t entry);
void *lcsm_state_row(const lcsm_state *s, size_t entry, ptrdiff_t row);

/* The block that the next run reads, of s->bytes, and the one that the last run read. */
static inline unsigned char *lcsm_state_block(const lcsm_state *s)
{
    return s->data + (size_t)s->current * s->bytes;
}

static inline unsigned char *lcsm_state_other(const lcsm_state *s)
{
    return s->blocks == 2 ? s->data + (size_t)(1 - s->current) * s->bytes : s->data;
}

size_t lcsm_state_place(const lcsm_state *s, size_t entry, ptrdiff_t row);

/* Bytes of an entry, a multiple of LCSM_ALIGN. */
size_t lcsm_state_bytes(const lcsm_state_spec *spec);

#endif
