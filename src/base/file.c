/* file.c - whole files over POSIX calls; file.h says what is promised. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/size.h"

static void close_quietly(int fd)
{
    if (fd >= 0) (void)close(fd);
}

/* Opens a regular file for reading and says how long it is. */
static lcsm_status open_regular(int *fd, size_t *size, const char *path, lcsm_error *err)
{
    struct stat info;
    *fd = open(path, O_RDONLY | O_CLOEXEC);
    if (*fd < 0) return lcsm_fail_io(err, path, "open");
    if (fstat(*fd, &info) != 0) return lcsm_fail_io(err, path, "look at");
    if (!S_ISREG(info.st_mode))
        return lcsm_fail(err, LCSM_ERR_IO, "%s is not a regular file", path);
    if ((uintmax_t)info.st_size >= (uintmax_t)PTRDIFF_MAX)
        return lcsm_fail(err, LCSM_ERR_IO, "%s is too large to address", path);
    *size = (size_t)info.st_size;
    return LCSM_OK;
}

static lcsm_status read_all(int fd, unsigned char *data, size_t size, const char *path,
                            lcsm_error *err)
{
    for (size_t done = 0; done < size;) {
        ssize_t got = read(fd, data + done, size - done);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return lcsm_fail_io(err, path, "read");
        if (got == 0)
            return lcsm_fail(err, LCSM_ERR_IO, "%s became shorter while it was being read", path);
        done += (size_t)got;
    }
    return LCSM_OK;
}

lcsm_status lcsm_file_read(lcsm_file *out, const char *path, size_t max_size, lcsm_error *err)
{
    lcsm_status    st   = LCSM_OK;
    int            fd   = -1;
    size_t         size = 0;
    unsigned char *data = NULL;

    *out = (lcsm_file){0};
    LCSM_TRY(open_regular(&fd, &size, path, err));
    if (size > max_size) {
        st = lcsm_fail(err, LCSM_ERR_IO, "%s has %zu bytes; expected at most %zu", path, size,
                       max_size);
        goto cleanup;
    }
    data = malloc(size + 1);
    if (data == NULL) {
        st = lcsm_fail(err, LCSM_ERR_MEMORY, "%s: not enough memory for its %zu bytes", path, size);
        goto cleanup;
    }
    LCSM_TRY(read_all(fd, data, size, path, err));
    data[size] = 0;

    *out = (lcsm_file){.data = data, .size = size};
    data = NULL;
cleanup:
    free(data);
    close_quietly(fd);
    return st;
}

lcsm_status lcsm_file_map(lcsm_file *out, const char *path, lcsm_error *err)
{
    lcsm_status st   = LCSM_OK;
    int         fd   = -1;
    size_t      size = 0;

    *out = (lcsm_file){0};
    LCSM_TRY(open_regular(&fd, &size, path, err));
    if (size > 0) { /* an empty mapping does not exist; an empty file is fine */
        void *data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data == MAP_FAILED) {
            st = lcsm_fail_io(err, path, "map");
            goto cleanup;
        }
        *out = (lcsm_file){.data = data, .size = size, .mapped = true};
    }
cleanup:
    close_quietly(fd);
    return st;
}

void lcsm_file_release(const lcsm_file *file)
{
    if (file->mapped) (void)madvise((void *)(uintptr_t)file->data, file->size, MADV_DONTNEED);
}

void lcsm_file_release_part(const lcsm_file *file, const void *from, size_t bytes)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)from;
    uintptr_t first = at / page * page;
    if (file->mapped) (void)madvise((void *)first, at + bytes - first, MADV_DONTNEED);
}

void lcsm_file_close(lcsm_file *file)
{
    void *data = (void *)(uintptr_t)file->data;
    if (file->mapped) (void)munmap(data, file->size);
    else free(data);
    *file = (lcsm_file){0};
}

static lcsm_status write_all(int fd, const unsigned char *data, size_t size, const char *path,
                             lcsm_error *err)
{
    for (size_t done = 0; done < size;) {
        ssize_t put = write(fd, data + done, size - done);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return lcsm_fail_io(err, path, "write");
        done += (size_t)put;
    }
    return LCSM_OK;
}

/* Standard output or error if it is this file, or -1. */
static int standard_of(const struct stat *info)
{
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
        struct stat s;
        if (fstat(fd, &s) == 0 && s.st_dev == info->st_dev && s.st_ino == info->st_ino) return fd;
    }
    return -1;
}

/* Through the descriptor that is there, if any: what goes through both stands one after another. */
static lcsm_status open_in_place(lcsm_file_writer *w, const char *path, int standard,
                                 lcsm_error *err)
{
    w->fd = standard >= 0 ? fcntl(standard, F_DUPFD_CLOEXEC, 0)
                          : open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
    if (w->fd < 0) return lcsm_fail_io(err, path, "open");
    w->open = w->in_place = true;
    (void)snprintf(w->path, sizeof w->path, "%s", path); /* messages name it */
    return LCSM_OK;
}

/* The temporary name is no other writer's; one that a process of our number left is passed over. */
static lcsm_status open_beside(lcsm_file_writer *w, const char *path, lcsm_error *err)
{
    static atomic_uint writers;
    do {
        int length = snprintf(w->temporary, sizeof w->temporary, "%s.tmp.%ld.%u", w->path,
                              (long)getpid(), atomic_fetch_add(&writers, 1));
        if (length < 0 || (size_t)length >= sizeof w->temporary)
            return lcsm_fail(err, LCSM_ERR_IO, "the path %.80s... is too long", path);
        w->fd = open(w->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (w->fd < 0 && errno == EEXIST);
    if (w->fd < 0) return lcsm_fail_io(err, path, "create");
    w->open = true;
    return LCSM_OK;
}

/* A file of /dev or /proc that is found elsewhere is one that some process has open. */
static bool is_open_elsewhere(const char *path, const char *whole)
{
    bool named = strncmp(path, "/dev/", 5) == 0 || strncmp(path, "/proc/", 6) == 0;
    return named && strcmp(path, whole) != 0;
}

lcsm_status lcsm_file_writer_open(lcsm_file_writer *w, const char *path, lcsm_error *err)
{
    struct stat info;
    w->fd   = -1;
    w->open = w->in_place = false;
    if (path[0] == '\0')
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "the name of the output file is empty");
    bool  there    = stat(path, &info) == 0;
    int   standard = there ? standard_of(&info) : -1;
    char *whole    = there ? realpath(path, NULL) : NULL;
    int   n        = snprintf(w->path, sizeof w->path, "%s", whole != NULL ? whole : path);
    free(whole);
    if (n < 0 || (size_t)n >= sizeof w->path)
        return lcsm_fail(err, LCSM_ERR_IO, "the path %.80s... is too long", path);
    if (there && (standard >= 0 || !S_ISREG(info.st_mode)))
        return open_in_place(w, path, standard, err);
    if (there && is_open_elsewhere(path, w->path))
        return lcsm_fail(
            err, LCSM_ERR_IO,
            "%s is open for reading by this command and cannot be replaced; write to another file",
            path);
    return open_beside(w, path, err);
}

lcsm_status lcsm_file_writer_write(lcsm_file_writer *w, const void *data, size_t size,
                                   lcsm_error *err)
{
    return write_all(w->fd, data, size, w->path, err);
}

lcsm_status lcsm_file_writer_patch(lcsm_file_writer *w, size_t at, const void *data, size_t size,
                                   lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    off_t       to = (off_t)at;
    if (w->in_place)
        return lcsm_fail(err, LCSM_ERR_IO, "%s is not a regular file, which this format requires",
                         w->path);
    if (lseek(w->fd, to, SEEK_SET) != to) return lcsm_fail_io(err, w->path, "go back in");
    LCSM_OR_RETURN(lcsm_file_writer_write(w, data, size, err));
    if (lseek(w->fd, 0, SEEK_END) < 0) st = lcsm_fail_io(err, w->path, "go to the end of");
    return st;
}

lcsm_status lcsm_file_writer_commit(lcsm_file_writer *w, lcsm_error *err)
{
    bool        synced = w->in_place || fsync(w->fd) == 0;
    lcsm_status st     = synced ? LCSM_OK : lcsm_fail_io(err, w->path, "sync");
    if (close(w->fd) != 0 && st == LCSM_OK) st = lcsm_fail_io(err, w->path, "close");
    w->fd = -1;
    if (w->in_place) return st;
    if (st == LCSM_OK && rename(w->temporary, w->path) != 0)
        st = lcsm_fail_io(err, w->path, "replace");
    if (st != LCSM_OK) return st;
    w->open = false;
    return lcsm_folder_sync_above(w->path, err);
}

void lcsm_file_writer_close(lcsm_file_writer *w)
{
    if (!w->open) return;
    close_quietly(w->fd);
    if (!w->in_place) (void)unlink(w->temporary);
    w->open = false;
}

lcsm_status lcsm_file_write_atomic(const char *path, const void *data, size_t size, lcsm_error *err)
{
    lcsm_file_writer w;
    lcsm_status      st = LCSM_OK;
    LCSM_TRY(lcsm_file_writer_open(&w, path, err));
    LCSM_TRY(lcsm_file_writer_write(&w, data, size, err));
    LCSM_TRY(lcsm_file_writer_commit(&w, err));
cleanup:
    lcsm_file_writer_close(&w);
    return st;
}

/* name.tmp.PID.N of a process that is no more. */
static bool is_left_over(const char *name)
{
    long        pid;
    int         length = 0;
    const char *tail   = strstr(name, ".tmp.");
    for (const char *next = tail; next != NULL; next = strstr(tail + 1, ".tmp.")) tail = next;
    if (tail == NULL || sscanf(tail, ".tmp.%9ld.%*9u%n", &pid, &length) != 1) return false;
    return tail[length] == '\0' && length > 0 && pid > 0 && kill((pid_t)pid, 0) != 0
        && errno == ESRCH;
}

lcsm_status lcsm_file_sweep(const char *folder, lcsm_error *err)
{
    char             path[LCSM_PATH_MAX];
    lcsm_folder_list list;
    lcsm_status      st = lcsm_folder_read(&list, folder, err);
    for (size_t j = 0; j < list.count && st == LCSM_OK; j++) {
        if (!is_left_over(list.names[j])) continue;
        st = lcsm_path_join(path, folder, list.names[j], err);
        if (st == LCSM_OK) (void)unlink(path);
    }
    lcsm_folder_list_free(&list);
    return st;
}
