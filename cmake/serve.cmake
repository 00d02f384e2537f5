# The server, for the program and the tests, not in the library. Without libmicrohttpd the command
# says so. The pages are embedded as bytes.

if(NOT LCSM_STATIC_PROGRAM) # it stands on more libraries than can be linked so
    pkg_check_modules(MICROHTTPD IMPORTED_TARGET libmicrohttpd>=0.9.71)
endif()
lcsm_glob(serve src/serve/*.c)
lcsm_glob(http_files src/serve/http_*.c)
list(REMOVE_ITEM serve ${http_files})
if(MICROHTTPD_FOUND)
    list(APPEND serve ${PROJECT_SOURCE_DIR}/src/serve/http_mhd.c)
else()
    list(APPEND serve ${PROJECT_SOURCE_DIR}/src/serve/http_none.c)
    message(STATUS "libmicrohttpd is not installed, so there is no `lcsm serve`; all else can be built")
endif()

set(page_files)
foreach(page models view)
    set(from ${PROJECT_SOURCE_DIR}/src/serve/page_${page}.html)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${from})
    file(READ ${from} bytes HEX)
    string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
    string(TOUPPER ${page} PAGE)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/page_${page}.c @ONLY CONTENT
"#include \"serve/page.h\"

static const unsigned char BYTES[] = {@bytes@ 0};
const lcsm_page LCSM_PAGE_@PAGE@ = {BYTES, sizeof BYTES - 1};
")
    list(APPEND page_files ${PROJECT_BINARY_DIR}/page_${page}.c)
endforeach()

add_library(lcsm_serve STATIC EXCLUDE_FROM_ALL ${serve} ${page_files})
target_include_directories(lcsm_serve PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_compile_options(lcsm_serve PRIVATE ${plain})
target_link_libraries(lcsm_serve PRIVATE lcsm_flags lcsm_deps PUBLIC lcsm_static)
if(MICROHTTPD_FOUND)
    target_link_libraries(lcsm_serve PRIVATE PkgConfig::MICROHTTPD)
endif()
