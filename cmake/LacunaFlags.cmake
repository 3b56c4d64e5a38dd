# SPDX-License-Identifier: Apache-2.0
# lacuna_flags: what every C file of the project is compiled with.
include(CheckCCompilerFlag)

add_library(lacuna_flags INTERFACE)
target_compile_features(lacuna_flags INTERFACE c_std_11)
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
if(LACUNA_SMALL_TESTS)   # calls inside the library stay as they are
  set(CMAKE_C_VISIBILITY_PRESET default)
  set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)
  add_compile_options($<$<COMPILE_LANGUAGE:C>:-fno-semantic-interposition>)
  add_link_options(LINKER:-Bsymbolic-functions)
endif()

# Strict C11 hides POSIX; empty, so that a file may say `#define _GNU_SOURCE` itself.
target_compile_definitions(lacuna_flags INTERFACE $<$<COMPILE_LANGUAGE:C>:_GNU_SOURCE=>)

set(c_flags -Wall -Wextra -Wpedantic -Wshadow -Wmissing-prototypes -fno-math-errno -ffp-contract=fast)
# Not every compiler has these. Limited range: complex products without the NaN recovery that no kernel could vectorise.
# Aligned functions: else the speed of a loop depends on what stands before it in the file (seen: 7 % of a sparse
# product whose instructions were the same).
foreach(flag -Wjump-misses-init -fcx-limited-range -falign-functions=64)
  string(MAKE_C_IDENTIFIER "LACUNA_HAS${flag}" known)
  check_c_compiler_flag("-Werror ${flag}" ${known})
  if(${known})
    list(APPEND c_flags ${flag})
  endif()
endforeach()
if(CMAKE_C_COMPILER_ID MATCHES "Clang")   # a loop that stays scalar, as under a sanitizer, is slower and not wrong
  list(APPEND c_flags -Wno-pass-failed)
endif()
list(APPEND c_flags -Wno-psabi)   # vectors are arguments of functions that are inlined alone
if(LACUNA_WERROR)
  list(APPEND c_flags -Werror)
endif()
target_compile_options(lacuna_flags INTERFACE "$<$<COMPILE_LANGUAGE:C>:${c_flags}>")

if(LACUNA_NATIVE)
  check_c_compiler_flag(-march=native LACUNA_HAS_MARCH_NATIVE)
  if(LACUNA_HAS_MARCH_NATIVE)
    set(LACUNA_KERNEL_FLAGS $<$<COMPILE_LANGUAGE:C>:-march=native>)
  endif()
endif()

if(LACUNA_SANITIZE)
  add_compile_options(-fsanitize=${LACUNA_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${LACUNA_SANITIZE})
endif()
