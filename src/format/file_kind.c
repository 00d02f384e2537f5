/* file_kind.c - the first bytes of formats, and names that only one family of models has. */
#include "format/file_kind.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Where names are looked for: all formats have them in front, or among the tensors. */
enum { WINDOW = 8 << 20 };

static const char *const TEXTS[LCSM_FILE_KIND_COUNT] = {
    [LCSM_FILE_UNKNOWN]     = "a file of unknown format",
    [LCSM_FILE_RWKV_CPP]    = "a rwkv.cpp file",
    [LCSM_FILE_TORCH]       = "a PyTorch file",
    [LCSM_FILE_PICKLE]      = "a pickle, as PyTorch wrote before 1.6",
    [LCSM_FILE_ZIP]         = "a zip archive",
    [LCSM_FILE_GGUF]        = "a GGUF file",
    [LCSM_FILE_SAFETENSORS] = "a safetensors file",
    [LCSM_FILE_JSON]        = "a JSON file",
    [LCSM_FILE_LFS_POINTER] = "a Git LFS pointer",
};

#define MAGIC(kind, bytes)                                                                         \
    {                                                                                              \
        LCSM_FILE_##kind, bytes, sizeof(bytes) - 1                                                 \
    }
static const struct {
    lcsm_file_kind kind;
    const char    *bytes;
    size_t         size;
} MAGICS[] = {
    MAGIC(RWKV_CPP, "fmgg"),
    MAGIC(GGUF, "GGUF"),
    MAGIC(ZIP, "PK\003\004"),
    MAGIC(PICKLE, "\200\002"),
    MAGIC(LFS_POINTER, "version https://git-lfs"),
};

/* The most telling first: later versions of RWKV keep names of earlier ones. */
static const struct {
    const char *part, *family;
} FAMILIES[] = {
    {"att.r_k", "RWKV-7"},        {"attn.r_k", "RWKV-7"},
    {"attention.r_k", "RWKV-7"},  {"time_maa_x", "RWKV-6"},
    {"attn.x_bias", "RWKV-6"},    {"time_faaaa", "RWKV-5"},
    {"att.ln_x", "RWKV-5"},       {"attention.ln_x", "RWKV-5"},
    {"att.time_mix_k", "RWKV-4"}, {"attention.time_mix_key", "RWKV-4"},
    {"mixer.dt_bias", "Mamba-2"}, {"mixer.A_log", "Mamba"},
};

const char *lcsm_file_kind_text(lcsm_file_kind kind)
{
    return TEXTS[kind];
}

size_t lcsm_tensor_family(const char *name)
{
    for (size_t j = 0; j < COUNT(FAMILIES); j++)
        if (strstr(name, FAMILIES[j].part) != NULL) return j;
    return SIZE_MAX;
}

const char *lcsm_tensor_family_text(size_t family)
{
    return family < COUNT(FAMILIES) ? FAMILIES[family].family : "";
}

/* ---- kinds without a magic number ------------------------------------------------------- */

static bool is_space(unsigned char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The first byte of a text that is not white space, or 0. */
static unsigned char first_sign(const unsigned char *data, size_t size)
{
    size_t at = 0;
    while (at < size && is_space(data[at])) at++;
    return at < size ? data[at] : 0;
}

/* The length of a header, and the header is an object. */
static bool is_safetensors(const unsigned char *data, size_t size)
{
    uint64_t length;
    if (size < 10) return false;
    memcpy(&length, data, sizeof length);
    return length >= 2 && length <= size - 8 && first_sign(data + 8, (size_t)length) == '{';
}

/* Where the text is first in the window, or NULL. */
static const unsigned char *find(const unsigned char *data, size_t size, const char *text)
{
    size_t               length = strlen(text), room = size < WINDOW ? size : WINDOW;
    const unsigned char *at = data, *end = data + (room < length ? 0 : room - length + 1);
    for (; at < end && (at = memchr(at, text[0], (size_t)(end - at))) != NULL; at++)
        if (memcmp(at, text, length) == 0) return at;
    return NULL;
}

static lcsm_file_kind kind_of(const unsigned char *data, size_t size)
{
    for (size_t j = 0; j < COUNT(MAGICS); j++)
        if (size >= MAGICS[j].size && memcmp(data, MAGICS[j].bytes, MAGICS[j].size) == 0)
            return MAGICS[j].kind == LCSM_FILE_ZIP && find(data, size, "/data.pkl") != NULL
                     ? LCSM_FILE_TORCH
                     : MAGICS[j].kind;
    if (is_safetensors(data, size)) return LCSM_FILE_SAFETENSORS;
    return first_sign(data, size) == '{' ? LCSM_FILE_JSON : LCSM_FILE_UNKNOWN;
}

/* ---- models ----------------------------------------------------------------------------- */

/* The value of general.architecture: a type (8, a string), a length, the letters. */
static void gguf_model(lcsm_file_look *out, const unsigned char *data, size_t size)
{
    static const char    KEY[] = "general.architecture";
    size_t               room  = size < WINDOW ? size : WINDOW;
    const unsigned char *at    = find(data, size, KEY);
    uint32_t             type;
    uint64_t             length;
    if (at == NULL || (size_t)(data + room - at) < sizeof KEY - 1 + 12) return;
    memcpy(&type, at + sizeof KEY - 1, sizeof type);
    memcpy(&length, at + sizeof KEY - 1 + 4, sizeof length);
    at += sizeof KEY - 1 + 12;
    if (type != 8 || length > (size_t)(data + room - at) || length >= sizeof out->model) return;
    for (size_t j = 0; j < length; j++)
        if (at[j] <= ' ' || at[j] > '~') return;
    (void)snprintf(out->model, sizeof out->model, "%.*s", (int)length, (const char *)at);
}

lcsm_file_look lcsm_file_look_at(const unsigned char *data, size_t size)
{
    lcsm_file_look out = {.kind = kind_of(data, size)};
    if (out.kind == LCSM_FILE_GGUF) gguf_model(&out, data, size);
    else if (out.kind == LCSM_FILE_PICKLE || out.kind == LCSM_FILE_TORCH
             || out.kind == LCSM_FILE_SAFETENSORS)
        for (size_t j = 0; j < COUNT(FAMILIES) && out.model[0] == '\0'; j++)
            if (find(data, size, FAMILIES[j].part) != NULL)
                (void)snprintf(out.model, sizeof out.model, "%s", FAMILIES[j].family);
    return out;
}

lcsm_status lcsm_file_look_read(lcsm_file_look *out, const char *path, lcsm_error *err)
{
    lcsm_file   file = {0};
    lcsm_status st   = lcsm_file_map(&file, path, err);
    *out             = lcsm_file_look_at(file.data, file.size);
    lcsm_file_close(&file);
    return st;
}
