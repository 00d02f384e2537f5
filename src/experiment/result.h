/* result.h - what became of a run, as its folder tells. */
#ifndef LCSM_EXPERIMENT_RESULT_H
#define LCSM_EXPERIMENT_RESULT_H
#include <stdbool.h>

#include "base/error.h"

#define LCSM_RESULT_LOG "log.txt"

typedef enum { LCSM_RESULT_OPEN, LCSM_RESULT_DONE, LCSM_RESULT_FAILED } lcsm_result_state;

typedef struct {
    lcsm_result_state state;
    bool              resumable;    /* open, with a checkpoint to go on from */
    long long         step;         /* of the newest checkpoint; -1: none */
    char              message[240]; /* why it failed */
} lcsm_result;

/* Before a run. One that has its last line is done, or failed if its numbers were not finite; one
 * that has metrics or checkpoints without readable settings has failed, and nothing in it may be
 * removed; one that failed otherwise is open again, since the reason may be gone. */
lcsm_status lcsm_result_look(lcsm_result *out, const char *folder, lcsm_error *err);

/* After a run whose process ended with this code (a signal is negative). A failure is recorded in
 * failed.txt, with the last line that the process wrote. stopped: it was asked to end. */
lcsm_status lcsm_result_of_exit(lcsm_result *out, const char *folder, int code, bool stopped,
                                lcsm_error *err);

/* Before an open run starts: removes failed.txt and, unless it is resumed, what an attempt without
 * checkpoints left. */
lcsm_status lcsm_result_clear(const char *folder, bool resumed, lcsm_error *err);

/* One process at a time works on an experiment. lcsm_folder_unlock ends it. */
lcsm_status lcsm_result_lock(int *out, const char *folder, lcsm_error *err);

#endif
