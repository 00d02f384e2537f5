# tests/<folder>/test_<name>.c is the test <folder>/<name>. It runs in the source folder and
# carries labels: its folder; `threads` and `exact` when "thread" or "exact" is in its name; `slow`
# when its name ends in _slow, else `quick`. tests/support/ and tests/variants/ are linked into each.

# tests/variants/ is compiled as the vector kernels are, once for each variant.
lcsm_glob(probes tests/variants/*.c)
set(probe_flags ${fast} -I${PROJECT_SOURCE_DIR}/tests/support)
set(lcsm_objects "")
lcsm_compile(probe_f32_portable SOURCES ${probes} FLAGS ${probe_flags} -DLCSM_VARIANT_F32_PORTABLE)
lcsm_compile(probe_f64_portable SOURCES ${probes} FLAGS ${probe_flags} -DLCSM_VARIANT_F64_PORTABLE)
if(x86)
    lcsm_compile(probe_f32_avx2 SOURCES ${probes} FLAGS ${probe_flags} ${avx2}
                 -DLCSM_VARIANT_F32_AVX2)
    lcsm_compile(probe_f32_avx512 SOURCES ${probes} FLAGS ${probe_flags} ${avx512}
                 -DLCSM_VARIANT_F32_AVX512)
endif()
if(arm64)
    lcsm_compile(probe_f32_neon SOURCES ${probes} FLAGS ${probe_flags} -DLCSM_VARIANT_F32_NEON)
endif()
add_library(lcsm_test_probes STATIC ${lcsm_objects})

lcsm_glob(support tests/support/*.c)
add_library(lcsm_test_support OBJECT ${support})
target_include_directories(lcsm_test_support PUBLIC ${PROJECT_SOURCE_DIR}/tests/support
                                                    ${PROJECT_SOURCE_DIR}/include
                                                    ${PROJECT_SOURCE_DIR}/src)
target_compile_options(lcsm_test_support PUBLIC ${scalar})
target_link_libraries(lcsm_test_support PUBLIC lcsm_flags lcsm_lab lcsm_test_probes lcsm_static
                      lcsm_deps PkgConfig::CMOCKA)

function(lcsm_test_labels name)
    cmake_path(GET name PARENT_PATH folder)
    set(labels ${folder})
    if(name MATCHES "thread")
        list(APPEND labels threads)
    endif()
    if(name MATCHES "exact")
        list(APPEND labels exact)
    endif()
    if(name MATCHES "_slow$")
        list(APPEND labels slow)
    else()
        list(APPEND labels quick)
    endif()
    set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT 600)
endfunction()

lcsm_glob(tests tests/*/test_*.c)
list(REMOVE_ITEM tests ${support} ${probes})
foreach(source ${tests})
    cmake_path(GET source STEM program)
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(GET folder FILENAME folder)
    string(REGEX REPLACE "^test_" "${folder}/" name ${program})
    add_executable(${program} ${source})
    set_target_properties(${program} PROPERTIES
                          RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
    target_link_libraries(${program} PRIVATE lcsm_test_support)
    add_test(NAME ${name} COMMAND ${program} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    lcsm_test_labels(${name})
endforeach()

if(LCSM_EXAMPLES)
    foreach(source ${examples})
        cmake_path(GET source STEM name)
        add_test(NAME examples/${name} COMMAND example_${name})
        lcsm_test_labels(examples/${name})
    endforeach()
endif()

# tests/fuzz/fuzz_<name>.c is the test fuzz/<name>, which replays mutated seeds; with LCSM_FUZZ also
# the program libfuzzer_<name>, and then on the readers alone: kernels take long to instrument.
add_custom_target(lcsm_fuzz)
set(fuzzed lcsm_static)
if(LCSM_FUZZ)
    lcsm_glob(readers src/base/*.c src/format/*.c src/text/*.c src/data/shard.c)
    add_library(lcsm_readers STATIC EXCLUDE_FROM_ALL ${readers})
    target_include_directories(lcsm_readers PRIVATE include src)
    target_link_libraries(lcsm_readers PRIVATE lcsm_flags lcsm_deps)
    set(fuzzed lcsm_readers)
endif()
lcsm_glob(targets tests/fuzz/fuzz_*.c)
foreach(source ${targets})
    cmake_path(GET source STEM program)
    string(REGEX REPLACE "^fuzz_" "" name ${program})
    set(drivers ${program} replay)
    if(LCSM_FUZZ)
        list(APPEND drivers libfuzzer_${name} libfuzzer)
    endif()
    while(drivers)
        list(POP_FRONT drivers target driver)
        add_executable(${target} ${source} tests/fuzz/${driver}.c tests/fuzz/broken.c)
        target_include_directories(${target} PRIVATE tests/fuzz tests/support include src)
        target_link_libraries(${target} PRIVATE lcsm_flags ${fuzzed} lcsm_deps)
        set_target_properties(${target} PROPERTIES
                              RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
        add_dependencies(lcsm_fuzz ${target})
    endwhile()
    if(LCSM_FUZZ)
        target_link_options(libfuzzer_${name} PRIVATE -fsanitize=fuzzer)
    endif()
    add_test(NAME fuzz/${name} COMMAND ${program})
    lcsm_test_labels(fuzz/${name})
endforeach()

# tests/cli/<name>.sh runs the program ($LCSM); what it prints must be <name>.out, and its exit
# code that of <name>.exit (0 without such a file).
lcsm_glob(scripts tests/cli/*.sh)
if(NOT MICROHTTPD_FOUND)
    list(FILTER scripts EXCLUDE REGEX "/serve[^/]*$")
endif()
foreach(script ${scripts})
    cmake_path(GET script STEM name)
    add_test(NAME cli/${name}
             COMMAND ${PROJECT_SOURCE_DIR}/tests/support/run-cli $<TARGET_FILE:lcsm_program>
                     ${script})
    lcsm_test_labels(cli/${name})
endforeach()

# tests/tools/<name>.sh checks a tool or a text; its arguments are the source folder and the program.
lcsm_glob(scripts tests/tools/*.sh)
foreach(script ${scripts})
    cmake_path(GET script STEM name)
    add_test(NAME tools/${name} COMMAND ${script} ${PROJECT_SOURCE_DIR}
                                        $<TARGET_FILE:lcsm_program>)
    lcsm_test_labels(tools/${name})
endforeach()

# tests/serve/<name>.sh are clients of the server that may not be there: then a test is skipped.
if(MICROHTTPD_FOUND)
    foreach(name browser_slow openai)
        add_test(NAME serve/${name} COMMAND ${PROJECT_SOURCE_DIR}/tests/serve/${name}.sh
                                            $<TARGET_FILE:lcsm_program>)
        lcsm_test_labels(serve/${name})
        set_tests_properties(serve/${name} PROPERTIES SKIP_RETURN_CODE 77)
    endforeach()
endif()

# What the library promises, against what it is.
add_test(NAME abi/check COMMAND ${PROJECT_SOURCE_DIR}/tests/abi/check.sh $<TARGET_FILE:lcsm>)
lcsm_test_labels(abi/check)
add_test(NAME abi/planted COMMAND ${PROJECT_SOURCE_DIR}/tests/abi/planted.sh $<TARGET_FILE:lcsm>)
lcsm_test_labels(abi/planted)

# What the thread sanitizer needs to have built.
add_custom_target(lcsm_thread_tests)
foreach(source ${tests})
    if(source MATCHES "/test_[^/]*thread[^/]*$")
        cmake_path(GET source STEM program)
        add_dependencies(lcsm_thread_tests ${program})
    endif()
endforeach()

# tests/mpi/<name>.sh runs the program on several ranks, where there is an MPI.
lcsm_glob(scripts tests/mpi/*.sh)
list(FILTER scripts EXCLUDE REGEX "/ranks.sh$")
find_program(LCSM_MPIRUN mpirun)
if(TARGET lcsm_mpi AND LCSM_MPIRUN)
    foreach(script ${scripts})
        cmake_path(GET script STEM name)
        add_test(NAME mpi/${name} COMMAND ${script} $<TARGET_FILE:lcsm_program>)
        lcsm_test_labels(mpi/${name})
    endforeach()
    # Where another MPI is installed too, one of them runs by a plug-in that is built with it.
    foreach(other mpich openmpi)
        find_program(LCSM_MPICC_${other} mpicc.${other})
        find_program(LCSM_MPIRUN_${other} mpirun.${other})
        file(REAL_PATH "${MPI_C_COMPILER}" own_mpicc)
        file(REAL_PATH "${LCSM_MPICC_${other}}" other_mpicc)
        if(NOT LCSM_MPICC_${other} OR NOT LCSM_MPIRUN_${other} OR own_mpicc STREQUAL other_mpicc)
            continue()
        endif()
        set(plugin ${PROJECT_BINARY_DIR}/${other}/liblcsm_mpi.so)
        add_custom_command(OUTPUT ${plugin} DEPENDS src/dist/dist_mpi.c src/dist/engine.h
            COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/${other}
            COMMAND ${LCSM_MPICC_${other}} -std=c11 -D_DEFAULT_SOURCE -O2 -shared -fPIC -fvisibility=hidden
                    -Wno-stringop-overflow -I ${PROJECT_SOURCE_DIR}/include
                    -I ${PROJECT_BINARY_DIR}/include -I ${PROJECT_SOURCE_DIR}/src
                    ${PROJECT_SOURCE_DIR}/src/dist/dist_mpi.c -o ${plugin})
        add_custom_target(lcsm_mpi_${other} ALL DEPENDS ${plugin})
        add_test(NAME mpi/${other} COMMAND ${CMAKE_COMMAND} -E env MPIRUN=${LCSM_MPIRUN_${other}}
            LCSM_MPI_PLUGIN=${plugin} ${PROJECT_SOURCE_DIR}/tests/mpi/train.sh $<TARGET_FILE:lcsm_program>)
        lcsm_test_labels(mpi/${other})
        set_tests_properties(mpi/${other} PROPERTIES PROCESSORS 2)
    endforeach()
else()
    message(STATUS "MPI: the tests of tests/mpi are left out")
endif()
