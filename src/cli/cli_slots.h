/* cli_slots.h - lcsm bench decode --slots. */
#ifndef LCSM_CLI_CLI_SLOTS_H
#define LCSM_CLI_CLI_SLOTS_H
#include <jansson.h>

#include "cli.h"

/* Whether a text is a list such as 1,8,32. */
bool cli_slots_valid(const char *list);

/* Measures each number of the list: rows of a table, of which `first` begins one, or objects for a
 * json array. */
lcsm_status cli_slots_bench(const lcsm_model *model, const char *list, double seconds, bool first,
                            json_t *json, lcsm_error *err);

#endif
