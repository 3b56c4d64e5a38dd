# SPDX-License-Identifier: Apache-2.0
# What a wheel holds besides what is installed everywhere: the headers as a Python module
# (python/lacuna/_declarations.py), whose reading would take most of an import. With LACUNA_BUILT, which tests use, the
# libraries of a build and the headers are all the rest.
find_package(Python COMPONENTS Interpreter REQUIRED)
file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/lacuna/*.h)
set(declarations ${PROJECT_SOURCE_DIR}/python/lacuna/_declarations.py)
set(declared ${CMAKE_CURRENT_BINARY_DIR}/_declared.py)
add_custom_command(OUTPUT ${declared} DEPENDS ${declarations} ${headers}
                   COMMAND Python::Interpreter ${declarations} ${PROJECT_SOURCE_DIR}/include ${declared})
add_custom_target(lacuna_declared ALL DEPENDS ${declared})
install(FILES ${declared} DESTINATION .)

if(LACUNA_BUILT)
  install(DIRECTORY include/lacuna DESTINATION include FILES_MATCHING PATTERN "*.h")
  file(GLOB libraries ${LACUNA_BUILT}/lib/liblacuna*.so)
  list(FILTER libraries EXCLUDE REGEX _mpi)
  foreach(library ${libraries})
    get_filename_component(name ${library} NAME)
    get_filename_component(library ${library} REALPATH)   # no links: a wheel has none
    install(PROGRAMS ${library} DESTINATION lib RENAME ${name})
  endforeach()
endif()
