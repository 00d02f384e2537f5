/*
 * lcsm/bench.h - time the library beside what this machine can do.
 *
 * Every kernel is compared with the plain reference before it is timed, and a wrong one is not
 * timed. Times are the best of several repetitions; between them the peak of the machine is
 * measured with the same number of threads, so that both see the same machine. Useful work counts
 * 4 K D floating-point operations for a token and head forward, 12 K D forward and backward,
 * half as much again with a delta rule or free a and b, and twice that for a complex memory.
 *
 * Ownership  What a sink gets is borrowed for the time of the call.
 * Threads    A benchmark belongs to one thread and uses as many as its options say.
 * Errors     A status other than LCSM_OK means that nothing could be measured. A wrong kernel and
 *            a target that is missed are rows.
 */
#ifndef LCSM_BENCH_H
#define LCSM_BENCH_H
#include <lcsm/context.h>
#include <lcsm/export.h>
#include <lcsm/status.h>
#include <stdbool.h>
#include <stddef.h>

LCSM_BEGIN_DECLS

/* What the processor can do with so many threads, in the instruction set of the kernels. */
typedef struct {
    size_t      size; /* set by the library */
    int         threads;
    const char *isa;
    double      gflops; /* multiply-adds on registers, 1e9 operations per second */
    double      gexp;   /* 1e9 vector exponentials per second */
    double      ggate;  /* 1e9 gates sigmoid(x)^(1/tau) per second */
    double      gbytes; /* 1e9 bytes read from memory per second */
} lcsm_bench_machine;

typedef enum {
    LCSM_BENCH_PEAK = 0, /* fraction of the FMA peak; at least the target */
    LCSM_BENCH_EVALS =
        1, /* time, as a multiple of that of the exponentials or gates alone; at most */
    LCSM_BENCH_SPEEDUP = 2, /* over one thread; at least */
    LCSM_BENCH_MEMORY  = 3, /* extra bytes of backward, as a part of what is allowed; at most */
    LCSM_BENCH_LENGTH  = 4, /* time per token, as a multiple of that of a short sequence; at most */
    LCSM_BENCH_TIMES = 5, /* speed, as a multiple of that of the same product in float; at least */
    LCSM_BENCH_FIGURES = 6,
} lcsm_bench_figure;

typedef struct {
    double value, target; /* NAN: not measured; no target */
    bool   met;           /* true without a target */
} lcsm_bench_result;

typedef struct {
    size_t            size; /* set by the library */
    const char       *name; /* as row-token/fwd/B4-T2048-H4-K64-D128 */
    int               threads;
    double            seconds; /* NAN: not timed, and note says why */
    double            share;   /* of that time that its threads had a processor */
    double            gflops, peak_gflops;
    double            error; /* against the reference, relative */
    const char       *form;
    ptrdiff_t         chunk;
    size_t            extra_bytes; /* tape and workspace of backward; 0 forward */
    bool              wrong;
    const char       *note;
    lcsm_bench_result figure[LCSM_BENCH_FIGURES];
} lcsm_bench_row;

/* Any function may be NULL. */
typedef struct {
    size_t size; /* sizeof(lcsm_bench_sink) */
    void (*machine)(void *user, const lcsm_bench_machine *machine);
    void (*row)(void *user, const lcsm_bench_row *row);
    void (*progress)(void *user, const char *text);
    void *user;
} lcsm_bench_sink;

/* All zeros are the defaults. */
typedef struct {
    size_t      size;    /* sizeof(lcsm_bench_options) */
    int         threads; /* 0: one, and two where there are two processors */
    lcsm_isa    isa;
    bool        quick;     /* fewer and shorter cases, some seconds in all */
    double      seconds;   /* of a case and pass; 0: 1, or 0.2 if quick */
    const char *filter;    /* NULL, or: only cases whose name contains it */
    const char *precision; /* of training in lcsm_bench_methods: "float32" (NULL) or "bf16" */
} lcsm_bench_options;

LCSM_API lcsm_status lcsm_bench_eos(const lcsm_bench_options *options, const lcsm_bench_sink *sink,
                                    lcsm_error *err);

/* How fast a model decodes. */
typedef struct {
    size_t size; /* sizeof(lcsm_bench_decode), set by the caller */
    int    threads;
    size_t parameters;
    size_t weight_bytes;   /* read for every token */
    size_t state_bytes;    /* carried by a sequence */
    size_t prompt;         /* tokens of the prompt that was timed */
    double decode_rate;    /* tokens per second, one at a time */
    double prefill_rate;   /* tokens per second of the prompt */
    double read_rate;      /* bytes per second that this machine reads from memory */
    double bound;          /* read_rate / weight_bytes: what memory allows, in tokens per second */
    size_t resident_bytes; /* of the process in memory, while it decodes; 0: not known */
    double fma_rate;       /* float32 operations per second that this machine's FMA units do */
    double prefill_bound;  /* fma_rate / 2 operations for every weight, in tokens per second */
} lcsm_bench_decode;

struct lcsm_model;

/* Takes about `seconds` (0: 2), with the threads of the model's context. */
LCSM_API lcsm_status lcsm_bench_decode_model(const struct lcsm_model *model, double seconds,
                                             lcsm_bench_decode *out, lcsm_error *err);

/* How fast a model decodes several sequences side by side (lcsm/slots.h), a token of each at a
 * time. Rates are the best of several repetitions in turn. */
typedef struct {
    size_t size; /* sizeof(lcsm_bench_slots), set by the caller */
    int    threads;
    size_t slots;
    double rate;     /* tokens per second of all slots together */
    double one_rate; /* of one of them by itself */
    double bound; /* what reading the weights once for all slots, each slot's memory, and the peak
                     of multiply-adds allow, in tokens per second */
} lcsm_bench_slots;

/* Takes about `seconds` (0: 2), with the threads of the model's context. */
LCSM_API lcsm_status lcsm_bench_slots_model(const struct lcsm_model *model, size_t slots,
                                            double seconds, lcsm_bench_slots *out, lcsm_error *err);

/* A model of one method: what it is and how fast. NAN: not measured. */
typedef struct {
    size_t      size;        /* set by the library */
    const char *name, *code; /* code "" except for the row code */
    bool        linear;      /* its time per token should not grow */
    ptrdiff_t   d_model, layers;
    size_t      parameters, memory_floats;   /* memory: carried by one sequence */
    double      train_flops, decode_flops;   /* a token */
    double      train_tokens_a_second;       /* whole updates, optimiser included */
    double      decode_tokens_a_second;      /* one sequence, a token at a time */
    ptrdiff_t   short_length, long_length;   /* growth: the ends that were measured */
    double      short_seconds, long_seconds; /* a token of one block, both passes */
    double      growth, growth_target;       /* their quotient; at most, or NAN */
} lcsm_method_speed;

typedef void lcsm_method_speed_fn(void *user, const lcsm_method_speed *row);

/* A model of every method whose name is or contains the filter, at a size of
 * lcsm_model_config_size, with a vocabulary of 256. options->threads 0 means all processors; with 1
 * times are the processor's; the sink's machine and progress are used, row gets each method.
 * Minutes in all. */
LCSM_API lcsm_status lcsm_bench_methods(const lcsm_bench_options *options, const char *size,
                                        lcsm_method_speed_fn *row, const lcsm_bench_sink *sink,
                                        lcsm_error *err);

LCSM_END_DECLS
#endif
