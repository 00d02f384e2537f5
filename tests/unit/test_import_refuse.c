/* What is not imported: the message names what the file is, what is supported and what to do. */
#include <lcsm/import.h>
#include <stdio.h>
#include <string.h>

#include "format/file_kind.h"
#include "format/safetensors.h"
#include "temp_folder.h"
#include "test.h"

static temp_folder f;

/* Imports a file or folder of f, or a path; must fail with all of these words, which end with
 * NULL. */
static void refused(const char *from, const char *const *words)
{
    lcsm_context *ctx;
    lcsm_error    err = {0};
    assert_int_equal(lcsm_context_create(&ctx, NULL, NULL), LCSM_OK);
    assert_int_not_equal(lcsm_import(ctx, from, temp_path(&f, "run"), NULL, NULL, &err), LCSM_OK);
    for (; *words != NULL; words++)
        if (strstr(err.text, *words) == NULL) fail_msg("\"%s\" lacks \"%s\"", err.text, *words);
    if (strlen(err.text) + 1 == sizeof err.text) fail_msg("\"%s\" is cut", err.text);
    lcsm_context_free(ctx);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})
#define SUPPORTED  "lcsm import --help lists what is supported"

TEST(import_file_of_another_format_is_named)
{
    static const struct {
        const char *bytes;
        size_t      size;
        const char *kind, *advice;
    } CASES[] = {
#define FILE_OF(bytes, kind, advice) {bytes, sizeof(bytes) - 1, kind, advice}
        FILE_OF("PK\003\004..archive/data.pkl..", "not a whole zip archive", "cut short"),
        FILE_OF("\200\002..blocks.0.att.r_k", "before 1.6 (RWKV-7)", "a newer PyTorch"),
        FILE_OF("PK\003\004..x.txt", "a zip archive", SUPPORTED),
        FILE_OF("\2\0\0\0\0\0\0\0{}", "has no config.json", "the tensor names of RWKV"),
        FILE_OF(" {\"model_type\": \"mamba\"}", "a JSON file", "pass the folder"),
        FILE_OF("version https://git-lfs.github.com/spec/v1\n", "a Git LFS pointer",
                "git lfs pull"),
        FILE_OF("\1\2\3", "unknown format", SUPPORTED),
        FILE_OF("", "unknown format", SUPPORTED),
#undef FILE_OF
    };
    f = temp_folder_make();
    for (size_t j = 0; j < COUNT(CASES); j++) {
        temp_write(&f, "weights", CASES[j].bytes, CASES[j].size);
        refused(temp_path(&f, "weights"), WORDS("weights", CASES[j].kind, CASES[j].advice));
    }
    temp_folder_remove(&f);
}

/* A file of rwkv.cpp with F32 tensors of one axis of one number, whose names end with NULL. */
static void put_bin(const char *const *names)
{
    unsigned char bytes[1024];
    const int32_t head[] = {0x67676d66, 101, 4, 8, 1, 0};
    size_t        size   = sizeof head;
    memcpy(bytes, head, sizeof head);
    for (; *names != NULL; names++) {
        const int32_t entry[] = {1, (int32_t)strlen(*names), 0, 1};
        memcpy(bytes + size, entry, sizeof entry);
        memcpy(bytes + size + sizeof entry, *names, strlen(*names));
        memset(bytes + size + sizeof entry + strlen(*names), 0, 4);
        size += sizeof entry + strlen(*names) + 4;
    }
    temp_write(&f, "weights.bin", bytes, size);
}

TEST(import_of_a_later_rwkv_is_refused_by_its_version)
{
    f = temp_folder_make();
    put_bin(WORDS("blocks.0.att.time_mix_k", "blocks.0.att.ln_x.weight"));
    refused(temp_path(&f, "weights.bin"), WORDS("holds an RWKV-5 model", SUPPORTED));
    put_bin(
        WORDS("blocks.0.att.ln_x.weight", "blocks.0.att.time_faaaa", "blocks.0.att.time_maa_x"));
    refused(temp_path(&f, "weights.bin"), WORDS("holds an RWKV-6 model", SUPPORTED));
    put_bin(WORDS("blocks.0.att.r_k", "blocks.0.att.ln_x.weight", "blocks.0.att.x_r"));
    refused(temp_path(&f, "weights.bin"), WORDS("holds an RWKV-7 model", SUPPORTED));
    put_bin(WORDS("blocks.0.att.time_mix_k"));
    refused(temp_path(&f, "weights.bin"), WORDS("blocks.0.ffn.key.weight is missing"));
    temp_folder_remove(&f);
}

static void put_config(const char *text)
{
    temp_write(&f, "config.json", text, strlen(text));
}

TEST(import_of_a_config_of_another_model_names_it)
{
    f = temp_folder_make();
    put_config("{\"model_type\": \"llama\", \"n_layer\": 4}");
    refused(f.path, WORDS("model_type \"llama\" is not supported", SUPPORTED));
    put_config("{\"architectures\": [\"LlamaForCausalLM\"], \"model_type\": \"llama\"}");
    refused(f.path, WORDS("architecture \"LlamaForCausalLM\" is not supported", SUPPORTED));
    put_config("{\"architectures\": [\"RwkvForCausalLM\"], \"model_type\": \"rwkv5\"}");
    refused(f.path, WORDS("model_type \"rwkv5\" is not supported", SUPPORTED));
    put_config("{\"architectures\": [\"Zamba2ForCausalLM\"], \"quantization_config\": {}}");
    refused(f.path, WORDS("Zamba2ForCausalLM", SUPPORTED));
    put_config("{\"dim\": 4096, \"n_layers\": 32}");
    refused(f.path, WORDS("has neither architectures nor model_type", SUPPORTED));
    put_config("{\"n_embd\": 768, \"n_layer\": 12}");
    refused(f.path, WORDS("has neither architectures nor model_type", SUPPORTED));
    temp_folder_remove(&f);
}

TEST(import_of_rwkv5_tensors_under_the_name_of_rwkv4_is_refused)
{
    static const float ZERO[1];
    lcsm_named_tensor  t = {
         .name = "rwkv.blocks.0.attention.ln_x.weight", .element = LCSM_ELEMENT_F32, .data = ZERO};
    f = temp_folder_make();
    put_config("{\"architectures\": [\"RwkvForCausalLM\"]}");
    assert_int_equal(
        lcsm_safetensors_save(temp_path(&f, "model.safetensors"), &t, 1, NULL, 0, NULL), LCSM_OK);
    refused(f.path, WORDS("holds an RWKV-5 model", SUPPORTED));
    temp_folder_remove(&f);
}

TEST(import_folder_without_a_config_says_what_it_holds)
{
    f = temp_folder_make();
    refused(f.path, WORDS("has no config.json", SUPPORTED));
    temp_write(&f, "m.gguf", "GGUF", 4);
    refused(f.path, WORDS("pass the GGUF file"));
    temp_folder_remove(&f);
    f = temp_folder_make();
    put_bin(WORDS("emb.weight"));
    refused(f.path, WORDS("pass the rwkv.cpp file"));
    temp_folder_remove(&f);
}

/* save_file refuses tensors that share memory, as tied weights do; clones do not share it. */
