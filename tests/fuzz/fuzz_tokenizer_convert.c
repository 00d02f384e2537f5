/* fuzz_tokenizer_convert.c - what a vocabulary of another format becomes can be read, or is refused
 * with a message. The first byte chooses the format. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "text/tokenizer.h"
#include "text/tokenizer_convert.h"

bool fuzz_one(const unsigned char *data, size_t size)
{
    char           *json = NULL;
    size_t          n    = 0;
    lcsm_error      err  = {0};
    lcsm_tokenizer *tok;
    lcsm_status     st;
    if (size == 0) return false;
    if (data[0] == 'w')
        st = lcsm_tokenizer_from_world(&json, &n, "fuzz", (const char *)data + 1, size - 1, &err);
    else st = lcsm_tokenizer_from_sentencepiece(&json, &n, "fuzz", data + 1, size - 1, &err);
    PROMISE(st == LCSM_OK || (json == NULL && err.text[0] != '\0'));
    if (st == LCSM_OK && lcsm_tokenizer_parse(&tok, "fuzz", json, n, &err) == LCSM_OK)
        lcsm_tokenizer_free(tok);
    free(json);
    return st == LCSM_OK;
}

size_t fuzz_seed(size_t n, unsigned char *out, size_t capacity)
{
    static const char WORLD[] = "w1 'a' 1\n2 'b' 1\n3 \"it's\" 4\n4 b'\\xe4' 1\n5 '\\u2581\\n' 4\n";
    static const char PIECES[] = "s\x0a\x0e\x0a\x05<unk>\x15\0\0\0\0\x18\x02\x0a\x06\x0a\x04"
                                 "abcd\x0a\x08\x0a\x01"
                                 "a\x15\0\0\x80\xbf\x12\x02\x18\x02\x1a\x04\x18\x01\x20\x00";
    const char       *seed     = n == 0 ? WORLD : PIECES;
    size_t            size     = n == 0 ? sizeof WORLD - 1 : sizeof PIECES - 1;
    if (n > 1) return 0;
    PROMISE(size <= capacity);
    memcpy(out, seed, size);
    return size;
}
