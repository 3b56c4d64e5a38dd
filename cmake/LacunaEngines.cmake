# SPDX-License-Identifier: Apache-2.0
# liblacuna_suitesparse and liblacuna_mumps: direct solvers of others as plug-ins, apart because of their licences
# (CHOLMOD's supernodal part and UMFPACK are GPL).
set(LACUNA_HAVE_SUITESPARSE OFF)
set(LACUNA_HAVE_MUMPS OFF)
set(engine_room ${PROJECT_SOURCE_DIR}/src/solvers/engines)

# lacuna_engine(NAME OPTION HEADER SUFFIX PACKAGE LIBRARY...): the plug-in, where header and libraries are all found.
function(lacuna_engine name option header suffix package)
  string(TOUPPER ${name} upper)
  if(option STREQUAL "OFF")
    return()
  endif()
  find_path(LACUNA_${upper}_INCLUDE ${header} PATH_SUFFIXES ${suffix})
  set(found ${LACUNA_${upper}_INCLUDE})
  set(libraries "")
  foreach(library ${ARGN})
    find_library(LACUNA_LIBRARY_${library} ${library})
    mark_as_advanced(LACUNA_LIBRARY_${library})
    list(APPEND libraries ${LACUNA_LIBRARY_${library}})
    if(NOT LACUNA_LIBRARY_${library})
      set(found OFF)
    endif()
  endforeach()
  mark_as_advanced(LACUNA_${upper}_INCLUDE)
  if(NOT found)
    if(NOT option STREQUAL "AUTO")
      message(FATAL_ERROR "LACUNA_${upper}=${option}, but ${header} or its libraries were not found "
                          "(Debian: ${package})")
    endif()
    return()
  endif()

  file(GLOB sources CONFIGURE_DEPENDS ${engine_room}/${name}/*.c)
  if(NOT TARGET lacuna_engine_plugin)   # what the plug-ins of engines share is compiled once
    add_library(lacuna_engine_plugin OBJECT ${engine_room}/plugin/plugin.c)
    set_target_properties(lacuna_engine_plugin PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_include_directories(lacuna_engine_plugin PRIVATE src include)
    target_link_libraries(lacuna_engine_plugin PRIVATE lacuna_flags)
  endif()
  lacuna_plugin(${name} ${sources} $<TARGET_OBJECTS:lacuna_engine_plugin>)
  target_include_directories(lacuna_${name} SYSTEM PRIVATE ${LACUNA_${upper}_INCLUDE})
  target_link_libraries(lacuna_${name} PRIVATE ${libraries})
  set(LACUNA_HAVE_${upper} ON PARENT_SCOPE)
endfunction()

lacuna_engine(suitesparse ${LACUNA_SUITESPARSE} umfpack.h suitesparse libsuitesparse-dev cholmod umfpack klu)
lacuna_engine(mumps ${LACUNA_MUMPS} dmumps_c.h mumps_seq libmumps-seq-dev smumps_seq dmumps_seq cmumps_seq zmumps_seq)
