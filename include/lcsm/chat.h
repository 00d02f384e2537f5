/*
 * lcsm/chat.h - a conversation as the text that a model was trained on.
 *
 * A model that was trained to talk comes with a template, which says how messages become one text:
 * the file chat_template.jinja, or "chat_template" in tokenizer_config.json. Templates are written
 * in Jinja; what chat templates use of it is supported, anything else is an error that names it
 * and its line. A template can make text and nothing else, in a limited number of steps.
 *
 *     lcsm_chat_load(&chat, "runs/model", err);
 *     lcsm_chat_message m[] = {{"user", "What is a recurrence?"}};
 *     lcsm_chat_render(chat, m, 1, NULL, &text, &size, err);
 *
 * Encode the text with LCSM_ENCODE_SPECIAL and without LCSM_ENCODE_TEMPLATE: it has its special
 * tokens already.
 *
 * Ownership  What _load and _create return, the caller gives to _free, and a text to free().
 *            _free(NULL) is fine.
 * Threads    Many threads may share a const chat.
 * Structs    Options begin with their size, which the caller sets: {.size = sizeof o}.
 *            lcsm_chat_message is a plain value and stays as it is.
 * Errors     A function that can fail returns lcsm_status and, if err is not NULL, says why. On
 *            failure *out is NULL and nothing is left to free.
 */
#ifndef LCSM_CHAT_H
#define LCSM_CHAT_H
#include <lcsm/export.h>
#include <lcsm/status.h>
#include <stdbool.h>
#include <stddef.h>

LCSM_BEGIN_DECLS

typedef struct lcsm_chat lcsm_chat;

/* The template of a run folder. One without is LCSM_ERR_IO. */
LCSM_API lcsm_status lcsm_chat_load(lcsm_chat **out, const char *folder, lcsm_error *err);

/* From a template's text, and an object of JSON with the variables that it may use beside the
 * messages, as {"bos_token": "<s>"}; NULL: none. */
LCSM_API lcsm_status lcsm_chat_create(lcsm_chat **out, const char *source, size_t size,
                                      const char *variables, lcsm_error *err);
LCSM_API void        lcsm_chat_free(lcsm_chat *chat);

/* Both are UTF-8. role is "system", "user", "assistant" or what else the template knows. */
typedef struct {
    const char *role, *content;
} lcsm_chat_message;

/* All zeros but size are the defaults. */
typedef struct {
    size_t      size;      /* sizeof(lcsm_chat_options) */
    const char *variables; /* more of them, as of lcsm_chat_create; NULL: none */
    bool        no_reply;  /* without the beginning of the reply behind the last message */
} lcsm_chat_options;

/* The messages as one text, with a zero byte behind it. options may be NULL. */
LCSM_API lcsm_status lcsm_chat_render(const lcsm_chat *chat, const lcsm_chat_message *messages,
                                      size_t count, const lcsm_chat_options *options, char **text,
                                      size_t *size, lcsm_error *err);

/* The text of the token that ends a reply, as "<|im_end|>"; "" if the folder does not say. */
LCSM_API const char *lcsm_chat_end(const lcsm_chat *chat);

LCSM_END_DECLS
#endif
