/* command.h - the words of a program that is started, and of one that was. */
#ifndef LCSM_EXPERIMENT_COMMAND_H
#define LCSM_EXPERIMENT_COMMAND_H
#include <stdbool.h>

#include "base/strbuf.h"

/* Words, each to be freed, and a NULL at the end. {0} is empty and may be freed. */
typedef struct {
    char **words;
    size_t count;
    bool   failed; /* no room */
} lcsm_command;

void lcsm_command_add(lcsm_command *c, const char *word);
void lcsm_command_add_pair(lcsm_command *c, const char *flag, const char *value);
void lcsm_command_free(lcsm_command *c);

/* The line that a shell would take, and its words again. */
void         lcsm_command_put(lcsm_strbuf *out, const lcsm_command *c);
lcsm_command lcsm_command_split(const char *line);

/* The first flag that has other values before than now; a value that is not there is
 * NULL. Both are `lcsm VERB --flag value ...`, in any order of flags. */
typedef struct {
    const char *flag, *before, *now;
} lcsm_command_change;

bool lcsm_command_differs(lcsm_command_change *out, const lcsm_command *before,
                          const lcsm_command *now);

#endif
