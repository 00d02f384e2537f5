/* cli_chat.c - messages through the template of a model. */
#include "cli_chat.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static lcsm_status no_memory(lcsm_error *err)
{
    *err = (lcsm_error){LCSM_ERR_MEMORY, "not enough memory for the conversation"};
    return err->status;
}

static char *copy(const char *text, size_t size)
{
    char *made = malloc(size + 1);
    if (made == NULL) return NULL;
    if (size > 0) memcpy(made, text, size);
    made[size] = '\0';
    return made;
}

static lcsm_status add(cli_chat *c, const char *role, const char *text, size_t size,
                       lcsm_error *err)
{
    lcsm_chat_message *more = realloc(c->messages, (c->count + 1) * sizeof *more);
    char              *own  = copy(text, size);
    if (more != NULL) c->messages = more;
    if (more == NULL || own == NULL) {
        free(own);
        return no_memory(err);
    }
    c->messages[c->count++] = (lcsm_chat_message){role, own};
    return LCSM_OK;
}

lcsm_status cli_chat_open(cli_chat *c, const char *folder, const char *system, lcsm_error *err)
{
    lcsm_status st = lcsm_chat_load(&c->chat, folder, err);
    if (st == LCSM_OK && system != NULL) st = add(c, "system", system, strlen(system), err);
    return st;
}

void cli_chat_close(cli_chat *c)
{
    for (size_t j = 0; j < c->count; j++) free((void *)(uintptr_t)c->messages[j].content);
    free(c->messages);
    free(c->read);
    free(c->text);
    lcsm_chat_free(c->chat);
    *c = (cli_chat){0};
}

lcsm_status cli_chat_ask(cli_chat *c, const char *message, size_t size, const char **more,
                         bool *again, lcsm_error *err)
{
    size_t      n;
    char       *text;
    lcsm_status st = add(c, "user", message, size, err);
    if (st == LCSM_OK) st = lcsm_chat_render(c->chat, c->messages, c->count, NULL, &text, &n, err);
    if (st != LCSM_OK) return st;
    free(c->text);
    c->text     = text;
    size_t done = c->read != NULL ? strlen(c->read) : 0;
    *again      = done > 0 && (done > n || memcmp(text, c->read, done) != 0);
    *more       = text + (*again ? 0 : done);
    return LCSM_OK;
}

lcsm_status cli_chat_reply(cli_chat *c, const char *text, size_t size, bool ended, lcsm_error *err)
{
    const char *end = ended ? lcsm_chat_end(c->chat) : "";
    size_t      n = strlen(c->text), more = strlen(end);
    char       *whole = malloc(n + size + more + 1);
    if (whole == NULL) return no_memory(err);
    memcpy(whole, c->text, n);
    if (size > 0) memcpy(whole + n, text, size);
    memcpy(whole + n + size, end, more + 1);
    free(c->read);
    c->read = whole;
    return add(c, "assistant", text, size, err);
}
