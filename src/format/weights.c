/* weights.c - a model folder's tensor files, and the index that ties several together. */
#include "format/weights.h"

#include <stdlib.h>
#include <string.h>

#include "base/folder.h"
#include "base/strbuf.h"
#include "format/json_doc.h"

static const char SINGLE[] = "model.safetensors";
static const char INDEX[]  = "model.safetensors.index.json";
static const char ADDED[]  = "adapter.safetensors";

static lcsm_status reserve(lcsm_weights *w, size_t count, const char *folder, lcsm_error *err)
{
    w->shards = calloc(count + 1, sizeof *w->shards); /* one more for what is added */
    if (w->shards != NULL) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_MEMORY, "%s: not enough memory for %zu tensor files", folder,
                     count);
}

static lcsm_status open_shard(lcsm_weights *w, const char *folder, const char *name, unsigned flags,
                              lcsm_error *err)
{
    char path[LCSM_PATH_MAX];
    LCSM_OR_RETURN(lcsm_path_join(path, folder, name, err));
    LCSM_OR_RETURN(lcsm_safetensors_open(&w->shards[w->shard_count], path, flags, err));
    w->count += w->shards[w->shard_count++].count;
    return LCSM_OK;
}

/* The file names of the index, each once, in order of their bytes. */
typedef struct {
    const char **names;
    size_t       count;
} file_list;

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static lcsm_status list_files(file_list *list, const lcsm_json *map, lcsm_error *err)
{
    size_t entries = lcsm_json_count(map), n = 0;
    list->names = calloc(entries + 1, sizeof *list->names);
    if (list->names == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "%s: not enough memory for %zu names",
                         map->doc->label, entries);
    for (lcsm_json m = lcsm_json_first(map); m.value != NULL; m = lcsm_json_next(&m)) {
        lcsm_status st = lcsm_json_get_text(&list->names[n], m, err);
        if (st != LCSM_OK) return st;
        if (!lcsm_path_is_bare(list->names[n++]))
            return lcsm_json_fail(&m, err, "a file name without a folder");
    }
    if (n > 1) qsort(list->names, n, sizeof *list->names, by_bytes);
    for (size_t j = 0; j < n; j++)
        if (j == 0 || strcmp(list->names[j - 1], list->names[j]) != 0)
            list->names[list->count++] = list->names[j];
    if (list->count > LCSM_WEIGHTS_SHARDS)
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: %zu files; expected at most %d",
                         map->doc->label, list->count, LCSM_WEIGHTS_SHARDS);
    return LCSM_OK;
}

/* Every tensor that the index lists is in the file it names. */
static lcsm_status check_listed(const lcsm_weights *w, const file_list *list, const lcsm_json *map,
                                lcsm_error *err)
{
    for (lcsm_json m = lcsm_json_first(map); m.value != NULL; m = lcsm_json_next(&m)) {
        lcsm_named_tensor t;
        const char       *name  = json_string_value(m.value);
        const char      **found = bsearch(&name, list->names, list->count, sizeof name, by_bytes);
        if (!lcsm_safetensors_find(&t, &w->shards[found - list->names], m.key))
            return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: %.80s is not in %.80s", map->doc->label,
                             m.key, name);
    }
    return LCSM_OK;
}

/* Every tensor of a file is listed for it. */
static lcsm_status check_present(const lcsm_weights *w, const file_list *list, const lcsm_json *map,
                                 lcsm_error *err)
{
    for (size_t j = 0; j < w->shard_count; j++)
        for (size_t k = 0; k < w->shards[j].count; k++) {
            const char *name   = w->shards[j].rows[k].name;
            const char *listed = json_string_value(json_object_get(map->value, name));
            if (listed == NULL || strcmp(listed, list->names[j]) != 0)
                return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: %.80s of %.80s is not listed for it",
                                 map->doc->label, name, list->names[j]);
        }
    return LCSM_OK;
}

/* metadata.total_size counts the bytes of all tensors; a wrong one does no harm. */
static lcsm_status check_total(lcsm_weights *w, const lcsm_json *root, lcsm_error *err)
{
    lcsm_json extra = {0};
    size_t    total = 0, says = SIZE_MAX;
    for (size_t j = 0; j < w->shard_count; j++) total += w->shards[j].buffer_size;
    LCSM_OR_RETURN(lcsm_json_get_object(&extra, lcsm_json_may(root, "metadata"), err));
    if (extra.value == NULL) return LCSM_OK;
    LCSM_OR_RETURN(
        lcsm_json_get_size(&says, lcsm_json_may(&extra, "total_size"), 0, SIZE_MAX, err));
    if (says != SIZE_MAX && says != total)
        (void)lcsm_fail(&w->warning, LCSM_ERR_FORMAT,
                        "%s: metadata.total_size is %zu, but the tensors have %zu bytes",
                        root->doc->label, says, total);
    return LCSM_OK;
}

static lcsm_status open_indexed(lcsm_weights *w, const char *folder, const char *index,
                                unsigned flags, lcsm_error *err)
{
    lcsm_status   st   = LCSM_OK;
    lcsm_json_doc doc  = {0};
    file_list     list = {0};
    lcsm_json     map;
    LCSM_TRY(lcsm_json_doc_read(&doc, index, LCSM_JSON_LARGE_SIZE, err));
    lcsm_json root = lcsm_json_root(&doc);
    LCSM_TRY(lcsm_json_get_object(&map, lcsm_json_need(&root, "weight_map"), err));
    LCSM_TRY(list_files(&list, &map, err));
    LCSM_TRY(reserve(w, list.count, folder, err));
    for (size_t j = 0; j < list.count; j++)
        LCSM_TRY(open_shard(w, folder, list.names[j], flags, err));
    LCSM_TRY(check_listed(w, &list, &map, err));
    LCSM_TRY(check_present(w, &list, &map, err));
    LCSM_TRY(check_total(w, &root, err));
cleanup:
    free(list.names);
    lcsm_json_doc_free(&doc);
    return lcsm_file_fault(st, err);
}

/* Weights of PyTorch, which the folder may have instead. */
static const char *const PICKLES[] = {"pytorch_model.bin", "pytorch_model.bin.index.json"};

static bool has(const char *folder, const char *name)
{
    char path[LCSM_PATH_MAX];
    return lcsm_path_join(path, folder, name, NULL) == LCSM_OK && lcsm_path_exists(path);
}

/* What to say about a folder that has neither file. A long path is shown by its end. */
static lcsm_status nothing_there(const char *folder, lcsm_error *err)
{
    enum { SHOWN = 20 };
    size_t      n   = strlen(folder);
    const char *end = n > SHOWN ? folder + n - SHOWN : folder;
    for (size_t j = 0; j < COUNT(PICKLES); j++)
        if (has(folder, PICKLES[j]))
            return lcsm_fail(err, LCSM_ERR_FORMAT,
                             "%s%s has PyTorch files; lcsm import makes a run folder of them",
                             n > SHOWN ? "..." : "", end);
    return lcsm_fail(err, LCSM_ERR_IO, "%s has neither %s nor %s", folder, SINGLE, INDEX);
}

/* No tensor is in two files. */
static lcsm_status open_added(lcsm_weights *w, const char *folder, unsigned flags, lcsm_error *err)
{
    lcsm_named_tensor t;
    if (!has(folder, ADDED)) return LCSM_OK;
    LCSM_OR_RETURN(open_shard(w, folder, ADDED, flags, err));
    const lcsm_safetensors *added = &w->shards[w->shard_count - 1];
    for (size_t k = 0; k < added->count; k++)
        for (size_t j = 0; j + 1 < w->shard_count; j++)
            if (lcsm_safetensors_find(&t, &w->shards[j], added->rows[k].name))
                return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: %.80s is in %s too", added->label,
                                 t.name, w->shards[j].label);
    return LCSM_OK;
}

lcsm_status lcsm_weights_open(lcsm_weights *out, const char *folder, unsigned flags,
                              lcsm_error *err)
{
    return lcsm_weights_open_both(out, folder, folder, flags, err);
}

lcsm_status lcsm_weights_open_both(lcsm_weights *out, const char *folder, const char *added,
                                   unsigned flags, lcsm_error *err)
{
    lcsm_status  st = LCSM_OK;
    lcsm_weights w  = {0};
    char         single[LCSM_PATH_MAX], index[LCSM_PATH_MAX];
    *out = (lcsm_weights){0};
    LCSM_TRY(lcsm_path_join(single, folder, SINGLE, err));
    LCSM_TRY(lcsm_path_join(index, folder, INDEX, err));
    if (lcsm_path_exists(single)) {
        LCSM_TRY(reserve(&w, 1, folder, err));
        LCSM_TRY(open_shard(&w, folder, SINGLE, flags, err));
    } else if (lcsm_path_exists(index)) {
        LCSM_TRY(open_indexed(&w, folder, index, flags, err));
    } else {
        st = nothing_there(folder, err);
        goto cleanup;
    }
    LCSM_TRY(open_added(&w, added, flags, err));
    *out = w;
    w    = (lcsm_weights){0};
cleanup:
    lcsm_weights_close(&w);
    return st;
}

void lcsm_weights_close(lcsm_weights *w)
{
    for (size_t j = 0; j < w->shard_count; j++) lcsm_safetensors_close(&w->shards[j]);
    free(w->shards);
    *w = (lcsm_weights){0};
}

lcsm_named_tensor lcsm_weights_at(const lcsm_weights *w, size_t row)
{
    size_t j = 0;
    for (; row >= w->shards[j].count; j++) row -= w->shards[j].count;
    return lcsm_safetensors_at(&w->shards[j], row);
}

bool lcsm_weights_find(lcsm_named_tensor *out, const lcsm_weights *w, const char *name)
{
    for (size_t j = 0; j < w->shard_count; j++)
        if (lcsm_safetensors_find(out, &w->shards[j], name)) return true;
    return false;
}

lcsm_status lcsm_weights_sha256(char text[LCSM_SHA256_TEXT], const lcsm_weights *w, lcsm_error *err)
{
    lcsm_strbuf all = {0};
    for (size_t j = 0; j < w->count; j++) {
        lcsm_named_tensor t = lcsm_weights_at(w, j);
        size_t            count, bytes = 0;
        (void)lcsm_named_tensor_measure(&t, &count, &bytes);
        lcsm_sha256(text, t.data, bytes);
        lcsm_strbuf_printf(&all, "%s %s\n", t.name, text);
    }
    bool ok = !all.failed;
    lcsm_sha256(text, lcsm_strbuf_text(&all), ok ? all.size : 0);
    lcsm_strbuf_free(&all);
    return ok ? LCSM_OK
              : lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a model's checksum");
}

lcsm_status lcsm_weights_check_finite(const lcsm_weights *w, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    for (size_t j = 0; j < w->shard_count && st == LCSM_OK; j++)
        st = lcsm_safetensors_check_finite(&w->shards[j], err);
    return st;
}
