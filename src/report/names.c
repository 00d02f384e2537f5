/* names.c - the ends of paths. */
#include "report/names.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The last `parts` names of a path, or all of it. */
static const char *tail(const char *path, size_t parts)
{
    const char *p = path + strlen(path);
    while (p > path && (p[-1] != '/' || --parts > 0)) p--;
    return p;
}

static bool is_shared(char *const *paths, size_t count, size_t mine, size_t parts)
{
    for (size_t j = 0; j < count; j++)
        if (j != mine && strcmp(tail(paths[j], parts), tail(paths[mine], parts)) == 0) return true;
    return false;
}

static char *name_of(char *const *paths, size_t count, size_t mine)
{
    size_t parts = 1;
    while (tail(paths[mine], parts) > paths[mine] && is_shared(paths, count, mine, parts)) parts++;
    return strdup(tail(paths[mine], parts));
}

static void free_all(char **texts, size_t count)
{
    for (size_t j = 0; j < count; j++) free(texts[j]);
}

lcsm_status lcsm_names_of(char **names, const char *const *folders, size_t count, lcsm_error *err)
{
    char **paths = calloc(count + 1, sizeof *paths);
    bool   ok    = paths != NULL;
    for (size_t j = 0; j < count; j++) names[j] = NULL;
    for (size_t j = 0; j < count && ok; j++) {
        paths[j] = realpath(folders[j], NULL);
        if (paths[j] == NULL) paths[j] = strdup(folders[j]);
        ok = paths[j] != NULL;
    }
    for (size_t j = 0; j < count && ok; j++) ok = (names[j] = name_of(paths, count, j)) != NULL;
    if (paths != NULL) free_all(paths, count);
    free(paths);
    if (ok) return LCSM_OK;
    free_all(names, count);
    return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for the names of %zu folders", count);
}
