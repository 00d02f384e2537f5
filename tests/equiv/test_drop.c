/* Dropout: every set of kernels makes the choices of the definition, bit for bit. */
#define LCSM_VARIANT_F32_OP
#include <lcsm/context.h>
#include <string.h>

#include "kernel/context.h"
#include "kernel/kernels.h"
#include "test.h"

enum { MOST = 300 };

static void fill(float *x, size_t n)
{
    for (size_t j = 0; j < n; j++) x[j] = (float)j * 0.37f - 20;
}

static void compare(const lcsm_context *fast, const lcsm_context *plain, ptrdiff_t n,
                    uint64_t first)
{
    lcsm_drop_f32 d = {.seed    = 0x123456789abcdefu,
                       .first   = first,
                       .purpose = 7,
                       .below   = 0x40000000u,
                       .factor  = 1.25f};
    float         x[MOST], got[MOST], want[MOST];
    for (int add = 0; add < 2; add++) {
        fill(x, MOST);
        memset(got, 0, sizeof got);
        memset(want, 0, sizeof want);
        for (int twice = 0; twice < 2; twice++) {
            fast->f32->drop->run(&d, n, x, add != 0, got + 1);
            plain->f32->drop->run(&d, n, x, add != 0, want + 1);
        }
        assert_memory_equal(got, want, sizeof got);
    }
}

TEST(drop_every_set_gives_the_bits_of_the_definition)
{
    static const lcsm_isa  sets[]  = {LCSM_ISA_PORTABLE, LCSM_ISA_AVX2, LCSM_ISA_AVX512,
                                      LCSM_ISA_NEON};
    static const ptrdiff_t sizes[] = {0, 1, 3, 4, 5, 16, 17, 63, 64, 65, 257};
    static const uint64_t  first[] = {0, 1, 2, 3, 4, 63, (1ull << 34) - 6, (1ull << 40) + 1};
    lcsm_context          *plain   = NULL;
    assert_int_equal(
        lcsm_context_create(&plain,
                            &(lcsm_context_options){.size    = sizeof(lcsm_context_options),
                                                    .threads = 1,
                                                    .isa     = LCSM_ISA_REFERENCE},
                            NULL),
        LCSM_OK);
    for (size_t s = 0; s < sizeof sets / sizeof *sets; s++) {
        lcsm_context *ctx = NULL;
        if (lcsm_context_create(&ctx,
                                &(lcsm_context_options){.size    = sizeof(lcsm_context_options),
                                                        .threads = 1,
                                                        .isa     = sets[s]},
                                NULL)
            != LCSM_OK)
            continue;
        for (size_t j = 0; j < sizeof sizes / sizeof *sizes; j++)
            for (size_t i = 0; i < sizeof first / sizeof *first; i++)
                compare(ctx, plain, sizes[j], first[i]);
        lcsm_context_free(ctx);
    }
    lcsm_context_free(plain);
}
