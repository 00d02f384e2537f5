# Archives: `cpack --config build/CPackConfig.cmake` packs what is installed, and with
# CPackSourceConfig.cmake the sources. Debian packages are made from debian/ (scripts/packages).

set(CPACK_GENERATOR TGZ)
set(CPACK_SOURCE_GENERATOR TGZ)
set(CPACK_PACKAGE_VENDOR "The lcsm authors")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGE_FILE_NAME
    lcsm-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_SOURCE_PACKAGE_FILE_NAME lcsm-${PROJECT_VERSION})
# Paths are whole ones: only the folders of that name at the top of the tree are left out.
string(REGEX REPLACE "([][+.*^$()|?\\])" "\\\\\\1" top "${PROJECT_SOURCE_DIR}")
set(CPACK_SOURCE_IGNORE_FILES "^${top}/(build[^/]*|dist)/" "^${top}/\\.git(/|$)" /__pycache__/
                              "\\.egg-info/" "\\.tmp\\.")
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
include(CPack)
