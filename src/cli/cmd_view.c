/* cmd_view.c - lcsm view: runs that are under way, in a browser. */
#include "cli_service.h"

static const char HELP[] =
    "lcsm view - watch a run or an experiment in a browser\n"
    "\n"
    "usage: lcsm view RUN|EXPERIMENT [--host H] [--port N] ...\n"
    "\n"
    "Serves a page with the loss, validation, learning rate, gradient norm, speed, time left and "
    "a\n"
    "sample of the newest checkpoint, refreshed while the run trains; for an experiment or a "
    "folder\n"
    "of runs, a table of all. It only reads: training is not disturbed. SIGTERM or Ctrl-C stops "
    "it,\n"
    "with exit code 143 or 130. docs/server.md describes the paths behind the page.\n"
    "\n"
    "  --host H            address to listen on (default: 127.0.0.1, this machine alone)\n"
    "  --port N            port; 0 = any that is free (default: 8081)\n" CLI_SERVICE_HELP
    "  --quiet             no messages on stderr\n"
    "\n"
    "  lcsm train --data book.txt --out runs/book --minutes 30 &\n"
    "  lcsm view runs/book\n"
    "  lcsm view results/tau --port 9000\n";

int cmd_view(int argc, char **argv)
{
    static cli_service s;
    bool               help  = false;
    int                count = 0;
    cli_option         list[CLI_SERVICE_OPTIONS];
    const cli_option   own[] = {{"--help", CLI_FLAG, &help, 0, 0}, {NULL, CLI_FLAG, NULL, 0, 0}};
    cli_service_begin(&s, "view", 8081);
    cli_service_options(list, &s, own);
    if (!cli_parse(argc, argv, list, &count)) return EXIT_USAGE;
    if (help) {
        fputs(HELP, stdout);
        return EXIT_OK;
    }
    const char *wrong = count != 1 ? "expected one folder: lcsm view RUN" : cli_service_wrong(&s);
    if (wrong != NULL) {
        fprintf(stderr, "lcsm view: %s\n", wrong);
        return EXIT_USAGE;
    }
    s.o.view = argv[1];
    if (!lcsm_serve_can_view(argv[1])) {
        fprintf(stderr,
                "lcsm view: %s is neither a run (config.json) nor an experiment "
                "(experiment.json), and no folder in it is a run\n",
                argv[1]);
        return EXIT_INPUT;
    }
    int code = cli_service_key(&s);
    return code == EXIT_OK ? cli_service_run(&s) : code;
}
