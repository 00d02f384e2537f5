/* test_tensorboard.c - event files: the checksum, and the records. */
#include <stdlib.h>
#include <string.h>

#include "base/folder.h"
#include "temp_folder.h"
#include "test.h"
#include "train/tensorboard.h"

/* The check value of CRC-32C is 0xe3069283; the format rotates it right by 15 and adds a constant.
 */
TEST(tensorboard_checksum_is_the_masked_crc32c)
{
    uint32_t crc = 0xe3069283u;
    assert_int_equal(lcsm_tensorboard_crc("123456789", 9),
                     ((crc >> 15) | (crc << 17)) + 0xa282ead8u);
}

static uint64_t little(const unsigned char *p, int bytes)
{
    uint64_t value = 0;
    for (int j = bytes - 1; j >= 0; j--) value = value << 8 | p[j];
    return value;
}

TEST(tensorboard_records_carry_their_length_and_sums)
{
    temp_folder       f = temp_folder_make();
    lcsm_tensorboard *b;
    lcsm_folder_list  names;
    size_t            size, at = 0, records = 0;
    assert_int_equal(lcsm_tensorboard_open(&b, f.path, NULL), LCSM_OK);
    lcsm_tensorboard_scalar(b, "valid", "loss", 300, 1.5);
    assert_int_equal(lcsm_tensorboard_flush(b, NULL), LCSM_OK);
    lcsm_tensorboard_close(b);
    assert_int_equal(lcsm_folder_read(&names, f.path, NULL), LCSM_OK);
    assert_int_equal(names.count, 1);
    unsigned char *data = temp_read(&f, names.names[0], &size);
    for (; at < size; records++) {
        size_t n = (size_t)little(data + at, 8);
        assert_true(at + 16 + n <= size);
        assert_int_equal(little(data + at + 8, 4), lcsm_tensorboard_crc(data + at, 8));
        assert_int_equal(little(data + at + 12 + n, 4), lcsm_tensorboard_crc(data + at + 12, n));
        if (records == 1) assert_memory_equal(data + at + 12 + 9, "\x10\xac\x02", 3);
        at += 16 + n;
    }
    assert_int_equal(at, size);
    assert_int_equal(records, 2);
    free(data);
    lcsm_folder_list_free(&names);
    temp_folder_remove(&f);
}
