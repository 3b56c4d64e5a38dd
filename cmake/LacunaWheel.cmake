# SPDX-License-Identifier: Apache-2.0
# What a wheel holds besides what is installed everywhere: the headers as a Python module
# (python/lacuna/_declarations.py), whose reading would take most of an import, and METIS, which the library looks for
# in its own folder. With LACUNA_BUILT, which tests use, the libraries of a build and the headers are all the rest.
find_package(Python COMPONENTS Interpreter REQUIRED)
file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/lacuna/*.h)
set(declarations ${PROJECT_SOURCE_DIR}/python/lacuna/_declarations.py)
set(declared ${CMAKE_CURRENT_BINARY_DIR}/_declared.py)
add_custom_command(OUTPUT ${declared} DEPENDS ${declarations} ${headers}
                   COMMAND Python::Interpreter ${declarations} ${PROJECT_SOURCE_DIR}/include ${declared})
add_custom_target(lacuna_declared ALL DEPENDS ${declared})
install(FILES ${declared} DESTINATION .)

# Nested dissection is worth half the flops of large factors, and users of a wheel cannot be asked for a package of the
# system. METIS is under the Apache licence, parts of it under others that ask for their notices: without them it is
# left out.
if(LACUNA_METIS STREQUAL "AUTO")
  find_library(LACUNA_LIBRARY_metis NAMES metis libmetis.so.5)
else()
  set(LACUNA_LIBRARY_metis ${LACUNA_METIS})
endif()
if(LACUNA_METIS_LICENCE STREQUAL "AUTO")
  find_file(LACUNA_NOTICE_metis NAMES libmetis5/copyright metis/LICENSE
    PATHS /usr/share/doc /usr/share/licenses NO_DEFAULT_PATH)
else()
  set(LACUNA_NOTICE_metis ${LACUNA_METIS_LICENCE})
endif()
if(LACUNA_LIBRARY_metis AND LACUNA_NOTICE_metis)
  get_filename_component(metis ${LACUNA_LIBRARY_metis} REALPATH)
  install(PROGRAMS ${metis} DESTINATION lib RENAME libmetis.so)
  install(FILES ${LACUNA_NOTICE_metis} DESTINATION lib/licences RENAME libmetis.txt)
elseif(NOT LACUNA_METIS STREQUAL "OFF")
  message(WARNING "lacuna: METIS or its licence was not found (Debian: libmetis5): "
    "large factors of the wheel take more time and memory")
endif()

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
