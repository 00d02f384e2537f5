/*
 * dist/engine.h - what a plug-in offers: messages between ranks. dist.c does all the rest.
 *
 * A plug-in is a shared library that defines lcsm_dist_engine_table. It includes this header and
 * nothing else of lcsm, so it can be compiled with any MPI.
 *
 * Transfers are posted to a group, and poll says when all of a group are done; until then their
 * memory belongs to them. Bytes of any number, 0 too. Functions that return bool are false when the
 * engine failed. All calls come from one thread.
 */
#ifndef LCSM_DIST_ENGINE_H
#define LCSM_DIST_ENGINE_H
#include <stdbool.h>
#include <stddef.h>

enum { LCSM_DIST_ENGINE_ABI = 2 };

/* What messages are for; those of one kind between two ranks keep their order. */
enum { LCSM_DIST_BULK = 1, LCSM_DIST_TASK = 2, LCSM_DIST_GRADIENT = 3, LCSM_DIST_RELAY = 4 };

/* What is waited for together; all_gather and broadcast are of the first. */
enum {
    LCSM_DIST_NOW,
    LCSM_DIST_GRADIENTS_OUT,
    LCSM_DIST_GRADIENTS_IN,
    LCSM_DIST_RELAY_OUT,
    LCSM_DIST_RELAY_IN,
    LCSM_DIST_GROUPS,
};

typedef struct {
    int         abi;     /* LCSM_DIST_ENGINE_ABI */
    const char *version; /* of lcsm, LCSM_VERSION */
    /* Joins the others. Writes what it is, as "Open MPI v4.1.4", or why it failed. */
    bool (*start)(int *rank, int *size, char *text, size_t room);
    void (*end)(void);
    void (*abort)(int code); /* ends all ranks; does not return */
    bool (*send)(const void *data, size_t bytes, int to, int kind, int group);
    bool (*receive)(void *data, size_t bytes, int from, int kind, int group);
    /* all: size * bytes, in the order of ranks. */
    bool (*all_gather)(const void *own, size_t bytes, void *all);
    bool (*broadcast)(void *data, size_t bytes, int root);
    int (*poll)(int group); /* 1: all that was posted is done, 0: not yet, -1: failed */
    /* Whether a message is there: from whom, and how long. Moves all transfers on. */
    bool (*look)(int kind, int *from, size_t *bytes);
} lcsm_dist_engine;

#define LCSM_DIST_ENGINE_SYMBOL "lcsm_dist_engine_table"

#endif
