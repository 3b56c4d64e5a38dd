# SPDX-License-Identifier: Apache-2.0
# zlib, for gzipped Matrix Market files. Without it they are refused with a sentence that says so.
set(LACUNA_HAVE_ZLIB OFF)
if(NOT LACUNA_ZLIB STREQUAL "OFF")
  find_package(ZLIB)
  if(ZLIB_FOUND)
    set(LACUNA_HAVE_ZLIB ON)
    set(LACUNA_ZLIB_LIBRARIES ZLIB::ZLIB)
  elseif(NOT LACUNA_ZLIB STREQUAL "AUTO")
    message(FATAL_ERROR "LACUNA_ZLIB=${LACUNA_ZLIB}, but zlib was not found")
  endif()
endif()
