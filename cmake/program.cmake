# The program, which sees the public headers and base, and the examples, which see the public
# headers only.

lcsm_glob(cli src/cli/*.c)
add_executable(lcsm_program ${cli})
set_target_properties(lcsm_program PROPERTIES OUTPUT_NAME lcsm)
target_include_directories(lcsm_program PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(lcsm_program PRIVATE lcsm_flags lcsm_lab lcsm_serve lcsm_static PkgConfig::JANSSON)

set_source_files_properties(${PROJECT_SOURCE_DIR}/src/cli/cmd_version.c PROPERTIES COMPILE_DEFINITIONS
    "LCSM_BUILD_STATIC=$<BOOL:${LCSM_STATIC_PROGRAM}>;LCSM_BUILD_SANITIZERS=\"${LCSM_SANITIZE}\"")

if(LCSM_STATIC_PROGRAM)
    target_link_options(lcsm_program PRIVATE -static)
endif()

if(LCSM_EXAMPLES)
    lcsm_glob(examples examples/*.c)
    foreach(source ${examples})
        cmake_path(GET source STEM name)
        add_executable(example_${name} ${source})
        set_target_properties(example_${name} PROPERTIES
            OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/examples)
        target_link_libraries(example_${name} PRIVATE lcsm_flags lcsm m)
    endforeach()
endif()
