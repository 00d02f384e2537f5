# What lcsm stands on. lcsm_flags carries the language, the warnings and the sanitizers;
# lcsm_deps the libraries.

find_package(PkgConfig REQUIRED)
if(LCSM_STATIC_PROGRAM)
    set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
endif()
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)

# libunistring has no .pc file. Before 1.0 (Unicode 14) some normal forms are those of older Unicode.
find_path(UNISTRING_INCLUDE uninorm.h REQUIRED)
find_library(UNISTRING_LIBRARY unistring REQUIRED)
mark_as_advanced(UNISTRING_INCLUDE UNISTRING_LIBRARY)
file(STRINGS ${UNISTRING_INCLUDE}/unistring/version.h unistring_version
     REGEX "define _LIBUNISTRING_VERSION +0x")
string(REGEX MATCH "0x[0-9A-Fa-f]+" unistring_version "${unistring_version}")
math(EXPR unistring_version "${unistring_version}")
if(unistring_version LESS 0x010000)
    message(FATAL_ERROR "libunistring in ${UNISTRING_INCLUDE} is older than 1.0")
endif()

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
if(LCSM_SANITIZE MATCHES "address") # each program has 20 MB of addresses in its tables of places
    target_link_options(lcsm_flags INTERFACE $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>)
endif()
if(LCSM_FUZZ)
    target_compile_options(lcsm_flags INTERFACE -fsanitize=fuzzer-no-link)
    target_link_options(lcsm_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

add_library(lcsm_deps INTERFACE)
target_link_libraries(lcsm_deps INTERFACE m Threads::Threads ${CMAKE_DL_LIBS} PkgConfig::JANSSON PkgConfig::XXHASH
                      PkgConfig::ZLIB PkgConfig::PCRE2 ${UNISTRING_LIBRARY})
target_include_directories(lcsm_deps SYSTEM INTERFACE ${UNISTRING_INCLUDE})

# MPI is for the plug-in alone.
find_package(MPI QUIET COMPONENTS C)
if(MPI_C_FOUND)
    message(STATUS "MPI: ${MPI_C_LIBRARIES}")
else()
    message(STATUS "MPI: not found, so one process trains a run (no liblcsm_mpi.so)")
endif()
