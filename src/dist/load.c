/* load.c - finds the plug-in and loads it. */
#include "dist/load.h"

#include <dlfcn.h>
#include <lcsm/lcsm.h>
#include <stdlib.h>
#include <string.h>

#include "base/folder.h"
#include "base/this_build.h"

#define PLUGIN "liblcsm_mpi.so"

/* Open MPI, MPICH and Intel MPI, Slurm. */
static const char *const SIZES[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"};

int lcsm_dist_started(void)
{
    for (size_t j = 0; j < COUNT(SIZES); j++) {
        const char *text = getenv(SIZES[j]);
        int         n    = text == NULL ? 0 : atoi(text);
        if (n > 0) return n;
    }
    return 0;
}

/* The folder of the library, or of the program where that has it inside; "" if it is not known. */
static void own_folder(char out[LCSM_PATH_MAX])
{
    lcsm_build_file(out, LCSM_PATH_MAX);
    char *slash = strrchr(out, '/');
    if (slash != NULL) *slash = '\0';
    else out[0] = '\0';
}

/* Beside the library or the program, or in an installation. */
static bool find(char out[LCSM_PATH_MAX])
{
    static const char *const below[] = {PLUGIN, "lcsm/" PLUGIN, "../lib/lcsm/" PLUGIN};
    char                     folder[LCSM_PATH_MAX];
    own_folder(folder);
    for (size_t j = 0; j < COUNT(below) && folder[0] != '\0'; j++)
        if (lcsm_path_join(out, folder, below[j], NULL) == LCSM_OK && lcsm_path_exists(out))
            return true;
    return lcsm_path_join(out, LCSM_PLUGIN_FOLDER, PLUGIN, NULL) == LCSM_OK
        && lcsm_path_exists(out);
}

static lcsm_status check(const lcsm_dist_engine *e, const char *path, lcsm_error *err)
{
    if (e == NULL)
        return lcsm_fail(err, LCSM_ERR_FORMAT,
                         "%s is not a plug-in of lcsm, which would have " LCSM_DIST_ENGINE_SYMBOL,
                         path);
    if (e->abi == LCSM_DIST_ENGINE_ABI && strcmp(e->version, LCSM_VERSION) == 0) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_FORMAT,
                     "%s is of lcsm %s (interface %d), but this is %s (interface %d): use the "
                     "plug-in of the same build",
                     path, e->abi == LCSM_DIST_ENGINE_ABI ? e->version : "another version", e->abi,
                     LCSM_VERSION, (int)LCSM_DIST_ENGINE_ABI);
}

/* MPI's own plug-ins look for its symbols among the global ones. It stays loaded: MPI cannot be
 * unloaded and started again. */
static lcsm_status load(const lcsm_dist_engine **out, const char *path, lcsm_error *err)
{
    const lcsm_dist_engine *e      = NULL;
    void                   *handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (handle == NULL)
        return lcsm_fail(err, LCSM_ERR_IO, "%s cannot be loaded: %.120s", path, dlerror());
    e = dlsym(handle, LCSM_DIST_ENGINE_SYMBOL);
    LCSM_OR_RETURN(check(e, path, err));
    *out = e;
    return LCSM_OK;
}

lcsm_status lcsm_dist_load(const lcsm_dist_engine **out, const char *name, lcsm_error *err)
{
    char        path[LCSM_PATH_MAX];
    const char *own = getenv("LCSM_MPI_PLUGIN");
    bool        mpi = name != NULL && strcmp(name, "mpi") == 0;
    *out            = NULL;
    if (name != NULL && !mpi && strcmp(name, "auto") != 0 && strcmp(name, "none") != 0)
        return lcsm_fail(err, LCSM_ERR_CONFIG, "distributed is '%s'; expected auto, mpi or none",
                         name);
    if (!mpi && (lcsm_dist_started() <= 1 || (name != NULL && strcmp(name, "none") == 0)))
        return LCSM_OK;
    if (own != NULL && *own != '\0') return load(out, own, err);
    if (find(path)) return load(out, path, err);
    return lcsm_fail(err, LCSM_ERR_IO,
                     PLUGIN " was not found: build lcsm where MPI is installed (Debian: "
                            "libopenmpi-dev), name the file in LCSM_MPI_PLUGIN, or pass "
                            "--distributed none to run without it");
}
