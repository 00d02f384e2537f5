/* cli_file.c - files that a command is going to write. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

/* Makes the folder and those above it. What goes wrong shows when it is looked at. */
static void make_folders(char *folder)
{
    for (char *slash = folder; (slash = strchr(slash + 1, '/')) != NULL;) {
        *slash = '\0';
        (void)mkdir(folder, 0777);
        *slash = '/';
    }
}

bool cli_may_write(const char *command, const char *path, bool make)
{
    char        folder[4096] = "./";
    const char *slash        = strrchr(path, '/');
    size_t      size         = slash == NULL ? 0 : (size_t)(slash - path) + 1;
    if (size >= sizeof folder) return true; /* whoever opens it says what is wrong */
    if (size > 0) {
        memcpy(folder, path, size);
        folder[size] = '\0';
    }
    if (make) make_folders(folder);
    if (access(folder, W_OK | X_OK) == 0) return true;
    fprintf(stderr, "lcsm %s: cannot write %s: %s: %s\n", command, path, folder, strerror(errno));
    return false;
}
