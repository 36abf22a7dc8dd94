# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts down: headers, libraries, the command, and the package for find_package(dovetail).

include(CMakePackageConfigHelpers)

set(DOVETAIL_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/dovetail)
configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/dovetailConfig.cmake.in
  ${PROJECT_BINARY_DIR}/dovetailConfig.cmake
  INSTALL_DESTINATION ${DOVETAIL_PACKAGE_DIR}
  NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may change the API.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/dovetailConfigVersion.cmake COMPATIBILITY SameMinorVersion)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/dovetail DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h")
install(EXPORT dovetail NAMESPACE dovetail:: FILE dovetailTargets.cmake DESTINATION ${DOVETAIL_PACKAGE_DIR})
install(FILES ${PROJECT_BINARY_DIR}/dovetailConfig.cmake ${PROJECT_BINARY_DIR}/dovetailConfigVersion.cmake
  DESTINATION ${DOVETAIL_PACKAGE_DIR})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
