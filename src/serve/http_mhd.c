/*
 * http_mhd.c - HTTP by libmicrohttpd.
 *
 * A connection is suspended while its answer is not there, so that no thread waits for it. Its
 * socket stays open meanwhile; whether the client has closed it is asked of the socket itself.
 *
 * A connection has a deadline: a request must be whole, and an answer that has ended must be
 * taken, within some seconds however slowly bytes come or go. One that is late is shut down.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "serve/http.h"

enum { THREADS = 4, KEY_SIZE = 1 << 20, BLOCK = 1 << 14, TAKEN_WITHIN = 10 };

/* A connection. */
typedef struct line {
    struct line *next, *prev;
    int          fd;
    double       deadline; /* INFINITY: none */
} line;

struct lcsm_http {
    lcsm_http_options  o;
    struct MHD_Daemon *daemon;
    lcsm_file          cert, key;
    line               lines; /* a ring */
    int                port, listening;
};

/* The part of an exchange that is of this file. */
typedef struct {
    struct MHD_Connection *connection;
    lcsm_http             *http;
    line                  *line;
    size_t                 sent;
    bool                   suspended, handed, answered, large;
} wire;

static void lock(const lcsm_http *h)
{
    (void)pthread_mutex_lock(h->o.lock);
}

static void unlock(const lcsm_http *h)
{
    (void)pthread_mutex_unlock(h->o.lock);
}

/* ---- connections ------------------------------------------------------------------------ */

static void connection_changed(void *user, struct MHD_Connection *connection, void **own,
                               enum MHD_ConnectionNotificationCode what)
{
    lcsm_http *h = user;
    line      *l = *own;
    lock(h);
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *i =
            MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
        l = i != NULL ? calloc(1, sizeof *l) : NULL;
        if (l != NULL) {
            *l   = (line){.next     = h->lines.next,
                          .prev     = &h->lines,
                          .fd       = i->connect_fd,
                          .deadline = lcsm_now() + h->o.request_seconds};
            *own = l->next->prev = h->lines.next = l;
        }
    } else if (l != NULL) {
        l->next->prev = l->prev;
        l->prev->next = l->next;
        free(l);
        *own = NULL;
    }
    unlock(h);
}

static void set_deadline(const lcsm_exchange *x, double seconds)
{
    const wire *w = x->wire;
    if (w->line != NULL) w->line->deadline = lcsm_now() + seconds;
}

void lcsm_http_sweep(lcsm_http *h)
{
    double now = lcsm_now();
    for (line *l = h->lines.next; l != &h->lines; l = l->next)
        if (l->deadline < now) {
            (void)shutdown(l->fd, SHUT_RDWR);
            l->deadline = INFINITY;
        }
}

/* Nothing to read from an open socket is an error, from a closed one nothing. */
bool lcsm_http_gone(const lcsm_exchange *x)
{
    const wire *w = x->wire;
    char        byte;
    if (w->line == NULL) return false;
    ssize_t n = recv(w->line->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

/* ---- answers ---------------------------------------------------------------------------- */

void lcsm_http_answer_header(lcsm_exchange *x, const char *name, const char *fmt, ...)
{
    va_list list;
    if (x->header_count == LCSM_HTTP_HEADERS) return;
    x->headers[x->header_count].name = name;
    va_start(list, fmt);
    (void)vsnprintf(x->headers[x->header_count++].value, sizeof x->headers[0].value, fmt, list);
    va_end(list);
}

void lcsm_http_wake(lcsm_http *h, lcsm_exchange *x)
{
    wire *w = x->wire;
    if (x->ended) set_deadline(x, TAKEN_WITHIN * h->o.idle_seconds);
    if (!w->suspended || (!x->stream && !x->ended)) return;
    w->suspended = false;
    MHD_resume_connection(w->connection);
}

static void wait_for_more(wire *w)
{
    w->suspended = true;
    MHD_suspend_connection(w->connection);
}

/* The next bytes of an answer that grows. */
static ssize_t read_answer(void *user, uint64_t at, char *to, size_t most)
{
    lcsm_exchange *x = user;
    wire          *w = x->wire;
    (void)at;
    lock(w->http);
    size_t  left = x->out.size - w->sent;
    ssize_t n    = (ssize_t)(left < most ? left : most);
    if (n > 0) {
        memcpy(to, x->out.text + w->sent, (size_t)n);
        w->sent += (size_t)n;
        if (w->sent == x->out.size) w->sent = x->out.size = 0;
    } else if (x->ended) {
        n = MHD_CONTENT_READER_END_OF_STREAM;
    } else {
        wait_for_more(w);
    }
    unlock(w->http);
    return n;
}

static struct MHD_Response *response_of(lcsm_exchange *x)
{
    if (x->stream)
        return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, read_answer, x, NULL);
    return MHD_create_response_from_buffer(
        x->out.size, (void *)(uintptr_t)lcsm_strbuf_text(&x->out), MHD_RESPMEM_PERSISTENT);
}

static enum MHD_Result answer(lcsm_exchange *x)
{
    wire                *w = x->wire;
    struct MHD_Response *r = x->out.failed ? NULL : response_of(x);
    if (r == NULL) return MHD_NO;
    w->answered = true;
    (void)MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, x->type);
    (void)MHD_add_response_header(r, MHD_HTTP_HEADER_X_CONTENT_TYPE_OPTIONS, "nosniff");
    (void)MHD_add_response_header(r, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    for (size_t j = 0; j < x->header_count; j++)
        (void)MHD_add_response_header(r, x->headers[j].name, x->headers[j].value);
    enum MHD_Result ok = MHD_queue_response(w->connection, (unsigned)x->status, r);
    MHD_destroy_response(r);
    return ok;
}

/* ---- requests --------------------------------------------------------------------------- */

static lcsm_exchange *open_exchange(lcsm_http *h, struct MHD_Connection *connection,
                                    const char *path, const char *method)
{
    const union MHD_ConnectionInfo *i =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    lcsm_exchange *x = calloc(1, sizeof *x);
    wire          *w = calloc(1, sizeof *w);
    if (x == NULL || w == NULL) {
        free(x);
        free(w);
        return NULL;
    }
    *w = (wire){.connection = connection, .http = h, .line = i != NULL ? i->socket_context : NULL};
    *x = (lcsm_exchange){.method = method, .path = path, .wire = w};
    return x;
}

/* A part of the body. One that is too long is read to its end and dropped. */
static void take(const lcsm_http *h, lcsm_exchange *x, const char *bytes, size_t size)
{
    wire *w = x->wire;
    if (size > h->o.body_bytes - x->body.size) w->large = true;
    if (!w->large) lcsm_strbuf_bytes(&x->body, bytes, size);
}

static void refuse_body(const lcsm_http *h, lcsm_exchange *x, int status, const char *why)
{
    x->status   = status;
    x->type     = "application/json";
    x->out.size = 0;
    lcsm_strbuf_printf(&x->out,
                       "{\"error\": {\"message\": \"%s (at most %zu bytes)\", \"type\": "
                       "\"invalid_request_error\", \"param\": null, \"code\": null}}\n",
                       why, h->o.body_bytes);
    x->ended = true;
}

static bool declares_too_much(const lcsm_http *h, const lcsm_exchange *x)
{
    const char *text = lcsm_http_header(x, MHD_HTTP_HEADER_CONTENT_LENGTH);
    return text != NULL && strtoull(text, NULL, 10) > h->o.body_bytes;
}

/* The head is there. */
static enum MHD_Result begin(lcsm_http *h, lcsm_exchange *x)
{
    h->o.begin(h->o.user, x);
    if (!x->ended && declares_too_much(h, x)) refuse_body(h, x, 413, "the body is too large");
    return x->ended ? answer(x) : MHD_YES;
}

/* The request is whole: answered at once, or when the answer is there. */
static enum MHD_Result hand_over(lcsm_http *h, lcsm_exchange *x)
{
    wire *w   = x->wire;
    w->handed = true;
    if (w->line != NULL) w->line->deadline = INFINITY;
    if (w->large) refuse_body(h, x, 413, "the body is too large");
    else if (x->body.failed) refuse_body(h, x, 503, "not enough memory for the body");
    else h->o.handle(h->o.user, x);
    lock(h);
    bool ready = x->ended || x->stream;
    if (x->ended) set_deadline(x, TAKEN_WITHIN * h->o.idle_seconds);
    if (!ready) wait_for_more(w);
    unlock(h);
    return ready ? answer(x) : MHD_YES;
}

static enum MHD_Result on_request(void *user, struct MHD_Connection *connection, const char *path,
                                  const char *method, const char *version, const char *data,
                                  size_t *size, void **own)
{
    lcsm_http     *h = user;
    lcsm_exchange *x = *own;
    (void)version;
    if (x == NULL) {
        x = *own = open_exchange(h, connection, path, method);
        return x == NULL ? MHD_NO : begin(h, x);
    }
    wire *w = x->wire;
    if (w->answered) {
        *size = 0;
        return MHD_YES;
    }
    if (*size > 0) {
        take(h, x, data, *size);
        *size = 0;
        return MHD_YES;
    }
    return w->handed ? answer(x) : hand_over(h, x);
}

static void on_done(void *user, struct MHD_Connection *connection, void **own,
                    enum MHD_RequestTerminationCode why)
{
    lcsm_http     *h = user;
    lcsm_exchange *x = *own;
    (void)connection;
    (void)why;
    if (x == NULL) return;
    lock(h);
    h->o.done(h->o.user, x);
    set_deadline(x, h->o.request_seconds);
    unlock(h);
    lcsm_strbuf_free(&x->body);
    lcsm_strbuf_free(&x->out);
    free(x->wire);
    free(x);
    *own = NULL;
}

const char *lcsm_http_header(const lcsm_exchange *x, const char *name)
{
    const wire *w = x->wire;
    return MHD_lookup_connection_value(w->connection, MHD_HEADER_KIND, name);
}

const char *lcsm_http_query(const lcsm_exchange *x, const char *name)
{
    const wire *w = x->wire;
    return MHD_lookup_connection_value(w->connection, MHD_GET_ARGUMENT_KIND, name);
}

/* ---- start and end ---------------------------------------------------------------------- */

/* A socket that listens; -1 with a message otherwise. */
static int listen_on(lcsm_http *h, const struct addrinfo *a)
{
    struct sockaddr_storage bound = {0};
    socklen_t               size  = sizeof bound;
    int                     yes   = 1;
    int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol);
    if (fd < 0) return -1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, 128) == 0
        && getsockname(fd, (struct sockaddr *)&bound, &size) == 0) {
        h->port = bound.ss_family == AF_INET6
                    ? ntohs(((struct sockaddr_in6 *)(void *)&bound)->sin6_port)
                    : ntohs(((struct sockaddr_in *)(void *)&bound)->sin_port);
        return fd;
    }
    int why = errno;
    (void)close(fd);
    errno = why;
    return -1;
}

static lcsm_status open_socket(lcsm_http *h, lcsm_error *err)
{
    struct addrinfo  hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *list  = NULL;
    char             port[16];
    (void)snprintf(port, sizeof port, "%d", h->o.port);
    int why = getaddrinfo(h->o.host, port, &hints, &list);
    if (why != 0)
        return lcsm_fail(err, LCSM_ERR_ARGUMENT, "--host %s: %s", h->o.host, gai_strerror(why));
    h->listening = listen_on(h, list);
    freeaddrinfo(list);
    if (h->listening >= 0) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_IO, "cannot listen on %s port %d: %s", h->o.host, h->o.port,
                     strerror(errno));
}

static lcsm_status start_daemon(lcsm_http *h, lcsm_error *err)
{
    bool                  tls    = h->o.cert != NULL;
    unsigned              flags  = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME;
    struct MHD_OptionItem pair[] = {{MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)h->cert.data},
                                    {MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)h->key.data},
                                    {MHD_OPTION_END, 0, NULL}};
    struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
    h->daemon                    = MHD_start_daemon(
                           flags | (tls ? MHD_USE_TLS : 0), 0, NULL, NULL, on_request, h, MHD_OPTION_LISTEN_SOCKET,
                           h->listening, MHD_OPTION_NOTIFY_COMPLETED, on_done, h, MHD_OPTION_NOTIFY_CONNECTION,
                           connection_changed, h, MHD_OPTION_CONNECTION_MEMORY_LIMIT, h->o.head_bytes,
                           MHD_OPTION_CONNECTION_LIMIT, (unsigned)h->o.connections, MHD_OPTION_CONNECTION_TIMEOUT,
                           (unsigned)h->o.idle_seconds, MHD_OPTION_THREAD_POOL_SIZE, (unsigned)THREADS,
                           MHD_OPTION_ARRAY, tls ? pair : none, MHD_OPTION_END);
    if (h->daemon != NULL) return LCSM_OK;
    return lcsm_fail(err, LCSM_ERR_IO,
                     tls ? "the server did not start: are %.80s and %.80s a "
                           "certificate and its key, in PEM?"
                         : "the server did not start: libmicrohttpd refused",
                     tls ? h->o.cert : "", tls ? h->o.key : "");
}

lcsm_status lcsm_http_start(lcsm_http **out, const lcsm_http_options *options, lcsm_error *err)
{
    lcsm_status st = LCSM_OK;
    lcsm_http  *h  = calloc(1, sizeof *h);
    *out           = NULL;
    if (h == NULL) return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for a server");
    h->o          = *options;
    h->listening  = -1;
    h->lines.next = h->lines.prev = &h->lines;
    if (h->o.cert != NULL) {
        LCSM_TRY(lcsm_file_read(&h->cert, h->o.cert, KEY_SIZE, err));
        LCSM_TRY(lcsm_file_read(&h->key, h->o.key, KEY_SIZE, err));
    }
    LCSM_TRY(open_socket(h, err));
    LCSM_TRY(start_daemon(h, err));
    *out = h;
    h    = NULL;
cleanup:
    lcsm_http_stop(h);
    return st;
}

int lcsm_http_port(const lcsm_http *h)
{
    return h->port;
}

void lcsm_http_quiesce(lcsm_http *h)
{
    MHD_socket fd = MHD_quiesce_daemon(h->daemon);
    if (fd != MHD_INVALID_SOCKET) (void)close(fd);
    h->listening = -1;
}

void lcsm_http_stop(lcsm_http *h)
{
    if (h == NULL) return;
    if (h->daemon != NULL) MHD_stop_daemon(h->daemon);
    else if (h->listening >= 0) (void)close(h->listening);
    lcsm_file_close(&h->cert);
    lcsm_file_close(&h->key);
    free(h);
}
