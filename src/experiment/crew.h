/*
 * experiment/crew.h - where the runs of an experiment are made: processes of this machine, or one
 * on each rank. Rank 0 hands out the runs; the others serve it.
 */
#ifndef LCSM_EXPERIMENT_CREW_H
#define LCSM_EXPERIMENT_CREW_H
#include <sys/types.h>

#include "dist/dist.h"
#include "experiment/command.h"

/* A run that is being made. */
typedef struct {
    pid_t pid; /* on rank 0 */
    int   rank;
} lcsm_crew_job;

/* {0} is a crew of this process alone, and may be closed. */
typedef struct {
    lcsm_dist *dist;
    int       *codes; /* of each rank: how its run ended */
    enum { LCSM_CREW_FREE = 0, LCSM_CREW_BUSY, LCSM_CREW_ENDED } * states;
} lcsm_crew;

lcsm_status lcsm_crew_open(lcsm_crew *c, lcsm_dist *dist, lcsm_error *err);

/* Sends the others home. */
void lcsm_crew_close(lcsm_crew *c);

/* Starts `program words...` with its output in `log`, with so many threads if it runs here; another
 * rank knows its own number. There is a free rank. */
lcsm_status lcsm_crew_start(lcsm_crew *c, lcsm_crew_job *out, const char *program,
                            lcsm_command *words, int threads, const char *log, lcsm_error *err);

/* Hears from the others, and whether all are there. */
lcsm_status lcsm_crew_hear(lcsm_crew *c, lcsm_error *err);

bool lcsm_crew_ended(lcsm_crew *c, const lcsm_crew_job *job, int *code);
void lcsm_crew_stop(lcsm_crew *c, const lcsm_crew_job *job);

/* What a rank other than 0 does until it is sent home: one run after the other. stop as in
 * lcsm_experiment_hooks. */
lcsm_status lcsm_crew_serve(lcsm_dist *dist, const char *program, bool (*stop)(void *user),
                            void *user, lcsm_error *err);

#endif
