/* Files that are broken or hostile, of every format that is read: one table. Each is a good file
 * with one mistake; each is refused in a sentence that names what is wrong, and nothing is left
 * behind. */
#include <lcsm/import.h>
#include <lcsm/session.h>
#include <lcsm/tokenizer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/folder.h"
#include "model/config.h"
#include "model/model_weights.h"
#include "temp_folder.h"
#include "test.h"
#include "torch_bytes.h"

static temp_folder   f;
static lcsm_context *ctx;

/* ---- good files -------------------------------------------------------------------------- */

/* Into which function a case goes. */
typedef enum { FOLDER, GGUF, TORCH, RWKV_CPP, STATE, JSON_TOKENIZER, SENTENCEPIECE, WORLD } where;

static const char *const MAIN_FILE[] = {
    [FOLDER]         = "hf/model.safetensors",
    [GGUF]           = "m.gguf",
    [TORCH]          = "m.pth",
    [RWKV_CPP]       = "m.bin",
    [STATE]          = "s.state",
    [JSON_TOKENIZER] = "tokenizer.json",
    [SENTENCEPIECE]  = "tokenizer.model",
    [WORLD]          = "rwkv_vocab_v20230424.txt",
};

static void put_torch(void)
{
    bytes p = {.size = 0};
    put_code(&p, "\x80\x02}(");
    put_text(&p, "emb.weight");
    put_tensor(&p, "FloatStorage", "0", 6, 0, 2, 3, 3, 1);
    put_code(&p, "u.");
    bytes zip = torch_archive(&p);
    temp_write(&f, MAIN_FILE[TORCH], zip.data, zip.size);
}

static void put_bin(void)
{
    static const int32_t HEAD[] = {0x67676d66, 101, 4, 8, 1, 0}, ENTRY[] = {1, 10, 0, 1};
    unsigned char        to[128];
    memset(to, 0, sizeof to);
    memcpy(to, HEAD, sizeof HEAD);
    memcpy(to + sizeof HEAD, ENTRY, sizeof ENTRY);
    memcpy(to + sizeof HEAD + sizeof ENTRY, "emb.weight", sizeof "emb.weight");
    temp_write(&f, MAIN_FILE[RWKV_CPP], to, sizeof HEAD + sizeof ENTRY + 10 + 4);
}

static void put_tokenizers(void)
{
    static const char JSON[] =
        "{\"version\": \"1.0\", \"added_tokens\": [], \"normalizer\": null, \"pre_tokenizer\": "
        "{\"type\": \"ByteLevel\", \"add_prefix_space\": false}, \"post_processor\": null, "
        "\"decoder\": {\"type\": \"ByteLevel\"}, \"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": "
        "0, \"b\": 1, \"ab\": 2}, \"merges\": [\"a b\"]}}";
    static const char PIECES[] = "\x0a\x0e\x0a\x05<unk>\x15\0\0\0\0\x18\x02\x0a\x08\x0a\x01"
                                 "a\x15\0\0\x80\xbf\x12\x02\x18\x02\x1a\x04\x18\x01\x20\x00";
    static const char TEXT[]   = "1 'a' 1\n2 'b' 1\n";
    temp_write(&f, MAIN_FILE[JSON_TOKENIZER], JSON, sizeof JSON - 1);
    temp_write(&f, MAIN_FILE[SENTENCEPIECE], PIECES, sizeof PIECES - 1);
    temp_write(&f, MAIN_FILE[WORLD], TEXT, sizeof TEXT - 1);
}

static lcsm_model *model_of(void)
{
    lcsm_model_config cfg;
    lcsm_model       *m;
    lcsm_model_config_defaults(&cfg);
    (void)snprintf(cfg.method, sizeof cfg.method, "mamba");
    cfg.vocab = 5, cfg.d_model = 4, cfg.layers = 1, cfg.embed_scale = 1, cfg.tied = true;
    assert_int_equal(lcsm_model_create(&m, ctx, &cfg, 1, NULL), LCSM_OK);
    return m;
}

/* All good files, as they are before a mistake. */
static void put_all(void)
{
    char        kind[64];
    lcsm_error  err = {0};
    lcsm_model *m   = model_of();
    int32_t     one = 1;
    if (lcsm_export_hf(m, temp_path(&f, "hf"), NULL, NULL, kind, &err) != LCSM_OK)
        fail_msg("%s", err.text);
    if (lcsm_export_gguf(m, temp_path(&f, MAIN_FILE[GGUF]), NULL, &err) != LCSM_OK)
        fail_msg("%s", err.text);
    lcsm_session *s;
    assert_int_equal(lcsm_session_create(&s, m, NULL, NULL), LCSM_OK);
    assert_int_equal(lcsm_session_feed(s, &one, 1, NULL, NULL), LCSM_OK);
    assert_int_equal(lcsm_session_save_state(s, temp_path(&f, MAIN_FILE[STATE]), NULL), LCSM_OK);
    lcsm_session_free(s);
    lcsm_model_free(m);
    put_torch();
    put_bin();
    put_tokenizers();
}

/* ---- mistakes ---------------------------------------------------------------------------- */

/* Of a case: the file is cut by `number` bytes from its end (CUT), gets the bytes (WRITE), or has
 * `find` replaced by bytes of the same length (SWAP) or of any (EDIT), is not there (GONE), or is
 * there in place of the main one (INSTEAD). */
typedef enum { CUT, WRITE, SWAP, EDIT, GONE, INSTEAD } change;

typedef struct {
    const char *name;
    where       to;
    const char *file; /* NULL: the main one */
    change      how;
    const char *find;
    size_t      find_size;
    const char *bytes;
    size_t      size, number;
    const char *says, *also; /* words of the sentence */
} bad_file;

#define TEXT(x) x, sizeof(x) - 1
#define CUTS(name, to, n, ...)                                                                     \
    {                                                                                              \
        name, to, NULL, CUT, NULL, 0, NULL, 0, n, __VA_ARGS__                                      \
    }
#define WRITES(name, to, file, x, ...)                                                             \
    {                                                                                              \
        name, to, file, WRITE, NULL, 0, TEXT(x), 0, __VA_ARGS__                                    \
    }
#define SWAPS(name, to, find, x, ...)                                                              \
    {                                                                                              \
        name, to, NULL, SWAP, TEXT(find), TEXT(x), 0, __VA_ARGS__                                  \
    }
#define EDITS(name, to, file, find, x, ...)                                                        \
    {                                                                                              \
        name, to, file, EDIT, TEXT(find), TEXT(x), 0, __VA_ARGS__                                  \
    }
#define CONFIGS(name, find, x, ...) EDITS(name, FOLDER, "hf/config.json", find, x, __VA_ARGS__)

/* clang-format off */
static const bad_file CASES[] = {
    /* safetensors and its folder */
    CUTS("weights cut in the last tensor", FOLDER, 5, "model.safetensors", "out of range"),
    CUTS("weights cut in the header", FOLDER, 100000, "model.safetensors", "header"),
    WRITES("weights of no bytes", FOLDER, NULL, "", "model.safetensors", NULL),
    WRITES("a header of 2^63 bytes", FOLDER, NULL, "\xff\xff\xff\xff\xff\xff\xff\x7f{}", "header", NULL),
    WRITES("a header that is not JSON", FOLDER, NULL, "\4\0\0\0\0\0\0\0{{{{", "model.safetensors", NULL),
    WRITES("a header with a name twice", FOLDER, NULL, "\x6d\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]},\"a\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}}  ", "model.safetensors", "duplicate"),
    SWAPS("a tensor of integers", FOLDER, "\"F32\"", "\"I32\"", "I32", NULL),
    SWAPS("a tensor of no known type", FOLDER, "\"F32\"", "\"F99\"", "F99", NULL),
    SWAPS("another rank", FOLDER, "\"shape\":[4,", "\"shape\":[2,", "model.safetensors", NULL),
    SWAPS("offsets that overlap", FOLDER, "\"data_offsets\":[0,", "\"data_offsets\":[4,", "model.safetensors", NULL),
    SWAPS("another name", FOLDER, "backbone.norm_f.weight", "backbone.norm_g.weight", "norm_f.weight is missing", NULL),
    SWAPS("a number that is NaN", FOLDER, "\0\0\x80?\0\0\x80?\0\0\x80?\0\0\x80?", "\0\0\xc0\x7f\0\0\x80?\0\0\x80?\0\0\x80?", "NaN", "--allow-nonfinite"),
    {"no weights", FOLDER, NULL, GONE, NULL, 0, NULL, 0, 0, "model.safetensors", NULL},
    WRITES("weights that are a web page", FOLDER, NULL, "<!DOCTYPE html><html><body>404: Not Found</body></html>", "model.safetensors", NULL),
    {"an index that leads out of the folder", FOLDER, "hf/model.safetensors.index.json", INSTEAD, NULL, 0, TEXT("{\"weight_map\": {\"a\": \"../m.gguf\"}}"), 0, "index.json", "../m.gguf"},
    /* config.json */
    CONFIGS("a config that is cut", "}", "", "config.json", NULL),
    CONFIGS("a config with a size of text", "\"hidden_size\": 4", "\"hidden_size\": \"4\"", "hidden_size", "wrong type"),
    CONFIGS("a config with a negative size", "\"hidden_size\": 4", "\"hidden_size\": -4", "hidden_size", "expected"),
    CONFIGS("a config with a huge size", "\"vocab_size\": 5", "\"vocab_size\": 999999999999999999", "vocab_size", "expected"),
    CONFIGS("a config of other sizes", "\"vocab_size\": 5", "\"vocab_size\": 7", "embeddings.weight", "expected"),
    CONFIGS("a config of more layers", "\"num_hidden_layers\": 1", "\"num_hidden_layers\": 2", "layers.1", "missing"),
    CONFIGS("a config of another activation", "\"hidden_act\": \"silu\"", "\"hidden_act\": \"gelu\"", "hidden_act", "gelu"),
    CONFIGS("a config of another model", "MambaForCausalLM", "LlamaForCausalLM", "LlamaForCausalLM", "not supported"),
    CONFIGS("a quantised model", "{", "{\"quantization_config\": {\"bits\": 4},", "quantization_config", NULL),
    WRITES("a config that is a list", FOLDER, "hf/config.json", "[]", "config.json", "object"),
    /* GGUF */
    CUTS("a GGUF file that is cut", GGUF, 40, "m.gguf", NULL),
    SWAPS("a GGUF file of version 9", GGUF, "GGUF\3\0\0\0", "GGUF\11\0\0\0", "version", "9"),
    SWAPS("a GGUF file of the other byte order", GGUF, "GGUF\3\0\0\0", "GGUF\0\0\0\3", "big-endian", NULL),
    SWAPS("a GGUF file of other magic", GGUF, "GGUF", "GGML", "unknown format", NULL),
    SWAPS("a GGUF key of an unknown type", GGUF, "mamba.block_count\4\0\0\0", "mamba.block_count\77\0\0\0", "mamba.block_count", "type 63"),
    SWAPS("a GGUF key without end", GGUF, "\24\0\0\0\0\0\0\0general.architecture", "\24\0\0\0\0\0\0\x7fgeneral.architecture", "m.gguf", NULL),
    SWAPS("a GGUF file of another model", GGUF, "\5\0\0\0\0\0\0\0mamba", "\5\0\0\0\0\0\0\0llama", "llama", "not supported"),
    SWAPS("a GGUF tensor of another name", GGUF, "output_norm.weight", "output_morn.weight", "output_norm.weight is missing", NULL),
    /* PyTorch */
    CUTS("an archive without its end", TORCH, 10, "zip archive", NULL),
    SWAPS("a pickle that calls os.system", TORCH, "ctorch._utils\n_rebuild_tensor_v2\n", "cposix\nsystem\n(X\6\0\0\0trueXX\x85R00000", "posix.system", NULL),
    SWAPS("a pickle with an instruction that builds", TORCH, "\x80\2}(", "\x80\2}b", "pickle", "attributes"),
    SWAPS("a tensor beyond its storage", TORCH, "tQK\0K\2K\3", "tQK\0K\2K\x7f", "storage", NULL),
    SWAPS("a storage of no known type", TORCH, "FloatStorage", "QuintStorage", "QuintStorage", NULL),
    SWAPS("a compressed member", TORCH, "PK\1\2\0\0\0\0\0\0\0\0", "PK\1\2\0\0\0\0\0\0\10\0", "compressed", NULL),
    SWAPS("numbers of the other byte order", TORCH, "little", "bigbig", "little-endian", NULL),
    /* rwkv.cpp */
    CUTS("an rwkv.cpp file that is cut", RWKV_CPP, 2, "m.bin", NULL),
    SWAPS("an rwkv.cpp file of type 7", RWKV_CPP, "\1\0\0\0\0\0\0\0\1\0\0\0\12\0\0\0", "\1\0\0\0\7\0\0\0\1\0\0\0\12\0\0\0", "m.bin", "7"),
    SWAPS("an rwkv.cpp tensor of 2^31 axes", RWKV_CPP, "\1\0\0\0\12\0\0\0", "\xff\xff\xff\x7f\12\0\0\0", "m.bin", NULL),
    /* saved states */
    CUTS("a state that is cut", STATE, 3, "s.state", NULL),
    SWAPS("a state of another model", STATE, "\"lcsm_model_sha256\":\"", "\"lcsm_model_sha255\":\"", "another model", NULL),
    SWAPS("a state of another version", STATE, "\"lcsm_state_version\":\"2\"", "\"lcsm_state_version\":\"9\"", "lcsm_state_version", "9"),
    SWAPS("a state at another place", STATE, "\"lcsm_position\":\"1\"", "\"lcsm_position\":\"7\"", "damaged", NULL),
    /* tokenizers */
    CUTS("a tokenizer that is cut", JSON_TOKENIZER, 4, "tokenizer.json", NULL),
    SWAPS("a tokenizer of another kind", JSON_TOKENIZER, "\"BPE\"", "\"XYZ\"", "XYZ", NULL),
    SWAPS("a merge of tokens that are not there", JSON_TOKENIZER, "[\"a b\"]", "[\"a c\"]", "merge", NULL),
    SWAPS("two tokens with one number", JSON_TOKENIZER, "\"b\": 1", "\"b\": 0", "0", NULL),
    CUTS("a vocabulary of SentencePiece that is cut", SENTENCEPIECE, 2, "tokenizer.model", NULL),
    WRITES("a vocabulary of SentencePiece without pieces", SENTENCEPIECE, NULL, "\x12\2\x18\2", "tokenizer.model", NULL),
    SWAPS("a World vocabulary with code in it", WORLD, "2 'b' 1", "2 b() 1", "token 2", "without quotes"),
    SWAPS("a World vocabulary of a wrong length", WORLD, "2 'b' 1", "2 'b' 9", "token 2", "size"),
};
/* clang-format on */

static unsigned char *find(unsigned char *in, size_t size, const char *what, size_t n)
{
    for (size_t j = 0; j + n <= size; j++)
        if (memcmp(in + j, what, n) == 0) return in + j;
    return NULL;
}

static void spoil(const bad_file *c)
{
    const char    *name = c->file != NULL ? c->file : MAIN_FILE[c->to];
    size_t         size = 0;
    unsigned char *old  = NULL, *now, *at;
    if (c->how == GONE) {
        assert_int_equal(remove(temp_path(&f, name)), 0);
        return;
    }
    if (c->how == INSTEAD) assert_int_equal(remove(temp_path(&f, MAIN_FILE[c->to])), 0);
    if (c->how == WRITE || c->how == INSTEAD) {
        temp_write(&f, name, c->bytes, c->size);
        return;
    }
    old = temp_read(&f, name, &size);
    if (c->how == CUT) temp_write(&f, name, old, size > c->number ? size - c->number : 40);
    else {
        at = find(old, size, c->find, c->find_size);
        if (at == NULL) fail_msg("%s: the good file does not have it", c->name);
        if (c->how == SWAP && c->size != c->find_size)
            print_error("%s: %zu for %zu bytes\n", c->name, c->size, c->find_size);
        size_t before = (size_t)(at - old), after = size - before - c->find_size;
        now = malloc(before + c->size + after + 1);
        assert_non_null(now);
        memcpy(now, old, before);
        memcpy(now + before, c->bytes, c->size);
        memcpy(now + before + c->size, at + c->find_size, after);
        temp_write(&f, name, now, before + c->size + after);
        free(now);
    }
    free(old);
}

static lcsm_status load_state(lcsm_error *err)
{
    lcsm_model   *m = model_of();
    lcsm_session *s;
    assert_int_equal(lcsm_session_create(&s, m, NULL, NULL), LCSM_OK);
    lcsm_status st = lcsm_session_load_state(s, temp_path(&f, MAIN_FILE[STATE]), err);
    if (st != LCSM_OK) assert_int_equal(lcsm_session_position(s), 0);
    lcsm_session_free(s);
    lcsm_model_free(m);
    return st;
}

static lcsm_status load_tokenizer(where to, lcsm_error *err)
{
    lcsm_tokenizer *t  = NULL;
    lcsm_status     st = lcsm_tokenizer_load(&t, temp_path(&f, MAIN_FILE[to]), err);
    lcsm_tokenizer_free(t);
    return st;
}

static lcsm_status take(where to, lcsm_error *err)
{
    const char *from = temp_path(&f, to == FOLDER ? "hf" : MAIN_FILE[to]);
    if (to == STATE) return load_state(err);
    if (to >= JSON_TOKENIZER) return load_tokenizer(to, err);
    return lcsm_import(ctx, from, temp_path(&f, "run"), NULL, NULL, err);
}

/* What is in the good files is taken; the PyTorch and rwkv.cpp files are too small for a model, and
 * are read as far as that is seen. */
TEST(bad_files_good_ones_are_taken)
{
    static const where WHOLE[] = {FOLDER, GGUF, STATE, JSON_TOKENIZER, SENTENCEPIECE, WORLD};
    assert_int_equal(lcsm_context_create(&ctx, NULL, NULL), LCSM_OK);
    for (size_t j = 0; j < COUNT(WHOLE); j++) {
        lcsm_error err = {0};
        f              = temp_folder_make();
        put_all();
        if (take(WHOLE[j], &err) != LCSM_OK) fail_msg("%s: %s", MAIN_FILE[WHOLE[j]], err.text);
        temp_folder_remove(&f);
    }
    lcsm_context_free(ctx);
}

/* Whether the case is refused as it should be; if not, says so. */
static bool is_refused(const bad_file *c)
{
    lcsm_error err = {0};
    f              = temp_folder_make();
    put_all();
    spoil(c);
    bool taken = take(c->to, &err) == LCSM_OK, left = lcsm_path_exists(temp_path(&f, "run"));
    bool named =
        strstr(err.text, c->says) != NULL && (c->also == NULL || strstr(err.text, c->also) != NULL);
    temp_folder_remove(&f);
    if (taken || left || !named)
        print_error("%s:%s%s \"%s\" should have \"%s\" and \"%s\"\n", c->name,
                    taken ? " is taken;" : "", left ? " leaves a folder;" : "", err.text, c->says,
                    c->also != NULL ? c->also : "");
    return !taken && !left && named;
}

TEST(bad_files_are_refused_by_name_and_leave_nothing)
{
    size_t wrong = 0;
    assert_true(COUNT(CASES) >= 40);
    assert_int_equal(lcsm_context_create(&ctx, NULL, NULL), LCSM_OK);
    for (size_t j = 0; j < COUNT(CASES); j++) wrong += !is_refused(&CASES[j]);
    lcsm_context_free(ctx);
    assert_int_equal(wrong, 0);
}
