/*
 * block.h - large blocks of numbers.
 *
 * A block of megabytes asks the system for large pages: a matrix product touches hundreds of rows
 * at once, and with small pages their addresses do not fit the processor's table.
 *
 * Blocks are cut into arrays that are a line longer than they need to be. Arrays of one layer tend
 * to be the same power of two long, and a load waits for an earlier store whose address differs
 * from its own by whole small pages only.
 */
#ifndef LCSM_BASE_BLOCK_H
#define LCSM_BASE_BLOCK_H
#include <stddef.h>

/* Aligned to LCSM_ALIGN at least, never NULL for 0 bytes; NULL if there is no room. The caller
 * gives it to free(). */
void *lcsm_block_alloc(size_t bytes);

#endif
