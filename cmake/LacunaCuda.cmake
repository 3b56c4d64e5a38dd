# SPDX-License-Identifier: Apache-2.0
# liblacuna_cuda: the CUDA backend, a plug-in. The core needs neither nvcc nor CUDA.
set(LACUNA_HAVE_CUDA OFF)
set(cuda_room ${PROJECT_SOURCE_DIR}/src/backends/cuda)
file(GLOB_RECURSE cuda_sources CONFIGURE_DEPENDS ${cuda_room}/*.cu ${cuda_room}/*.c)
if(LACUNA_CUDA STREQUAL "OFF" OR NOT cuda_sources)
  return()
endif()

# Machine code for Hopper; newer and older cards (from compute capability 8.0) translate the PTX when they load it.
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 90-real 80-virtual)
endif()
find_program(LACUNA_NVCC nvcc HINTS ENV CUDA_HOME PATHS /usr/local/cuda PATH_SUFFIXES bin)
mark_as_advanced(LACUNA_NVCC)
if(LACUNA_NVCC AND NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
  set(ENV{CUDACXX} ${LACUNA_NVCC})
endif()
if(LACUNA_CUDA STREQUAL "AUTO")
  include(CheckLanguage)
  check_language(CUDA)
  if(NOT CMAKE_CUDA_COMPILER)
    return()
  endif()
endif()

enable_language(CUDA)
find_package(CUDAToolkit REQUIRED)
set(CMAKE_CUDA_STANDARD 17)
set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
set(CMAKE_CUDA_RUNTIME_LIBRARY Static)   # so that the plug-in loads where there is no driver, and can say so
set(LACUNA_HAVE_CUDA ON)
file(GLOB kernel_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/kernels/*.c)   # they have no state
lacuna_plugin(cuda ${cuda_sources} ${kernel_sources})
target_link_libraries(lacuna_cuda PRIVATE CUDA::cudart_static)
