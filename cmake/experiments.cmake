# experiments/NAME/{grid,paper}.json become part of the library, so that an installed program has
# them. The generated file fills src/experiment/catalogue.h.

file(GLOB grids CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/experiments/*/grid.json)
set(experiments_file ${PROJECT_BINARY_DIR}/experiments.c)
set(arrays "")
set(rows "")
foreach(grid ${grids})
    cmake_path(GET grid PARENT_PATH folder)
    cmake_path(GET folder FILENAME name)
    string(MAKE_C_IDENTIFIER ${name} id)
    foreach(file grid paper)
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${folder}/${file}.json)
        file(READ ${folder}/${file}.json bytes HEX)
        string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
        string(APPEND arrays "static const unsigned char ${file}_${id}[] = {${bytes} 0};\n")
    endforeach()
    string(APPEND rows "    {\"${name}\", grid_${id}, sizeof grid_${id} - 1, paper_${id}, "
                       "sizeof paper_${id} - 1},\n")
endforeach()
file(CONFIGURE OUTPUT ${experiments_file} @ONLY CONTENT
"#include \"experiment/catalogue.h\"

@arrays@
const lcsm_catalogue_row LCSM_CATALOGUE[] = {
@rows@};
const size_t LCSM_CATALOGUE_COUNT = sizeof LCSM_CATALOGUE / sizeof LCSM_CATALOGUE[0];
")
