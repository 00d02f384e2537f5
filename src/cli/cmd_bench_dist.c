/* cmd_bench_dist.c - lcsm bench dist: what messages between ranks cost. */
#include <lcsm/dist.h>

#include "cli.h"

static const char HELP[] =
    "lcsm bench dist - latency and bandwidth between the ranks of an MPI program\n"
    "\n"
    "usage: mpirun -n N lcsm bench dist [--bytes B] [--json]\n"
    "\n"
    "Measures what a step of training on several ranks is made of: a short message and a long one\n"
    "between rank 0 and the rank that is slowest to reach, a vote of all ranks, and the exchange\n"
    "of a block of which every rank has an equal part. Each is the best of three rounds.\n"
    "docs/many-machines.md has the time of a step that follows from these.\n"
    "\n"
    "  --bytes B         size of the long message and of the block (default: 8388608)\n"
    "  --json            {\"ranks\", \"latency\", \"bandwidth\", \"vote\", \"spread\"}: seconds, "
    "and\n"
    "                    bytes per second\n"
    "\n"
    "  mpirun --hostfile hosts -n 8 --map-by node lcsm bench dist\n";

static void show(const lcsm_dist *dist, const lcsm_dist_speed *s, bool json)
{
    if (json) {
        printf("{\"ranks\": %d, \"latency\": %.9g, \"bandwidth\": %.9g, \"vote\": %.9g, "
               "\"spread\": %.9g}\n",
               lcsm_dist_size(dist), s->latency, s->bandwidth, s->vote, s->spread);
        return;
    }
    printf("%s\n", lcsm_dist_text(dist));
    printf("latency    %9.2f us    a message of 8 bytes, one way\n", 1e6 * s->latency);
    printf("bandwidth  %9.3f GB/s  a long message, one way\n", 1e-9 * s->bandwidth);
    printf("vote       %9.2f us    64 bytes of every rank to every rank\n", 1e6 * s->vote);
    printf("spread     %9.3f GB/s  received by each rank in an exchange of all\n",
           1e-9 * s->spread);
}

static int measure(lcsm_dist *dist, int bytes, bool json)
{
    lcsm_dist_speed speed = {.size = sizeof speed};
    lcsm_error      err   = {0};
    lcsm_status     st    = lcsm_dist_measure(dist, (size_t)bytes, &speed, &err);
    if (st != LCSM_OK && lcsm_dist_rank(dist) == 0) return cli_report("bench dist", &err);
    if (st == LCSM_OK && lcsm_dist_rank(dist) == 0) show(dist, &speed, json);
    return st == LCSM_OK ? EXIT_OK : EXIT_USAGE;
}

int cmd_bench_dist(int argc, char **argv)
{
    bool             help = false, json = false;
    int              bytes = 1 << 23, words;
    lcsm_dist       *dist  = NULL;
    lcsm_error       err;
    const cli_option options[] = {{"--help", CLI_FLAG, &help, 0, 0},
                                  {"--json", CLI_FLAG, &json, 0, 0},
                                  {"--bytes", CLI_COUNT, &bytes, 64, 1 << 30},
                                  {NULL, CLI_FLAG, NULL, 0, 0}};
    if (!cli_parse(argc, argv, options, &words) || !cli_no_words("bench dist", argv, words))
        return EXIT_USAGE;
    if (help) {
        fputs(HELP, stdout);
        return EXIT_OK;
    }
    if (lcsm_dist_open(&dist, NULL, &err) != LCSM_OK) return cli_report("bench dist", &err);
    int code = measure(dist, bytes, json);
    lcsm_dist_close(dist, code == EXIT_OK ? LCSM_OK : LCSM_ERR_ARGUMENT);
    return code;
}
