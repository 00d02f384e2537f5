/* checkpoint_folder.c - save, list, verify and prune checkpoints. */
#include "format/checkpoint_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/json_doc.h"
#include "format/json_write.h"

static const char MANIFEST[]  = "manifest.json";
static const char FORMAT[]    = "lcsm-checkpoint";
static const char TEMPORARY[] = ".tmp-";
enum { VERSION = 1 };

/* The path of something in checkpoints/. */
static lcsm_status place(char out[LCSM_PATH_MAX], const char *run, const char *name,
                         lcsm_error *err)
{
    char        folder[LCSM_PATH_MAX];
    lcsm_status st = lcsm_path_join(folder, run, LCSM_RUN_CHECKPOINTS, err);
    return st == LCSM_OK ? lcsm_path_join(out, folder, name, err) : st;
}

lcsm_status lcsm_checkpoint_path(char out[LCSM_PATH_MAX], const char *run, const lcsm_checkpoint *c,
                                 const char *name, lcsm_error *err)
{
    char        folder[LCSM_PATH_MAX];
    lcsm_status st = place(folder, run, c->name, err);
    return st == LCSM_OK ? lcsm_path_join(out, folder, name, err) : st;
}

static lcsm_status write_manifest(const char *folder, uint64_t step, const lcsm_run_file *files,
                                  const lcsm_file_sum *sums, size_t count, lcsm_error *err)
{
    lcsm_status      st = LCSM_OK;
    lcsm_json_writer w  = lcsm_json_writer_pretty();
    char             path[LCSM_PATH_MAX];
    lcsm_json_open_object(&w, NULL);
    lcsm_json_put_text(&w, "format", FORMAT);
    lcsm_json_put_int(&w, "version", VERSION);
    lcsm_json_put_size(&w, "step", step);
    lcsm_json_open_array(&w, "files");
    for (size_t j = 0; j < count; j++) {
        lcsm_json_open_object(&w, NULL);
        lcsm_json_put_text(&w, "name", files[j].name);
        lcsm_json_put_size(&w, "size", sums[j].size);
        lcsm_json_put_text(&w, "xxh3_128", sums[j].text);
        lcsm_json_close(&w);
    }
    lcsm_json_close(&w);
    lcsm_json_close(&w);
    LCSM_TRY(lcsm_json_writer_finish(&w, err));
    LCSM_TRY(lcsm_path_join(path, folder, MANIFEST, err));
    LCSM_TRY(lcsm_file_write_atomic(path, w.text.text, w.text.size, err));
cleanup:
    lcsm_json_writer_free(&w);
    return st;
}

/* Fills a new folder and makes it safe on the disk. */
static lcsm_status fill(const char *folder, const char *run, uint64_t step,
                        const lcsm_run_file *files, size_t count, lcsm_error *err)
{
    lcsm_status    st   = LCSM_OK;
    lcsm_file_sum *sums = calloc(count, sizeof *sums);
    if (sums == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for %zu checksums", count);
    LCSM_TRY(lcsm_folder_remove(folder, err));
    LCSM_TRY(lcsm_folder_make(folder, err));
    for (size_t j = 0; j < count; j++)
        LCSM_TRY(lcsm_run_file_write(&sums[j], run, folder, &files[j], err));
    LCSM_TRY(write_manifest(folder, step, files, sums, count, err));
    LCSM_TRY(lcsm_folder_sync(folder, err));
cleanup:
    free(sums);
    return st;
}

/* Gives the folder its name. Whatever had that name steps aside first, comes back if that fails,
 * and otherwise goes last; should it stay, prune will find it. */
static lcsm_status put_in_place(const char *folder, const char *final, lcsm_error *err)
{
    char        old[LCSM_PATH_MAX];
    lcsm_status st     = LCSM_OK;
    bool        taken  = lcsm_path_exists(final);
    int         length = snprintf(old, sizeof old, "%s.old", final);
    if (length < 0 || (size_t)length >= sizeof old)
        return lcsm_fail(err, LCSM_ERR_IO, "the path %.80s... is too long", final);
    if (taken) {
        LCSM_OR_RETURN(lcsm_folder_remove(old, err));
        LCSM_OR_RETURN(lcsm_folder_rename(final, old, err));
    }
    st = lcsm_folder_rename(folder, final, err);
    if (st == LCSM_OK) (void)lcsm_folder_remove(old, NULL);
    else if (taken) (void)lcsm_folder_rename(old, final, NULL);
    return st;
}

/* What can be seen before anything is written. */
static lcsm_status check_files(uint64_t step, const lcsm_run_file *files, size_t count,
                               lcsm_error *err)
{
    if (step > INT64_MAX)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "checkpoint at step %llu; expected less than 2^63",
                         (unsigned long long)step);
    if (count < 1 || count > LCSM_CHECKPOINT_FILES)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "checkpoint with %zu files; expected 1 to %d",
                         count, LCSM_CHECKPOINT_FILES);
    for (size_t j = 0; j < count; j++) {
        bool taken = strcmp(files[j].name, MANIFEST) == 0 || !lcsm_path_is_bare(files[j].name);
        for (size_t k = 0; k < j && !taken; k++) taken = strcmp(files[j].name, files[k].name) == 0;
        if (taken)
            return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                             "\"%.80s\" is not a valid file name in a checkpoint, or is used twice",
                             files[j].name);
    }
    return LCSM_OK;
}

lcsm_status lcsm_checkpoint_save(const char *run, uint64_t step, const lcsm_run_file *files,
                                 size_t count, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    char        name[64], temporary[LCSM_PATH_MAX] = "", final[LCSM_PATH_MAX];
    LCSM_TRY(check_files(step, files, count, err));
    (void)snprintf(name, sizeof name, "step-%08llu", (unsigned long long)step);
    LCSM_TRY(place(final, run, name, err));
    (void)snprintf(name, sizeof name, "%s%llu-%ld", TEMPORARY, (unsigned long long)step,
                   (long)getpid());
    LCSM_TRY(place(temporary, run, name, err));
    LCSM_TRY(fill(temporary, run, step, files, count, err));
    LCSM_TRY(put_in_place(temporary, final, err));
cleanup:
    if (st != LCSM_OK && temporary[0] != '\0') (void)lcsm_folder_remove(temporary, NULL);
    return st;
}

/* "step-00001000" or "step-00001000.old". */
static bool read_name(lcsm_checkpoint *out, const char *name)
{
    static const char PREFIX[] = "step-";
    uint64_t          step     = 0;
    if (strlen(name) >= sizeof out->name || strncmp(name, PREFIX, strlen(PREFIX)) != 0)
        return false;
    const char *p = name + strlen(PREFIX);
    if (*p < '0' || *p > '9') return false;
    for (; *p >= '0' && *p <= '9'; p++) {
        uint64_t digit = (uint64_t)(*p - '0');
        if (step > ((uint64_t)INT64_MAX - digit) / 10) return false;
        step = 10 * step + digit;
    }
    if (*p != '\0' && strcmp(p, ".old") != 0) return false;
    *out = (lcsm_checkpoint){.step = step};
    memcpy(out->name, name, strlen(name) + 1);
    return true;
}

/* Newest first; of one step, the one that replaced the other. */
static int newest_first(const void *a, const void *b)
{
    const lcsm_checkpoint *x = a, *y = b;
    if (x->step != y->step) return x->step > y->step ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* The names in checkpoints/, none if there is no such folder. */
static lcsm_status read_folder(lcsm_folder_list *names, const char *run, lcsm_error *err)
{
    char        folder[LCSM_PATH_MAX];
    lcsm_status st = lcsm_path_join(folder, run, LCSM_RUN_CHECKPOINTS, err);
    *names         = (lcsm_folder_list){0};
    if (st != LCSM_OK || !lcsm_path_exists(folder)) return st;
    return lcsm_folder_read(names, folder, err);
}

/* Sorts the names into checkpoints and others, of which skip is told. */
static lcsm_status sort_out(lcsm_checkpoint_list *out, const lcsm_folder_list *names,
                            lcsm_checkpoint_skip *skip, void *arg, lcsm_error *err)
{
    *out = (lcsm_checkpoint_list){.items = calloc(names->count + 1, sizeof *out->items)};
    if (out->items == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a list of %zu checkpoints",
                         names->count);
    for (size_t j = 0; j < names->count; j++) {
        const char *name        = names->names[j];
        bool        interrupted = strncmp(name, TEMPORARY, strlen(TEMPORARY)) == 0;
        if (read_name(&out->items[out->count], name)) out->count++;
        else if (skip != NULL)
            skip(arg, name, interrupted ? "an interrupted save" : "its name is not step-NUMBER");
    }
    qsort(out->items, out->count, sizeof *out->items, newest_first);
    return LCSM_OK;
}

static lcsm_status read_list(lcsm_checkpoint_list *out, const char *run, lcsm_checkpoint_skip *skip,
                             void *arg, lcsm_error *err)
{
    lcsm_folder_list names;
    *out           = (lcsm_checkpoint_list){0};
    lcsm_status st = read_folder(&names, run, err);
    if (st == LCSM_OK) st = sort_out(out, &names, skip, arg, err);
    lcsm_folder_list_free(&names);
    return st;
}

lcsm_status lcsm_checkpoint_list_read(lcsm_checkpoint_list *out, const char *run, lcsm_error *err)
{
    return read_list(out, run, NULL, NULL, err);
}

void lcsm_checkpoint_list_free(lcsm_checkpoint_list *list)
{
    free(list->items);
    *list = (lcsm_checkpoint_list){0};
}

/* One file of the manifest against the file itself. */
static lcsm_status verify_file(const char *run, const lcsm_checkpoint *c, const lcsm_json *entry,
                               lcsm_error *err)
{
    static const char *const KEYS[] = {"name", "size", "xxh3_128"};
    const char              *name = NULL, *text = NULL;
    size_t                   size = 0;
    lcsm_file_sum            sum;
    char                     path[LCSM_PATH_MAX];
    LCSM_OR_RETURN(lcsm_json_known_keys(entry, KEYS, COUNT(KEYS), err));
    LCSM_OR_RETURN(lcsm_json_get_text(&name, lcsm_json_need(entry, "name"), err));
    LCSM_OR_RETURN(lcsm_json_get_size(&size, lcsm_json_need(entry, "size"), 0, SIZE_MAX, err));
    LCSM_OR_RETURN(lcsm_json_get_text(&text, lcsm_json_need(entry, "xxh3_128"), err));
    if (!lcsm_path_is_bare(name))
        return lcsm_fail(err, LCSM_ERR_FORMAT, "the manifest names \"%.80s\"", name);
    LCSM_OR_RETURN(lcsm_checkpoint_path(path, run, c, name, err));
    LCSM_OR_RETURN(lcsm_file_sum_read(&sum, path, err));
    if (sum.size != size)
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%.80s has %zu bytes; expected %zu", name, sum.size,
                         size);
    if (strcmp(sum.text, text) != 0)
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%.80s has the checksum %s; expected %.40s", name,
                         sum.text, text);
    return LCSM_OK;
}

static lcsm_status verify_manifest(const char *run, const lcsm_checkpoint *c, const lcsm_json *root,
                                   lcsm_error *err)
{
    static const char *const KEYS[]    = {"format", "version", "step", "files"};
    static const char *const FORMATS[] = {FORMAT};
    size_t                   format    = 0;
    int64_t                  version = 0, step = 0;
    lcsm_json                files;
    LCSM_OR_RETURN(lcsm_json_get_choice(&format, lcsm_json_need(root, "format"), FORMATS, 1, err));
    LCSM_OR_RETURN(
        lcsm_json_get_int(&version, lcsm_json_need(root, "version"), VERSION, VERSION, err));
    LCSM_OR_RETURN(lcsm_json_known_keys(root, KEYS, COUNT(KEYS), err));
    LCSM_OR_RETURN(lcsm_json_get_int(&step, lcsm_json_need(root, "step"), (int64_t)c->step,
                                     (int64_t)c->step, err));
    LCSM_OR_RETURN(
        lcsm_json_get_array(&files, lcsm_json_need(root, "files"), 1, LCSM_CHECKPOINT_FILES, err));
    for (size_t j = 0; j < lcsm_json_count(&files); j++) {
        lcsm_json entry = lcsm_json_item(&files, j);
        LCSM_OR_RETURN(lcsm_json_get_object(&entry, entry, err));
        LCSM_OR_RETURN(verify_file(run, c, &entry, err));
    }
    return LCSM_OK;
}

lcsm_status lcsm_checkpoint_verify(const char *run, const lcsm_checkpoint *c, lcsm_error *err)
{
    lcsm_status   st   = LCSM_OK;
    lcsm_file     file = {0};
    lcsm_json_doc doc  = {0};
    char          path[LCSM_PATH_MAX];
    LCSM_TRY(lcsm_checkpoint_path(path, run, c, MANIFEST, err));
    LCSM_TRY(lcsm_file_read(&file, path, LCSM_JSON_CONFIG_SIZE, err));
    LCSM_TRY(lcsm_json_doc_parse(&doc, MANIFEST, (const char *)file.data, file.size, err));
    lcsm_json root = lcsm_json_root(&doc);
    LCSM_TRY(verify_manifest(run, c, &root, err));
cleanup:
    lcsm_json_doc_free(&doc);
    lcsm_file_close(&file);
    return st;
}

lcsm_status lcsm_checkpoint_newest(lcsm_checkpoint *out, const char *run,
                                   lcsm_checkpoint_skip *skip, void *arg, lcsm_error *err)
{
    lcsm_checkpoint_list list;
    *out           = (lcsm_checkpoint){0};
    lcsm_status st = read_list(&list, run, skip, arg, err);
    for (size_t j = 0; j < list.count && out->name[0] == '\0'; j++) {
        lcsm_error why = {0};
        if (lcsm_checkpoint_verify(run, &list.items[j], &why) == LCSM_OK) *out = list.items[j];
        else if (skip != NULL) skip(arg, list.items[j].name, why.text);
    }
    lcsm_checkpoint_list_free(&list);
    return st;
}

/* A folder that is being removed is no checkpoint any more. */
static lcsm_status discard(const char *run, const char *name, lcsm_error *err)
{
    char path[LCSM_PATH_MAX], aside[LCSM_PATH_MAX], hidden[64];
    LCSM_OR_RETURN(place(path, run, name, err));
    (void)snprintf(hidden, sizeof hidden, "%sremoved-%s", TEMPORARY, name);
    LCSM_OR_RETURN(place(aside, run, hidden, err));
    LCSM_OR_RETURN(lcsm_folder_remove(aside, err));
    LCSM_OR_RETURN(lcsm_folder_rename(path, aside, err));
    return lcsm_folder_remove(aside, err);
}

static lcsm_status remove_temporary(const char *run, const lcsm_folder_list *names, lcsm_error *err)
{
    char path[LCSM_PATH_MAX];
    for (size_t j = 0; j < names->count; j++) {
        if (strncmp(names->names[j], TEMPORARY, strlen(TEMPORARY)) != 0) continue;
        LCSM_OR_RETURN(place(path, run, names->names[j], err));
        LCSM_OR_RETURN(lcsm_folder_remove(path, err));
    }
    return LCSM_OK;
}

lcsm_status lcsm_checkpoint_prune(const char *run, size_t keep, lcsm_error *err)
{
    lcsm_status          st   = LCSM_OK;
    lcsm_checkpoint_list list = {0};
    lcsm_folder_list     names;
    LCSM_TRY(read_folder(&names, run, err));
    LCSM_TRY(remove_temporary(run, &names, err));
    LCSM_TRY(sort_out(&list, &names, NULL, NULL, err));
    for (size_t j = keep > 0 ? keep : 1; j < list.count; j++)
        LCSM_TRY(discard(run, list.items[j].name, err));
cleanup:
    lcsm_checkpoint_list_free(&list);
    lcsm_folder_list_free(&names);
    return st;
}
