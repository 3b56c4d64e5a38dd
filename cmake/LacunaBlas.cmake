# SPDX-License-Identifier: Apache-2.0
# Dense products are done by a BLAS that is loaded at run time (src/core/blas_find.c): none has to be here when the
# library is built. LACUNA_BLAS names the one to load (AUTO: the first that is found; OFF: none). What this machine has
# is looked for only to say so.
if(LACUNA_BLAS STREQUAL "AUTO" OR LACUNA_BLAS STREQUAL "ON")
  set(LACUNA_BLAS "")
elseif(LACUNA_BLAS STREQUAL "OFF")
  set(LACUNA_BLAS none)
endif()
find_library(LACUNA_FAST_BLAS NAMES openblas libopenblas.so.0 mkl_rt blis flexiblas nvpl_blas_lp64_gomp armpl_lp64)
mark_as_advanced(LACUNA_FAST_BLAS)
if(LACUNA_BLAS)
  set(LACUNA_BLAS_IS "at run time ${LACUNA_BLAS}")
elseif(LACUNA_FAST_BLAS)
  set(LACUNA_BLAS_IS "at run time, here ${LACUNA_FAST_BLAS}")
else()
  set(LACUNA_BLAS_IS "at run time, none here")
  message(WARNING "No fast BLAS was found: direct solvers run loops of their own here, five times slower "
                  "than with OpenBLAS (Debian: libopenblas0). The library looks again when it runs.")
endif()
