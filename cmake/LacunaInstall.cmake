# SPDX-License-Identifier: Apache-2.0
# Libraries, headers, a pkg-config file and a CMake package.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/lacuna)

set(libraries lacuna)
if(TARGET lacuna_mpi)
  list(APPEND libraries lacuna_mpi)
endif()
install(TARGETS ${libraries} EXPORT lacuna-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/lacuna DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(EXPORT lacuna-targets NAMESPACE lacuna:: DESTINATION ${package_dir})

configure_package_config_file(cmake/lacuna-config.cmake.in lacuna-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(lacuna-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/lacuna-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/lacuna-config-version.cmake
        DESTINATION ${package_dir})

configure_file(cmake/lacuna.pc.in lacuna.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/lacuna.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
