/* serve/request.h - what a request for text asks for. */
#ifndef LCSM_SERVE_REQUEST_H
#define LCSM_SERVE_REQUEST_H
#include <lcsm/generate.h>

#include "format/json_doc.h"
#include "serve/fault.h"
#include "serve/serve.h"
#include "serve/state_store.h"

enum {
    LCSM_REQUEST_PROMPTS = 1024, /* of a request */
    LCSM_REQUEST_STOPS   = 16,
    LCSM_REQUEST_CHOICES = 128, /* of a prompt */
    LCSM_REQUEST_TOP     = 20,  /* tokens whose probabilities are listed */
};

/* Which of the fields of a request there are. */
typedef enum {
    LCSM_ASK_COMPLETION = 1,
    LCSM_ASK_CHAT       = 2,
    LCSM_ASK_STATE      = 4, /* a state that is brought or taken back: no text */
    LCSM_ASK_EMBEDDING  = 8,
} lcsm_ask;

typedef struct {
    int32_t *ids;
    size_t   count;
    bool     implied; /* what stands before every text, for an empty prompt */
} lcsm_prompt;

typedef struct {
    int32_t token;
    double  by;
} lcsm_bias;

typedef struct {
    lcsm_ask                ask;
    const lcsm_serve_model *model;
    size_t                  vocab; /* of the model */
    lcsm_prompt            *prompts;
    size_t                  prompt_count, choices; /* texts of each prompt */
    size_t                  shown; /* so many of them are answered: the most probable ones */
    size_t                  max_tokens;
    lcsm_sample_options     sample;
    double                  presence, frequency;
    lcsm_bias              *bias;
    size_t                  bias_count;
    bool                    stream, usage, echo, ignore_end, keep_state, wants_logprobs;
    size_t                  top; /* how many probable tokens are listed with each token */
    char                   *stop[LCSM_REQUEST_STOPS];
    size_t                  stop_count;
    char                    state[LCSM_STATE_ID]; /* to continue; "": none */
    void                   *bytes;                /* or these of a state; NULL: none */
    size_t                  byte_count;
    size_t                  dimensions; /* of an embedding; 0: all */
    bool                    base64, normalize;
    size_t                  singly; /* tokens at the end of the prompt that are read one by one */
} lcsm_request;

/* Reads a request. *p is to be freed, also after a failure. */
bool lcsm_request_read(lcsm_request *p, lcsm_ask ask, const char *body, size_t size,
                       const lcsm_serve_options *o, lcsm_fault *fault);
void lcsm_request_free(lcsm_request *p);

/* The model that the member "model" names; the first one if there is none. NULL: no such model. */
const lcsm_serve_model *lcsm_request_model(const lcsm_json *root, const lcsm_serve_options *o,
                                           lcsm_fault *fault);

/* The ids of a text; the caller frees them. */
bool lcsm_request_encode(lcsm_prompt *out, const lcsm_serve_model *m, const char *text, size_t size,
                         lcsm_fault *fault);

#endif
