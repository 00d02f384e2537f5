/*
 * torch_file.h - files of PyTorch (.pth, .pt, .bin): a zip archive of a pickle and of numbers.
 *
 *     NAME/data.pkl      a pickle: a dictionary of tensors, which name storages (pickle.h)
 *     NAME/data/KEY      the numbers of a storage, little-endian
 *     NAME/byteorder     "little", if it is there
 *
 * Nothing of the pickle is run. Every tensor is checked against the size of its storage. The
 * tensors are those of the dictionary, or of the one that it has under "state_dict" or "model";
 * members that are no tensors do not count.
 */
#ifndef LCSM_FORMAT_TORCH_FILE_H
#define LCSM_FORMAT_TORCH_FILE_H
#include "format/named_tensor.h"

enum { LCSM_TORCH_FILES = 4096 };

/* An open file. {0} is empty and may be closed. */
typedef struct {
    lcsm_file          file; /* the mapping; empty if the bytes are the caller's */
    lcsm_named_tensor *list; /* sorted by name */
    size_t             count;
    char              *names;
    void             **copies; /* of tensors whose numbers do not lie in order */
    size_t             copy_count;
} lcsm_torch_file;

/* Maps and checks a file, or checks bytes of the caller, which are called label in messages and
 * must outlive *out. */
lcsm_status lcsm_torch_file_open(lcsm_torch_file *out, const char *path, lcsm_error *err);
lcsm_status lcsm_torch_file_parse(lcsm_torch_file *out, const char *label,
                                  const unsigned char *data, size_t size, lcsm_error *err);
void        lcsm_torch_file_close(lcsm_torch_file *t);

/* All files of a folder: pytorch_model.bin, or those that pytorch_model.bin.index.json names. {0}
 * may be closed. */
typedef struct {
    lcsm_torch_file *files;
    size_t           file_count, count; /* count: tensors of all */
} lcsm_torch_folder;

/* Whether the folder has one of the two. */
bool        lcsm_torch_folder_is(const char *folder);
lcsm_status lcsm_torch_folder_open(lcsm_torch_folder *out, const char *folder, lcsm_error *err);
void        lcsm_torch_folder_close(lcsm_torch_folder *f);
lcsm_named_tensor lcsm_torch_folder_at(const lcsm_torch_folder *f, size_t row);

#endif
