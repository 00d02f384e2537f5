/* graph/place.h - offsets in one arena for pieces of memory with known lifetimes. */
#ifndef LCSM_GRAPH_PLACE_H
#define LCSM_GRAPH_PLACE_H
#include <stdbool.h>
#include <stddef.h>

typedef struct {
    size_t bytes;
    int    first, last; /* the steps at which it is alive, both included */
    size_t offset;      /* the result, a multiple of LCSM_ALIGN */
} lcsm_piece;

/* Gives every piece an offset such that pieces that live at the same time do not overlap.
 * *total is the size of the arena. False if memory runs out or sizes overflow. O(n^2). */
bool lcsm_place(lcsm_piece *pieces, int n, size_t *total);

/* The most bytes alive at one step, rounded as lcsm_place rounds: a lower bound of *total. */
size_t lcsm_place_bound(const lcsm_piece *pieces, int n);

#endif
