# SPDX-License-Identifier: Apache-2.0
# src/ops/ops.def is the one list of operators: each line needs its room and its test, each operator its line.
set(ops_def ${PROJECT_SOURCE_DIR}/src/ops/ops.def)
set(ops "")

# Where the file is there, its text has what matches `needed`; else say `otherwise`.
function(lacuna_op_needs file needed otherwise)
  set(path ${PROJECT_SOURCE_DIR}/${file})
  if(EXISTS ${path})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})   # an edit is looked at again
    file(READ ${path} text)
    if(NOT text MATCHES "${needed}")
      message(SEND_ERROR "${file}: ${otherwise}")
    endif()
  endif()
endfunction()

if(EXISTS ${ops_def})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${ops_def})
  file(STRINGS ${ops_def} lines REGEX "^LAC_OP\\(")
  foreach(line ${lines})
    string(REGEX REPLACE "^LAC_OP\\( *([A-Za-z0-9_]+).*" "\\1" op "${line}")
    list(APPEND ops ${op})
    file(GLOB room RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/ops/*/${op}.c)
    list(LENGTH room found)
    if(NOT found EQUAL 1)
      message(SEND_ERROR "ops.def lists the operator '${op}', and ${found} files are src/ops/*/${op}.c")
    elseif(NOT EXISTS ${PROJECT_SOURCE_DIR}/tests/ops/test_${op}.c)
      message(SEND_ERROR "ops.def lists the operator '${op}', but tests/ops/test_${op}.c is missing")
    endif()
    lacuna_op_needs(${room} "\\.name *= *\"${op}\""
      "the operator's line in ops.def is '${op}', so its table entry must say .name = \"${op}\"")
    lacuna_op_needs(tests/ops/test_${op}.c "[^a-z_]check_op\\("
      "never calls check_op; give the battery at least one op_case of '${op}' (tests/support/op_case.h)")
    lacuna_op_needs(tests/ops/test_${op}.c "[. ]op = \"${op}\""
      "has no case of its operator; give check_op one with .op = \"${op}\"")
  endforeach()
endif()
# A file without an operator of its own is a function composed of others: no line, no rule.
file(GLOB rooms CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/ops/*.c ${PROJECT_SOURCE_DIR}/src/ops/*/*.c)
foreach(room ${rooms})
  file(STRINGS ${room} lines REGEX "^const lac_op lac_op_[a-z0-9_]+ *=")
  foreach(line ${lines})
    string(REGEX REPLACE "^const lac_op lac_op_([a-z0-9_]+).*" "\\1" op "${line}")
    if(NOT op IN_LIST ops)
      message(SEND_ERROR "${room} defines the operator '${op}', which src/ops/ops.def does not list")
    endif()
  endforeach()
endforeach()
