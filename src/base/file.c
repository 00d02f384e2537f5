/* file.c - whole files over POSIX calls; file.h says what is promised. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/size.h"

static lcsm_status fail_io(lcsm_error *err, const char *path, const char *what)
{
    return lcsm_fail(err, LCSM_ERR_IO, "%s: cannot %s: %s", path, what, strerror(errno));
}

static void close_quietly(int fd)
{
    if (fd >= 0) (void)close(fd);
}

/* Opens a regular file for reading and says how long it is. */
static lcsm_status open_regular(int *fd, size_t *size, const char *path, lcsm_error *err)
{
    struct stat info;
    *fd = open(path, O_RDONLY | O_CLOEXEC);
    if (*fd < 0) return fail_io(err, path, "open");
    if (fstat(*fd, &info) != 0) return fail_io(err, path, "look at");
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
        if (got < 0) return fail_io(err, path, "read");
        if (got == 0)
            return lcsm_fail(err, LCSM_ERR_IO, "%s became shorter while it was read", path);
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
        st =
            lcsm_fail(err, LCSM_ERR_IO, "%s has %zu bytes, want at most %zu", path, size, max_size);
        goto cleanup;
    }
    data = malloc(size + 1);
    if (data == NULL) {
        st = lcsm_fail(err, LCSM_ERR_MEMORY, "%s: no room for its %zu bytes", path, size);
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
            st = fail_io(err, path, "map");
            goto cleanup;
        }
        *out = (lcsm_file){.data = data, .size = size, .mapped = true};
    }
cleanup:
    close_quietly(fd);
    return st;
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
        if (put < 0) return fail_io(err, path, "write");
        done += (size_t)put;
    }
    return LCSM_OK;
}

/* Makes the temporary file with its content safe on the disk. */
static lcsm_status write_synced(const char *path, const void *data, size_t size, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    int         fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) return fail_io(err, path, "create");
    LCSM_TRY(write_all(fd, data, size, path, err));
    if (fsync(fd) != 0) st = fail_io(err, path, "sync");
cleanup:
    if (close(fd) != 0 && st == LCSM_OK) st = fail_io(err, path, "close");
    return st;
}

/* A rename is on the disk once the folder is. */
static lcsm_status sync_folder_of(const char *path, lcsm_error *err)
{
    char        folder[PATH_MAX] = ".";
    const char *slash            = strrchr(path, '/');
    if (slash != NULL) {
        size_t length = slash == path ? 1 : (size_t)(slash - path);
        memcpy(folder, path, length);
        folder[length] = '\0';
    }
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return fail_io(err, folder, "open");
    lcsm_status st = fsync(fd) == 0 ? LCSM_OK : fail_io(err, folder, "sync");
    close_quietly(fd);
    return st;
}

lcsm_status lcsm_file_write_atomic(const char *path, const void *data, size_t size, lcsm_error *err)
{
    char temporary[PATH_MAX];
    int  length = snprintf(temporary, sizeof temporary, "%s.tmp.%ld", path, (long)getpid());
    if (length < 0 || (size_t)length >= sizeof temporary)
        return lcsm_fail(err, LCSM_ERR_IO, "the path %.80s... is too long", path);

    lcsm_status st = write_synced(temporary, data, size, err);
    if (st == LCSM_OK && rename(temporary, path) != 0) st = fail_io(err, path, "replace");
    if (st != LCSM_OK) {
        (void)unlink(temporary);
        return st;
    }
    return sync_folder_of(path, err);
}
