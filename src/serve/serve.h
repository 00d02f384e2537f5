/*
 * serve/serve.h - models behind HTTP: completions, streams, states, a page; or runs that are under
 * way. docs/server.md is what a client sees.
 *
 * The server belongs to the program and is not in the library. The thread that calls lcsm_serve
 * runs all models; threads of the HTTP library read requests and send answers.
 */
#ifndef LCSM_SERVE_SERVE_H
#define LCSM_SERVE_SERVE_H
#include <lcsm/chat.h>
#include <lcsm/model.h>
#include <lcsm/tokenizer.h>

/* A model and its name. It outlives the call. */
typedef struct {
    const char           *name, *folder;
    const lcsm_model     *model;
    const lcsm_tokenizer *tok;
    const lcsm_chat      *chat;  /* its chat template; NULL: it has none */
    bool                  lines; /* the end-of-text token is a line end, as lcsm_train teaches it */
} lcsm_serve_model;

/* 0 or NULL is not a default: all numbers are set. */
typedef struct {
    const lcsm_serve_model *models;
    size_t                  model_count;
    const char             *host;
    int                     port;       /* 0: any that is free */
    const char             *cert, *key; /* files for TLS; NULL: none */
    const char             *api_key;    /* NULL: none is asked for */
    const char             *view;    /* a folder of runs to be shown, and no models; NULL: none */
    size_t                  streams; /* that run at once, of each model */
    size_t                  queue;   /* requests that wait at most */
    size_t                  body_bytes, prompt_tokens, reply_tokens;
    int                     connections;
    double                  request_seconds; /* for a request to come in */
    double                  stream_seconds;  /* for a request to be answered, once it runs */
    double                  grace_seconds;   /* for requests under way when the server stops */
    const char             *state_dir;       /* NULL: states end with the server */
    size_t                  state_bytes;     /* of all kept states */

    bool (*stop)(void *user);            /* asked some times a second */
    void (*ready)(void *user, int port); /* told once */
    void (*log)(void *user, const char *text);
    void *user;
} lcsm_serve_options;

/* Whether a folder is a run, an experiment, or has runs in it. */
bool lcsm_serve_can_view(const char *folder);

/* Serves until told to stop. */
lcsm_status lcsm_serve(const lcsm_serve_options *options, lcsm_error *err);

#endif
