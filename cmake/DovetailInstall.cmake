# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts down: headers, libraries, the command, and the packages for find_package(dovetail) and
# pkg-config. Each file belongs to a component, which is one of the packages that DovetailPackages makes.

include(CMakePackageConfigHelpers)

set(DOVETAIL_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/dovetail)
get_property(DOVETAIL_PARTS GLOBAL PROPERTY DOVETAIL_PARTS)
configure_package_config_file(
  ${CMAKE_CURRENT_LIST_DIR}/dovetailConfig.cmake.in
  ${PROJECT_BINARY_DIR}/dovetailConfig.cmake
  INSTALL_DESTINATION ${DOVETAIL_PACKAGE_DIR}
  NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may change the API.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/dovetailConfigVersion.cmake COMPATIBILITY SameMinorVersion)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/dovetail DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
  FILES_MATCHING PATTERN "*.h")
install(EXPORT dovetail NAMESPACE dovetail:: FILE dovetailStaticTargets.cmake
  DESTINATION ${DOVETAIL_PACKAGE_DIR} COMPONENT development)
install(FILES ${PROJECT_BINARY_DIR}/dovetailConfig.cmake ${PROJECT_BINARY_DIR}/dovetailConfigVersion.cmake
  DESTINATION ${DOVETAIL_PACKAGE_DIR} COMPONENT development)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT licence)

if(DOVETAIL_BUILD_SHARED)
  install(EXPORT dovetail_shared NAMESPACE dovetail:: FILE dovetailSharedTargets.cmake
    DESTINATION ${DOVETAIL_PACKAGE_DIR} COMPONENT development)
  set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  file(RELATIVE_PATH to_prefix /${pkgconfig_dir} /)  # it can be moved with its prefix
  configure_file(${CMAKE_CURRENT_LIST_DIR}/dovetail.pc.in ${PROJECT_BINARY_DIR}/dovetail.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/dovetail.pc DESTINATION ${pkgconfig_dir} COMPONENT development)
endif()
