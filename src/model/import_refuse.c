/* import_refuse.c - files and folders that are not imported: what they are, and what to do. */
#include <stdio.h>
#include <string.h>

#include "base/folder.h"
#include "format/file_kind.h"
#include "model/import.h"

#define SUPPORTED "lcsm import --help lists what is supported"

/* A long path is shown by its end, so that the advice behind it is not cut. */
enum { PATH_SHOWN = 60 };
typedef struct {
    char text[PATH_SHOWN + 4];
} short_path;

static short_path shorten(const char *path)
{
    short_path s;
    size_t     n = strlen(path);
    if (n <= PATH_SHOWN) (void)snprintf(s.text, sizeof s.text, "%s", path);
    else (void)snprintf(s.text, sizeof s.text, "...%s", path + n - PATH_SHOWN);
    return s;
}

/* ---- files ------------------------------------------------------------------------------ */

static const char *const ADVICE[LCSM_FILE_KIND_COUNT] = {
    [LCSM_FILE_UNKNOWN]     = ". " SUPPORTED,
    [LCSM_FILE_PICKLE]      = ", which is not read; load and save it with a newer PyTorch",
    [LCSM_FILE_ZIP]         = "; unpack it first. " SUPPORTED,
    [LCSM_FILE_JSON]        = "; pass the folder with config.json and model.safetensors",
    [LCSM_FILE_LFS_POINTER] = ", not the file itself; fetch that with git lfs pull",
};

static bool is_other_rwkv(const char *model)
{
    return strncmp(model, "RWKV-", 5) == 0 && strcmp(model, "RWKV-4") != 0;
}

lcsm_status lcsm_import_check_file(lcsm_file_kind *kind, const char *path, lcsm_error *err)
{
    lcsm_file_look look;
    lcsm_status    st = lcsm_file_look_read(&look, path, err);
    *kind             = look.kind;
    if (st != LCSM_OK || look.kind == LCSM_FILE_RWKV_CPP || look.kind == LCSM_FILE_GGUF
        || look.kind == LCSM_FILE_TORCH || look.kind == LCSM_FILE_SAFETENSORS)
        return st;
    bool of = look.model[0] != '\0';
    return lcsm_fail(err, LCSM_ERR_FORMAT, "%s is %s%s%s%s%s", shorten(path).text,
                     lcsm_file_kind_text(look.kind), of ? " (" : "", look.model, of ? ")" : "",
                     ADVICE[look.kind]);
}

/* ---- folders ---------------------------------------------------------------------------- */

/* The first file of the folder that holds weights, or "". */
static void find_weights(char path[LCSM_PATH_MAX], lcsm_file_kind *kind, const char *folder)
{
    lcsm_folder_list list = {0};
    path[0]               = '\0';
    if (lcsm_folder_read(&list, folder, NULL) != LCSM_OK) return;
    for (size_t j = 0; j < list.count; j++) {
        lcsm_file_look look;
        if (lcsm_path_join(path, folder, list.names[j], NULL) == LCSM_OK
            && lcsm_file_look_read(&look, path, NULL) == LCSM_OK && look.kind != LCSM_FILE_UNKNOWN
            && look.kind != LCSM_FILE_JSON) {
            *kind = look.kind;
            break;
        }
        path[0] = '\0';
    }
    lcsm_folder_list_free(&list);
}

lcsm_status lcsm_import_check_folder(char file[LCSM_PATH_MAX], const char *folder, lcsm_error *err)
{
    char           path[LCSM_PATH_MAX];
    lcsm_file_kind kind = LCSM_FILE_UNKNOWN;
    lcsm_status    st   = lcsm_path_join(path, folder, "config.json", err);
    file[0]             = '\0';
    if (st != LCSM_OK || lcsm_path_exists(path)) return st;
    find_weights(file, &kind, folder);
    if (kind == LCSM_FILE_TORCH || kind == LCSM_FILE_SAFETENSORS) return LCSM_OK;
    if (file[0] == '\0')
        return lcsm_fail(err, LCSM_ERR_IO,
                         "%s has no config.json, which says what model it is; pass the whole "
                         "folder of a release. " SUPPORTED,
                         shorten(folder).text);
    if (kind == LCSM_FILE_RWKV_CPP || kind == LCSM_FILE_GGUF)
        return lcsm_fail(err, LCSM_ERR_IO, "%s has no config.json; pass the %s file in it",
                         shorten(folder).text, kind == LCSM_FILE_GGUF ? "GGUF" : "rwkv.cpp");
    return lcsm_import_check_file(&kind, file, err);
}

/* ---- models ----------------------------------------------------------------------------- */

lcsm_status lcsm_import_unsupported(const char *place, const char *key, const char *value,
                                    lcsm_error *err)
{
    if (value == NULL)
        return lcsm_fail(err, LCSM_ERR_FORMAT,
                         "%s has neither architectures nor model_type, and is not a config of the "
                         "original Mamba. " SUPPORTED,
                         shorten(place).text);
    return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: %s \"%.40s\" is not supported. " SUPPORTED,
                     shorten(place).text, key, value);
}

/* Later versions of RWKV share names and, in old configs, the architecture. */
lcsm_status lcsm_import_check_rwkv4(const lcsm_import_source *src, lcsm_error *err)
{
    size_t family = SIZE_MAX;
    for (size_t j = 0; j < src->count; j++) {
        size_t found = lcsm_tensor_family(src->list[j].name);
        if (found < family) family = found;
    }
    const char *model = lcsm_tensor_family_text(family);
    if (!is_other_rwkv(model)) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_FORMAT,
                     "%s holds an %s model, which is not supported. " SUPPORTED,
                     shorten(src->label).text, model);
}
