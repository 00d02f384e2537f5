/*
 * folder.h - folders: make, list, sync, rename, remove, lock; and paths in them.
 *
 * Every message names the path and what the system said.
 */
#ifndef LCSM_BASE_FOLDER_H
#define LCSM_BASE_FOLDER_H
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* A path that is made by joining pieces, its final zero included, has at most this many bytes. */
enum { LCSM_PATH_MAX = 4096 };

/* folder/name. */
lcsm_status lcsm_path_join(char out[LCSM_PATH_MAX], const char *folder, const char *name,
                           lcsm_error *err);

/* A file name without a folder: not empty, no separator of any system, not "." nor "..". */
bool lcsm_path_is_bare(const char *name);

bool lcsm_path_exists(const char *path);

/* Makes the folder and those above it; fine if it is there. */
lcsm_status lcsm_folder_make(const char *path, lcsm_error *err);

/* What happened in the folder, or in the one that holds path, is on the disk. */
lcsm_status lcsm_folder_sync(const char *path, lcsm_error *err);
lcsm_status lcsm_folder_sync_above(const char *path, lcsm_error *err);

/* The names in a folder in order of their bytes, without "." and "..". {0} is empty. */
typedef struct {
    char **names;
    size_t count;
} lcsm_folder_list;

lcsm_status lcsm_folder_read(lcsm_folder_list *out, const char *path, lcsm_error *err);
void        lcsm_folder_list_free(lcsm_folder_list *list);

/* Renames within one folder, and syncs it. `to` must not be there. */
lcsm_status lcsm_folder_rename(const char *from, const char *to, lcsm_error *err);

/* Removes a folder and the files in it; fine if it is not there. A folder that holds folders
 * stays, as does what a symbolic link points to. */
lcsm_status lcsm_folder_remove(const char *path, lcsm_error *err);

/* One process at a time works in a folder: takes the lock of its file .lock, or *lock is -1 if
 * another has it. It ends with the process and those that inherited it. */
lcsm_status lcsm_folder_lock(int *lock, const char *path, lcsm_error *err);
void        lcsm_folder_unlock(int lock);

#endif
