/* cli_chat.h - a conversation: its messages, and what of their text the model has read. */
#ifndef CLI_CHAT_H
#define CLI_CHAT_H
#include <lcsm/chat.h>
#include <stdbool.h>

/* {0} has no template and may be closed. */
typedef struct {
    lcsm_chat         *chat;
    lcsm_chat_message *messages;
    size_t             count;
    char              *read; /* what the model has read, ended by a zero */
    char              *text; /* of the messages */
} cli_chat;

/* The template of a run folder; system may be NULL. */
lcsm_status cli_chat_open(cli_chat *c, const char *folder, const char *system, lcsm_error *err);
void        cli_chat_close(cli_chat *c);

/* Adds a message of the user. *more is what the model is still to read; *again: from its first
 * memory on, because the template does not simply go on. */
lcsm_status cli_chat_ask(cli_chat *c, const char *message, size_t size, const char **more,
                         bool *again, lcsm_error *err);

/* Adds what the model said. `ended`: the model has read the token that ends a reply, too. */
lcsm_status cli_chat_reply(cli_chat *c, const char *text, size_t size, bool ended, lcsm_error *err);

#endif
