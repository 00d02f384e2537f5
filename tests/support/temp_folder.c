/* temp_folder.c - a folder under /tmp for one test. */
#define _XOPEN_SOURCE 700 /* nftw */
#include "temp_folder.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test.h"

temp_folder temp_folder_make(void)
{
    temp_folder f = {.path = "/tmp/lcsm-test-XXXXXX"};
    assert_non_null(mkdtemp(f.path));
    return f;
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *place)
{
    (void)info, (void)type, (void)place;
    return remove(path);
}

void temp_folder_remove(const temp_folder *f)
{
    assert_int_equal(nftw(f->path, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

const char *temp_path(const temp_folder *f, const char *name)
{
    static char     paths[8][512];
    static unsigned turn;
    char           *path = paths[turn++ % 8];
    assert_in_range(snprintf(path, sizeof paths[0], "%s/%s", f->path, name), 1,
                    sizeof paths[0] - 1);
    return path;
}

void temp_write(const temp_folder *f, const char *name, const void *data, size_t size)
{
    FILE *file = fopen(temp_path(f, name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

unsigned char *temp_read(const temp_folder *f, const char *name, size_t *size)
{
    FILE *file = fopen(temp_path(f, name), "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *size               = (size_t)ftell(file);
    unsigned char *data = malloc(*size + 1);
    assert_non_null(data);
    rewind(file);
    assert_int_equal(fread(data, 1, *size, file), *size);
    data[*size] = 0;
    (void)fclose(file);
    return data;
}

void temp_poke(const temp_folder *f, const char *name, size_t at, unsigned char byte)
{
    FILE *file = fopen(temp_path(f, name), "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, (long)at, SEEK_SET), 0);
    assert_int_equal(fwrite(&byte, 1, 1, file), 1);
    assert_int_equal(fclose(file), 0);
}
