/* process.h - a program as a child, its words going to a file. */
#ifndef LCSM_EXPERIMENT_PROCESS_H
#define LCSM_EXPERIMENT_PROCESS_H
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

/* Starts `program`, or this one (NULL), with these words (the last is NULL) in a process group of
 * its own, so that a signal from the terminal goes to this process alone. Both of its streams are
 * appended to the file log. The child gets SIGTERM if this process dies. */
lcsm_status lcsm_process_start(pid_t *out, const char *program, char *const *words, const char *log,
                               lcsm_error *err);

/* Whether it has ended; if so, *code is its exit code, or minus the number of the signal. */
bool lcsm_process_ended(pid_t pid, int *code);

/* Asks it to end, as a user would. */
void lcsm_process_stop(pid_t pid);

/* Lets so many milliseconds pass. */
void lcsm_process_pause(int milliseconds);

#endif
