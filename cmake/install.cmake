# Headers, both libraries, the program, and how others find them: pkg-config (lcsm.pc) and
# find_package(lcsm [COMPONENTS static]).

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/lcsm)

install(DIRECTORY include/lcsm DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY recipes DESTINATION ${CMAKE_INSTALL_DATADIR}/lcsm)
install(TARGETS lcsm_program DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS lcsm EXPORT lcsmTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS lcsm_static EXPORT lcsmStaticTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET lcsm_mpi)
    install(TARGETS lcsm_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/lcsm)
endif()
foreach(library lcsm lcsm_static)
    target_include_directories(${library}
                               PUBLIC $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
endforeach()

# A static library hands its needs to whoever links it. The package makes the same targets again.
set(needs m Threads::Threads ${CMAKE_DL_LIBS} unistring)
set(private_libs -lpthread -ldl -ljansson -lxxhash -lz -lpcre2-8 -lunistring)
set(find_needs "find_dependency(Threads)\n")
foreach(module JANSSON=jansson XXHASH=libxxhash ZLIB=zlib PCRE2=libpcre2-8)
    string(REPLACE "=" ";" module ${module})
    list(POP_FRONT module target name)
    list(APPEND needs PkgConfig::${target})
    string(APPEND find_needs "pkg_check_modules(${target} REQUIRED IMPORTED_TARGET ${name})\n")
endforeach()
list(TRANSFORM needs REPLACE "(.+)" "$<INSTALL_INTERFACE:$<LINK_ONLY:\\1>>")
target_link_libraries(lcsm_static INTERFACE ${needs})
list(JOIN private_libs " " private_libs)

foreach(set lcsmTargets lcsmStaticTargets)
    install(EXPORT ${set} NAMESPACE lcsm:: DESTINATION ${package_dir})
endforeach()
configure_package_config_file(cmake/lcsmConfig.cmake.in ${PROJECT_BINARY_DIR}/lcsmConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/lcsmConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/lcsmConfig.cmake ${PROJECT_BINARY_DIR}/lcsmConfigVersion.cmake
        DESTINATION ${package_dir})

# The prefix is found from where lcsm.pc lies, so `cmake --install --prefix` may choose any.
file(RELATIVE_PATH up /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(cmake/lcsm.pc.in ${PROJECT_BINARY_DIR}/lcsm.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/lcsm.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
