/* chat.c - the template of a folder, and messages through it. */
#include <lcsm/chat.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/sized.h"
#include "format/json_doc.h"
#include "text/jinja.h"

#define TEMPLATE_FILE "chat_template.jinja"
#define CONFIG_FILE   "tokenizer_config.json"

struct lcsm_chat {
    lcsm_jinja template;
    json_t *variables; /* an object */
};

void lcsm_chat_free(lcsm_chat *chat)
{
    if (chat == NULL) return;
    lcsm_jinja_free(&chat->template);
    json_decref(chat->variables);
    free(chat);
}

const char *lcsm_chat_end(const lcsm_chat *chat)
{
    const char *text = json_string_value(json_object_get(chat->variables, "eos_token"));
    return text != NULL ? text : "";
}

/* More variables from an object in JSON. */
static lcsm_status add_variables(json_t *to, const char *text, lcsm_error *err)
{
    lcsm_json_doc doc = {0};
    lcsm_status   st;
    if (text == NULL) return LCSM_OK;
    LCSM_TRY(lcsm_json_doc_parse(&doc, "the variables of a chat", text, strlen(text), err));
    lcsm_json root = lcsm_json_root(&doc);
    if (!json_is_object(doc.root)) LCSM_TRY(lcsm_json_fail(&root, err, "an object"));
    if (json_object_update(to, doc.root) != 0)
        LCSM_TRY(lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for variables"));
cleanup:
    lcsm_json_doc_free(&doc);
    return st;
}

static lcsm_status create(lcsm_chat **out, const char *label, const char *source, size_t size,
                          lcsm_error *err)
{
    lcsm_status st;
    *out = calloc(1, sizeof **out);
    if (*out != NULL) (*out)->variables = json_object();
    if (*out == NULL || (*out)->variables == NULL)
        LCSM_TRY(lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a chat template"));
    LCSM_TRY(lcsm_jinja_parse(&(*out)->template, label, source, size, err));
cleanup:
    if (st == LCSM_OK) return st;
    lcsm_chat_free(*out);
    *out = NULL;
    return st;
}

lcsm_status lcsm_chat_create(lcsm_chat **out, const char *source, size_t size,
                             const char *variables, lcsm_error *err)
{
    LCSM_OR_RETURN(create(out, "chat template", source, size, err));
    lcsm_status st = add_variables((*out)->variables, variables, err);
    if (st == LCSM_OK) return st;
    lcsm_chat_free(*out);
    *out = NULL;
    return st;
}

/* ---- folders ---------------------------------------------------------------------------- */

/* "<s>", or {"content": "<s>"}; NULL: neither. */
static json_t *token_text(json_t *v)
{
    if (json_is_object(v)) v = json_object_get(v, "content");
    return json_is_string(v) ? v : NULL;
}

/* The special tokens that templates may name. */
static void take_tokens(json_t *to, const json_t *config)
{
    static const char *const NAMES[] = {"bos_token", "eos_token", "unk_token", "pad_token",
                                        "sep_token", "cls_token", "mask_token"};
    for (size_t j = 0; j < COUNT(NAMES); j++) {
        json_t *text = token_text(json_object_get(config, NAMES[j]));
        if (text != NULL) (void)json_object_set(to, NAMES[j], text);
    }
}

/* A text, or of a list of named ones that which is named "default". */
static const json_t *template_of(const json_t *config)
{
    const json_t *v = json_object_get(config, "chat_template");
    json_t       *item;
    size_t        at;
    json_array_foreach(v, at, item)
    {
        const char *name = json_string_value(json_object_get(item, "name"));
        if (name != NULL && strcmp(name, "default") == 0) return json_object_get(item, "template");
    }
    return v;
}

/* From the file of its own, if there is one, or from the config. */
static lcsm_status open_template(lcsm_chat **out, const char *folder, const char *config_path,
                                 const json_t *config, lcsm_error *err)
{
    char          path[LCSM_PATH_MAX];
    lcsm_file     file = {0};
    lcsm_status   st;
    const json_t *text = template_of(config);
    LCSM_OR_RETURN(lcsm_path_join(path, folder, TEMPLATE_FILE, err));
    if (lcsm_path_exists(path)) {
        LCSM_OR_RETURN(lcsm_file_read(&file, path, LCSM_JINJA_SOURCE, err));
        st = create(out, path, (const char *)file.data, file.size, err);
        lcsm_file_close(&file);
        return st;
    }
    if (!json_is_string(text))
        return lcsm_fail(err, LCSM_ERR_IO,
                         "%.150s has no chat template: neither " TEMPLATE_FILE
                         " nor chat_template in " CONFIG_FILE,
                         folder);
    return create(out, config_path, json_string_value(text), json_string_length(text), err);
}

lcsm_status lcsm_chat_load(lcsm_chat **out, const char *folder, lcsm_error *err)
{
    char          path[LCSM_PATH_MAX];
    lcsm_json_doc doc = {0};
    lcsm_status   st;
    *out = NULL;
    LCSM_TRY(lcsm_path_join(path, folder, CONFIG_FILE, err));
    if (lcsm_path_exists(path)) LCSM_TRY(lcsm_json_doc_read(&doc, path, LCSM_JSON_LARGE_SIZE, err));
    LCSM_TRY(open_template(out, folder, path, doc.root, err));
    take_tokens((*out)->variables, doc.root);
cleanup:
    lcsm_json_doc_free(&doc);
    return st;
}

/* ---- messages --------------------------------------------------------------------------- */

static lcsm_status add_messages(json_t *to, const lcsm_chat_message *messages, size_t count,
                                lcsm_error *err)
{
    json_t *list = json_array();
    if (json_object_set_new(to, "messages", list) != 0)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for messages");
    for (size_t j = 0; j < count; j++) {
        json_t *one =
            json_pack("{s:s, s:s}", "role", messages[j].role, "content", messages[j].content);
        if (one == NULL || json_array_append_new(list, one) != 0)
            return lcsm_fail(err, LCSM_ERR_ARGUMENT, "message %zu has no role and content in UTF-8",
                             j);
    }
    return LCSM_OK;
}

lcsm_status lcsm_chat_render(const lcsm_chat *chat, const lcsm_chat_message *messages, size_t count,
                             const lcsm_chat_options *options, char **text, size_t *size,
                             lcsm_error *err)
{
    lcsm_status       st;
    lcsm_strbuf       out = {0};
    lcsm_chat_options own;
    json_t           *all = json_copy(chat->variables);
    *text                 = NULL;
    *size                 = 0;
    LCSM_TRY(LCSM_TAKE(lcsm_chat_options, no_reply, &own, options, err));
    if (all == NULL) LCSM_TRY(lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for messages"));
    LCSM_TRY(add_variables(all, own.variables, err));
    LCSM_TRY(add_messages(all, messages, count, err));
    (void)json_object_set_new(all, "add_generation_prompt", json_boolean(!own.no_reply));
    lcsm_strbuf_add(&out, "");
    LCSM_TRY(lcsm_jinja_render(&chat->template, all, &out, err));
    if (out.failed) LCSM_TRY(lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a text"));
    *text = out.text;
    *size = out.size;
    out   = (lcsm_strbuf){0};
cleanup:
    lcsm_strbuf_free(&out);
    json_decref(all);
    return st;
}
