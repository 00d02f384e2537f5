/* reading.c - the names of the readings. */
#include "report/reading.h"

#include <string.h>

const char *const LCSM_READING_NAMES[LCSM_READINGS] = {"described", "as-run"};
const char *const LCSM_READING_WORDS[LCSM_READINGS] = {"as described", "as run"};

unsigned lcsm_readings_of(const char *name)
{
    if (name == NULL) return 1u << LCSM_READING_DESCRIBED;
    for (unsigned j = 0; j < LCSM_READINGS; j++)
        if (strcmp(name, LCSM_READING_NAMES[j]) == 0) return 1u << j;
    return strcmp(name, "both") == 0 ? LCSM_READING_ALL : 0;
}
