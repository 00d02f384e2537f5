/* as_run.c - the table of docs/erratum.md: o by task, parameterisation and type. */
#include "experiment/as_run.h"

#include <stdlib.h>
#include <string.h>

/* Codes e-o-s-a whose o is of these types. Where no row fits, nothing differs: the SSM (code 0) is
 * trained as described in both tasks, and so are the types 0, 1 and 6 to 9 of language models. */
static const struct {
    const char *task;
    long        first, last; /* o types */
    bool        o_trained;
} ROWS[] = {
    {"mqar", 0, 9, false}, /* o is converted to the number type of i */
    {"lm", 2, 5, false},   /* o is a broadcast view, which is copied */
};

/* The o type of a code; -1: it has none. */
static long type_of(const char *code)
{
    const char *dash = code == NULL ? NULL : strchr(code, '-');
    return dash == NULL ? -1 : strtol(dash + 1, NULL, 10);
}

lcsm_status lcsm_as_run(json_t *settings, const char *task, bool *differs, lcsm_error *err)
{
    long type = type_of(json_string_value(json_object_get(settings, "code")));
    *differs  = false;
    for (size_t j = 0; j < COUNT(ROWS); j++) {
        if (strcmp(task, ROWS[j].task) != 0 || type < ROWS[j].first || type > ROWS[j].last)
            continue;
        *differs = true;
        if (json_object_set_new(settings, "o_trained", json_boolean(ROWS[j].o_trained)) != 0)
            return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a run's settings");
    }
    return LCSM_OK;
}
