/* progress.h - how far a long task is: one live line on a terminal, a line now and then elsewhere.
 */
#ifndef LCSM_CLI_PROGRESS_H
#define LCSM_CLI_PROGRESS_H
#include <stdbool.h>
#include <stdint.h>

/* The live line: writes over the last line of stderr, cut to the width of the terminal; "" removes
 * it. Nothing where stderr is no terminal, as cli_is_live says. */
bool cli_is_live(void);
void cli_live(const char *text);

/* Columns of the terminal: as it says itself, or COLUMNS, or 80. */
int cli_columns(void);

/* The next figures are a line of their own: where what was printed last on stdout did not end its
 * line, and stderr goes to the same place, ends it. */
void cli_end_text(void);

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
