# SPDX-License-Identifier: Apache-2.0
# The tests of build/packed (scripts/gpu-pack), as its CTestTestfile.cmake. Nothing here knows where the programs were
# built: tests/<folder>/test_<name> is run as <folder>.<name>.cuda. scripts/test, which runs them, sets
#
#   LACUNA_ROOT         the tree, of the text of which they were built
#
# and its caller may set
#
#   LACUNA_PYTHON       the interpreter of the Python tests
#   LACUNA_TEST_UNDER   a command, as a list, that runs the programs: compute-sanitizer
#   LACUNA_TEST_QUICK   some of the Python tests
set(root $ENV{LACUNA_ROOT})
set(here ${root}/build/packed)
set(environment OMP_WAIT_POLICY=passive OMP_NUM_THREADS=2 LACUNA_PLUGINS=${here}/lib
    LACUNA_LIBRARY=${here}/lib/liblacuna.so PYTHONPATH=${root}/python PYTHONDONTWRITEBYTECODE=1)

file(GLOB programs RELATIVE ${here}/tests ${here}/tests/*/test_*)
foreach(program ${programs})
  string(REGEX REPLACE "/test_" "." name ${program})
  add_test(${name}.cuda $ENV{LACUNA_TEST_UNDER} ${here}/tests/${program} cuda)
  set_tests_properties(${name}.cuda PROPERTIES WORKING_DIRECTORY ${root} SKIP_RETURN_CODE 77 TIMEOUT 400
                       ENVIRONMENT "${environment}")
endforeach()
set_tests_properties(backends.cuda_stream.cuda PROPERTIES RUN_SERIAL ON)   # it fills the device's memory
# The longest come first, so that the others run beside them.
set_tests_properties(backends.cuda_shapes.cuda backends.cuda_solves.cuda backends.kernels.cuda ops.iterative_solve.cuda
                     ops.logdet_estimate.cuda ops.lstsq_with.cuda solvers.grid.cuda PROPERTIES COST 100)

set(which cuda)
if("$ENV{LACUNA_TEST_QUICK}")
  set(which "cuda and (spmm or stream or copies or graph or patterns)")
endif()
add_test(python.cuda $ENV{LACUNA_PYTHON} -m pytest -q -rs -p no:cacheprovider tests/python -k ${which})
set_tests_properties(python.cuda PROPERTIES WORKING_DIRECTORY ${root} TIMEOUT 400 COST 1000
                     ENVIRONMENT "${environment}")
