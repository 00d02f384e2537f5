/* test_torch_file.c - files of PyTorch: what is read, and that nothing else is done with them. */
#include <lcsm/import.h>
#include <stdio.h>
#include <stdlib.h>

#include "format/torch_file.h"
#include "temp_folder.h"
#include "test.h"
#include "text_has.h"
#include "torch_bytes.h"

/* A pickle of a dictionary with one tensor "w" of the storage "0". */
static bytes one(const char *type, int count, int first, int rows, int cols, int step, int next)
{
    bytes p = {.size = 0};
    put_code(&p, "\x80\x02}(");
    put_text(&p, "w");
    put_tensor(&p, type, "0", count, first, rows, cols, step, next);
    put_code(&p, "u.");
    return p;
}

static lcsm_torch_file opened(const bytes *pickle)
{
    static bytes    archive;
    lcsm_torch_file t;
    lcsm_error      err;
    archive = torch_archive(pickle);
    if (lcsm_torch_file_parse(&t, "f", archive.data, archive.size, &err) != LCSM_OK)
        fail_msg("%s", err.text);
    return t;
}

static void holds(const bytes *pickle, size_t rank, const size_t *shape, const float *values,
                  size_t count)
{
    lcsm_torch_file t = opened(pickle);
    float           x[8];
    assert_int_equal(t.count, 1);
    assert_string_equal(t.list[0].name, "w");
    assert_int_equal(t.list[0].rank, rank);
    assert_memory_equal(t.list[0].shape, shape, rank * sizeof *shape);
    assert_int_equal(lcsm_named_tensor_f32(x, &t.list[0], NULL), LCSM_OK);
    assert_memory_equal(x, values, count * sizeof *x);
    lcsm_torch_file_close(&t);
}

TEST(torch_file_tensors_have_their_numbers_in_order)
{
    bytes whole  = one("FloatStorage", 6, 0, 2, 3, 3, 1),
          part   = one("FloatStorage", 6, 2, 3, 0, 1, 0),
          turned = one("FloatStorage", 6, 0, 3, 2, 1, 3),
          skips  = one("FloatStorage", 6, 1, 3, 0, 2, 0),
          none   = one("FloatStorage", 6, 0, 0, 3, 3, 1);
    holds(&whole, 2, (size_t[]){2, 3}, (float[]){0, 1, 2, 3, 4, 5}, 6);
    holds(&part, 1, (size_t[]){3}, (float[]){2, 3, 4}, 3);
    holds(&turned, 2, (size_t[]){3, 2}, (float[]){0, 3, 1, 4, 2, 5}, 6);
    holds(&skips, 1, (size_t[]){3}, (float[]){1, 3, 5}, 3);
    holds(&none, 2, (size_t[]){0, 3}, NULL, 0);
}

TEST(torch_file_parameters_wrappers_and_other_members)
{
    bytes p = {.size = 0};
    put_code(&p, "\x80\x02}(");
    put_text(&p, "epoch");
    put_code(&p, "K\x03");
    put_text(&p, "state_dict");
    put_code(&p, "ccollections\nOrderedDict\n)R(");
    put_text(&p, "w");
    put_code(&p, "ctorch._utils\n_rebuild_parameter\n(");
    put_tensor(&p, "HalfStorage", "0", 12, 0, 4, 0, 1, 0);
    put_code(&p, "\x88"
                 "ccollections\nOrderedDict\n)RtRu}(");
    put_text(&p, "_metadata");
    put_code(&p, "Nubu.");
    lcsm_torch_file t = opened(&p);
    assert_int_equal(t.count, 1);
    assert_int_equal(t.list[0].element, LCSM_ELEMENT_F16);
    lcsm_torch_file_close(&t);
}

/* ---- refusals --------------------------------------------------------------------------- */

static void refused(const unsigned char *data, size_t size, const char *words)
{
    lcsm_torch_file t;
    lcsm_error      err = {0};
    if (lcsm_torch_file_parse(&t, "f.pth", data, size, &err) == LCSM_OK)
        fail_msg("accepted; expected \"%s\"", words);
    if (strstr(err.text, words) == NULL) fail_msg("\"%s\" has no \"%s\"", err.text, words);
    assert_null(t.list);
}

static void pickle_refused(const void *code, size_t size, const char *words)
{
    bytes p = {.size = 0};
    put_bytes(&p, code, size);
    bytes archive = torch_archive(&p);
    refused(archive.data, archive.size, words);
}

/* Each would run something, or make Python's reader do what no file of tensors needs. */
TEST(torch_file_hostile_pickles_are_refused_by_the_name_they_call)
{
#define HOSTILE(code, words) pickle_refused(code, sizeof(code) - 1, words)
    HOSTILE("\x80\x02"
            "cos\nsystem\nX\x0b\0\0\0touch owned\x85R.",
            "names os.system");
    HOSTILE("\x80\x02"
            "cposix\nsystem\nX\x02\0\0\0ls\x85R.",
            "names posix.system");
    HOSTILE("\x80\x02"
            "c__builtin__\neval\nX\x03\0\0\0"
            "1+1\x85R.",
            "names __builtin__.eval");
    HOSTILE("\x80\x02"
            "cbuiltins\ngetattr\n.",
            "names builtins.getattr");
    HOSTILE("\x80\x04\x8c\x02os\x8c\x06system\x93.", "names os.system");
    HOSTILE("\x80\x02"
            "ctorch\nload\n.",
            "names torch.load");
    HOSTILE("\x80\x02"
            "ctorch._utils\n_rebuild_tensor_v2.x\n.",
            "names torch._utils._rebuild_tensor_v2.x");
    HOSTILE("\x80\x02"
            "(S'ls'\nios\nsystem\n.",
            "instruction 0x53");
    HOSTILE("\x80\x02(ios\nsystem\n.", "instruction 0x69");
    HOSTILE("\x80\x02"
            "ccollections\nOrderedDict\n)\x81.",
            "instruction 0x81");
    HOSTILE("\x80\x02(ccollections\nOrderedDict\no.", "instruction 0x6f");
    HOSTILE("\x80\x02\x82\x01.", "instruction 0x82");
    HOSTILE("\x80\x02"
            "ccollections\nOrderedDict\nK\x01\x85R.",
            "a call of what is not");
    HOSTILE("\x80\x02"
            "ctorch\nFloatStorage\n)R.",
            "a call of what is not");
    HOSTILE("\x80\x02X\x05\0\0\0"
            "abcde)R.",
            "a value is missing");
    HOSTILE("\x80\x02K\x01}b.", "attributes of what is not a dictionary");
#undef HOSTILE
}

TEST(torch_file_broken_pickles_are_refused)
{
#define BROKEN(code, words) pickle_refused(code, sizeof(code) - 1, words)
    BROKEN("", "cut short");
    BROKEN("\x80", "cut short");
    BROKEN("\x80\x02}", "cut short");
    BROKEN("\x80\x02X\xff\xff\xff\xff"
           "abc.",
           "a text is cut short");
    BROKEN("\x80\x02"
           "cos",
           "a name without its end");
    BROKEN("\x80\x02.", "another number of values than 1");
    BROKEN("\x80\x02}}.", "another number of values than 1");
    BROKEN("\x80\x02h\x07.", "the memo has no such number");
    BROKEN("\x80\x02}r\xff\xff\xff\xff.", "a number in the memo is too large");
    BROKEN("\x80\x02q\0.", "a value is missing");
    BROKEN("\x80\x02t.", "a value is missing");
    BROKEN("\x80\x02)u.", "a value is missing");
    BROKEN("\x80\x02}(K\x01u.", "items for what is not a collection");
    BROKEN("\x80\x02]q\0h\0a.", "a collection in itself");
    BROKEN("\x80\x02\x8a\x09"
           "123456789.",
           "an integer is too large");
    BROKEN("\x80\x02(K\x01tQ.", "not a storage of numbers");
    BROKEN("\x80\x02K\x01.", "not a dictionary of tensors");
    BROKEN("\x80\x02}.", "has no tensors");
#undef BROKEN
}

TEST(torch_file_tensors_beyond_their_storage_are_refused)
{
    static const struct {
        int         count, first, rows, cols, step, next;
        const char *words;
    } CASES[] = {
        {6, 0, 7, 0, 1, 0, "extends beyond its storage"},
        {6, 1, 2, 3, 3, 1, "beyond"},
        {6, 0, 2, 3, 4, 1, "beyond"},
        {6, 200, 1, 0, 1, 0, "beyond"},
        {6, 0, 200, 200, 0, 0, "beyond"}, /* one number, again and again */
    };
    for (size_t j = 0; j < COUNT(CASES); j++) {
        bytes p = one("FloatStorage", CASES[j].count, CASES[j].first, CASES[j].rows, CASES[j].cols,
                      CASES[j].step, CASES[j].next);
        pickle_refused(p.data, p.size, CASES[j].words);
    }
    bytes wide = one("DoubleStorage", 6, 0, 6, 0, 1, 0),
          odd  = one("QuantStorage", 6, 0, 6, 0, 1, 0);
    pickle_refused(wide.data, wide.size, "extends beyond its storage");
    pickle_refused(odd.data, odd.size, "names torch.QuantStorage");
    bytes p = {.size = 0};
    put_code(&p, "\x80\x02}(");
    put_text(&p, "w");
    put_tensor(&p, "FloatStorage", "7", 6, 0, 6, 0, 1, 0);
    put_code(&p, "u.");
    pickle_refused(p.data, p.size, "storage that is not in the archive");
}

TEST(torch_file_broken_archives_are_refused)
{
    bytes p = one("FloatStorage", 6, 0, 6, 0, 1, 0), good = torch_archive(&p), zip = good;
    refused(good.data, good.size - 1, "its end is missing");
    refused(good.data, 0, "its end is missing");
    refused(good.data, 30, "its end is missing");
    zip.data[8] = 0; /* the local header's method does not count, the directory's does */
    size_t end  = good.size - 22, directory;
    memcpy(&directory, good.data + end + 16, 4);
    directory &= 0xFFFF;
    zip                      = good;
    zip.data[directory + 10] = 8;
    refused(zip.data, zip.size, "compressed or encrypted");
    zip                     = good;
    zip.data[directory + 8] = 1;
    refused(zip.data, zip.size, "compressed or encrypted");
    zip                      = good;
    zip.data[directory + 42] = 0xFF;
    zip.data[directory + 43] = 0xFF;
    refused(zip.data, zip.size, "a member has no header");
    zip                 = good;
    zip.data[directory] = 'Q';
    refused(zip.data, zip.size, "its directory is broken");
    zip                = good;
    zip.data[end + 10] = 200;
    refused(zip.data, zip.size, "shorter than its number of members");
    zip                = good;
    zip.data[end + 19] = 0x7F;
    refused(zip.data, zip.size, "its directory extends beyond the end");
    zip                      = good;
    zip.data[directory + 24] = zip.data[directory + 20] = 0xFF;
    zip.data[directory + 25] = zip.data[directory + 21] = 0xFF;
    refused(zip.data, zip.size, "a member extends into the directory");
    bytes none = {.size = 0}, list = {.size = 0};
    put_member(&none, &list, "m/other", "x", 1);
    put_end(&none, &list, 1);
    refused(none.data, none.size, "without data.pkl");
}

/* ---- import ----------------------------------------------------------------------------- */

static lcsm_status import(const char *from, const char *to, lcsm_error *err)
{
    lcsm_context *ctx;
    assert_int_equal(lcsm_context_create(&ctx, NULL, NULL), LCSM_OK);
    lcsm_status st = lcsm_import(ctx, from, to, NULL, NULL, err);
    lcsm_context_free(ctx);
    return st;
}

/* The hostile file as a whole: it is refused, and what it asks for has not happened. */
TEST(torch_file_hostile_file_does_nothing_when_it_is_imported)
{
    temp_folder f   = temp_folder_make();
    lcsm_error  err = {0};
    char        command[160];
    bytes       p = {.size = 0};
    (void)snprintf(command, sizeof command, "touch %s", temp_path(&f, "owned"));
    put_code(&p, "\x80\x02"
                 "cos\nsystem\n");
    put_text(&p, command);
    put_code(&p, "\x85R.");
    bytes archive = torch_archive(&p);
    temp_write(&f, "model.pth", archive.data, archive.size);
    assert_int_equal(import(temp_path(&f, "model.pth"), temp_path(&f, "run"), &err),
                     LCSM_ERR_FORMAT);
    assert_has(err.text, "names os.system; only tensors are read, nothing is run");
    temp_write(&f, "pytorch_model.bin", archive.data, archive.size);
    temp_write(&f, "config.json", "{\"model_type\": \"mamba\"}", 23);
    assert_int_equal(import(f.path, temp_path(&f, "run"), &err), LCSM_ERR_FORMAT);
    assert_has(err.text, "names os.system");
    FILE *owned = fopen(temp_path(&f, "owned"), "rb");
    assert_null(owned);
    temp_folder_remove(&f);
}

TEST(torch_file_of_before_zip_archives_is_named)
{
    temp_folder f   = temp_folder_make();
    lcsm_error  err = {0};
    temp_write(&f, "old.pth",
               "\x80\x02\x8a\nl\xfc\x9c"
               "F\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.",
               22);
    assert_int_equal(import(temp_path(&f, "old.pth"), temp_path(&f, "run"), &err), LCSM_ERR_FORMAT);
    assert_has(err.text, "as PyTorch wrote before 1.6, which is not read; load and save it");
    temp_folder_remove(&f);
}

TEST(torch_folder_index_names_files_of_the_folder_only)
{
    static const char *const BAD[][2] = {
        {"{\"weight_map\": {\"w\": \"../x.bin\"}}", "the name of a file in this folder"},
        {"{\"weight_map\": {\"w\": \"/etc/passwd\"}}", "the name of a file in this folder"},
        {"{\"weight_map\": {\"w\": \"missing.bin\"}}", "missing.bin"},
        {"{\"weight_map\": []}", "weight_map"},
        {"{}", "weight_map is missing"},
    };
    temp_folder       f = temp_folder_make();
    lcsm_torch_folder t;
    lcsm_error        err = {0};
    bytes             p = one("FloatStorage", 6, 0, 6, 0, 1, 0), archive = torch_archive(&p);
    temp_write(&f, "a.bin", archive.data, archive.size);
    p       = one("FloatStorage", 6, 0, 2, 0, 1, 0);
    archive = torch_archive(&p);
    temp_write(&f, "b.bin", archive.data, archive.size);
    for (size_t j = 0; j < COUNT(BAD); j++) {
        temp_write(&f, "pytorch_model.bin.index.json", BAD[j][0], strlen(BAD[j][0]));
        assert_int_not_equal(lcsm_torch_folder_open(&t, f.path, &err), LCSM_OK);
        assert_has(err.text, BAD[j][1]);
        assert_null(t.files);
    }
    static const char GOOD[] =
        "{\"weight_map\": {\"v\": \"b.bin\", \"w\": \"a.bin\", \"u\": \"a.bin\"}}";
    temp_write(&f, "pytorch_model.bin.index.json", GOOD, strlen(GOOD));
    assert_int_equal(lcsm_torch_folder_open(&t, f.path, &err), LCSM_OK);
    assert_int_equal(t.file_count, 2);
    assert_int_equal(t.count, 2);
    assert_int_equal(lcsm_torch_folder_at(&t, 0).shape[0], 2);
    assert_int_equal(lcsm_torch_folder_at(&t, 1).shape[0], 6);
    lcsm_torch_folder_close(&t);
    temp_folder_remove(&f);
}
