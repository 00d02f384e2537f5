/* command.c - commands as words and as lines, and what two of them differ in. */
#include "experiment/command.h"

#include <stdlib.h>
#include <string.h>

#include "base/shell.h"

void lcsm_command_add(lcsm_command *c, const char *word)
{
    char **words = realloc(c->words, (c->count + 2) * sizeof *words);
    char  *copy  = strdup(word);
    if (words != NULL) c->words = words;
    if (words == NULL || copy == NULL) {
        free(copy);
        c->failed = true;
        return;
    }
    c->words[c->count++] = copy;
    c->words[c->count]   = NULL;
}

void lcsm_command_add_pair(lcsm_command *c, const char *flag, const char *value)
{
    lcsm_command_add(c, flag);
    lcsm_command_add(c, value);
}

void lcsm_command_free(lcsm_command *c)
{
    for (size_t j = 0; j < c->count; j++) free(c->words[j]);
    free(c->words);
    *c = (lcsm_command){0};
}

/* ---- lines --------------------------------------------------------------------------------- */

void lcsm_command_put(lcsm_strbuf *out, const lcsm_command *c)
{
    for (size_t j = 0; j < c->count; j++) {
        if (j > 0) lcsm_strbuf_add(out, " ");
        lcsm_put_shell(out, c->words[j]);
    }
    if (c->failed) out->failed = true;
}

/* One word, without its quotes: what lcsm_put_shell can have written. Returns what follows. */
static const char *take_word(lcsm_strbuf *word, const char *line)
{
    bool quoted = false;
    for (; *line != '\0' && (quoted || *line != ' '); line++) {
        if (*line == '\'') quoted = !quoted;
        else if (*line == '\\' && !quoted && line[1] != '\0') lcsm_strbuf_bytes(word, ++line, 1);
        else lcsm_strbuf_bytes(word, line, 1);
    }
    return line;
}

lcsm_command lcsm_command_split(const char *line)
{
    lcsm_command c = {0};
    while (*line != '\0') {
        lcsm_strbuf word = {0};
        line             = take_word(&word, line);
        lcsm_command_add(&c, lcsm_strbuf_text(&word));
        c.failed = c.failed || word.failed;
        lcsm_strbuf_free(&word);
        line += strspn(line, " ");
    }
    return c;
}

/* ---- differences --------------------------------------------------------------------------- */

enum { FIRST_FLAG = 2 /* behind `lcsm VERB` */ };

/* How often the flag stands before a word. */
static size_t count_before(const lcsm_command *c, const char *flag, size_t word)
{
    size_t count = 0;
    for (size_t j = FIRST_FLAG; j < word; j += 2) count += strcmp(c->words[j], flag) == 0;
    return count;
}

/* The value where the flag stands once more than `before` times, or NULL. */
static const char *value_of(const lcsm_command *c, const char *flag, size_t before)
{
    for (size_t j = FIRST_FLAG; j + 1 < c->count; j += 2)
        if (strcmp(c->words[j], flag) == 0 && before-- == 0) return c->words[j + 1];
    return NULL;
}

/* The first flag of `a` that `b` does not have so. */
static bool find_change(const char **flag, const char **in_a, const char **in_b,
                        const lcsm_command *a, const lcsm_command *b)
{
    for (size_t j = FIRST_FLAG; j + 1 < a->count; j += 2) {
        *flag = a->words[j];
        *in_a = a->words[j + 1];
        *in_b = value_of(b, *flag, count_before(a, *flag, j));
        if (*in_b == NULL || strcmp(*in_a, *in_b) != 0) return true;
    }
    return false;
}

bool lcsm_command_differs(lcsm_command_change *out, const lcsm_command *before,
                          const lcsm_command *now)
{
    return find_change(&out->flag, &out->now, &out->before, now, before)
        || find_change(&out->flag, &out->before, &out->now, before, now);
}
