# SPDX-License-Identifier: Apache-2.0
# A toolchain file: clang of whichever version there is, for the presets that need it.
find_program(DOVETAIL_CLANG NAMES clang clang-19 clang-18 clang-17 clang-16 clang-15 clang-14 REQUIRED)
string(REGEX REPLACE "clang([^/]*)$" "clang++\\1" clangxx "${DOVETAIL_CLANG}")
set(CMAKE_C_COMPILER ${DOVETAIL_CLANG})
set(CMAKE_CXX_COMPILER ${clangxx})
