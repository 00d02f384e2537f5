/*
 * model_settle.c - weights that lie in mapped files, in large pages of memory.
 *
 * A token reads every weight once. The pages of a file are small, so that reading them costs a
 * third more time than reading memory in large ones, and a copy costs as much as a few tokens. A
 * piece of the file is given back as soon as it is copied: at no time are there two copies in the
 * memory of the process. Where memory is short the weights stay in the files.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/block.h"
#include "base/size.h"
#include "base/thread.h"
#include "kernel/context.h"
#include "model/model_weights.h"

/* Bytes that are copied before their pages are given back, and those of an item of work. */
enum { PIECE = 1 << 23, PART = 1 << 19, LEAST = 1 << 23 };

typedef struct {
    const unsigned char *from;
    unsigned char       *to;
    size_t               bytes;
} copy;

static void copy_part(void *arg, size_t item, int worker)
{
    const copy *c  = arg;
    size_t      at = item * PART, left = c->bytes - at;
    (void)worker;
    memcpy(c->to + at, c->from + at, left < PART ? left : PART);
}

/* The mapped file that a large row lies in, or NULL. */
static const lcsm_file *file_of(const lcsm_param *p, const lcsm_weights *weights)
{
    bool large = (p->flags & LCSM_PARAM_STREAMED) != 0 && p->at != NULL;
    for (size_t j = 0; j < weights->shard_count && large; j++) {
        const lcsm_file *f  = &weights->shards[j].file;
        uintptr_t        at = (uintptr_t)p->at, first = (uintptr_t)f->data;
        if (f->mapped && at >= first && at - first < f->size) return f;
    }
    return NULL;
}

static size_t room_of(const lcsm_params *p, size_t row)
{
    size_t bytes = 0;
    return lcsm_round_up(lcsm_param_bytes(p, (int)row), LCSM_ALIGN, &bytes) ? bytes : SIZE_MAX;
}

/* Bytes that the system could give, 0 if it does not tell. */
static size_t available(void)
{
    char   line[128];
    size_t kilobytes = 0;
    FILE  *file      = fopen("/proc/meminfo", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "MemAvailable: %zu kB", &kilobytes) == 1) break;
    if (file != NULL) (void)fclose(file);
    return kilobytes * 1024;
}

/* Bytes of all rows in files; 0 if they are to stay there. */
static size_t measure(const lcsm_params *p, const lcsm_weights *weights)
{
    size_t total = 0;
    for (size_t j = 0; j < p->count; j++)
        if (file_of(&p->list[j], weights) != NULL && !lcsm_size_add(total, room_of(p, j), &total))
            return 0;
    return total >= LEAST && total <= available() / 2 ? total : 0;
}

static void move(lcsm_params *p, size_t row, const lcsm_file *file, unsigned char *to,
                 lcsm_pool *pool)
{
    const unsigned char *from  = p->list[row].at;
    size_t               bytes = lcsm_param_bytes(p, (int)row);
    for (size_t at = 0; at < bytes; at += PIECE) {
        copy c = {from + at, to + at, bytes - at < PIECE ? bytes - at : PIECE};
        lcsm_parallel_for(pool, (c.bytes + PART - 1) / PART, copy_part, &c);
        lcsm_file_release_part(file, c.from, c.bytes);
    }
    lcsm_params_place(p, (int)row, p->list[row].type, to);
}

void lcsm_model_settle(lcsm_model *model)
{
    lcsm_params   *p     = model->params;
    size_t         total = measure(p, &model->weights);
    unsigned char *to    = total == 0 ? NULL : lcsm_block_alloc(total);
    if (to == NULL) return;
    model->settled       = to;
    model->settled_bytes = total;
    for (size_t j = 0; j < p->count; j++) {
        const lcsm_file *file = file_of(&p->list[j], &model->weights);
        if (file == NULL) continue;
        move(p, j, file, to, model->ctx->pool);
        to += room_of(p, j);
    }
}

void lcsm_model_unsettle(lcsm_model *model)
{
    uintptr_t first = (uintptr_t)model->settled;
    for (size_t j = 0; j < model->params->count; j++) {
        uintptr_t at = (uintptr_t)model->params->list[j].at;
        if (at >= first && at - first < model->settled_bytes) return;
    }
    free(model->settled);
    model->settled       = NULL;
    model->settled_bytes = 0;
}
