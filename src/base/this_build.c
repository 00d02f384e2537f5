/* this_build.c - which build of lcsm this is. */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier): dladdr is an extension */
#include "base/this_build.h"

#include <dlfcn.h>
#include <lcsm/lcsm.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/file.h"

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "another compiler"
#endif

const char *lcsm_build_text(void)
{
    return LCSM_VERSION ", " COMPILER;
}

/* The loader names a shared library by its path, but the program as it was called. */
void lcsm_build_file(char *out, size_t size)
{
    static const char anchor = 0;
    Dl_info           info   = {0};
    const char       *file   = dladdr(&anchor, &info) != 0 ? info.dli_fname : NULL;
    ssize_t           n      = 0;
    if (file != NULL && strstr(file, ".so") != NULL) {
        n = (ssize_t)strlen(file);
        if ((size_t)n < size) memcpy(out, file, (size_t)n);
    } else n = readlink("/proc/self/exe", out, size - 1);
    out[n > 0 && (size_t)n < size ? n : 0] = '\0';
}

uint64_t lcsm_build_hash(void)
{
    char      path[LCSM_PATH_MAX];
    lcsm_file file = {0};
    lcsm_build_file(path, sizeof path);
    if (path[0] == '\0' || lcsm_file_map(&file, path, NULL) != LCSM_OK) return 0;
    uint64_t hash = XXH64(file.data, file.size, 0);
    lcsm_file_close(&file);
    return hash;
}
