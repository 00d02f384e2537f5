/* fuzz_tokenizer.c - a tokenizer.json that is accepted encodes and decodes any text, and can be
 * read again. */
#include <lcsm/tokenizer.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "text/tokenizer.h"

bool fuzz_one(const unsigned char *data, size_t size)
{
    static const char text[] = "ab cab  ab\n\xC3\xA9 e\xCC\x81 <x>1 1234 'sab\xFF\xC3\0 end";
    lcsm_tokenizer   *tok, *again;
    lcsm_error        err = {0};
    int32_t          *ids;
    char             *back;
    size_t            count, back_size;
    if (lcsm_tokenizer_parse(&tok, "fuzz", (const char *)data, size, &err) != LCSM_OK) {
        PROMISE(err.status != LCSM_OK && err.text[0] != '\0' && tok == NULL);
        return false;
    }
    for (unsigned flags = 0; flags < 4; flags++) {
        /* a pattern may ask for more than the matcher gives, which is an error and nothing else */
        if (lcsm_tokenizer_encode(tok, text, sizeof text - 1, flags, &ids, &count, &err) != LCSM_OK)
            continue;
        for (size_t j = 0; j < count; j++)
            PROMISE(ids[j] >= 0
                    && ((flags & LCSM_ENCODE_TEMPLATE) != 0
                        || (size_t)ids[j] < lcsm_tokenizer_vocab(tok)));
        if (lcsm_tokenizer_decode(tok, ids, count, &back, &back_size, NULL) == LCSM_OK) free(back);
        free(ids);
    }
    PROMISE(lcsm_tokenizer_parse(&again, "fuzz", tok->json, tok->json_size, NULL) == LCSM_OK);
    PROMISE(lcsm_tokenizer_hash(again) == lcsm_tokenizer_hash(tok));
    lcsm_tokenizer_free(again);
    lcsm_tokenizer_free(tok);
    return true;
}

static const char *const SEEDS[] = {
    "{\"pre_tokenizer\":{\"type\":\"ByteLevel\"},\"model\":{\"vocab\":{\"a\":0,\"b\":1,\"ab\":2},"
    "\"merges\":[\"a b\"]}}",
    "{\"added_tokens\":[{\"id\":3,\"content\":\"<x>\",\"special\":true,\"lstrip\":true,"
    "\"rstrip\":true,\"single_word\":false,\"normalized\":false},{\"id\":4,\"content\":\"end\","
    "\"normalized\":true}],\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":"
    "\"NFC\"}"
    ",{\"type\":\"Replace\",\"pattern\":{\"String\":\"a\"},\"content\":\"b\"},{\"type\":"
    "\"Prepend\","
    "\"prepend\":\"c\"}]},\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":"
    "\"Split\",\"pattern\":{\"Regex\":\"[a-b]+|\\\\s+\"},\"behavior\":\"MergedWithNext\",\"invert\""
    ":false},{\"type\":\"Digits\",\"individual_digits\":true},{\"type\":\"ByteLevel\","
    "\"add_prefix_space\":true,\"use_regex\":true}]},\"post_processor\":{\"type\":"
    "\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"s\"}},{\"Sequence\":{\"id\":"
    "\"A\"}}],\"special_tokens\":{\"s\":{\"ids\":[1]}}},\"decoder\":{\"type\":\"ByteLevel\"},"
    "\"model\":{\"type\":\"BPE\",\"unk_token\":\"a\",\"fuse_unk\":true,\"ignore_merges\":true,"
    "\"vocab\":{\"a\":0,\"b\":1,\"ab\":2},\"merges\":[[\"a\",\"b\"]]}}",
    "{\"pre_tokenizer\":{\"type\":\"Metaspace\",\"prepend_scheme\":\"first\",\"split\":true},"
    "\"decoder\":{\"type\":\"Strip\",\"start\":1},\"model\":{\"byte_fallback\":true,\"unk_token\":"
    "\"u\",\"vocab\":{\"u\":0,\"\xE2\x96\x81\":1,\"a\":2,\"b\":3,\"ab\":4,\"<0x0A>\":5},\"merges\":"
    "[\"a b\"]}}",
    "{\"added_tokens\":[{\"id\":0,\"content\":\"<e>\",\"special\":true}],\"model\":{\"type\":"
    "\"World\",\"vocab\":{\"a\":1,\"b\":2,\"ab\":3,\"\xC4\xA0\":4},\"merges\":[]}}",
};

size_t fuzz_seed(size_t n, unsigned char *out, size_t capacity)
{
    if (n >= sizeof SEEDS / sizeof SEEDS[0]) return 0;
    size_t size = strlen(SEEDS[n]);
    PROMISE(size <= capacity);
    memcpy(out, SEEDS[n], size);
    return size;
}
