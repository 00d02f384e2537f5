/* broken.c - a broken promise ends the program, so that any driver sees it. */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"

void fuzz_broken(const char *condition, const char *file, int line)
{
    fprintf(stderr, "%s:%d: not true: %s\n", file, line, condition);
    abort();
}
