# Man pages and completions for shells, made from what the program prints for --help. A program of
# another architecture runs by CMAKE_CROSSCOMPILING_EMULATOR; without one there are no pages.

if(NOT CMAKE_CROSSCOMPILING OR CMAKE_CROSSCOMPILING_EMULATOR)
    set(pages ${PROJECT_BINARY_DIR}/pages)
    list(JOIN CMAKE_CROSSCOMPILING_EMULATOR " " emulator)
    file(GLOB makers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/scripts/pages/*)
    add_custom_command(OUTPUT ${pages}/table.txt
                       COMMAND sh ${PROJECT_SOURCE_DIR}/scripts/pages/make
                               "${emulator} $<TARGET_FILE:lcsm_program>" ${pages}
                       DEPENDS lcsm_program ${makers} VERBATIM)
    add_custom_target(lcsm_pages ALL DEPENDS ${pages}/table.txt)

    install(DIRECTORY ${pages}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})
    install(FILES ${pages}/lcsm.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
            RENAME lcsm)
    install(FILES ${pages}/_lcsm DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
    install(FILES ${pages}/lcsm.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
