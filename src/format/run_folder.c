/* run_folder.c - the files of a run. */
#include "format/run_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/folder.h"
#include "format/json_doc.h"
#include "format/safetensors.h"
#include "format/sha256.h"

lcsm_status lcsm_run_create(const char *run, const char *config, lcsm_error *err)
{
    char path[LCSM_PATH_MAX];
    LCSM_OR_RETURN(lcsm_path_join(path, run, LCSM_RUN_CONFIG, err));
    if (lcsm_path_exists(path))
        return lcsm_fail(err, LCSM_ERR_IO,
                         "%s already exists: resume that run, or use another folder", path);
    LCSM_OR_RETURN(lcsm_path_join(path, run, LCSM_RUN_CHECKPOINTS, err));
    LCSM_OR_RETURN(lcsm_folder_make(path, err));
    LCSM_OR_RETURN(lcsm_run_store(
        run, &(lcsm_run_file){.name = LCSM_RUN_CONFIG, .bytes = config, .size = strlen(config)},
        err));
    return lcsm_folder_sync_above(run, err);
}

lcsm_status lcsm_run_config(char path[LCSM_PATH_MAX], const char *run, lcsm_error *err)
{
    lcsm_status st = lcsm_path_join(path, run, LCSM_RUN_CONFIG, err);
    if (st != LCSM_OK || lcsm_path_exists(path) || (errno != ENOENT && errno != ENOTDIR)) return st;
    return lcsm_fail(err, LCSM_ERR_IO,
                     "%s is not a run folder: it has no " LCSM_RUN_CONFIG
                     "; lcsm train and lcsm import write run folders",
                     run);
}

lcsm_status lcsm_run_store(const char *run, const lcsm_run_file *file, lcsm_error *err)
{
    lcsm_file_sum sum;
    return lcsm_run_file_write(&sum, run, run, file, err);
}

/* The metadata of a tensor file: one pair, or none if the run has no config that can be read. */
static size_t config_pair(lcsm_safetensors_pair *pair, char sum[LCSM_SHA256_TEXT], const char *run)
{
    lcsm_file config = {0};
    char      path[LCSM_PATH_MAX];
    if (lcsm_path_join(path, run, LCSM_RUN_CONFIG, NULL) != LCSM_OK
        || lcsm_file_read(&config, path, LCSM_JSON_CONFIG_SIZE, NULL) != LCSM_OK)
        return 0;
    lcsm_sha256(sum, config.data, config.size);
    lcsm_file_close(&config);
    *pair = (lcsm_safetensors_pair){"lcsm_config_sha256", sum};
    return 1;
}

lcsm_status lcsm_run_file_write(lcsm_file_sum *sum, const char *run, const char *folder,
                                const lcsm_run_file *file, lcsm_error *err)
{
    lcsm_status           st = LCSM_OK;
    lcsm_sum_writer       w  = {0};
    lcsm_safetensors_pair pair;
    char                  path[LCSM_PATH_MAX], config[LCSM_SHA256_TEXT];
    if (!lcsm_path_is_bare(file->name))
        return lcsm_fail(err, LCSM_ERR_ARGUMENT,
                         "\"%.80s\" is not a valid file name in a run folder", file->name);
    LCSM_TRY(lcsm_path_join(path, folder, file->name, err));
    LCSM_TRY(lcsm_sum_writer_open(&w, path, err));
    if (file->tensors != NULL) {
        size_t pairs = config_pair(&pair, config, run);
        LCSM_TRY(lcsm_safetensors_write(lcsm_sum_writer_write, &w, file->tensors, file->count,
                                        &pair, pairs, err));
    } else {
        LCSM_TRY(lcsm_sum_writer_write(&w, file->bytes, file->size, err));
    }
    LCSM_TRY(lcsm_sum_writer_commit(&w, sum, err));
cleanup:
    lcsm_sum_writer_close(&w);
    return st;
}

/* Where the last whole line ends. Lines are far shorter than the piece that is looked at. */
static lcsm_status lines_end(off_t *end, int fd, const char *path, lcsm_error *err)
{
    char        piece[65536];
    struct stat info;
    if (fstat(fd, &info) != 0) return lcsm_fail_io(err, path, "look at");
    off_t   size = (off_t)sizeof piece, at = info.st_size > size ? info.st_size - size : 0;
    ssize_t got = pread(fd, piece, sizeof piece, at);
    if (got < 0) return lcsm_fail_io(err, path, "read");
    while (got > 0 && piece[got - 1] != '\n') got--;
    if (got == 0 && at > 0)
        return lcsm_fail(err, LCSM_ERR_FORMAT, "%s: no line end in its last %zu bytes", path,
                         sizeof piece);
    *end = at + got;
    return LCSM_OK;
}

/* Puts the bytes at *end, which moves on. */
static lcsm_status put_at(off_t *end, int fd, const char *bytes, size_t size, const char *path,
                          lcsm_error *err)
{
    for (size_t done = 0; done < size;) {
        ssize_t put = pwrite(fd, bytes + done, size - done, *end);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return lcsm_fail_io(err, path, "write");
        done += (size_t)put;
        *end += put;
    }
    return LCSM_OK;
}

lcsm_status lcsm_run_append(const char *run, const char *name, const char *line, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    int         fd = -1;
    char        path[LCSM_PATH_MAX];
    off_t       before = 0, end = 0;
    if (strchr(line, '\n') != NULL)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "a line for %s contains a line end", name);
    LCSM_TRY(lcsm_path_join(path, run, name, err));
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0) return lcsm_fail_io(err, path, "open");
    LCSM_TRY(lines_end(&before, fd, path, err));
    end = before;
    st  = put_at(&end, fd, line, strlen(line), path, err);
    if (st == LCSM_OK) st = put_at(&end, fd, "\n", 1, path, err);
    if (ftruncate(fd, st == LCSM_OK ? end : before) != 0 && st == LCSM_OK)
        st = lcsm_fail_io(err, path, "cut");
cleanup:
    if (fd >= 0) (void)close(fd);
    return st;
}
