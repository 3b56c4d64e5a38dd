# SPDX-License-Identifier: Apache-2.0
# Libraries, headers, a pkg-config file and a CMake package.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/lacuna)

set(libraries lacuna)
if(TARGET lacuna_mpi)
  list(APPEND libraries lacuna_mpi)
endif()
install(TARGETS ${libraries} EXPORT lacuna-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
get_property(alone GLOBAL PROPERTY LACUNA_PLUGINS)   # found beside the library; nothing links them
foreach(level ${LACUNA_LEVELS})
  list(APPEND alone lacuna-${level})
endforeach()
foreach(library ${alone})
  install(TARGETS ${library} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endforeach()
install(DIRECTORY include/lacuna DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(EXPORT lacuna-targets NAMESPACE lacuna:: DESTINATION ${package_dir})

configure_package_config_file(cmake/lacuna-config.cmake.in lacuna-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(lacuna-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/lacuna-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/lacuna-config-version.cmake
        DESTINATION ${package_dir})

# Relative to the file itself, so that `cmake --install --prefix` and moved trees work; only folders named absolutely
# stay so.
set(pc_prefix ${CMAKE_INSTALL_PREFIX})
if(NOT IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR})
  file(RELATIVE_PATH up /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
  string(REGEX REPLACE "/$" "" pc_prefix "\${pcfiledir}/${up}")
endif()
foreach(dir LIBDIR INCLUDEDIR)
  set(pc_${dir} ${CMAKE_INSTALL_${dir}})
  if(NOT IS_ABSOLUTE ${pc_${dir}})
    set(pc_${dir} "\${prefix}/${pc_${dir}}")
  endif()
endforeach()
configure_file(cmake/lacuna.pc.in lacuna.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/lacuna.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
