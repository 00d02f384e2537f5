/* run_files.h - run folders as tests write them, and what the report reads from them. */
#ifndef LCSM_RUN_FILES_H
#define LCSM_RUN_FILES_H
#include "report/record.h"
#include "temp_folder.h"

/* A file of a folder in f, which is made. */
void put_file(const temp_folder *f, const char *folder, const char *name, const char *text);

/* config.json and metrics.jsonl. */
void put_run(const temp_folder *f, const char *folder, const char *config, const char *metrics);

lcsm_record read_run(const temp_folder *f, const char *folder);

/* The text of a file, to be freed. */
char *written(const temp_folder *f, const char *name);

/* Lines of metrics.jsonl. */
#define EVAL(step, loss, accuracy)                                                                 \
    "{\"kind\":\"eval\",\"step\":" #step ",\"tokens\":10,\"split\":\"valid\",\"loss\":" #loss      \
    ",\"accuracy\":" #accuracy "}\n"
#define TRAIN(step, loss)                                                                          \
    "{\"kind\":\"train\",\"step\":" #step ",\"tokens\":" #step "0,\"seconds\":" #step              \
    ",\"loss\":" #loss ",\"tokens_per_second\":100}\n"
#define END(reason)                                                                                \
    "{\"kind\":\"end\",\"reason\":\"" reason                                                       \
    "\",\"step\":4,\"tokens\":40,\"seconds\":9.5,\"peak_memory_bytes\":1000000}\n"
#endif
