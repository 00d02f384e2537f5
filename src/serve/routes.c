/*
 * routes.c - which request is answered by what.
 *
 * Before a body is read: is there such a page, may this client ask? A browser that shows the page
 * of a stranger must not reach a server on this machine, so requests whose Origin is another host's
 * are refused, and on a loopback address also those that name another host.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "serve/memory_view.h"
#include "serve/metrics_text.h"
#include "serve/page.h"
#include "serve/server.h"
#include "serve/view.h"

/* id: what stands in the place of the * of the path. */
typedef void route_fn(lcsm_server *s, lcsm_exchange *x, const char *id);

typedef enum { MODELS = 1, VIEW = 2, BOTH = MODELS | VIEW } server_kind;

typedef struct {
    const char *method, *path;
    route_fn   *run;
    bool        open;  /* without a key */
    server_kind kinds; /* of servers that have it */
} route;

static void refuse(lcsm_exchange *x, int http, const char *param, const char *code,
                   const char *text)
{
    lcsm_fault f = {0};
    (void)lcsm_fault_set(&f, http, param, code, "%s", text);
    lcsm_answer_fault(x, &f);
}

/* ---- facts ------------------------------------------------------------------------------ */

static void get_health(lcsm_server *s, lcsm_exchange *x, const char *id)
{
    (void)id;
    lcsm_server_lock(s);
    bool   stopping = s->stopping;
    size_t waiting = s->counters.waiting, running = s->counters.running;
    lcsm_server_unlock(s);
    lcsm_answer_json(x, stopping ? 503 : 200,
                     json_pack("{s:s, s:I, s:I}", "status", stopping ? "stopping" : "ok", "streams",
                               (json_int_t)running, "waiting", (json_int_t)waiting));
}

static void get_page(lcsm_server *s, lcsm_exchange *x, const char *id)
{
    const lcsm_page *page = s->o.view != NULL ? &LCSM_PAGE_VIEW : &LCSM_PAGE_MODELS;
    char             policy[LCSM_PAGE_POLICY];
    (void)id;
    lcsm_page_policy(policy, (const char *)page->bytes);
    x->status = 200;
    x->type   = "text/html; charset=utf-8";
    lcsm_http_answer_header(x, "Content-Security-Policy", "%s", policy);
    lcsm_http_answer_header(x, "Referrer-Policy", "no-referrer");
    lcsm_strbuf_bytes(&x->out, (const char *)page->bytes, page->size);
    x->ended = true;
}

static void get_metrics(lcsm_server *s, lcsm_exchange *x, const char *id)
{
    (void)id;
    x->status = 200;
    x->type   = "text/plain; version=0.0.4; charset=utf-8";
    lcsm_metrics_text(s, &x->out);
    x->ended = true;
}

static json_t *model_json(const lcsm_server *s, const lcsm_serve_model *m)
{
    const lcsm_model_config *cfg        = lcsm_model_config_of(m->model);
    char                     method[64] = "";
    (void)lcsm_model_config_get(cfg, "method", method, sizeof method, NULL);
    return json_pack("{s:s, s:s, s:I, s:s, s:s, s:I, s:I, s:s?}", "id", m->name, "object", "model",
                     "created", (json_int_t)s->started, "owned_by", "lcsm", "method", method,
                     "parameters", (json_int_t)lcsm_model_param_count(m->model), "vocab",
                     (json_int_t)lcsm_model_config_number(cfg, "vocab"), "chat_end",
                     m->chat != NULL ? lcsm_chat_end(m->chat) : NULL);
}

static void get_models(lcsm_server *s, lcsm_exchange *x, const char *id)
{
    json_t *list = json_array();
    (void)id;
    for (size_t j = 0; j < s->o.model_count; j++)
        (void)json_array_append_new(list, model_json(s, &s->o.models[j]));
    lcsm_answer_json(x, 200, json_pack("{s:s, s:o}", "object", "list", "data", list));
}

static void get_model(lcsm_server *s, lcsm_exchange *x, const char *id)
{
    for (size_t j = 0; j < s->o.model_count; j++)
        if (strcmp(s->o.models[j].name, id) == 0) {
            lcsm_answer_json(x, 200, model_json(s, &s->o.models[j]));
            return;
        }
    refuse(x, 404, "model", "model_not_found", "there is no such model; /v1/models lists them");
}

/* Made once; while that takes its time, others are told to come back. */
static void get_memory(lcsm_server *s, lcsm_exchange *x, const char *id)
{
    lcsm_fault fault = {0};
    lcsm_host *h     = NULL;
    json_t    *view  = NULL;
    for (size_t j = 0; j < s->o.model_count; j++)
        if (strcmp(s->o.models[j].name, id) == 0) h = &s->hosts[j];
    if (h == NULL) {
        refuse(x, 404, "model", "model_not_found", "there is no such model; /v1/models lists them");
    } else if (pthread_mutex_trylock(&s->looking) != 0) {
        refuse(x, 503, NULL, "busy", "a model is being looked into: try again in a moment");
    } else {
        if (h->view == NULL) h->view = lcsm_memory_view(h->m, &fault);
        view = json_deep_copy(h->view);
        (void)pthread_mutex_unlock(&s->looking);
        if (fault.http != 0) lcsm_answer_fault(x, &fault);
        else lcsm_answer_json(x, 200, view);
    }
}

/* ---- text ------------------------------------------------------------------------------- */

static void ask(lcsm_server *s, lcsm_exchange *x, lcsm_ask kind)
{
    lcsm_request p     = {0};
    lcsm_fault   fault = {0};
    bool ok = lcsm_request_read(&p, kind, lcsm_strbuf_text(&x->body), x->body.size, &s->o, &fault)
           && lcsm_job_submit(s, x, &p, &fault);
    lcsm_request_free(&p);
    if (!ok) lcsm_answer_fault(x, &fault);
}

static void post_completions(lcsm_server *s, lcsm_exchange *x, const char *id)
{
    (void)id;
    ask(s, x, LCSM_ASK_COMPLETION);
}

static void post_chat(lcsm_server *s, lcsm_exchange *x, const char *id)
{
    (void)id;
    ask(s, x, LCSM_ASK_CHAT);
}

static void post_embeddings(lcsm_server *s, lcsm_exchange *x, const char *id)
{
    (void)id;
    ask(s, x, LCSM_ASK_EMBEDDING);
}

/* A document of a small request with its root, or a fault. */
static bool read_small(lcsm_json_doc *doc, const lcsm_exchange *x, const char *const *known,
                       size_t count, lcsm_fault *fault)
{
    lcsm_error err = {0};
    if (lcsm_json_doc_parse(doc, "request", lcsm_strbuf_text(&x->body), x->body.size, &err)
        != LCSM_OK)
        return lcsm_fault_take(fault, NULL, &err);
    lcsm_json root = lcsm_json_root(doc);
    if (!json_is_object(root.value))
        return lcsm_fault_set(fault, 400, NULL, NULL, "the request is not a JSON object");
    if (lcsm_json_known_keys(&root, known, count, &err) == LCSM_OK) return true;
    return lcsm_fault_take(fault, NULL, &err);
}

static json_t *tokens_json(const lcsm_prompt *p)
{
    json_t *list = json_array();
    for (size_t j = 0; j < p->count; j++)
        (void)json_array_append_new(list, json_integer(p->ids[j]));
    return json_pack("{s:o, s:I}", "tokens", list, "count", (json_int_t)p->count);
}

static bool tokenize(lcsm_server *s, lcsm_exchange *x, const lcsm_json_doc *doc, lcsm_fault *fault)
{
    static const char *const names[] = {"prompt", "content", "text"}; /* as other servers call it */
    lcsm_json                root    = lcsm_json_root(doc);
    const lcsm_serve_model  *m       = lcsm_request_model(&root, &s->o, fault);
    const json_t            *text    = NULL;
    lcsm_prompt              ids     = {0};
    if (m == NULL) return false;
    for (size_t j = 0; text == NULL && j < COUNT(names); j++)
        text = json_object_get(root.value, names[j]);
    if (!json_is_string(text))
        return lcsm_fault_set(fault, 400, "prompt", NULL, "the request has no text \"prompt\"");
    bool ok =
        lcsm_request_encode(&ids, m, json_string_value(text), json_string_length(text), fault);
    if (ok) lcsm_answer_json(x, 200, tokens_json(&ids));
    free(ids.ids);
    return ok;
}

static void post_tokenize(lcsm_server *s, lcsm_exchange *x, const char *id)
{
    static const char *const known[] = {"model", "prompt", "content", "text"};
    lcsm_json_doc            doc     = {0};
    lcsm_fault               fault   = {0};
    (void)id;
    if (!read_small(&doc, x, known, COUNT(known), &fault) || !tokenize(s, x, &doc, &fault))
        lcsm_answer_fault(x, &fault);
    lcsm_json_doc_free(&doc);
}

/* The text of ids: bytes that are no characters become U+FFFD. */
static bool decode(const lcsm_host *h, const json_t *list, lcsm_strbuf *text, lcsm_fault *fault)
{
    lcsm_utf8_stream utf8 = {0};
    char             out[3 * 256 + LCSM_UTF8_REST];
    for (size_t j = 0; j < json_array_size(list); j++) {
        const json_t *v    = json_array_get(list, j);
        json_int_t    id   = json_is_integer(v) ? json_integer_value(v) : -1;
        size_t        size = 0;
        const char   *at   = NULL;
        if (id < 0 || (size_t)id >= h->vocab)
            return lcsm_fault_set(fault, 400, "tokens", NULL,
                                  "item %zu of tokens is not a token id, 0 to %zu", j,
                                  h->vocab - 1);
        at = lcsm_host_piece(h, (int32_t)id, &size);
        for (size_t n; at != NULL && size > 0; at += n, size -= n) {
            n = size < 256 ? size : 256;
            lcsm_strbuf_bytes(text, out, lcsm_utf8_push(&utf8, at, n, out));
        }
    }
    lcsm_strbuf_bytes(text, out, lcsm_utf8_end(&utf8, out));
    return true;
}

static bool detokenize(lcsm_server *s, lcsm_exchange *x, const lcsm_json_doc *doc,
                       lcsm_fault *fault)
{
    lcsm_json               root = lcsm_json_root(doc);
    const lcsm_serve_model *m    = lcsm_request_model(&root, &s->o, fault);
    const json_t           *list = json_object_get(root.value, "tokens");
    lcsm_strbuf             text = {0};
    if (m == NULL) return false;
    if (!json_is_array(list))
        return lcsm_fault_set(fault, 400, "tokens", NULL, "the request has no list \"tokens\"");
    bool ok = decode(&s->hosts[m - s->o.models], list, &text, fault);
    if (ok) {
        json_t *shown = json_stringn(lcsm_strbuf_text(&text), text.size);
        lcsm_answer_json(x, 200, json_pack("{s:O, s:o}", "prompt", shown, "text", shown));
    }
    lcsm_strbuf_free(&text);
    return ok;
}

static void post_detokenize(lcsm_server *s, lcsm_exchange *x, const char *id)
{
    static const char *const known[] = {"model", "tokens"};
    lcsm_json_doc            doc     = {0};
    lcsm_fault               fault   = {0};
    (void)id;
    if (!read_small(&doc, x, known, COUNT(known), &fault) || !detokenize(s, x, &doc, &fault))
        lcsm_answer_fault(x, &fault);
    lcsm_json_doc_free(&doc);
}

/* ---- states ----------------------------------------------------------------------------- */

/* Finds a state whose id is given; with a message otherwise. */
static bool find_state(lcsm_server *s, lcsm_exchange *x, const char *id, lcsm_state_facts *facts,
                       void **bytes)
{
    lcsm_error err = {0};
    if (!lcsm_state_id_is_valid(id)) {
        refuse(x, 400, "id", "invalid_state",
               "not the id of a state: expected state- and 32 hexadecimal digits");
        return false;
    }
    lcsm_status st = lcsm_state_store_get(s->states, id, facts, bytes, &err);
    if (st == LCSM_ERR_ARGUMENT) refuse(x, 404, "id", "state_not_found", err.text);
    else if (st != LCSM_OK) refuse(x, 500, "id", NULL, err.text);
    return st == LCSM_OK;
}

static void get_states(lcsm_server *s, lcsm_exchange *x, const char *id)
{
    (void)id;
    lcsm_answer_json(
        x, 200,
        json_pack("{s:s, s:o}", "object", "list", "data", lcsm_state_store_list(s->states)));
}

static void get_state(lcsm_server *s, lcsm_exchange *x, const char *id)
{
    lcsm_state_facts facts = {0};
    if (!find_state(s, x, id, &facts, NULL)) return;
    free(facts.tokens);
    lcsm_answer_json(x, 200, lcsm_state_json(&facts));
}

static void get_state_content(lcsm_server *s, lcsm_exchange *x, const char *id)
{
    lcsm_state_facts facts = {0};
    void            *bytes = NULL;
    if (!find_state(s, x, id, &facts, &bytes)) return;
    x->status = 200;
    x->type   = "application/octet-stream";
    lcsm_http_answer_header(x, "Content-Disposition", "attachment; filename=\"%s\"", facts.id);
    lcsm_strbuf_bytes(&x->out, bytes, facts.bytes);
    x->ended = true;
    free(facts.tokens);
    free(bytes);
}

static void delete_state(lcsm_server *s, lcsm_exchange *x, const char *id)
{
    lcsm_state_facts facts = {0};
    if (!find_state(s, x, id, &facts, NULL)) return;
    free(facts.tokens);
    (void)lcsm_state_store_drop(s->states, id, NULL);
    lcsm_answer_json(x, 200,
                     json_pack("{s:s, s:s, s:b}", "id", id, "object", "state", "deleted", 1));
}

/* All tokens that a state has read, from those of its parents; f is the state's own facts. */
static bool all_tokens(lcsm_server *s, const lcsm_state_facts *f, int32_t **out, lcsm_fault *fault)
{
    lcsm_state_facts at   = *f;
    size_t           left = (size_t)f->position;
    int32_t         *ids  = f->position <= LCSM_WRITES_MOST ? calloc(left + 1, sizeof *ids) : NULL;
    bool             ok   = ids != NULL && f->tokens != NULL;
    *out                  = ids;
    if (f->position > LCSM_WRITES_MOST)
        return lcsm_fault_set(fault, 400, "id", NULL,
                              "the state has read %llu tokens; expected at "
                              "most %d",
                              (unsigned long long)f->position, LCSM_WRITES_MOST);
    while (ok && at.token_count <= left) {
        left -= at.token_count;
        memcpy(ids + left, at.tokens, at.token_count * sizeof *ids);
        char parent[LCSM_STATE_ID];
        memcpy(parent, at.parent, sizeof parent);
        if (at.tokens != f->tokens) free(at.tokens);
        at.tokens = NULL;
        if (parent[0] == '\0') break;
        ok = lcsm_state_store_get(s->states, parent, &at, NULL, NULL) == LCSM_OK
          && at.tokens != NULL;
    }
    if (at.tokens != f->tokens) free(at.tokens);
    if (ok && left == 0) return true;
    return lcsm_fault_set(fault, 409, "id", NULL,
                          "the tokens of this state, or of a parent, are not known");
}

static const lcsm_host *find_host(const lcsm_server *s, const char *name)
{
    for (size_t j = 0; j < s->o.model_count; j++)
        if (strcmp(s->o.models[j].name, name) == 0) return &s->hosts[j];
    return NULL;
}

/* What each token of a conversation wrote into the memory. */
static json_t *writes_of(lcsm_server *s, const lcsm_state_facts *f, lcsm_fault *fault)
{
    const lcsm_host *h    = find_host(s, f->model);
    int32_t         *ids  = NULL;
    json_t          *view = NULL, *texts = json_array();
    if (h == NULL)
        (void)lcsm_fault_set(fault, 409, "id", NULL, "its model %.80s is not served", f->model);
    else if (pthread_mutex_trylock(&s->looking) != 0)
        (void)lcsm_fault_set(fault, 503, NULL, "busy",
                             "a model is being looked into: try again in a moment");
    else {
        if (all_tokens(s, f, &ids, fault))
            view = lcsm_writes_view(h->m, ids, (size_t)f->position, fault);
        (void)pthread_mutex_unlock(&s->looking);
    }
    for (size_t j = 0; view != NULL && ids != NULL && j < f->position; j++)
        (void)json_array_append_new(texts, lcsm_token_text(h, ids[j]));
    if (view != NULL) (void)json_object_set(view, "tokens", texts);
    json_decref(texts);
    free(ids);
    return view;
}

static void get_state_writes(lcsm_server *s, lcsm_exchange *x, const char *id)
{
    lcsm_state_facts facts = {0};
    lcsm_fault       fault = {0};
    if (!find_state(s, x, id, &facts, NULL)) return;
    json_t *view = writes_of(s, &facts, &fault);
    if (fault.http != 0) lcsm_answer_fault(x, &fault);
    else lcsm_answer_json(x, 200, view);
    free(facts.tokens);
}

/* A job that makes a state out of bytes or of another state and tokens, and no text. */
static bool make_state(lcsm_request *p, lcsm_fault *fault)
{
    p->ask     = LCSM_ASK_STATE;
    p->choices = p->shown = 1;
    p->keep_state         = true;
    p->sample             = (lcsm_sample_options){.size = sizeof p->sample};
    p->prompts            = calloc(1, sizeof *p->prompts);
    p->prompt_count       = p->prompts != NULL;
    if (p->prompts == NULL)
        return lcsm_fault_set(fault, 503, NULL, NULL, "not enough memory for the request");
    return true;
}

static void post_state(lcsm_server *s, lcsm_exchange *x, const char *id)
{
    const char   *name  = lcsm_http_query(x, "model");
    lcsm_request  p     = {0};
    lcsm_fault    fault = {0};
    json_t       *asked = name != NULL ? json_pack("{s:s}", "model", name) : json_object();
    lcsm_json_doc doc   = {.label = NULL, .root = asked};
    lcsm_json     root  = lcsm_json_root(&doc);
    (void)id;
    p.model = lcsm_request_model(&root, &s->o, &fault);
    p.bytes = malloc(x->body.size + 1);
    bool ok = p.model != NULL && make_state(&p, &fault);
    json_decref(asked);
    if (ok && (p.bytes == NULL || x->body.size == 0))
        ok = lcsm_fault_set(&fault, 400, NULL, NULL, "the body is not a state: it is empty");
    if (ok) {
        memcpy(p.bytes, x->body.text, x->body.size);
        p.byte_count = x->body.size;
        p.vocab      = s->hosts[p.model - s->o.models].vocab;
        ok           = lcsm_job_submit(s, x, &p, &fault);
    }
    lcsm_request_free(&p);
    if (!ok) lcsm_answer_fault(x, &fault);
}

/* Without the last tokens: the parent reads the others again, cut as they were. */
static bool roll_back(lcsm_server *s, lcsm_exchange *x, const lcsm_json_doc *doc,
                      lcsm_state_facts *f, lcsm_fault *fault)
{
    lcsm_json    root = lcsm_json_root(doc);
    lcsm_request p    = {0};
    lcsm_error   err  = {0};
    size_t       back = 0;
    if (f->tokens == NULL)
        return lcsm_fault_set(fault, 409, "id", NULL, "the tokens of this state are not known");
    if (lcsm_json_get_size(&back, lcsm_json_need(&root, "tokens"), 0, f->token_count, &err)
        != LCSM_OK)
        return lcsm_fault_take(fault, "tokens", &err);
    for (size_t j = 0; j < s->o.model_count; j++)
        if (strcmp(s->o.models[j].name, f->model) == 0) p.model = &s->o.models[j];
    if (p.model == NULL)
        return lcsm_fault_set(fault, 409, "id", NULL, "its model %.80s is not served", f->model);
    bool ok = make_state(&p, fault);
    if (ok) {
        size_t count = f->token_count - back;
        p.prompts[0] = (lcsm_prompt){.ids = f->tokens, .count = count};
        f->tokens    = NULL;
        p.singly     = count > f->prompt_count ? count - f->prompt_count : 0;
        p.vocab      = s->hosts[p.model - s->o.models].vocab;
        (void)snprintf(p.state, sizeof p.state, "%s", f->parent);
        ok = lcsm_job_submit(s, x, &p, fault);
    }
    lcsm_request_free(&p);
    return ok;
}

static void post_rollback(lcsm_server *s, lcsm_exchange *x, const char *id)
{
    static const char *const known[] = {"tokens"};
    lcsm_state_facts         facts   = {0};
    lcsm_json_doc            doc     = {0};
    lcsm_fault               fault   = {0};
    if (!find_state(s, x, id, &facts, NULL)) return;
    if (!read_small(&doc, x, known, COUNT(known), &fault) || !roll_back(s, x, &doc, &facts, &fault))
        lcsm_answer_fault(x, &fault);
    lcsm_json_doc_free(&doc);
    free(facts.tokens);
}

/* ---- runs that are under way ------------------------------------------------------------ */

static void answer_view(lcsm_exchange *x, json_t *document, const lcsm_fault *fault)
{
    if (fault->http != 0) lcsm_answer_fault(x, fault);
    else lcsm_answer_json(x, 200, document);
}

static void get_view(lcsm_server *s, lcsm_exchange *x, const char *id)
{
    lcsm_fault fault = {0};
    (void)id;
    json_t *all = lcsm_view_summary(s->o.view, &fault);
    answer_view(x, all, &fault);
}

static void get_run_metrics(lcsm_server *s, lcsm_exchange *x, const char *id)
{
    const char *from  = lcsm_http_query(x, "from");
    lcsm_fault  fault = {0};
    json_t     *part  = lcsm_view_metrics(s->o.view, id, lcsm_http_query(x, "file"),
                                     from != NULL ? strtoull(from, NULL, 10) : 0, &fault);
    answer_view(x, part, &fault);
}

/* One at a time, because it takes memory and a processor. */
static void get_run_sample(lcsm_server *s, lcsm_exchange *x, const char *id)
{
    lcsm_fault fault = {0};
    json_t    *text  = NULL;
    if (pthread_mutex_trylock(&s->looking) != 0)
        (void)lcsm_fault_set(&fault, 503, NULL, "busy",
                             "a text is being generated: try again in a moment");
    else {
        text = lcsm_view_sample(s->o.view, id, &fault);
        (void)pthread_mutex_unlock(&s->looking);
    }
    answer_view(x, text, &fault);
}

/* ---- the table -------------------------------------------------------------------------- */

static const route ROUTES[] = {
    {"GET", "/", get_page, true, BOTH},
    {"GET", "/health", get_health, true, BOTH},
    {"GET", "/metrics", get_metrics, false, BOTH},
    {"GET", "/v1/models", get_models, false, MODELS},
    {"GET", "/v1/models/*", get_model, false, MODELS},
    {"GET", "/v1/models/*/memory", get_memory, false, MODELS},
    {"POST", "/v1/completions", post_completions, false, MODELS},
    {"POST", "/v1/chat/completions", post_chat, false, MODELS},
    {"POST", "/v1/embeddings", post_embeddings, false, MODELS},
    {"POST", "/tokenize", post_tokenize, false, MODELS},
    {"POST", "/detokenize", post_detokenize, false, MODELS},
    {"GET", "/v1/states", get_states, false, MODELS},
    {"POST", "/v1/states", post_state, false, MODELS},
    {"GET", "/v1/states/*", get_state, false, MODELS},
    {"DELETE", "/v1/states/*", delete_state, false, MODELS},
    {"GET", "/v1/states/*/writes", get_state_writes, false, MODELS},
    {"GET", "/v1/states/*/content", get_state_content, false, MODELS},
    {"POST", "/v1/states/*/rollback", post_rollback, false, MODELS},
    {"GET", "/v1/view", get_view, false, VIEW},
    {"GET", "/v1/view/runs/*/metrics", get_run_metrics, false, VIEW},
    {"GET", "/v1/view/runs/*/sample", get_run_sample, false, VIEW},
};

enum { ID_MOST = 128 };

/* Whether the path is that of the route; id gets what stands for its *, one piece of a path. */
static bool matches(const char *pattern, const char *path, char id[ID_MOST])
{
    const char *star = strchr(pattern, '*');
    if (star == NULL) return strcmp(pattern, path) == 0;
    size_t before = (size_t)(star - pattern), after = strlen(star + 1), size = strlen(path);
    if (size <= before + after || size - before - after >= ID_MOST
        || memcmp(pattern, path, before) != 0 || strcmp(path + size - after, star + 1) != 0)
        return false;
    memcpy(id, path + before, size - before - after);
    id[size - before - after] = '\0';
    return strchr(id, '/') == NULL;
}

static bool has_route(const lcsm_server *s, const route *r)
{
    return (r->kinds & (s->o.view != NULL ? VIEW : MODELS)) != 0;
}

static const route *find_route(const lcsm_server *s, const lcsm_exchange *x, char id[ID_MOST],
                               bool *known)
{
    const char *method = strcmp(x->method, "HEAD") == 0 ? "GET" : x->method;
    *known             = false;
    for (size_t j = 0; j < COUNT(ROUTES); j++) {
        if (!has_route(s, &ROUTES[j]) || !matches(ROUTES[j].path, x->path, id)) continue;
        *known = true;
        if (strcmp(method, ROUTES[j].method) == 0) return &ROUTES[j];
    }
    return NULL;
}

static void put_allowed(const lcsm_server *s, lcsm_exchange *x)
{
    char   allowed[64] = "", id[ID_MOST];
    size_t at          = 0;
    for (size_t j = 0; j < COUNT(ROUTES); j++)
        if (has_route(s, &ROUTES[j]) && matches(ROUTES[j].path, x->path, id))
            at += (size_t)snprintf(allowed + at, sizeof allowed - at, "%s%s", at > 0 ? ", " : "",
                                   ROUTES[j].method);
    lcsm_http_answer_header(x, "Allow", "%s", allowed);
}

/* ---- who may ask ------------------------------------------------------------------------ */

/* Takes as long for any key of the same length. */
static bool same_key(const char *want, const char *have)
{
    size_t        n = strlen(want), m = strlen(have);
    unsigned char differs = n != m;
    for (size_t j = 0; j < m; j++) differs |= (unsigned char)(have[j] ^ want[j < n ? j : 0]);
    return differs == 0;
}

static bool has_key(const lcsm_server *s, const lcsm_exchange *x)
{
    static const char bearer[] = "Bearer ";
    const char       *header   = lcsm_http_header(x, "Authorization");
    if (s->o.api_key == NULL) return true;
    return header != NULL && strncasecmp(header, bearer, sizeof bearer - 1) == 0
        && same_key(s->o.api_key, header + sizeof bearer - 1);
}

/* The length of HOST in HOST:PORT or [HOST]:PORT. */
static size_t host_length(const char *name)
{
    const char *end = *name == '[' ? strchr(name, ']') : NULL;
    return end != NULL ? (size_t)(end + 1 - name) : strcspn(name, ":");
}

static bool is_loopback(const char *name)
{
    size_t n = host_length(name);
    return (n == 9 && strncasecmp(name, "localhost", n) == 0) || strncmp(name, "127.", 4) == 0
        || strncmp(name, "[::1]", 5) == 0;
}

static bool is_loopback_address(const char *host)
{
    return is_loopback(host) || strcmp(host, "::1") == 0;
}

/* An Origin is SCHEME://HOST:PORT and must be the Host. */
static bool may_come_from(const lcsm_server *s, const lcsm_exchange *x)
{
    const char *host = lcsm_http_header(x, "Host"), *origin = lcsm_http_header(x, "Origin");
    const char *from = origin != NULL ? strstr(origin, "://") : NULL;
    if (origin != NULL && (host == NULL || from == NULL || strcasecmp(from + 3, host) != 0))
        return false;
    return host == NULL || s->o.api_key != NULL || !is_loopback_address(s->o.host)
        || is_loopback(host);
}

void lcsm_route_begin(void *user, lcsm_exchange *x)
{
    lcsm_server *s = user;
    char         id[ID_MOST];
    bool         known;
    const route *r = find_route(s, x, id, &known);
    if (!may_come_from(s, x))
        refuse(x, 403, NULL, "forbidden_origin",
               "requests from pages of other hosts, or under other names, are refused");
    else if (!(r != NULL && r->open) && !has_key(s, x))
        refuse(x, 401, NULL, "invalid_api_key", "the API key is missing or wrong");
    else if (known && r == NULL) {
        put_allowed(s, x);
        refuse(x, 405, NULL, NULL, "this method is not one of this path");
    } else if (r == NULL) {
        refuse(x, 404, NULL, "unknown_url", "there is no such path; docs/server.md lists them");
    }
}

void lcsm_route(void *user, lcsm_exchange *x)
{
    lcsm_server *s           = user;
    char         id[ID_MOST] = "";
    bool         known;
    const route *r = find_route(s, x, id, &known);
    lcsm_server_lock(s);
    s->handled++;
    x->counted = true;
    lcsm_server_unlock(s);
    if (r != NULL) r->run(s, x, id);
}

/* The client has its answer, or has gone. */
void lcsm_route_done(void *user, lcsm_exchange *x)
{
    lcsm_server *s    = user;
    lcsm_job    *job  = x->job;
    int          kind = x->status / 100;
    if (kind >= 0 && kind < (int)COUNT(s->counters.requests)) s->counters.requests[kind]++;
    s->handled -= x->counted;
    if (job == NULL) return;
    job->x = NULL;
    (void)pthread_cond_signal(&s->work);
}
