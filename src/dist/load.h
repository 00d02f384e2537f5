/* dist/load.h - the plug-in: whether it is wanted, where it is, and whether it fits. */
#ifndef LCSM_DIST_LOAD_H
#define LCSM_DIST_LOAD_H
#include "base/error.h"
#include "dist/engine.h"

/* How many processes were started together, as the environment says; 0: it says nothing. */
int lcsm_dist_started(void);

/* The table of the engine by name, as for lcsm_dist_open; NULL: the program runs alone. */
lcsm_status lcsm_dist_load(const lcsm_dist_engine **out, const char *name, lcsm_error *err);

#endif
