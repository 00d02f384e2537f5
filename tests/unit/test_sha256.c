/* test_sha256.c - the vectors of FIPS 180-4 and lengths around the block's end. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "format/sha256.h"
#include "test.h"

TEST(sha256_of_the_standard_texts_is_the_standard_value)
{
    static const struct {
        const char *text, *sum;
    } CASES[] = {
        {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrl"
         "mnopqrsmnopqrstnopqrstu",
         "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"},
    };
    for (size_t j = 0; j < COUNT(CASES); j++) {
        char text[LCSM_SHA256_TEXT];
        lcsm_sha256(text, CASES[j].text, strlen(CASES[j].text));
        assert_string_equal(text, CASES[j].sum);
    }
}

TEST(sha256_of_a_million_letters_is_the_standard_value)
{
    char  text[LCSM_SHA256_TEXT];
    char *data = malloc(1000000);
    assert_non_null(data);
    memset(data, 'a', 1000000);
    lcsm_sha256(text, data, 1000000);
    assert_string_equal(text, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(data);
}

/* Values of coreutils' sha256sum for n letters 'x'. */
TEST(sha256_of_lengths_around_a_block_is_right)
{
    static const struct {
        size_t      n;
        const char *sum;
    } CASES[] = {
        {55, "d5e285683cd4efc02d021a5c62014694958901005d6f71e89e0989fac77e4072"},
        {56, "04c26261370ee7541549d16dee320c723e3fd14671e66a099afe0a377c16888e"},
        {63, "75220b47218278e656f2013bb8f0c455a25eaf01e86c64924e9d48d89776d6f2"},
        {64, "7ce100971f64e7001e8fe5a51973ecdfe1ced42befe7ee8d5fd6219506b5393c"},
        {65, "9537c5fdf120482f7d58d25e9ed583f52c02b4e304ea814db1633ad565aed7e9"},
        {119, "000b48d4edf0fa7bee3c6236ecd2785baa5db4eeb8bb54341b029e0d9fa5fb0c"},
        {120, "13f05a0b594787f5ecd315edc96141bd3243203d1b7d4f0836f37308b276ba98"},
        {127, "70156a14adbabf98cff3a71c7084b417abf057a8efd27329ca36b7202c87d81f"},
        {128, "24da1b81d0b16df6428eee73c69fcb2a93c76bc6df706f0c6670fe6bfe800464"},
    };
    char data[128];
    memset(data, 'x', sizeof data);
    for (size_t j = 0; j < COUNT(CASES); j++) {
        char text[LCSM_SHA256_TEXT];
        lcsm_sha256(text, data, CASES[j].n);
        assert_string_equal(text, CASES[j].sum);
    }
}
