/* tensorboard.c - event files. */
#include "train/tensorboard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/folder.h"

struct lcsm_tensorboard {
    FILE       *file;
    lcsm_strbuf waiting;
    char        path[LCSM_PATH_MAX];
};

/* CRC-32C (Castagnoli, reflected), bit by bit: some hundred bytes a second. */
uint32_t lcsm_tensorboard_crc(const void *data, size_t size)
{
    const unsigned char *p   = data;
    uint32_t             crc = 0xffffffffu;
    for (size_t j = 0; j < size; j++) {
        crc ^= p[j];
        for (int bit = 0; bit < 8; bit++) crc = (crc >> 1) ^ ((crc & 1u) != 0 ? 0x82f63b78u : 0u);
    }
    crc = ~crc;
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

/* ---- protocol buffers: what three message types need ---------------------------------------- */

static void put_little(lcsm_strbuf *s, uint64_t value, int bytes)
{
    char b[8];
    for (int j = 0; j < bytes; j++) b[j] = (char)(unsigned char)(value >> (8 * j));
    lcsm_strbuf_bytes(s, b, (size_t)bytes);
}

static void put_varint(lcsm_strbuf *s, uint64_t value)
{
    for (; value >= 128; value >>= 7) put_little(s, (value & 127) | 128, 1);
    put_little(s, value, 1);
}

enum { VARINT = 0, DOUBLE = 1, BYTES = 2, FLOAT = 5 };

static void put_tag(lcsm_strbuf *s, unsigned field, unsigned type)
{
    put_varint(s, field << 3 | type);
}

static void put_double(lcsm_strbuf *s, unsigned field, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_tag(s, field, DOUBLE);
    put_little(s, bits, 8);
}

static void put_float(lcsm_strbuf *s, unsigned field, double value)
{
    float    f = (float)value;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    put_tag(s, field, FLOAT);
    put_little(s, bits, 4);
}

static void put_text(lcsm_strbuf *s, unsigned field, const char *text, size_t size)
{
    put_tag(s, field, BYTES);
    put_varint(s, size);
    lcsm_strbuf_bytes(s, text, size);
}

/* ---- records -------------------------------------------------------------------------------- */

static void put_record(lcsm_strbuf *to, const lcsm_strbuf *event)
{
    lcsm_strbuf length = {0};
    put_little(&length, event->size, 8);
    lcsm_strbuf_bytes(to, length.text, length.size);
    put_little(to, lcsm_tensorboard_crc(length.text, length.size), 4);
    lcsm_strbuf_bytes(to, event->text, event->size);
    put_little(to, lcsm_tensorboard_crc(event->text, event->size), 4);
    lcsm_strbuf_free(&length);
}

/* Event {wall_time = 1, step = 2, file_version = 3, summary = 5 {value = 1 {tag = 1, simple_value =
 * 2}}}. */
void lcsm_tensorboard_scalar(lcsm_tensorboard *b, const char *group, const char *name, int64_t step,
                             double value)
{
    lcsm_strbuf tag = {0}, one = {0}, summary = {0}, event = {0};
    lcsm_strbuf_printf(&tag, "%s/%s", group, name);
    put_text(&one, 1, lcsm_strbuf_text(&tag), tag.size);
    put_float(&one, 2, value);
    put_text(&summary, 1, one.text, one.size);
    put_double(&event, 1, lcsm_wall_time());
    put_tag(&event, 2, VARINT);
    put_varint(&event, (uint64_t)step);
    put_text(&event, 5, summary.text, summary.size);
    if (tag.failed || one.failed || summary.failed || event.failed) b->waiting.failed = true;
    else put_record(&b->waiting, &event);
    lcsm_strbuf_free(&tag);
    lcsm_strbuf_free(&one);
    lcsm_strbuf_free(&summary);
    lcsm_strbuf_free(&event);
}

static void put_version(lcsm_tensorboard *b)
{
    static const char version[] = "brain.Event:2";
    lcsm_strbuf       event     = {0};
    put_double(&event, 1, lcsm_wall_time());
    put_text(&event, 3, version, sizeof version - 1);
    if (event.failed) b->waiting.failed = true;
    else put_record(&b->waiting, &event);
    lcsm_strbuf_free(&event);
}

lcsm_status lcsm_tensorboard_open(lcsm_tensorboard **out, const char *run, lcsm_error *err)
{
    char              name[80];
    lcsm_tensorboard *b = calloc(1, sizeof *b);
    *out                = NULL;
    if (b == NULL)
        return lcsm_fail(err, LCSM_ERR_MEMORY, "not enough memory for TensorBoard events");
    snprintf(name, sizeof name, "events.out.tfevents.%.0f.lcsm", lcsm_wall_time());
    lcsm_status st = lcsm_path_join(b->path, run, name, err);
    if (st == LCSM_OK && (b->file = fopen(b->path, "ab")) == NULL)
        st = lcsm_fail_io(err, b->path, "open");
    if (st != LCSM_OK) {
        lcsm_tensorboard_close(b);
        return st;
    }
    put_version(b);
    *out = b;
    return LCSM_OK;
}

void lcsm_tensorboard_close(lcsm_tensorboard *b)
{
    if (b == NULL) return;
    if (b->file != NULL) fclose(b->file);
    lcsm_strbuf_free(&b->waiting);
    free(b);
}

lcsm_status lcsm_tensorboard_flush(lcsm_tensorboard *b, lcsm_error *err)
{
    bool bad = b->waiting.failed;
    if (!bad && b->waiting.size > 0)
        bad = fwrite(b->waiting.text, 1, b->waiting.size, b->file) != b->waiting.size
           || fflush(b->file) != 0;
    lcsm_strbuf_free(&b->waiting);
    b->waiting = (lcsm_strbuf){0};
    return bad ? lcsm_fail_io(err, b->path, "write") : LCSM_OK;
}
