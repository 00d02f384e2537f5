/* run_files.c - run folders as tests write them. */
#include "run_files.h"

#include <stdio.h>
#include <string.h>

#include "base/folder.h"
#include "test.h"

void put_file(const temp_folder *f, const char *folder, const char *name, const char *text)
{
    char path[200];
    (void)snprintf(path, sizeof path, "%s/%s", f->path, folder);
    assert_int_equal(lcsm_folder_make(path, NULL), LCSM_OK);
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    temp_write(f, path, text, strlen(text));
}

void put_run(const temp_folder *f, const char *folder, const char *config, const char *metrics)
{
    put_file(f, folder, "config.json", config);
    put_file(f, folder, "metrics.jsonl", metrics);
}

lcsm_record read_run(const temp_folder *f, const char *folder)
{
    lcsm_record r;
    assert_int_equal(lcsm_record_read(&r, temp_path(f, folder), NULL), LCSM_OK);
    return r;
}

char *written(const temp_folder *f, const char *name)
{
    size_t size;
    return (char *)temp_read(f, name, &size);
}
