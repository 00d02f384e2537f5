/* cli_stdin.c - text from stdin, for the commands that read files: - stands for it. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

static bool fail(const char *command, const char *what)
{
    fprintf(stderr, "lcsm %s: text from stdin: %s: %s\n", command, what, strerror(errno));
    return false;
}

/* All of stdin into the file; a caught signal ends it too. */
static bool copy_stdin(const char *command, int to)
{
    static char piece[1 << 16];
    for (;;) {
        ssize_t got = read(STDIN_FILENO, piece, sizeof piece);
        if (got == 0) return true;
        if (got < 0) return fail(command, "cannot read it");
        for (ssize_t at = 0, put; at < got; at += put) {
            put = write(to, piece + at, (size_t)(got - at));
            if (put < 0) return fail(command, "cannot keep it");
        }
    }
}

/* A file that ends with the program, and the name by which it can be opened again. */
static int open_temporary(char name[64])
{
    const char *folder = getenv("TMPDIR");
    char        path[4096];
    if (snprintf(path, sizeof path, "%s/lcsm-XXXXXX", folder == NULL ? "/tmp" : folder)
        >= (int)sizeof path)
        return -1;
    int fd = mkstemp(path);
    if (fd < 0) return -1;
    (void)unlink(path);
    (void)snprintf(name, 64, "/dev/fd/%d", fd);
    return fd;
}

bool cli_take_stdin(const char *command, const char *keep, const char **paths, size_t count)
{
    static char name[64];
    bool        taken = false;
    for (size_t j = 0; j < count; j++) {
        if (strcmp(paths[j], "-") != 0) continue;
        if (taken) {
            fprintf(stderr, "lcsm %s: - (text from stdin) is given twice\n", command);
            return false;
        }
        if (keep != NULL && !cli_may_write(command, keep, true)) return false;
        int fd = keep == NULL ? open_temporary(name)
                              : open(keep, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (fd < 0) return fail(command, keep == NULL ? "cannot make a temporary file" : keep);
        if (!copy_stdin(command, fd)) return false;
        if (keep != NULL) (void)close(fd);
        paths[j] = keep == NULL ? name : keep;
        taken    = true;
    }
    return true;
}
