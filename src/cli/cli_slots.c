/* cli_slots.c - lcsm bench decode --slots: several sequences side by side. */
#include <jansson.h>
#include <string.h>

#include "cli_slots.h"

/* The next number of "1,8,32", and the place behind it; 0: not such a list. */
static size_t next_count(const char **list)
{
    char         *end;
    unsigned long n = strtoul(*list, &end, 10);
    if (end == *list || **list < '0' || **list > '9' || n > 65536) return 0;
    if (*end != ',' && *end != '\0') return 0;
    *list = *end == ',' ? end + 1 : end;
    return n;
}

bool cli_slots_valid(const char *list)
{
    if (*list == '\0') return false;
    while (*list != '\0')
        if (next_count(&list) == 0) return false;
    return true;
}

static void print_row(const lcsm_bench_slots *r, bool first)
{
    if (first)
        printf("\nthreads   slots   tok/s of all   of one alone   times one   bound tok/s   of "
               "bound\n");
    printf("%7d %7zu %14.1f %14.1f %11.2f %13.1f %10.2f\n", r->threads, r->slots, r->rate,
           r->one_rate, r->rate / r->one_rate, r->bound, r->rate / r->bound);
    (void)fflush(stdout);
}

static json_t *to_json(const lcsm_bench_slots *r)
{
    return json_pack("{s:I, s:f, s:f, s:f, s:f}", "slots", (json_int_t)r->slots,
                     "tokens_per_second", r->rate, "one_tokens_per_second", r->one_rate,
                     "times_one", r->rate / r->one_rate, "bound_tokens_per_second", r->bound);
}

lcsm_status cli_slots_bench(const lcsm_model *model, const char *list, double seconds, bool first,
                            json_t *json, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    for (; *list != '\0' && st == LCSM_OK; first = false) {
        lcsm_bench_slots r = {.size = sizeof r};
        st                 = lcsm_bench_slots_model(model, next_count(&list), seconds, &r, err);
        if (st == LCSM_OK && json != NULL) json_array_append_new(json, to_json(&r));
        else if (st == LCSM_OK) print_row(&r, first);
    }
    return st;
}
