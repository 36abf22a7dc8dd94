# SPDX-License-Identifier: Apache-2.0
# `make package`: Debian packages of the components of an installation, with the paths of the preset `package`.

set(packages dovetail libdovetail${DOVETAIL_ABI} libdovetail-dev python3-dovetail)
set(CPACK_COMPONENTS_ALL command runtime development python3)
foreach(component package IN ZIP_LISTS CPACK_COMPONENTS_ALL packages)
  string(TOUPPER ${component} key)
  set(CPACK_DEBIAN_${key}_PACKAGE_NAME ${package})
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} RENAME copyright
    COMPONENT ${component} EXCLUDE_FROM_ALL)
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_SOURCE_DIR}/build/package)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
if(NOT CPACK_PACKAGE_CONTACT)
  set(CPACK_PACKAGE_CONTACT "Dovetail maintainers <maintainers@dovetail.invalid>")
endif()
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(version "${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}")

string(CONCAT text "Dovetail packs records into checked shard files, and gives every rank of a data-parallel job the same "
  "number of equal, shuffled batches.\n This package has")
set(CPACK_COMPONENT_COMMAND_DESCRIPTION "${text} the command, its manual pages and completions.")
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "${text} the shared library.")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "${text} headers, static libraries, and what CMake and pkg-config look for.")
set(CPACK_COMPONENT_PYTHON3_DESCRIPTION "${text} the Python module.")
set(CPACK_DEBIAN_COMMAND_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PYTHON3_PACKAGE_SECTION python)

# A version may add to the ABI: what is built against this one gets a dependency on just this one.
set(scripts ${PROJECT_BINARY_DIR}/debian)
set(runtime libdovetail${DOVETAIL_ABI})
file(CONFIGURE OUTPUT ${scripts}/shlibs CONTENT "libdovetail ${DOVETAIL_ABI} ${runtime} (= ${version})\n")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${scripts}/shlibs)
# Public headers include Boost; what the static libraries need is for those who link them.
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
  "${runtime} (= ${version}), libboost1.81-dev | libboost-dev (>= 1.81)")
string(CONCAT CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS "libarchive-dev, libbz2-dev, libisal-dev, liblzma-dev, "
  "libprotobuf-dev, libsnappy-dev, liburing-dev, libzstd-dev, pkg-config, zlib1g-dev")

if(DOVETAIL_BUILD_PYTHON)
  # The module is made for one minor version of Python.
  find_package(Python3 REQUIRED COMPONENTS Interpreter Development.Module)
  math(EXPR next "${Python3_VERSION_MINOR} + 1")
  set(CPACK_DEBIAN_PYTHON3_PACKAGE_DEPENDS
    "python3 (>= 3.${Python3_VERSION_MINOR}), python3 (<< 3.${next}), python3-numpy, dovetail (= ${version})")
  # Compiled files of Python are made and removed with the package.
  file(CONFIGURE OUTPUT ${scripts}/postinst CONTENT "#!/bin/sh\nset -e\npy3compile -p python3-dovetail\n")
  file(CONFIGURE OUTPUT ${scripts}/prerm CONTENT "#!/bin/sh\nset -e\npy3clean -p python3-dovetail\n")
  file(CHMOD ${scripts}/postinst ${scripts}/prerm PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  set(CPACK_DEBIAN_PYTHON3_PACKAGE_CONTROL_EXTRA ${scripts}/postinst ${scripts}/prerm)
  set(CPACK_DEBIAN_PYTHON3_PACKAGE_CONTROL_STRICT_PERMISSION ON)
endif()
include(CPack)
