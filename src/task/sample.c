/* sample.c - one example of a task in a line: each token, and in braces what is asked there. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "task/task.h"

enum { LONGEST = 64, BYTES = 256 };

/* Settings of rows that generators read, by their name; those that count training are passed over.
 */
static const struct {
    const char *key;
    size_t      place;
    bool        real;
} FIELDS[] = {{"vocab", offsetof(lcsm_task_config, vocab), false},
              {"seq_len", offsetof(lcsm_task_config, length), false},
              {"pairs", offsetof(lcsm_task_config, pairs), false},
              {"items", offsetof(lcsm_task_config, items), false},
              {"updates", offsetof(lcsm_task_config, updates), false},
              {"order", offsetof(lcsm_task_config, order), false},
              {"power", offsetof(lcsm_task_config, power), true},
              {"noise", offsetof(lcsm_task_config, noise), true}};

static void take(lcsm_task_config *cfg, const char *key, const char *value)
{
    for (size_t j = 0; j < COUNT(FIELDS); j++) {
        char   *place  = (char *)cfg + FIELDS[j].place;
        double  real   = strtod(value, NULL);
        int64_t number = (int64_t)real;
        if (strcmp(FIELDS[j].key, key) != 0) continue;
        if (FIELDS[j].real) memcpy(place, &real, sizeof real);
        else memcpy(place, &number, sizeof number);
    }
}

/* "key=value key=value". */
static void take_all(lcsm_task_config *cfg, const char *list)
{
    char key[64], value[64];
    int  read = 0;
    for (; sscanf(list, " %63[^=]=%63s%n", key, value, &read) == 2; list += read)
        take(cfg, key, value);
}

static void put(char *out, size_t size, const char *text)
{
    size_t used = strlen(out);
    (void)snprintf(out + used, size - used, "%s%s", used == 0 ? "" : " ", text);
}

static void put_symbol(char *out, size_t size, const lcsm_task *t, const lcsm_task_config *cfg,
                       int32_t token, bool asked)
{
    char text[LCSM_TASK_SYMBOL], answer[LCSM_TASK_SYMBOL + 2];
    void (*symbol)(const lcsm_task_config *, int32_t, char *) =
        asked && t->answer != NULL ? t->answer : t->symbol;
    if (symbol == NULL) (void)snprintf(text, sizeof text, "%d", (int)token);
    else symbol(cfg, token, text);
    if (strcmp(text, "_") == 0) return; /* padding */
    (void)snprintf(answer, sizeof answer, asked ? "{%s}" : "%s", text);
    put(out, size, answer);
}

bool lcsm_task_sample(const lcsm_task *t, char *out, size_t size, double *chance)
{
    lcsm_task_config cfg = {.vocab = t->vocab, .test = true, .power = 0.01};
    int32_t          x[LONGEST], y[LONGEST];
    out[0] = '\0';
    if (lcsm_task_reads_text(t)) return false;
    if (cfg.vocab == 0) cfg.vocab = BYTES;
    take_all(&cfg, t->standard);
    *chance = t->chance(&cfg);
    take_all(&cfg, t->small);
    if (t->vocab_of != NULL) cfg.vocab = t->vocab_of(&cfg);
    cfg.train_length = cfg.length;
    if (cfg.length > LONGEST || t->check(&cfg, NULL) != LCSM_OK) return false;
    t->example(&cfg, 0, x, y);
    for (int64_t j = 0; j < cfg.length; j++) {
        put_symbol(out, size, t, &cfg, x[j], false);
        if (y[j] != LCSM_TASK_NONE) put_symbol(out, size, t, &cfg, y[j], true);
    }
    return true;
}
