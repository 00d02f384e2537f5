/* folder.c - folders over POSIX calls; folder.h says what is promised. */
#include "base/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

lcsm_status lcsm_path_join(char out[LCSM_PATH_MAX], const char *folder, const char *name,
                           lcsm_error *err)
{
    size_t length = strlen(folder);
    if (length == 0)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "the folder of %s is empty; expected a name or .",
                         name);
    const char *slash = folder[length - 1] == '/' ? "" : "/";
    int         n     = snprintf(out, LCSM_PATH_MAX, "%s%s%s", folder, slash, name);
    if (n < 0 || n >= LCSM_PATH_MAX)
        return lcsm_fail(err, LCSM_ERR_IO, "the path %.80s... is too long", folder);
    return LCSM_OK;
}

bool lcsm_path_is_bare(const char *name)
{
    return name[0] != '\0' && strpbrk(name, "/\\") == NULL && strcmp(name, ".") != 0
        && strcmp(name, "..") != 0;
}

bool lcsm_path_exists(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0;
}

static lcsm_status make_one(const char *path, lcsm_error *err)
{
    struct stat info;
    if (mkdir(path, 0777) == 0) return LCSM_OK;
    if (errno != EEXIST) return lcsm_fail_io(err, path, "make");
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode)) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_IO, "%s exists and is not a folder", path);
}

lcsm_status lcsm_folder_make(const char *path, lcsm_error *err)
{
    char        part[LCSM_PATH_MAX];
    lcsm_status st     = LCSM_OK;
    size_t      length = strlen(path);
    if (length == 0 || length >= sizeof part)
        return lcsm_fail(err, LCSM_ERR_IO, "the path of a folder has %zu bytes; expected 1 to %d",
                         length, LCSM_PATH_MAX - 1);
    for (size_t j = 1; j <= length && st == LCSM_OK; j++) {
        bool end = path[j] == '\0' || (path[j] == '/' && path[j - 1] != '/');
        if (!end) continue;
        memcpy(part, path, j);
        part[j] = '\0';
        st      = make_one(part, err);
    }
    return st;
}

lcsm_status lcsm_folder_sync(const char *path, lcsm_error *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return lcsm_fail_io(err, path, "open");
    lcsm_status st = fsync(fd) == 0 ? LCSM_OK : lcsm_fail_io(err, path, "sync");
    (void)close(fd);
    return st;
}

lcsm_status lcsm_folder_sync_above(const char *path, lcsm_error *err)
{
    char        folder[LCSM_PATH_MAX] = ".";
    const char *slash                 = strrchr(path, '/');
    if (slash != NULL) {
        size_t length = slash == path ? 1 : (size_t)(slash - path);
        if (length >= sizeof folder)
            return lcsm_fail(err, LCSM_ERR_IO, "the path %.80s... is too long", path);
        memcpy(folder, path, length);
        folder[length] = '\0';
    }
    return lcsm_folder_sync(folder, err);
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool list_add(lcsm_folder_list *list, size_t *capacity, const char *name)
{
    if (list->count == *capacity) {
        size_t more  = *capacity == 0 ? 16 : 2 * *capacity;
        char **names = realloc(list->names, more * sizeof *names);
        if (names == NULL) return false;
        list->names = names;
        *capacity   = more;
    }
    list->names[list->count] = strdup(name);
    if (list->names[list->count] == NULL) return false;
    list->count++;
    return true;
}

lcsm_status lcsm_folder_read(lcsm_folder_list *out, const char *path, lcsm_error *err)
{
    lcsm_status st       = LCSM_OK;
    size_t      capacity = 0;
    *out                 = (lcsm_folder_list){0};
    DIR *folder          = opendir(path);
    if (folder == NULL) return lcsm_fail_io(err, path, "list");

    for (struct dirent *e = readdir(folder); e != NULL && st == LCSM_OK; e = readdir(folder)) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        if (!list_add(out, &capacity, e->d_name))
            st = lcsm_fail(err, LCSM_ERR_MEMORY, "%s: not enough memory for its list of files",
                           path);
    }
    (void)closedir(folder);
    if (st != LCSM_OK) lcsm_folder_list_free(out);
    if (out->count > 1) qsort(out->names, out->count, sizeof *out->names, by_bytes);
    return st;
}

void lcsm_folder_list_free(lcsm_folder_list *list)
{
    for (size_t j = 0; j < list->count; j++) free(list->names[j]);
    free(list->names);
    *list = (lcsm_folder_list){0};
}

lcsm_status lcsm_folder_rename(const char *from, const char *to, lcsm_error *err)
{
    if (lcsm_path_exists(to)) return lcsm_fail(err, LCSM_ERR_IO, "%s already exists", to);
    if (rename(from, to) != 0) return lcsm_fail_io(err, from, "rename");
    return lcsm_folder_sync_above(to, err);
}

lcsm_status lcsm_folder_remove(const char *path, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    int         fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) return LCSM_OK;
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    if (folder == NULL) {
        st = lcsm_fail_io(err, path, "remove");
        if (fd >= 0) (void)close(fd);
        return st;
    }
    for (struct dirent *e = readdir(folder); e != NULL && st == LCSM_OK; e = readdir(folder)) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        if (unlinkat(fd, e->d_name, 0) != 0) st = lcsm_fail_io(err, path, "remove a file of");
    }
    (void)closedir(folder);
    if (st == LCSM_OK && rmdir(path) != 0) st = lcsm_fail_io(err, path, "remove");
    return st;
}

lcsm_status lcsm_folder_lock(int *lock, const char *path, lcsm_error *err)
{
    char        file[LCSM_PATH_MAX];
    lcsm_status st = lcsm_path_join(file, path, ".lock", err);
    *lock          = -1;
    if (st != LCSM_OK) return st;
    int fd = open(file, O_RDWR | O_CREAT, 0666);
    if (fd < 0) return lcsm_fail_io(err, file, "open");
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) *lock = fd;
    else {
        if (errno != EWOULDBLOCK) st = lcsm_fail_io(err, file, "lock");
        (void)close(fd);
    }
    return st;
}

void lcsm_folder_unlock(int lock)
{
    if (lock >= 0) (void)close(lock);
}
