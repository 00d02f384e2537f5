/*
 * checkpoint_folder.h - the checkpoints of a run: folders that are there whole or not at all.
 *
 *     checkpoints/step-00001000/    the files, and manifest.json:
 *     {"format": "lcsm-checkpoint", "version": 1, "step": 1000,
 *      "files": [{"name": "model.safetensors", "size": 512, "xxh3_128": "32 digits"}, ...]}
 *
 * A checkpoint is written under another name, synced, renamed, synced. A second one of the same
 * step replaces the first, which is called step-N.old for the moment between and counts as a
 * checkpoint then. So whenever the process dies, the last one that was saved is there. Whether it
 * is what was written is seen from the manifest; the newest that verifies is the one to load.
 */
#ifndef LCSM_FORMAT_CHECKPOINT_FOLDER_H
#define LCSM_FORMAT_CHECKPOINT_FOLDER_H
#include <stdint.h>

#include "base/folder.h"
#include "format/run_folder.h"

enum { LCSM_CHECKPOINT_NAME = 40, LCSM_CHECKPOINT_FILES = 1024 };

typedef struct {
    uint64_t step;
    char     name[LCSM_CHECKPOINT_NAME]; /* of the folder in checkpoints/; "" for none */
} lcsm_checkpoint;

typedef struct {
    lcsm_checkpoint *items; /* newest first */
    size_t           count;
} lcsm_checkpoint_list;

/* Stores 1 to LCSM_CHECKPOINT_FILES files as the checkpoint of a step below 2^63. On failure
 * nothing has changed. */
lcsm_status lcsm_checkpoint_save(const char *run, uint64_t step, const lcsm_run_file *files,
                                 size_t count, lcsm_error *err);

/* What is called like a checkpoint; nothing of it is looked at. A run without the folder has none.
 */
lcsm_status lcsm_checkpoint_list_read(lcsm_checkpoint_list *out, const char *run, lcsm_error *err);
void        lcsm_checkpoint_list_free(lcsm_checkpoint_list *list);

/* The path of a file in a checkpoint. */
lcsm_status lcsm_checkpoint_path(char out[LCSM_PATH_MAX], const char *run, const lcsm_checkpoint *c,
                                 const char *name, lcsm_error *err);

/* Reads every file of the checkpoint and says what is wrong with the first that is not what the
 * manifest says. */
lcsm_status lcsm_checkpoint_verify(const char *run, const lcsm_checkpoint *c, lcsm_error *err);

/* Is told what was passed over, and why. */
typedef void lcsm_checkpoint_skip(void *arg, const char *name, const char *reason);

/* The newest that verifies, or one without a name if there is none. skip may be NULL. */
lcsm_status lcsm_checkpoint_newest(lcsm_checkpoint *out, const char *run,
                                   lcsm_checkpoint_skip *skip, void *arg, lcsm_error *err);

/* Removes all but the newest `keep`, at least 1, and what interrupted saves have left. */
lcsm_status lcsm_checkpoint_prune(const char *run, size_t keep, lcsm_error *err);

#endif
