/* temp_folder.h - a folder under /tmp for one test. */
#ifndef LCSM_TEMP_FOLDER_H
#define LCSM_TEMP_FOLDER_H
#include <stddef.h>

typedef struct {
    char path[64];
} temp_folder;

temp_folder temp_folder_make(void);

/* Removes it with all that is in it. */
void temp_folder_remove(const temp_folder *f);

/* The path of a name in the folder, in one of several buffers that are used in turn. */
const char *temp_path(const temp_folder *f, const char *name);

/* Writes a file of that name; reads one whole, into memory that the caller frees. */
void           temp_write(const temp_folder *f, const char *name, const void *data, size_t size);
unsigned char *temp_read(const temp_folder *f, const char *name, size_t *size);

/* Changes one byte of a file. */
void temp_poke(const temp_folder *f, const char *name, size_t at, unsigned char byte);

#endif
