# SPDX-License-Identifier: Apache-2.0
# liblacuna_mpi: the communication table over MPI, apart so that liblacuna itself needs no MPI.
set(LACUNA_HAVE_MPI OFF)
file(GLOB mpi_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/distributed/mpi/*.c)
if(LACUNA_MPI STREQUAL "OFF" OR NOT mpi_sources)
  return()
endif()
if(LACUNA_MPI STREQUAL "AUTO")
  find_package(MPI QUIET COMPONENTS C)
else()
  find_package(MPI REQUIRED COMPONENTS C)
endif()
if(NOT MPI_C_FOUND)
  return()
endif()

add_library(lacuna_mpi SHARED ${mpi_sources})
add_library(lacuna::lacuna_mpi ALIAS lacuna_mpi)
set_target_properties(lacuna_mpi PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${LACUNA_SOVERSION}
                      INSTALL_RPATH $ORIGIN)
target_include_directories(lacuna_mpi PRIVATE src)
target_link_libraries(lacuna_mpi PUBLIC lacuna PRIVATE lacuna_flags MPI::MPI_C)
set(LACUNA_HAVE_MPI ON)
