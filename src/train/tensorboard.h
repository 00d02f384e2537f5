/*
 * train/tensorboard.h - scalars as a TensorBoard event file.
 *
 * The file is a list of records: length, checksum of the length, an Event message, checksum of the
 * message. Records gather in memory until they are flushed.
 */
#ifndef LCSM_TRAIN_TENSORBOARD_H
#define LCSM_TRAIN_TENSORBOARD_H
#include <stdint.h>

#include "base/strbuf.h"

typedef struct lcsm_tensorboard lcsm_tensorboard;

/* Opens RUN/events.out.tfevents.SECONDS.lcsm, a new file for each session. */
lcsm_status lcsm_tensorboard_open(lcsm_tensorboard **out, const char *run, lcsm_error *err);
void        lcsm_tensorboard_close(lcsm_tensorboard *b);

/* The number called group/name at that step. */
void lcsm_tensorboard_scalar(lcsm_tensorboard *b, const char *group, const char *name, int64_t step,
                             double value);

lcsm_status lcsm_tensorboard_flush(lcsm_tensorboard *b, lcsm_error *err);

/* The checksum that the format asks for: CRC-32C, rotated and shifted. */
uint32_t lcsm_tensorboard_crc(const void *data, size_t size);

#endif
