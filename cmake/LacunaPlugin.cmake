# SPDX-License-Identifier: Apache-2.0
# lacuna_plugin(NAME SOURCE...): liblacuna_NAME.so, which liblacuna loads when it is asked for and nothing links. It
# exports lac_plugin_NAME alone, and gets what it needs of the core as functions (src/core/plugin).
add_library(lacuna_guest OBJECT ${PROJECT_SOURCE_DIR}/src/core/plugin/guest/guest.c)
set_target_properties(lacuna_guest PROPERTIES POSITION_INDEPENDENT_CODE ON)
target_include_directories(lacuna_guest PUBLIC src include)
target_compile_definitions(lacuna_guest PRIVATE "LACUNA_VERSION=\"${PROJECT_VERSION}\"")
target_link_libraries(lacuna_guest PUBLIC lacuna_flags m)
set_property(GLOBAL PROPERTY LACUNA_PLUGINS "")

function(lacuna_plugin name)
  add_library(lacuna_${name} MODULE ${ARGN})
  target_link_libraries(lacuna_${name} PRIVATE lacuna_guest)
  target_link_options(lacuna_${name} PRIVATE LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/plugin.map)
  if(NOT LACUNA_SANITIZE)   # a sanitizer's runtime is in the program, not in the library
    target_link_options(lacuna_${name} PRIVATE LINKER:--no-undefined)
  endif()
  set_property(GLOBAL APPEND PROPERTY LACUNA_PLUGINS lacuna_${name})
endfunction()
