# SPDX-License-Identifier: Apache-2.0
# Tests, benchmarks and examples. A test program takes the backend's name && exit 77 means skipped.

# Programs run side by side: idle threads must not spin. A test is not beside the plug-ins, as the library is.
set(test_environment OMP_WAIT_POLICY=passive LACUNA_PLUGINS=${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
if(LACUNA_SANITIZE MATCHES "address")
  list(APPEND test_environment UBSAN_OPTIONS=print_stacktrace=1)
elseif(LACUNA_SANITIZE MATCHES "thread")
  # The OpenMP runtime is not instrumented. Archer tells the sanitizer where its barriers are.
  list(APPEND test_environment TSAN_OPTIONS=ignore_noninstrumented_modules=1)
  get_filename_component(omp_dir "${OpenMP_omp_LIBRARY}" REALPATH)
  get_filename_component(omp_dir "${omp_dir}" DIRECTORY)
  find_library(LACUNA_ARCHER archer HINTS ${omp_dir})
  if(LACUNA_ARCHER)
    list(APPEND test_environment OMP_TOOL_LIBRARIES=${LACUNA_ARCHER})
  else()
    message(WARNING "libarcher was not found: ThreadSanitizer will report false races at OpenMP barriers")
  endif()
endif()

# A hundred and sixty programs link all objects: lld takes a third of the time where it is found.
include(CheckLinkerFlag)
check_linker_flag(C -fuse-ld=lld LACUNA_HAS_LLD)

function(lacuna_program target source folder)
  add_executable(${target} ${source})
  get_filename_component(name ${source} NAME_WE)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${folder})
  target_link_libraries(${target} PRIVATE lacuna_flags m ${ARGN})
  if(LACUNA_HAS_LLD)
    target_link_options(${target} PRIVATE -fuse-ld=lld)
  endif()
  if(LACUNA_HAVE_CUDA)
    add_dependencies(${target} lacuna_cuda)
    file(STRINGS ${source} calls REGEX "#include <cuda_runtime_api\\.h>" LIMIT_COUNT 1)
    if(calls)   # streams, events and memory of the program's own
      target_compile_definitions(${target} PRIVATE LACUNA_HAVE_CUDA)
      target_link_libraries(${target} PRIVATE CUDA::cudart_static)
    endif()
  endif()
endfunction()

function(lacuna_test name)
  add_test(NAME ${name} COMMAND ${ARGN} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 900 ENVIRONMENT "${test_environment}")
endfunction()

# What sees the library from inside, with support code: cases, checks, references.
file(GLOB support_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/support/*.c)
add_library(lacuna_inside INTERFACE)
target_include_directories(lacuna_inside INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
if(LACUNA_SMALL_TESTS)
  add_library(test_support SHARED ${support_sources})
  target_link_libraries(test_support PRIVATE lacuna m)
  target_link_libraries(lacuna_inside INTERFACE lacuna test_support OpenMP::OpenMP_C)
else()
  add_library(test_support OBJECT ${support_sources})
  target_link_libraries(lacuna_inside INTERFACE $<TARGET_OBJECTS:test_support>)
  set(objects lacuna_objects)   # objects are those of who names them, and of nobody else
endif()
target_include_directories(test_support PRIVATE src tests include)
target_link_libraries(test_support PRIVATE lacuna_flags OpenMP::OpenMP_C)

# What scripts/gpu-pack takes along: programs that run on a GPU.
add_custom_target(gpu)
set(gpu_programs ${CMAKE_BINARY_DIR}/gpu-programs.txt)
file(WRITE ${gpu_programs} "")
function(lacuna_gpu_program target program)
  add_dependencies(gpu ${target})
  file(APPEND ${gpu_programs} "${program}\n")
endfunction()

# Unit tests: tests/<folder>/test_<name>.c is the program tests/<folder>/test_<name>, run as <folder>.<name>.<backend>.
file(GLOB_RECURSE tests RELATIVE ${PROJECT_SOURCE_DIR}/tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/test_*.c)
list(FILTER tests EXCLUDE REGEX "^(distributed|extend|support|python)/")
# What works on host memory inside a solver, or is of one backend alone, knows no other.
set(host_solvers "dense|eliminate|engines|engines_use|fronts|matching|ordering|selected_fronts|starved|supernodes")
set(host_only "^(backends/test_(fft|lent)|solvers/test_(${host_solvers}))\\.c$")
foreach(test ${tests})
  get_filename_component(folder ${test} DIRECTORY)
  string(REGEX REPLACE "(^|/)test_([^/]*)\\.c$" "\\1\\2" name ${test})
  string(REPLACE "/" "." name ${name})
  lacuna_program(test.${name} ${PROJECT_SOURCE_DIR}/tests/${test} tests/${folder} ${objects} lacuna_inside)
  lacuna_test(${name}.cpu test.${name} cpu)
  if(NOT test MATCHES "^(ops|autodiff|backends|optimise|solvers)/" OR test MATCHES "${host_only}")
    continue()
  endif()
  if(LACUNA_HAVE_CUDA)
    lacuna_test(${name}.cuda test.${name} cuda)
    set_tests_properties(${name}.cuda PROPERTIES RESOURCE_LOCK gpu)
    string(REGEX REPLACE "\\.c$" "" program tests/${test})
    lacuna_gpu_program(test.${name} ${program})
  endif()
  if(test MATCHES "^(ops|optimise|solvers)/")   # the claims of CUDA, tried without a device (tests/support/shadow.h)
    lacuna_test(${name}.cpu-as-cuda test.${name} cpu-as-cuda)
  endif()
endforeach()

# Stubs of BLAS libraries, by which tests/core/test_blas.c looks how one is found.
foreach(stub MKL BLIS SCIPY MKL_WIDE)
  string(TOLOWER ${stub} name)
  string(REPLACE "_WIDE" ";STUB_WIDE" definitions STUB_${stub})
  add_library(blas_stub_${name} MODULE ${PROJECT_SOURCE_DIR}/tests/core/blas_stub.c)
  target_link_libraries(blas_stub_${name} PRIVATE lacuna_flags)
  target_compile_definitions(blas_stub_${name} PRIVATE ${definitions})
  set_target_properties(blas_stub_${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/core
                                                     C_VISIBILITY_PRESET default)
  add_dependencies(test.core.blas blas_stub_${name})
endforeach()
target_compile_definitions(test.core.blas PRIVATE BLAS_STUBS="${PROJECT_BINARY_DIR}/tests/core/libblas_stub_")

# Stand-ins of cuDSS, by which tests/solvers/test_cudss.c works without a device.
foreach(major 0 1)
  add_library(cudss_stand_in_${major} MODULE ${PROJECT_SOURCE_DIR}/tests/solvers/cudss_stand_in.c)
  target_link_libraries(cudss_stand_in_${major} PRIVATE m)
  target_compile_options(cudss_stand_in_${major} PRIVATE -std=c11 -O2)
  target_compile_definitions(cudss_stand_in_${major} PRIVATE STAND_IN_MAJOR=${major})
  set_target_properties(cudss_stand_in_${major} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/solvers)
endforeach()
foreach(name cudss cudss_before cudss_failures)
  add_dependencies(test.solvers.${name} cudss_stand_in_0 cudss_stand_in_1)
  target_compile_definitions(test.solvers.${name} PRIVATE
    CUDSS_STAND_INS="${PROJECT_BINARY_DIR}/tests/solvers/libcudss_stand_in_")
endforeach()

# What a user of the installed library can write: public headers and liblacuna.so alone.
file(GLOB extends CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/extend/*.c)
foreach(source ${extends})
  get_filename_component(name ${source} NAME_WE)
  string(REGEX REPLACE "^test_" "" name ${name})
  lacuna_program(test.extend.${name} ${source} tests/extend lacuna)
  lacuna_test(extend.${name}.cpu test.extend.${name} cpu)
endforeach()
file(GLOB examples CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/*.c)
foreach(source ${examples})
  get_filename_component(name ${source} NAME_WE)
  lacuna_program(example.${name} ${source} examples lacuna)
  set(arguments)
  if(name STREQUAL demo)   # it takes a minute at its own size
    set(arguments 96)
  endif()
  lacuna_test(example.${name} example.${name} ${arguments})
endforeach()

# What tests, examples and benchmarks read is what was published.
lacuna_test(data sh -c "cd data && sha256sum --check --quiet SHA256SUMS && echo unchanged")

file(GLOB benches CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/*.c)
foreach(source ${benches})
  get_filename_component(name ${source} NAME_WE)
  lacuna_program(bench.${name} ${source} bench ${objects} lacuna_inside)
  if(name MATCHES "cuda")
    lacuna_gpu_program(bench.${name} bench/${name})
  endif()
endforeach()

# Distributed: each program on 1 to 4 ranks, also where there are fewer cores and where we are root (containers).
# MPI keeps memory until the end and unloads the modules that asked for it, so leaks are not looked for there.
file(GLOB distributed CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/distributed/test_*.c)
if(TARGET lacuna_mpi)
  foreach(source ${distributed})
    get_filename_component(name ${source} NAME_WE)
    string(REGEX REPLACE "^test_" "" name ${name})
    file(STRINGS ${source} inside REGEX "#include \"(core|kernels)/" LIMIT_COUNT 1)
    if(inside)   # such a test sees the library from inside; the others link what is installed
      lacuna_program(test.distributed.${name} ${source} tests/distributed ${objects} lacuna_inside MPI::MPI_C)
      target_sources(test.distributed.${name} PRIVATE ${mpi_sources})
    else()
      lacuna_program(test.distributed.${name} ${source} tests/distributed lacuna lacuna_mpi MPI::MPI_C)
      target_include_directories(test.distributed.${name} PRIVATE tests)
    endif()
    foreach(ranks 1 2 3 4)
      set(test distributed.${name}.np${ranks})
      set(program $<TARGET_FILE:test.distributed.${name}>)
      lacuna_test(${test} ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks} ${program} cpu)
      set_tests_properties(${test} PROPERTIES TIMEOUT 120 PROCESSORS ${ranks} ENVIRONMENT
        "${test_environment};OMP_NUM_THREADS=1;ASAN_OPTIONS=detect_leaks=0;\
OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;OMPI_MCA_rmaps_base_oversubscribe=1;\
OMPI_MCA_hwloc_base_binding_policy=none;OMPI_MCA_btl_vader_single_copy_mechanism=none;OMPI_MCA_mpi_yield_when_idle=1;\
PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe")
    endforeach()
  endforeach()
elseif(distributed AND NOT LACUNA_SANITIZE MATCHES "thread")
  lacuna_test(distributed sh -c "echo 'skip: built without MPI' && exit 77")
endif()

# Python: one ctest test for all that pytest finds, one for what needs the GPU, one for each example.
set(python_environment "${test_environment};LACUNA_LIBRARY=$<TARGET_FILE:lacuna>;\
PYTHONPATH=${PROJECT_SOURCE_DIR}/python;PYTHONDONTWRITEBYTECODE=1")
function(lacuna_python_test name)
  if(LACUNA_PYTHON)
    lacuna_test(${name} ${LACUNA_PYTHON} ${ARGN})
  else()
    set(why "no Python with pytest, cffi and torch (scripts/bootstrap --python)")
    lacuna_test(${name} sh -c "echo 'skip: ${why}' && exit 77")
  endif()
  # The longest come first, so that the others run beside them.
  set_tests_properties(${name} PROPERTIES ENVIRONMENT "${python_environment}" COST 100)
endfunction()

file(GLOB python_tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/python/test_*.py)
file(GLOB python_examples CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/*.py)
set(python_cuda "")
foreach(file ${python_tests})
  file(STRINGS ${file} lines REGEX "cuda" LIMIT_COUNT 1)
  list(APPEND python_cuda ${lines})
endforeach()
if(LACUNA_SANITIZE)   # the interpreter is not instrumented
  return()
endif()
set(pytest -m pytest -q -rs -p no:cacheprovider tests/python)
if(python_cuda AND LACUNA_HAVE_CUDA)
  lacuna_python_test(python ${pytest} -k "not cuda")
  lacuna_python_test(python.cuda ${pytest} -k cuda)
  set_tests_properties(python PROPERTIES COST 1000)
  set_tests_properties(python.cuda PROPERTIES RESOURCE_LOCK gpu)
elseif(python_tests)
  lacuna_python_test(python ${pytest})
  set_tests_properties(python PROPERTIES COST 1000)
endif()
foreach(file ${python_examples})
  get_filename_component(name ${file} NAME_WE)
  lacuna_python_test(example.${name} ${file})
endforeach()
if(NOT CMAKE_BUILD_TYPE STREQUAL "Release")   # one build's wheel is enough
  lacuna_test(wheel scripts/test-wheel ${CMAKE_BINARY_DIR})
  set_tests_properties(wheel PROPERTIES COST 100)
endif()
