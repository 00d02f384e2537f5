# What lcsm stands on. lcsm_flags carries the language, the warnings and the sanitizers;
# lcsm_deps the libraries.

find_package(PkgConfig REQUIRED)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)

add_library(lcsm_flags INTERFACE)
target_compile_features(lcsm_flags INTERFACE c_std_11)
target_compile_definitions(lcsm_flags INTERFACE _DEFAULT_SOURCE)
target_compile_options(lcsm_flags INTERFACE
    -Wall -Wextra -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes -Wmissing-prototypes
    -Wold-style-definition -Wvla -Wpointer-arith -Wundef -Wformat=2 -Wcast-qual -Wwrite-strings
    -Wimplicit-fallthrough -Wdeprecated
    $<$<BOOL:${LCSM_WERROR}>:-Werror>)
if(LCSM_SANITIZE)
    set(sanitize -fsanitize=${LCSM_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_compile_options(lcsm_flags INTERFACE ${sanitize} -g1 -O1)
    target_link_options(lcsm_flags INTERFACE ${sanitize})
endif()
if(LCSM_FUZZ)
    target_compile_options(lcsm_flags INTERFACE -fsanitize=fuzzer-no-link)
    target_link_options(lcsm_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

add_library(lcsm_deps INTERFACE)
target_link_libraries(lcsm_deps INTERFACE m Threads::Threads PkgConfig::JANSSON PkgConfig::XXHASH
                      PkgConfig::ZLIB PkgConfig::PCRE2 PkgConfig::UTF8PROC)
