/* job.c - a request for text on its way to the engine. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "serve/server.h"

static const char *const PREFIXES[] = {[LCSM_ASK_COMPLETION] = "cmpl",
                                       [LCSM_ASK_CHAT]       = "chatcmpl",
                                       [LCSM_ASK_STATE]      = "state",
                                       [LCSM_ASK_EMBEDDING]  = "embd"};

static lcsm_job *create(lcsm_server *s, const lcsm_request *p)
{
    lcsm_job *job = calloc(1, sizeof *job);
    if (job == NULL) return NULL;
    job->count   = p->prompt_count * p->choices;
    job->streams = calloc(job->count, sizeof *job->streams);
    job->host    = &s->hosts[p->model - s->o.models];
    job->arrived = lcsm_now();
    job->created = (int64_t)time(NULL);
    for (size_t j = 0; job->streams != NULL && j < job->count; j++)
        job->streams[j] =
            (lcsm_stream){.job = job, .index = j, .prompt = &p->prompts[j / p->choices]};
    for (size_t j = 0; j < p->prompt_count; j++) job->prompt_tokens += p->prompts[j].count;
    if (job->streams != NULL) return job;
    free(job);
    return NULL;
}

/* The bytes of the state that the request continues. */
static bool fetch_state(lcsm_server *s, lcsm_request *p, lcsm_fault *fault)
{
    lcsm_state_facts facts = {0};
    lcsm_error       err   = {0};
    if (p->state[0] == '\0' || p->bytes != NULL) return true;
    lcsm_status st = lcsm_state_store_get(s->states, p->state, &facts, &p->bytes, &err);
    p->byte_count  = facts.bytes;
    free(facts.tokens);
    if (st == LCSM_ERR_ARGUMENT)
        return lcsm_fault_set(fault, 404, "state", "state_not_found", "%s", err.text);
    if (st != LCSM_OK) return lcsm_fault_take(fault, "state", &err);
    if (strcmp(facts.model, p->model->name) == 0) return true;
    return lcsm_fault_set(fault, 400, "state", NULL, "the state is one of the model %.80s",
                          facts.model);
}

/* Into the queue, if that has room. */
static bool enqueue(lcsm_server *s, lcsm_job *job, lcsm_fault *fault)
{
    bool full = s->counters.waiting >= s->o.queue;
    if (s->stopping) return lcsm_fault_set(fault, 503, NULL, "stopping", "the server is stopping");
    s->counters.refused_full += full;
    if (full)
        return lcsm_fault_set(fault, 429, NULL, "queue_full",
                              "%zu requests are waiting already: try again later",
                              s->counters.waiting);
    lcsm_job **last = &s->arrived;
    while (*last != NULL) last = &(*last)->next;
    *last = job;
    s->counters.waiting++;
    (void)snprintf(job->id, sizeof job->id, "%s-%llx-%llx", PREFIXES[job->p.ask],
                   (unsigned long long)job->created, (unsigned long long)++s->job_number);
    (void)pthread_cond_signal(&s->work);
    return true;
}

bool lcsm_job_submit(lcsm_server *s, lcsm_exchange *x, lcsm_request *p, lcsm_fault *fault)
{
    if (!fetch_state(s, p, fault)) return false;
    lcsm_job *job = create(s, p);
    if (job == NULL)
        return lcsm_fault_set(fault, 503, NULL, NULL, "not enough memory for the request");
    lcsm_server_lock(s);
    job->p  = *p;
    job->x  = x;
    bool ok = enqueue(s, job, fault);
    if (ok) {
        x->job    = job;
        x->status = 200;
        x->stream = p->stream;
        x->type   = p->stream ? "text/event-stream" : "application/json";
        *p        = (lcsm_request){0}; /* the job has it now */
    } else {
        job->p = (lcsm_request){0};
    }
    lcsm_server_unlock(s);
    if (!ok) lcsm_job_free(job);
    return ok;
}

void lcsm_job_free(lcsm_job *job)
{
    if (job == NULL) return;
    for (size_t j = 0; j < job->count; j++) lcsm_stream_free(&job->streams[j]);
    free(job->streams);
    lcsm_request_free(&job->p);
    free(job);
}
