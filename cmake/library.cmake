# The library: sources that are compiled once, and variants, which are sources compiled
# several times, each time for one pair of number type and instruction set. src/kernel/variant.h
# says what a variant means to the code.

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})

string(TOLOWER "${CMAKE_SYSTEM_PROCESSOR}" processor)
if(processor MATCHES "^(x86_64|amd64)$" AND CMAKE_SIZEOF_VOID_P EQUAL 8)
    set(x86 1)
else()
    set(x86 0)
endif()
if(processor MATCHES "^(aarch64|arm64)$" AND CMAKE_SIZEOF_VOID_P EQUAL 8)
    set(arm64 1)
else()
    set(arm64 0)
endif()

include(GNUInstallDirs)
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/model/recipe.c PROPERTIES COMPILE_DEFINITIONS
                            LCSM_DATA_FOLDER="${CMAKE_INSTALL_FULL_DATADIR}/lcsm")
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/dist/load.c PROPERTIES COMPILE_DEFINITIONS
                            LCSM_PLUGIN_FOLDER="${CMAKE_INSTALL_FULL_LIBDIR}/lcsm")

set(lcsm_objects "")

# lcsm_compile(name SOURCES... [FLAGS flags...]): one object library; nothing when there are no
# sources.
function(lcsm_compile name)
    cmake_parse_arguments(arg "" "" "SOURCES;FLAGS" ${ARGN})
    if(NOT arg_SOURCES)
        return()
    endif()
    add_library(${name} OBJECT ${arg_SOURCES})
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/include
                                               ${PROJECT_SOURCE_DIR}/src)
    target_compile_options(${name} PRIVATE ${arg_FLAGS})
    target_link_libraries(${name} PRIVATE lcsm_flags lcsm_deps)
    set(lcsm_objects ${lcsm_objects} $<TARGET_OBJECTS:${name}> PARENT_SCOPE)
endfunction()

# lcsm_glob(out patterns...): files of these names, in the folders named and in all below them.
function(lcsm_glob out)
    list(TRANSFORM ARGN PREPEND ${PROJECT_SOURCE_DIR}/)
    file(GLOB_RECURSE files CONFIGURE_DEPENDS ${ARGN})
    set(${out} ${files} PARENT_SCOPE)
endfunction()

# Kernels: the plain definitions (*_ref.c), the drivers and choosers that exist once for each
# number type (*_drive.c), the public float operators (*_api.c), those that know no number type
# (*_plan.c and a few), those for AVX512-BF16 and VNNI, which the same processors have (*_bf16.c,
# *_vnni.c), and the vector code.
lcsm_glob(kernel_fast src/kernel/*.c)
lcsm_glob(kernel_ref src/kernel/*_ref.c)
lcsm_glob(kernel_drive src/kernel/*_drive.c)
lcsm_glob(kernel_api src/kernel/*_api.c)
lcsm_glob(kernel_bf16 src/kernel/*_bf16.c src/kernel/*_vnni.c)
lcsm_glob(kernel_once src/kernel/cpu.c src/kernel/context.c src/kernel/*_plan.c)
list(REMOVE_ITEM kernel_fast ${kernel_ref} ${kernel_drive} ${kernel_api} ${kernel_bf16} ${kernel_once})

set(plain -ffp-contract=off)
set(scalar "")
if(arm64 AND CMAKE_C_COMPILER_ID STREQUAL "GNU" AND CMAKE_C_COMPILER_VERSION VERSION_LESS 13)
    set(scalar -fno-tree-loop-vectorize) # GCC 12 breaks off at sums of floats in double
endif()
list(APPEND plain ${scalar})
set(fast -ffp-contract=fast -fno-math-errno -fno-trapping-math)
set(avx2 -mavx2 -mfma -mf16c)
set(avx512 -mavx512f -mavx512bw -mavx512vl -mavx512dq -mfma -mf16c)

function(lcsm_variant name)
    string(TOUPPER ${name} upper)
    cmake_parse_arguments(arg "" "" "SOURCES;FLAGS" ${ARGN})
    lcsm_compile(lcsm_${name} SOURCES ${arg_SOURCES}
                 FLAGS ${arg_FLAGS} -DLCSM_VARIANT_${upper})
    set(lcsm_objects ${lcsm_objects} PARENT_SCOPE)
endfunction()

lcsm_variant(f32_ref SOURCES ${kernel_ref} FLAGS ${plain})
lcsm_variant(f64_ref SOURCES ${kernel_ref} FLAGS ${plain})
lcsm_variant(f32_portable SOURCES ${kernel_fast} FLAGS ${fast})
lcsm_variant(f64_portable SOURCES ${kernel_fast} FLAGS ${fast})
if(x86)
    lcsm_variant(f32_avx2 SOURCES ${kernel_fast} FLAGS ${fast} ${avx2})
    lcsm_variant(f32_avx512 SOURCES ${kernel_fast} FLAGS ${fast} ${avx512})
    lcsm_variant(f32_avx512_bf16 SOURCES ${kernel_bf16} FLAGS ${fast} ${avx512} -mavx512bf16
                 -mavx512vnni)
endif()
if(arm64) # where NEON is part of the architecture
    lcsm_variant(f32_neon SOURCES ${kernel_fast} FLAGS ${fast})
endif()

# Drivers and graph operations, once for float and once for double.
lcsm_glob(ops src/graph/ops/*.c src/check/*_drive.c)
lcsm_variant(f32_op SOURCES ${kernel_drive} ${kernel_api} ${ops} FLAGS ${plain})
lcsm_variant(f64_op SOURCES ${kernel_drive} ${ops} FLAGS ${plain})

# Everything else, once.
lcsm_glob(once src/*.c)
lcsm_glob(not_once src/kernel/*.c src/graph/ops/*.c src/check/*_drive.c src/cli/*.c src/lab/*.c
          src/serve/*.c src/dist/dist_mpi.c)
list(REMOVE_ITEM once ${not_once})
list(APPEND once ${kernel_once})
include(cmake/experiments.cmake)
lcsm_compile(lcsm_once SOURCES ${once} ${experiments_file} FLAGS ${plain})

add_library(lcsm SHARED ${lcsm_objects})
add_library(lcsm_static STATIC ${lcsm_objects})
add_library(lcsm::lcsm ALIAS lcsm)
add_library(lcsm::lcsm_static ALIAS lcsm_static)
set_target_properties(lcsm PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
set_target_properties(lcsm_static PROPERTIES OUTPUT_NAME lcsm)
foreach(library lcsm lcsm_static)
    target_include_directories(${library} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
    target_link_libraries(${library} PRIVATE $<BUILD_INTERFACE:lcsm_flags>
                                             $<BUILD_INTERFACE:lcsm_deps>)
endforeach()
target_link_options(lcsm PRIVATE -Wl,--no-undefined)

# The plug-in for many processes. The library loads it where it is wanted; nothing links it.
if(MPI_C_FOUND)
    add_library(lcsm_mpi MODULE src/dist/dist_mpi.c)
    target_include_directories(lcsm_mpi PRIVATE ${PROJECT_SOURCE_DIR}/include
                                                ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(lcsm_mpi PRIVATE lcsm_flags MPI::MPI_C)
    # MPICH declares an array of statuses, and what says that there is none is no array.
    target_compile_options(lcsm_mpi PRIVATE $<$<C_COMPILER_ID:GNU>:-Wno-stringop-overflow>)
endif()

# The lab: test cases of ops and oracle files, for the program and the tests, not in the library.
lcsm_glob(lab src/lab/*.c)
add_library(lcsm_lab STATIC EXCLUDE_FROM_ALL ${lab})
target_include_directories(lcsm_lab PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_compile_options(lcsm_lab PRIVATE ${plain})
target_link_libraries(lcsm_lab PRIVATE lcsm_flags lcsm_deps PUBLIC lcsm_static)
