/* recipe.c - settings that people start from: recipes in files, and sizes by name. */
#include <lcsm/model.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/folder.h"
#include "base/strdist.h"
#include "model/config.h"
#include "model/pattern.h"

/* ---- recipes ---------------------------------------------------------------------------- */

/* Folders of recipes: in the working folder, beside the build folder, and where they are installed,
 * as seen from the program and from the prefix that was configured. */
enum { FOLDERS = 4 };

static void folder_at(int j, char out[LCSM_PATH_MAX])
{
    char    program[LCSM_PATH_MAX / 2];
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    char   *end;
    program[n > 0 ? n : 0] = 0;
    if ((end = strrchr(program, '/')) != NULL) *end = 0;
    if (j == 0) (void)snprintf(out, LCSM_PATH_MAX, "recipes");
    else if (j == 1) (void)snprintf(out, LCSM_PATH_MAX, "%s/../recipes", program);
    else if (j == 2) (void)snprintf(out, LCSM_PATH_MAX, "%s/../share/lcsm/recipes", program);
    else (void)snprintf(out, LCSM_PATH_MAX, "%s/recipes", LCSM_DATA_FOLDER);
}

/* The name of a recipe in one of the folders that is nearest; "" if there is none. */
static void nearest_recipe(const char *name, char out[64])
{
    size_t best = (size_t)-1;
    out[0]      = 0;
    for (int j = 0; j < FOLDERS; j++) {
        char             folder[LCSM_PATH_MAX];
        lcsm_folder_list list = {0};
        folder_at(j, folder);
        if (lcsm_folder_read(&list, folder, NULL) != LCSM_OK) continue;
        for (size_t k = 0; k < list.count; k++) {
            char   word[64];
            size_t n = strlen(list.names[k]);
            if (n < 6 || n - 5 >= sizeof word || strcmp(list.names[k] + n - 5, ".json") != 0)
                continue;
            (void)snprintf(word, sizeof word, "%.*s", (int)(n - 5), list.names[k]);
            if (lcsm_strdist(word, name) >= best) continue;
            best = lcsm_strdist(word, name);
            memcpy(out, word, sizeof word);
        }
        lcsm_folder_list_free(&list);
    }
}

lcsm_status lcsm_recipe_find(char *path, size_t size, const char *name, lcsm_error *err)
{
    char near[64];
    int  written = snprintf(path, size, "%s", name);
    if (strchr(name, '/') != NULL || strchr(name, '.') != NULL) {
        if (written < (int)size && lcsm_path_exists(path)) return LCSM_OK;
        return lcsm_fail(err, LCSM_ERR_IO, "recipe file %.150s does not exist", name);
    }
    for (int j = 0; j < FOLDERS; j++) {
        char folder[LCSM_PATH_MAX];
        folder_at(j, folder);
        written = snprintf(path, size, "%s/%s.json", folder, name);
        if (written < (int)size && lcsm_path_exists(path)) return LCSM_OK;
    }
    nearest_recipe(name, near);
    return lcsm_fail(err, LCSM_ERR_CONFIG, "unknown recipe \"%.60s\"%s%s%s", name,
                     near[0] != 0 ? "; did you mean " : ", neither in recipes/ nor installed", near,
                     near[0] != 0 ? "?" : "");
}

/* ---- sizes ------------------------------------------------------------------------------ */

static const struct {
    const char *name;
    double      parameters;
    ptrdiff_t   d_model;
} SIZES[] = {
    {"1m", 1e6, 128},  {"3m", 3e6, 192},   {"10m", 1e7, 320},   {"30m", 3e7, 512},
    {"50m", 5e7, 576}, {"100m", 1e8, 768}, {"300m", 3e8, 1024}, {"1b", 1e9, 1536},
};

static lcsm_status count_at(const lcsm_context *ctx, lcsm_model_config *cfg, ptrdiff_t layers,
                            double *count, lcsm_error *err)
{
    lcsm_model_summary m = {.size = sizeof m};
    cfg->layers          = layers;
    lcsm_status st       = lcsm_model_describe(ctx, cfg, 1, &m, NULL, NULL, err);
    *count               = (double)m.parameters;
    return st;
}

/* The size that was probably meant: the nearest by its number, or if there is none by its name. */
static const char *nearest_size(const char *size)
{
    char  *end;
    double found = strtod(size, &end) * (*end == 'b' || *end == 'B' ? 1e9 : 1e6);
    size_t best  = 0;
    for (size_t j = 1; j < COUNT(SIZES); j++) {
        double now  = fabs(log(found / SIZES[j].parameters)),
               was  = fabs(log(found / SIZES[best].parameters));
        bool nearer = found > 0
                        ? now < was
                        : lcsm_strdist(SIZES[j].name, size) < lcsm_strdist(SIZES[best].name, size);
        if (nearer) best = j;
    }
    return SIZES[best].name;
}

/* Parameters are linear in the depth: two depths tell the nearest. Those of a pattern are two of
 * its lengths, and it is not cut short. */
lcsm_status lcsm_model_config_size(lcsm_model_config *cfg, const lcsm_context *ctx,
                                   const char *size, lcsm_error *err)
{
    double          one = 0, two = 0;
    const ptrdiff_t unit = lcsm_pattern_length(cfg);
    size_t          row  = 0;
    while (row < COUNT(SIZES) && strcmp(SIZES[row].name, size) != 0) row++;
    if (row == COUNT(SIZES))
        return lcsm_fail(err, LCSM_ERR_CONFIG,
                         "unknown size \"%.40s\"; expected one of 1m|3m|10m|30m|50m|100m|300m|1b; "
                         "did you mean %s?",
                         size, nearest_size(size));
    cfg->d_model = SIZES[row].d_model;
    LCSM_OR_RETURN(count_at(ctx, cfg, unit, &one, err));
    LCSM_OR_RETURN(count_at(ctx, cfg, 2 * unit, &two, err));
    double each   = (two - one) / (double)unit;
    double layers = (double)unit + round((SIZES[row].parameters - one) / each);
    cfg->layers   = (ptrdiff_t)fmin(fmax(layers, (double)unit), 1024);
    return LCSM_OK;
}
