/* progress.h - how far a long task is: one live line on a terminal, a line now and then elsewhere.
 */
#ifndef LCSM_CLI_PROGRESS_H
#define LCSM_CLI_PROGRESS_H
#include <stdbool.h>
#include <stdint.h>

/* What the numbers count decides how they are shown. */
typedef struct {
    bool        quiet;
    bool        live;         /* stderr is a terminal */
    const char *what;         /* the stage */
    double      begun, shown; /* seconds */
} cli_progress;

cli_progress cli_progress_begin(bool quiet);

/* An lcsm_tokenizer_progress and an lcsm_dataset_progress: shows what, how much, the rate and the
 * time left, on stderr. */
void cli_progress_show(void *progress, const char *what, uint64_t done, uint64_t total);

/* Removes the live line. */
void cli_progress_end(cli_progress *p);

/* Seconds of a clock that only goes forward. */
double cli_seconds(void);

#endif
