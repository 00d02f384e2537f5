/* process.c - fork, exec, wait. Between fork and exec only calls that signals may interrupt. */
#include "experiment/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

#include "base/folder.h"

enum { NO_PROGRAM = 127 };

static void become(const char *program, char *const *words, int log, pid_t parent)
{
    int in = open("/dev/null", O_RDONLY);
    (void)setpgid(0, 0);
#if defined(__linux__)
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
#endif
    if (getppid() != parent || in < 0 || dup2(in, 0) < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0)
        _exit(NO_PROGRAM);
    (void)execv(program, words);
    static const char text[] = "the program could not be started\n";
    (void)!write(2, text, sizeof text - 1);
    _exit(NO_PROGRAM);
}

/* The file of this program: by its name, which the process then has too, as ps and killall see it.
 * If something else has that name by now, the link leads to what is running, and the process is
 * called exe. */
static const char *this_program(char path[LCSM_PATH_MAX])
{
    static const char self[] = "/proc/self/exe";
    struct stat       running, named;
    ssize_t           n = readlink(self, path, LCSM_PATH_MAX - 1);
    if (n <= 0) return self;
    path[n] = '\0';
    if (stat(self, &running) != 0 || stat(path, &named) != 0) return self;
    return running.st_dev == named.st_dev && running.st_ino == named.st_ino ? path : self;
}

lcsm_status lcsm_process_start(pid_t *out, const char *program, char *const *words, const char *log,
                               lcsm_error *err)
{
    char  path[LCSM_PATH_MAX];
    pid_t parent = getpid();
    int   fd     = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0) return lcsm_fail(err, LCSM_ERR_IO, "%s: cannot open: %s", log, strerror(errno));
    if (program == NULL) program = this_program(path);
    *out = fork();
    if (*out == 0) become(program, words, fd, parent);
    (void)close(fd);
    if (*out < 0)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "cannot start a process for a run: %s",
                         strerror(errno));
    return LCSM_OK;
}

bool lcsm_process_ended(pid_t pid, int *code)
{
    int status;
    if (waitpid(pid, &status, WNOHANG) != pid) return false;
    *code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    return true;
}

void lcsm_process_stop(pid_t pid)
{
    (void)kill(pid, SIGTERM);
}

void lcsm_process_pause(int milliseconds)
{
    struct timespec t = {milliseconds / 1000, milliseconds % 1000 * 1000000L};
    (void)nanosleep(&t, NULL);
}
