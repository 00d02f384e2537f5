/* as_run.c - the table of docs/erratum.md: o and the memory by task, parameterisation and type. */
#include "experiment/as_run.h"

#include <stdlib.h>
#include <string.h>

/* Codes e-o-s-a whose o is of these types. Where no row fits, nothing differs: the SSM (code 0) is
 * trained as described in both tasks, and so are the types 0, 1 and 6 to 9 of language models. The
 * public code has no turning memory for type 11, so that of recall stays as described. */
static const struct {
    const char *task;
    long        first, last; /* o types */
    bool        o_trained;
    const char *memory_type; /* NULL: as it is */
} ROWS[] = {
    {"mqar", 0, 9, false, "bfloat16"},  /* o is converted to the number type of i */
    {"mqar", 10, 10, true, "bfloat16"}, /* ones: nothing to train */
    {"lm", 2, 5, false, NULL},          /* o is a broadcast view, which is copied */
};

/* The o type of a code; -1: it has none. */
static long type_of(const char *code)
{
    const char *dash = code == NULL ? NULL : strchr(code, '-');
    return dash == NULL ? -1 : strtol(dash + 1, NULL, 10);
}

static lcsm_status set(json_t *settings, const char *key, json_t *value, lcsm_error *err)
{
    if (json_object_set_new(settings, key, value) == 0) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a run's settings");
}

lcsm_status lcsm_as_run(json_t *settings, const char *task, bool *differs, lcsm_error *err)
{
    long type = type_of(json_string_value(json_object_get(settings, "code")));
    *differs  = false;
    for (size_t j = 0; j < COUNT(ROWS); j++) {
        if (strcmp(task, ROWS[j].task) != 0 || type < ROWS[j].first || type > ROWS[j].last)
            continue;
        *differs = true;
        if (!ROWS[j].o_trained) LCSM_OR_RETURN(set(settings, "o_trained", json_false(), err));
        if (ROWS[j].memory_type != NULL)
            LCSM_OR_RETURN(set(settings, "memory_type", json_string(ROWS[j].memory_type), err));
    }
    return LCSM_OK;
}
