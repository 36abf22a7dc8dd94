# SPDX-License-Identifier: Apache-2.0
# Builds for Arm processors on another machine, with Debian's cross compiler and the arm64 packages of the libraries, which
# lie beside those of the machine (multiarch). Programs, tests among them, run in QEMU.

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)

# The newest that is there, if there is none without a number.
set(versions "")
foreach(version RANGE 16 12 -1)
  list(APPEND versions ${version})
endforeach()
list(TRANSFORM versions PREPEND aarch64-linux-gnu-gcc- OUTPUT_VARIABLE c_names)
list(TRANSFORM versions PREPEND aarch64-linux-gnu-g++- OUTPUT_VARIABLE cxx_names)
find_program(CMAKE_C_COMPILER NAMES aarch64-linux-gnu-gcc ${c_names} REQUIRED)
find_program(CMAKE_CXX_COMPILER NAMES aarch64-linux-gnu-g++ ${cxx_names} REQUIRED)

# Tests are run by it without being asked; without it they can only be built.
find_program(DOVETAIL_QEMU NAMES qemu-aarch64-static qemu-aarch64)
mark_as_advanced(DOVETAIL_QEMU)
if(DOVETAIL_QEMU)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${DOVETAIL_QEMU})
endif()

# Programs, such as protoc, are the machine's. Libraries are found in the folders of the compiler's architecture, which CMake
# knows; pkg-config has to be told.
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)
