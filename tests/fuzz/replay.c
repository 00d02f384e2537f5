/*
 * replay.c - a target without libFuzzer.
 *
 *     fuzz_<name>                 the seeds, which must be accepted, and 2000 mutations of each
 *     fuzz_<name> --seeds FOLDER  writes the seeds as files, to start libFuzzer from
 *     fuzz_<name> FILE...         each file, with a line that says what became of it
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "fuzz.h"

enum { CAPACITY = 1 << 16, MUTATIONS = 2000, SEED = 20240501 };

typedef struct {
    unsigned char bytes[CAPACITY];
    size_t        size;
    uint64_t      stream, used; /* of random numbers */
} input;

static size_t pick(input *in, size_t n)
{
    return n == 0 ? 0 : (size_t)(lcsm_rng(SEED, (uint32_t)in->stream, in->used++).v[0] % n);
}

static void insert(input *in, size_t at, const void *bytes, size_t size)
{
    if (in->size + size > CAPACITY) return;
    memmove(in->bytes + at + size, in->bytes + at, in->size - at);
    memcpy(in->bytes + at, bytes, size);
    in->size += size;
}

static void flip_bit(input *in)
{
    if (in->size > 0) in->bytes[pick(in, in->size)] ^= (unsigned char)(1 << pick(in, 8));
}

static void set_byte(input *in)
{
    static const unsigned char SOME[] = {0, 1, 0x7F, 0x80, 0xFF, '"', '{', '}', '[', ']', ',', '0'};
    if (in->size > 0) in->bytes[pick(in, in->size)] = SOME[pick(in, sizeof SOME)];
}

static void remove_piece(input *in)
{
    size_t at = pick(in, in->size + 1), most = in->size - at, size = pick(in, most + 1);
    if (size > 16 && pick(in, 4) != 0) size = 1 + size % 16;
    memmove(in->bytes + at, in->bytes + at + size, in->size - at - size);
    in->size -= size;
}

static void repeat_piece(input *in)
{
    unsigned char piece[64];
    size_t        from = pick(in, in->size + 1), size = pick(in, sizeof piece + 1);
    if (size > in->size - from) size = in->size - from;
    memcpy(piece, in->bytes + from, size);
    insert(in, pick(in, in->size + 1), piece, size);
}

static void insert_word(input *in)
{
    static const char *const WORDS[] = {
        "\"\":",
        "null",
        "true",
        "1e9",
        "-1",
        "1.5",
        "9223372036854775808",
        "\\u0000",
        "\\ud800",
        "[[[[[",
        "{}",
        "\"F4\"",
        " ",
        "\xEF\xBB\xBF",
        "\\",
        "\"dtype\"",
        "[0,0]",
        "// x",
        "18446744073709551615",
    };
    const char *word = WORDS[pick(in, sizeof WORDS / sizeof *WORDS)];
    insert(in, pick(in, in->size + 1), word, strlen(word));
}

/* Four or eight bytes as a number: small, large, or one off what it was. */
static void set_number(input *in)
{
    static const uint64_t SOME[] = {0,          1,         0x7FFFFFFF, 0x80000000,
                                    UINT32_MAX, INT64_MAX, UINT64_MAX};
    size_t                size   = pick(in, 2) == 0 ? 4 : 8;
    uint64_t              value  = SOME[pick(in, sizeof SOME / sizeof *SOME)];
    if (in->size < size) return;
    size_t at = pick(in, 2) == 0 ? 0 : pick(in, in->size - size + 1);
    if (pick(in, 3) == 0) {
        memcpy(&value, in->bytes + at, size);
        value += pick(in, 2) == 0 ? 1 : UINT64_MAX;
    }
    memcpy(in->bytes + at, &value, size);
}

static void mutate(input *in)
{
    static void (*const WAYS[])(input * in) = {flip_bit,     set_byte,    remove_piece,
                                               repeat_piece, insert_word, set_number};
    for (size_t left = 1 + pick(in, 4); left > 0; left--)
        WAYS[pick(in, sizeof WAYS / sizeof *WAYS)](in);
}

/* A copy of the right size, so that the sanitizer sees a step beyond it. */
static bool run(const unsigned char *data, size_t size)
{
    unsigned char *copy = malloc(size == 0 ? 1 : size);
    PROMISE(copy != NULL);
    memcpy(copy, data, size);
    bool accepted = fuzz_one(copy, size);
    free(copy);
    return accepted;
}

static int replay(void)
{
    static input in;
    size_t       accepted = 0, runs = 0, seeds = 0;
    for (; (in.size = fuzz_seed(seeds, in.bytes, CAPACITY)) > 0; seeds++) {
        PROMISE(run(in.bytes, in.size));
        for (size_t j = 0; j < MUTATIONS; j++, runs++) {
            in.size   = fuzz_seed(seeds, in.bytes, CAPACITY);
            in.stream = seeds * MUTATIONS + j;
            in.used   = 0;
            mutate(&in);
            accepted += run(in.bytes, in.size) ? 1 : 0;
        }
    }
    printf("%zu seeds, %zu mutations, %zu of them accepted\n", seeds, runs, accepted);
    return seeds > 0 && accepted < runs ? 0 : 1;
}

static int write_seeds(const char *folder)
{
    static unsigned char bytes[CAPACITY];
    size_t               size;
    for (size_t n = 0; (size = fuzz_seed(n, bytes, CAPACITY)) > 0; n++) {
        char path[4096];
        (void)snprintf(path, sizeof path, "%s/seed-%zu", folder, n);
        FILE *file = fopen(path, "wb");
        if (file == NULL || fwrite(bytes, 1, size, file) != size) {
            perror(path);
            return 1;
        }
        (void)fclose(file);
    }
    return 0;
}

static int run_file(const char *path)
{
    FILE          *file = fopen(path, "rb");
    unsigned char *data = NULL;
    size_t         size = 0, got = 1;
    if (file == NULL) {
        perror(path);
        return 1;
    }
    for (; got > 0; size += got) {
        data = realloc(data, size + CAPACITY);
        PROMISE(data != NULL);
        got = fread(data + size, 1, CAPACITY, file);
    }
    (void)fclose(file);
    printf("%s %s\n", run(data, size) ? "accepted" : "refused ", path);
    free(data);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 1) return replay();
    if (argc == 3 && strcmp(argv[1], "--seeds") == 0) return write_seeds(argv[2]);
    int failed = 0;
    for (int j = 1; j < argc; j++) failed |= run_file(argv[j]);
    return failed;
}
