/*
 * tokenize.c - trains a tokenizer on a file, encodes a text, and shows its tokens.
 *
 *     tokenize [FILE [TEXT]]
 *
 * Without a file it learns from a sentence.
 *
 *     cc tokenize.c $(pkg-config --cflags --libs lcsm)
 */
#include <lcsm/lcsm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed(const lcsm_error *err)
{
    fprintf(stderr, "tokenize: %s\n", err->text);
    return EXIT_FAILURE;
}

/* A file to learn from, if none is given. */
static const char *write_sample(char *path, size_t room)
{
    static const char sample[] = "she sells sea shells by the sea shore; the shells she sells are "
                                 "sea shells, I'm sure: so if she sells shells on the sea shore\n";
    const char       *folder   = getenv("TMPDIR");
    (void)snprintf(path, room, "%s/lcsm-tokenize.txt", folder == NULL ? "/tmp" : folder);
    FILE *file = fopen(path, "w");
    if (file == NULL) return NULL;
    bool written = fputs(sample, file) >= 0;
    return fclose(file) == 0 && written ? path : NULL;
}

/* The text as a model would write it: token by token, in whole characters. */
static void print_tokens(const lcsm_tokenizer *tok, const int32_t *ids, size_t count)
{
    lcsm_utf8_stream stream = {0};
    for (size_t j = 0; j < count; j++) {
        char        out[3 * 256 + LCSM_UTF8_REST];
        size_t      size = 0, n = 0;
        const char *piece = lcsm_tokenizer_piece(tok, ids[j], &size);
        if (size <= 256) n = lcsm_utf8_push(&stream, piece, size, out);
        printf("[%.*s]", (int)n, out);
    }
    putchar('\n');
}

int main(int argc, char **argv)
{
    char            path[512];
    const char     *file = argc > 1 ? argv[1] : write_sample(path, sizeof path);
    const char     *text = argc > 2 ? argv[2] : "sea shells \xE2\x82\xAC"; /* and a euro sign */
    lcsm_tokenizer *tok;
    lcsm_error      err;
    int32_t        *ids;
    char           *back;
    size_t          count, size;

    if (file == NULL) return puts("tokenize: no file to learn from"), EXIT_FAILURE;
    const lcsm_tokenizer_training options = {.size = sizeof options, .vocab = 300};
    if (lcsm_tokenizer_train(&tok, &file, 1, &options, NULL, NULL, &err) != LCSM_OK)
        return failed(&err);
    if (lcsm_tokenizer_encode(tok, text, strlen(text), 0, &ids, &count, &err) != LCSM_OK)
        return failed(&err);
    printf("%zu tokens, %zu bytes of text are %zu ids\n", lcsm_tokenizer_vocab(tok), strlen(text),
           count);
    print_tokens(tok, ids, count);

    if (lcsm_tokenizer_decode(tok, ids, count, &back, &size, &err) != LCSM_OK) return failed(&err);
    bool same = size == strlen(text) && memcmp(back, text, size) == 0;
    puts(same ? "and come back as they were" : "WRONG");
    if (argc <= 1) (void)remove(path);
    free(back);
    free(ids);
    lcsm_tokenizer_free(tok);
    return same ? EXIT_SUCCESS : EXIT_FAILURE;
}
