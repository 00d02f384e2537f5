/*
 * request.c - requests for text: one table of fields.
 *
 * null is as absent. A field that is not known is an error, and so is a value that would change the
 * result and is not supported.
 */
#include "serve/request.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "infer/text.h"

/* What the fields write to. */
typedef struct {
    lcsm_request             *p;
    const lcsm_serve_options *o;
    lcsm_fault               *fault;
    int64_t n, best_of, max_tokens, logprobs, top_logprobs, top_k, seed, dimensions;
    int64_t width; /* of a hidden state */
    bool    seeded;
} reader;

struct field;
typedef bool field_fn(reader *r, const struct field *f, lcsm_json v);

typedef struct field {
    const char *key;
    int         asks; /* the requests that have it */
    field_fn   *read;
    size_t      offset; /* of what it writes to, in a reader or in params */
    double      least, most;
} field;

/* ---- kinds of fields -------------------------------------------------------------------- */

static field_fn read_messages, read_int, read_real, read_bool, read_prompt, read_stop, read_bias,
    read_seed, read_stream_options, read_state, read_encoding, read_nothing, refuse, refuse_format;

static bool read_int(reader *r, const field *f, lcsm_json v)
{
    lcsm_error err = {0};
    int64_t   *to  = (int64_t *)(void *)((char *)r + f->offset);
    if (lcsm_json_get_int(to, v, (int64_t)f->least, (int64_t)f->most, &err) == LCSM_OK) return true;
    return lcsm_fault_take(r->fault, f->key, &err);
}

static bool read_real(reader *r, const field *f, lcsm_json v)
{
    lcsm_error err = {0};
    double    *to  = (double *)(void *)((char *)r->p + f->offset);
    if (lcsm_json_get_real(to, v, f->least, f->most, &err) == LCSM_OK) return true;
    return lcsm_fault_take(r->fault, f->key, &err);
}

static bool read_bool(reader *r, const field *f, lcsm_json v)
{
    lcsm_error err = {0};
    if (lcsm_json_get_bool((bool *)(void *)((char *)r->p + f->offset), v, &err) == LCSM_OK)
        return true;
    return lcsm_fault_take(r->fault, f->key, &err);
}

/* Accepted, without effect on the text. */
static bool read_nothing(reader *r, const field *f, lcsm_json v)
{
    (void)r;
    (void)f;
    (void)v;
    return true;
}

static bool is_empty(const json_t *v)
{
    return (json_is_string(v) && json_string_length(v) == 0) || json_is_false(v)
        || (json_is_array(v) && json_array_size(v) == 0)
        || (json_is_object(v) && json_object_size(v) == 0);
}

static bool refuse(reader *r, const field *f, lcsm_json v)
{
    if (is_empty(v.value)) return true;
    return lcsm_fault_set(r->fault, 400, f->key, "unsupported_value",
                          "%s is not supported by this server: omit it", f->key);
}

static bool refuse_format(reader *r, const field *f, lcsm_json v)
{
    const char *type = json_string_value(json_object_get(v.value, "type"));
    if (type != NULL && strcmp(type, "text") == 0) return true;
    return lcsm_fault_set(r->fault, 400, f->key, "unsupported_value",
                          "%s other than {\"type\": \"text\"} is not supported", f->key);
}

static bool read_seed(reader *r, const field *f, lcsm_json v)
{
    lcsm_error err = {0};
    r->seeded      = true;
    if (lcsm_json_get_int(&r->seed, v, INT64_MIN, INT64_MAX, &err) == LCSM_OK) return true;
    return lcsm_fault_take(r->fault, f->key, &err);
}

static bool read_stream_options(reader *r, const field *f, lcsm_json v)
{
    static const char *const known[] = {"include_usage", "include_obfuscation"};
    lcsm_error               err     = {0};
    lcsm_json                object;
    if (lcsm_json_get_object(&object, v, &err) != LCSM_OK
        || lcsm_json_known_keys(&object, known, COUNT(known), &err) != LCSM_OK)
        return lcsm_fault_take(r->fault, f->key, &err);
    lcsm_json usage = lcsm_json_may(&object, "include_usage");
    if (lcsm_json_get_bool(&r->p->usage, usage, &err) == LCSM_OK) return true;
    return lcsm_fault_take(r->fault, f->key, &err);
}

static bool read_encoding(reader *r, const field *f, lcsm_json v)
{
    const char *name = json_is_string(v.value) ? json_string_value(v.value) : "";
    r->p->base64     = strcmp(name, "base64") == 0;
    if (r->p->base64 || strcmp(name, "float") == 0) return true;
    return lcsm_fault_set(r->fault, 400, f->key, NULL, "%s is neither \"float\" nor \"base64\"",
                          f->key);
}

static bool read_state(reader *r, const field *f, lcsm_json v)
{
    const char *id  = "";
    lcsm_error  err = {0};
    if (lcsm_json_get_text(&id, v, &err) != LCSM_OK) return lcsm_fault_take(r->fault, f->key, &err);
    if (!lcsm_state_id_is_valid(id))
        return lcsm_fault_set(r->fault, 400, f->key, "invalid_state",
                              "state is not an id: expected state- and 32 hexadecimal digits");
    (void)snprintf(r->p->state, sizeof r->p->state, "%s", id);
    return true;
}

static bool add_stop(reader *r, const json_t *text)
{
    lcsm_request *p = r->p;
    if (!json_is_string(text) || json_string_length(text) == 0)
        return lcsm_fault_set(r->fault, 400, "stop", NULL,
                              "stop has an item that is not a text, or is empty");
    if (json_string_length(text) > 1024)
        return lcsm_fault_set(r->fault, 400, "stop", NULL, "a stop text has more than 1024 bytes");
    p->stop[p->stop_count] = strdup(json_string_value(text));
    if (p->stop[p->stop_count] == NULL)
        return lcsm_fault_set(r->fault, 503, NULL, NULL, "not enough memory for the request");
    p->stop_count++;
    return true;
}

static bool read_stop(reader *r, const field *f, lcsm_json v)
{
    if (json_is_string(v.value)) return add_stop(r, v.value);
    if (!json_is_array(v.value) || json_array_size(v.value) > LCSM_REQUEST_STOPS)
        return lcsm_fault_set(r->fault, 400, f->key, NULL,
                              "stop is not a text or a list of at most %d texts",
                              LCSM_REQUEST_STOPS);
    for (size_t j = 0; j < json_array_size(v.value); j++)
        if (!add_stop(r, json_array_get(v.value, j))) return false;
    return true;
}

static bool read_bias(reader *r, const field *f, lcsm_json v)
{
    lcsm_request *p   = r->p;
    lcsm_error    err = {0};
    lcsm_json     object;
    if (lcsm_json_get_object(&object, v, &err) != LCSM_OK)
        return lcsm_fault_take(r->fault, f->key, &err);
    p->bias = calloc(lcsm_json_count(&object) + 1, sizeof *p->bias);
    if (p->bias == NULL)
        return lcsm_fault_set(r->fault, 503, f->key, NULL, "not enough memory for logit_bias");
    for (lcsm_json m = lcsm_json_first(&object); m.value != NULL; m = lcsm_json_next(&m)) {
        char      *end   = NULL;
        long       token = strtol(m.key, &end, 10);
        lcsm_bias *b     = &p->bias[p->bias_count++];
        if (*m.key == '\0' || *end != '\0' || token < 0 || (size_t)token >= p->vocab)
            return lcsm_fault_set(r->fault, 400, f->key, NULL,
                                  "logit_bias has the key \"%.40s\"; expected a token id, 0 to %zu",
                                  m.key, p->vocab - 1);
        b->token = (int32_t)token;
        if (lcsm_json_get_real(&b->by, m, -100, 100, &err) != LCSM_OK)
            return lcsm_fault_take(r->fault, f->key, &err);
    }
    return true;
}

/* ---- prompts ---------------------------------------------------------------------------- */

/* Ids on their way from an encoder. */
static lcsm_status collect(void *user, const int32_t *ids, size_t count, lcsm_error *err)
{
    lcsm_strbuf *s = user;
    if (count > 0) lcsm_strbuf_bytes(s, (const char *)(const void *)ids, count * sizeof *ids);
    if (!s->failed) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for the tokens of a text");
}

bool lcsm_request_encode(lcsm_prompt *out, const lcsm_serve_model *m, const char *text, size_t size,
                         lcsm_fault *fault)
{
    lcsm_strbuf   ids     = {0};
    lcsm_encoder *encoder = NULL;
    lcsm_error    err     = {0};
    lcsm_status   st;
    int32_t       end = m->lines ? lcsm_tokenizer_eos(m->tok) : -1;
    LCSM_TRY(lcsm_encoder_create(&encoder, m->tok, LCSM_ENCODE_SPECIAL | LCSM_ENCODE_SKIP, collect,
                                 &ids, &err));
    LCSM_TRY(lcsm_encode_lines(encoder, end, text, size, collect, &ids, &err));
cleanup:
    lcsm_encoder_free(encoder);
    *out = (lcsm_prompt){(int32_t *)(void *)ids.text, ids.size / sizeof *out->ids, false};
    return st == LCSM_OK || lcsm_fault_take(fault, "prompt", &err);
}

/* What the text to be read is called. */
static const char *prompt_key(lcsm_ask ask)
{
    return ask == LCSM_ASK_CHAT ? "messages" : ask == LCSM_ASK_EMBEDDING ? "input" : "prompt";
}

static bool take_ids(reader *r, lcsm_prompt *out, const json_t *list)
{
    const char *key = prompt_key(r->p->ask);
    size_t      n   = json_array_size(list);
    out->ids        = calloc(n + 1, sizeof *out->ids);
    if (out->ids == NULL)
        return lcsm_fault_set(r->fault, 503, key, NULL, "not enough memory for the %s", key);
    for (size_t j = 0; j < n; j++) {
        const json_t *v = json_array_get(list, j);
        json_int_t    x = json_is_integer(v) ? json_integer_value(v) : -1;
        if (x < 0 || (size_t)x >= r->p->vocab)
            return lcsm_fault_set(r->fault, 400, key, NULL,
                                  "item %zu of the %s is not a token id, 0 to %zu", j, key,
                                  r->p->vocab - 1);
        out->ids[j] = (int32_t)x;
    }
    out->count = n;
    return true;
}

/* A prompt without a token is what stands before every text, unless it continues a state. */
static bool check_prompt(reader *r, lcsm_prompt *p)
{
    const char *key = prompt_key(r->p->ask);
    if (p->count > r->o->prompt_tokens)
        return lcsm_fault_set(r->fault, 400, key, "context_length_exceeded",
                              "the %s has %zu tokens; expected at most %zu",
                              r->p->ask == LCSM_ASK_EMBEDDING ? key : "prompt", p->count,
                              r->o->prompt_tokens);
    if (p->count > 0 || r->p->state[0] != '\0') return true;
    if (r->p->ask == LCSM_ASK_EMBEDDING)
        return lcsm_fault_set(r->fault, 400, key, NULL, "the input is empty: it has no embedding");
    free(p->ids);
    p->ids = calloc(1, sizeof *p->ids);
    if (p->ids == NULL)
        return lcsm_fault_set(r->fault, 503, "prompt", NULL, "not enough memory for the prompt");
    p->ids[0]  = lcsm_tokenizer_start(r->p->model->tok);
    p->count   = 1;
    p->implied = true;
    return true;
}

static bool add_prompt(reader *r, const json_t *v)
{
    lcsm_request *p   = r->p;
    lcsm_prompt  *out = &p->prompts[p->prompt_count++];
    bool          ok;
    if (json_is_string(v))
        ok = lcsm_request_encode(out, p->model, json_string_value(v), json_string_length(v),
                                 r->fault);
    else if (json_is_array(v)) ok = take_ids(r, out, v);
    else
        ok = lcsm_fault_set(r->fault, 400, "prompt", NULL,
                            "%s is not a text, a list of texts, a list of token ids or a list of "
                            "such lists",
                            prompt_key(p->ask));
    if (!ok) (void)snprintf(r->fault->param, sizeof r->fault->param, "%s", prompt_key(p->ask));
    return ok && check_prompt(r, out);
}

static bool read_prompt(reader *r, const field *f, lcsm_json v)
{
    const json_t *first = json_array_get(v.value, 0);
    bool   several      = json_is_array(v.value) && (json_is_string(first) || json_is_array(first));
    size_t count        = several ? json_array_size(v.value) : 1;
    if (count > LCSM_REQUEST_PROMPTS)
        return lcsm_fault_set(r->fault, 400, f->key, NULL, "%zu prompts; expected at most %d",
                              count, LCSM_REQUEST_PROMPTS);
    r->p->prompts = calloc(count, sizeof *r->p->prompts);
    if (r->p->prompts == NULL)
        return lcsm_fault_set(r->fault, 503, f->key, NULL, "not enough memory for %zu prompts",
                              count);
    for (size_t j = 0; j < count; j++)
        if (!add_prompt(r, several ? json_array_get(v.value, j) : v.value)) return false;
    return true;
}

/* ---- messages --------------------------------------------------------------------------- */

/* The text of a message: a text, or parts that are texts. */
static bool read_content(reader *r, lcsm_strbuf *out, const json_t *content)
{
    if (json_is_string(content)) lcsm_strbuf_add(out, json_string_value(content));
    for (size_t j = 0; j < json_array_size(content); j++) {
        const json_t *part = json_array_get(content, j), *text = json_object_get(part, "text");
        if (!json_is_string(text))
            return lcsm_fault_set(r->fault, 400, "messages", "unsupported_value",
                                  "part %zu of a message is not a text", j);
        lcsm_strbuf_add(out, json_string_value(text));
    }
    if (json_is_string(content) || json_is_array(content)) return true;
    return lcsm_fault_set(r->fault, 400, "messages", NULL, "a message has no text \"content\"");
}

static bool read_message(reader *r, lcsm_chat_message *m, lcsm_strbuf *text, const json_t *v)
{
    const char *role = json_string_value(json_object_get(v, "role"));
    if (role == NULL)
        return lcsm_fault_set(r->fault, 400, "messages", NULL, "a message has no text \"role\"");
    if (!read_content(r, text, json_object_get(v, "content"))) return false;
    *m = (lcsm_chat_message){role, lcsm_strbuf_text(text)};
    return true;
}

/* The messages as the text that the model was trained on, and that as the one prompt. */
static bool render(reader *r, const lcsm_chat_message *messages, size_t count)
{
    lcsm_request *p    = r->p;
    lcsm_error    err  = {0};
    char         *text = NULL;
    size_t        size = 0;
    if (lcsm_chat_render(p->model->chat, messages, count, NULL, &text, &size, &err) != LCSM_OK)
        return lcsm_fault_take(r->fault, "messages", &err);
    p->prompts      = calloc(1, sizeof *p->prompts);
    p->prompt_count = p->prompts != NULL;
    bool ok         = p->prompts != NULL
           && lcsm_request_encode(&p->prompts[0], p->model, text, size, r->fault)
           && check_prompt(r, &p->prompts[0]);
    free(text);
    if (ok || p->prompts != NULL) return ok;
    return lcsm_fault_set(r->fault, 503, NULL, NULL, "not enough memory for the messages");
}

static bool read_messages(reader *r, const field *f, lcsm_json v)
{
    size_t             count = json_array_size(v.value);
    lcsm_chat_message *list  = calloc(count + 1, sizeof *list);
    lcsm_strbuf       *texts = calloc(count + 1, sizeof *texts);
    bool               ok    = list != NULL && texts != NULL;
    if (!ok) (void)lcsm_fault_set(r->fault, 503, f->key, NULL, "not enough memory");
    else if (r->p->model->chat == NULL)
        ok = lcsm_fault_set(r->fault, 400, "model", "no_chat_template",
                            "%.80s has no chat template: it was not trained to talk; use "
                            "/v1/completions",
                            r->p->model->name);
    else if (count == 0 || count > LCSM_REQUEST_PROMPTS)
        ok = lcsm_fault_set(r->fault, 400, f->key, NULL, "messages is not a list of 1 to %d items",
                            LCSM_REQUEST_PROMPTS);
    for (size_t j = 0; ok && j < count; j++)
        ok = read_message(r, &list[j], &texts[j], json_array_get(v.value, j));
    ok = ok && render(r, list, count);
    for (size_t j = 0; texts != NULL && j < count; j++) lcsm_strbuf_free(&texts[j]);
    free(texts);
    free(list);
    return ok;
}

/* ---- the table -------------------------------------------------------------------------- */

enum { C = LCSM_ASK_COMPLETION, M = LCSM_ASK_CHAT, BOTH = C | M, E = LCSM_ASK_EMBEDDING };
#define IN(member)  offsetof(reader, member)
#define OUT(member) offsetof(lcsm_request, member)

/* In the order in which they are read: a prompt may depend on the state. */
static const field FIELDS[] = {
    {"model", BOTH | E, read_nothing, 0, 0, 0}, /* lcsm_request_model */
    {"state", BOTH, read_state, 0, 0, 0},
    {"prompt", C, read_prompt, 0, 0, 0},
    {"input", E, read_prompt, 0, 0, 0},
    {"encoding_format", E, read_encoding, 0, 0, 0},
    {"dimensions", E, read_int, IN(dimensions), 1, 1e9},
    {"normalize", E, read_bool, OUT(normalize), 0, 0},
    {"messages", M, read_messages, 0, 0, 0},
    {"max_tokens", BOTH, read_int, IN(max_tokens), 0, 1e9},
    {"max_completion_tokens", M, read_int, IN(max_tokens), 0, 1e9},
    {"temperature", BOTH, read_real, OUT(sample.temperature), 0, 100},
    {"top_p", BOTH, read_real, OUT(sample.top_p), 0, 1},
    {"top_k", BOTH, read_int, IN(top_k), -1, 1e9},
    {"min_p", BOTH, read_real, OUT(sample.min_p), 0, 1},
    {"repetition_penalty", BOTH, read_real, OUT(sample.repeat_penalty), 0.01, 100},
    {"presence_penalty", BOTH, read_real, OUT(presence), -2, 2},
    {"frequency_penalty", BOTH, read_real, OUT(frequency), -2, 2},
    {"logit_bias", BOTH, read_bias, 0, 0, 0},
    {"n", BOTH, read_int, IN(n), 1, LCSM_REQUEST_CHOICES},
    {"best_of", C, read_int, IN(best_of), 1, LCSM_REQUEST_CHOICES},
    {"stop", BOTH, read_stop, 0, 0, 0},
    {"seed", BOTH, read_seed, 0, 0, 0},
    {"stream", BOTH, read_bool, OUT(stream), 0, 0},
    {"stream_options", BOTH, read_stream_options, 0, 0, 0},
    {"echo", C, read_bool, OUT(echo), 0, 0},
    {"logprobs", C, read_int, IN(logprobs), 0, LCSM_REQUEST_TOP},
    {"logprobs", M, read_bool, OUT(wants_logprobs), 0, 0},
    {"top_logprobs", M, read_int, IN(top_logprobs), 0, LCSM_REQUEST_TOP},
    {"ignore_eos", BOTH, read_bool, OUT(ignore_end), 0, 0},
    {"keep_state", BOTH, read_bool, OUT(keep_state), 0, 0},
    {"user", BOTH | E, read_nothing, 0, 0, 0},
    {"metadata", BOTH, read_nothing, 0, 0, 0},
    {"store", BOTH, read_nothing, 0, 0, 0},
    {"service_tier", BOTH, read_nothing, 0, 0, 0},
    {"safety_identifier", BOTH, read_nothing, 0, 0, 0},
    {"prompt_cache_key", BOTH, read_nothing, 0, 0, 0},
    {"tool_choice", M, read_nothing, 0, 0, 0}, /* of no tools */
    {"parallel_tool_calls", M, read_nothing, 0, 0, 0},
    {"suffix", C, refuse, 0, 0, 0},
    {"tools", M, refuse, 0, 0, 0},
    {"functions", M, refuse, 0, 0, 0},
    {"response_format", BOTH, refuse_format, 0, 0, 0},
};

static bool known_fields(const lcsm_json *root, lcsm_ask ask, lcsm_fault *fault)
{
    const char *names[COUNT(FIELDS)];
    size_t      count = 0;
    lcsm_error  err   = {0};
    for (size_t j = 0; j < COUNT(FIELDS); j++)
        if ((FIELDS[j].asks & (int)ask) != 0) names[count++] = FIELDS[j].key;
    if (lcsm_json_known_keys(root, names, count, &err) == LCSM_OK) return true;
    return lcsm_fault_take(fault, NULL, &err);
}

static bool read_fields(reader *r, const lcsm_json *root)
{
    for (size_t j = 0; j < COUNT(FIELDS); j++) {
        lcsm_json v = lcsm_json_may(root, FIELDS[j].key);
        if ((FIELDS[j].asks & (int)r->p->ask) == 0 || !lcsm_json_has(root, FIELDS[j].key)) continue;
        if (!FIELDS[j].read(r, &FIELDS[j], v)) return false;
    }
    return true;
}

/* ---- the whole -------------------------------------------------------------------------- */

static uint64_t random_seed(void)
{
    uint64_t seed = 0;
    if (getrandom(&seed, sizeof seed, 0) != (ssize_t)sizeof seed) seed = 0;
    return seed >> 11; /* exact also where numbers are doubles */
}

/* The best ones are known when all have ended, so they are neither streamed nor kept. */
static bool check_best_of(reader *r)
{
    if (r->best_of == 0 || r->best_of == r->n) return true;
    if (r->best_of < r->n)
        return lcsm_fault_set(r->fault, 400, "best_of", NULL,
                              "best_of is %lld, less than n, which is %lld", (long long)r->best_of,
                              (long long)r->n);
    if (!r->p->stream && !r->p->keep_state) return true;
    return lcsm_fault_set(r->fault, 400, "best_of", "unsupported_value",
                          "best_of above n is not supported with %s",
                          r->p->stream ? "stream" : "keep_state");
}

static bool finish(reader *r)
{
    lcsm_request *p = r->p;
    if (p->prompts == NULL)
        return lcsm_fault_set(r->fault, 400, prompt_key(p->ask), NULL, "the request has no %s",
                              prompt_key(p->ask));
    if (r->dimensions > r->width)
        return lcsm_fault_set(r->fault, 400, "dimensions", NULL,
                              "dimensions is %lld; this model has %lld", (long long)r->dimensions,
                              (long long)r->width);
    if (!check_best_of(r)) return false;
    if (r->max_tokens > (int64_t)r->o->reply_tokens)
        return lcsm_fault_set(r->fault, 400, "max_tokens", NULL,
                              "max_tokens is %lld; expected at most %zu", (long long)r->max_tokens,
                              r->o->reply_tokens);
    if (p->state[0] != '\0' && p->prompt_count != 1)
        return lcsm_fault_set(r->fault, 400, "prompt", NULL,
                              "%zu prompts continue one state; expected one prompt",
                              p->prompt_count);
    p->shown   = (size_t)r->n;
    p->choices = r->best_of > 0 ? (size_t)r->best_of : p->shown;
    if (p->choices * p->prompt_count > LCSM_REQUEST_PROMPTS)
        return lcsm_fault_set(r->fault, 400, "n", NULL, "%zu choices; expected at most %d",
                              p->choices * p->prompt_count, LCSM_REQUEST_PROMPTS);
    p->dimensions   = (size_t)r->dimensions;
    p->max_tokens   = (size_t)r->max_tokens;
    p->sample.top_k = r->top_k > 0 ? (size_t)r->top_k : 0;
    if (p->sample.top_p == 0) p->sample.top_p = 1e-9; /* the most probable one */
    p->sample.seed = r->seeded ? (uint64_t)r->seed : random_seed();
    if (p->ask == LCSM_ASK_COMPLETION) p->wants_logprobs = r->logprobs >= 0;
    p->top = (size_t)(p->ask == LCSM_ASK_CHAT ? r->top_logprobs
                      : r->logprobs >= 0      ? r->logprobs
                                              : 0);
    return true;
}

const lcsm_serve_model *lcsm_request_model(const lcsm_json *root, const lcsm_serve_options *o,
                                           lcsm_fault *fault)
{
    const char *name = NULL;
    lcsm_error  err  = {0};
    if (!lcsm_json_has(root, "model")) return &o->models[0];
    if (lcsm_json_get_text(&name, lcsm_json_may(root, "model"), &err) != LCSM_OK) {
        (void)lcsm_fault_take(fault, "model", &err);
        return NULL;
    }
    for (size_t j = 0; j < o->model_count; j++)
        if (strcmp(o->models[j].name, name) == 0) return &o->models[j];
    (void)lcsm_fault_set(fault, 404, "model", "model_not_found",
                         "there is no model \"%.80s\" here; /v1/models lists those that are", name);
    return NULL;
}

static bool read_document(lcsm_request *p, const lcsm_json_doc *doc, const lcsm_serve_options *o,
                          lcsm_fault *fault)
{
    lcsm_json root = lcsm_json_root(doc);
    reader    r    = {.p          = p,
                      .o          = o,
                      .fault      = fault,
                      .n          = 1,
                      .max_tokens = p->ask == LCSM_ASK_CHAT       ? 512
                                  : p->ask == LCSM_ASK_COMPLETION ? 16
                                                                  : 0,
                      .logprobs   = -1};
    if (!json_is_object(root.value))
        return lcsm_fault_set(fault, 400, NULL, NULL, "the request is not a JSON object");
    if (!known_fields(&root, p->ask, fault)) return false;
    p->model = lcsm_request_model(&root, o, fault);
    if (p->model == NULL) return false;
    const lcsm_model_config *cfg = lcsm_model_config_of(p->model->model);
    p->vocab                     = (size_t)lcsm_model_config_number(cfg, "vocab");
    r.width                      = (int64_t)lcsm_model_config_number(cfg, "d_model");
    return read_fields(&r, &root) && finish(&r);
}

bool lcsm_request_read(lcsm_request *p, lcsm_ask ask, const char *body, size_t size,
                       const lcsm_serve_options *o, lcsm_fault *fault)
{
    lcsm_json_doc doc = {0};
    lcsm_error    err = {0};
    *p                = (lcsm_request){.ask       = ask,
                                       .normalize = true,
                                       .sample    = {.size = sizeof p->sample, .temperature = 1, .top_p = 1}};
    if (lcsm_json_doc_parse(&doc, "request", body, size, &err) != LCSM_OK)
        return lcsm_fault_take(fault, NULL, &err);
    bool ok = read_document(p, &doc, o, fault);
    lcsm_json_doc_free(&doc);
    return ok;
}

void lcsm_request_free(lcsm_request *p)
{
    for (size_t j = 0; j < p->prompt_count; j++) free(p->prompts[j].ids);
    for (size_t j = 0; j < p->stop_count; j++) free(p->stop[j]);
    free(p->prompts);
    free(p->bias);
    free(p->bytes);
    *p = (lcsm_request){0};
}
