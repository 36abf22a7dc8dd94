# SPDX-License-Identifier: Apache-2.0
# How every target of the project is built.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

function(dovetail_compile_options target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  # Messages and programs name sources as the project does, not where they lay.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:C,CXX>:-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=>)
  set(warnings -Wall -Wextra -Wconversion -Wshadow -Wnon-virtual-dtor)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # Claims overlaps in operator+ of std::string where there are none (GCC bug 105651).
    list(APPEND warnings -Wno-restrict)
  endif()
  if(DOVETAIL_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC documents false positives of this warning in sanitized builds; moving a Result or a future sets it off.
    list(APPEND warnings -Wno-maybe-uninitialized)
  endif()
  if(DOVETAIL_BUILD_FUZZ)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=fuzzer-no-link>)
  endif()
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
    # Where a product and a sum are one operation, it rounds once: numbers would not be those of x86-64 to the last digit.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:C,CXX>:-ffp-contract=off>)
  endif()
  if(DOVETAIL_WERROR)
    list(APPEND warnings -Werror)
  endif()
  # nvcc knows none of these, and what it makes of a kernel's source has warnings of its own making.
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:C,CXX>:${warnings}>")
  # Kernels: the newest that nvcc 11 knows.
  set_target_properties(${target} PROPERTIES CUDA_STANDARD 17 CUDA_STANDARD_REQUIRED ON CUDA_EXTENSIONS OFF)
endfunction()

if(DOVETAIL_SANITIZE)
  add_compile_options(-fsanitize=${DOVETAIL_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${DOVETAIL_SANITIZE})
endif()

# dovetail_unity(TARGET): with DOVETAIL_UNITY several sources are compiled as one, for builds that are made once. Names in
# unnamed namespaces must differ within a target.
function(dovetail_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${DOVETAIL_UNITY} UNITY_BUILD_BATCH_SIZE 8)
  if(DOVETAIL_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Takes sources that are included for headers, in which a class must not have parts of an unnamed namespace.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
  endif()
endfunction()

# What every library, and every part of one, is compiled with.
function(dovetail_library_options target)
  dovetail_compile_options(${target})
  target_include_directories(${target}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    PRIVATE ${PROJECT_SOURCE_DIR})
  # What include/dovetail/export.h marks is all that the shared library exports.
  set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  dovetail_unity(${target})
  if(DOVETAIL_COVERAGE)
    # Only libraries: what tests are made of is as in a release build, so a compiler cache has it already.
    target_compile_options(${target} PRIVATE -O1 --coverage -fprofile-update=atomic)
    target_link_options(${target} INTERFACE $<BUILD_INTERFACE:--coverage>)
  endif()
endfunction()

# dovetail_add_library(NAME SOURCES...): a static library, exported as dovetail::NAME. The shared library is made of the
# objects of all of them: they use each other's internals, which it hides.
function(dovetail_add_library name)
  add_library(dovetail_${name} STATIC ${ARGN})
  add_library(dovetail::${name} ALIAS dovetail_${name})
  dovetail_library_options(dovetail_${name})
  set_target_properties(dovetail_${name} PROPERTIES EXPORT_NAME ${name} LINKER_LANGUAGE CXX)
  set_property(GLOBAL APPEND PROPERTY DOVETAIL_OBJECTS $<TARGET_OBJECTS:dovetail_${name}>)
  set_property(GLOBAL APPEND PROPERTY DOVETAIL_PARTS ${name})
  install(TARGETS dovetail_${name} EXPORT dovetail COMPONENT development
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()

# dovetail_add_test_library(NAME SOURCES ... [LIBRARIES ...]): what several tests share, compiled once.
function(dovetail_add_test_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  dovetail_compile_options(${name})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${arg_LIBRARIES})
endfunction()

# dovetail_gpu_program(NAME): the target is needed to check a machine with a GPU; `gpu_programs` builds all of them.
function(dovetail_gpu_program name)
  set_property(GLOBAL APPEND PROPERTY DOVETAIL_GPU_PROGRAMS ${name})
  if(NOT DOVETAIL_BUILD_GPU_PROGRAMS)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endfunction()

# Tests spend their time in the libraries, and their own code is much of what there is to compile: it is optimised less,
# and not at all with sanitizers, of whose build optimising it takes half.
function(dovetail_test_options target)
  dovetail_compile_options(${target})
  if(DOVETAIL_BUILD_FUZZ)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=fuzzer-no-link>)
  endif()
  if(DOVETAIL_SANITIZE)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O0>)
  else()
    target_compile_options(${target} PRIVATE $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:-O1>)
  endif()
  if(DOVETAIL_PRECOMPILED_HEADERS AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Out of a precompiled header gcc 12 lets its false alarms about std::string pass that it keeps back otherwise.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-array-bounds;-Wno-stringop-overflow>)
  endif()
  if(DOVETAIL_SANITIZE MATCHES "undefined" AND CMAKE_CXX_COMPILER_ID MATCHES "Clang"
      AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 15)
    # Cannot compile coroutines with this check, which gcc does not have at all; libraries have no coroutines.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=function>)
  endif()
endfunction()

# dovetail_add_test(NAME SOURCES... [LIBRARIES ...] [LABELS ...] [COST SECONDS]): a GoogleTest program, one ctest entry
# per program. COST is about how long it takes with AddressSanitizer, where that is long: the longest are started first,
# and `make quick` leaves them out, by the label `long`.
# With the label `gpu` it needs a GPU: it is a test with DOVETAIL_BUILD_GPU_PROGRAMS, skipped where it ends with 77 because
# there is none; with a sanitizer, which runs the same tests on the emulated device, only its name builds it. With `one_thread` neither it nor what it tests starts
# a thread: so it is with ThreadSanitizer, which would find nothing.
function(dovetail_add_test name)
  cmake_parse_arguments(arg "" "COST" "SOURCES;LIBRARIES;LABELS" ${ARGN})
  add_executable(${name} ${arg_SOURCES} ${arg_UNPARSED_ARGUMENTS})
  dovetail_test_options(${name})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} GTest::gmock GTest::gtest_main)
  dovetail_unity(${name})
  if(TARGET dovetail_test_headers)
    target_precompile_headers(${name} REUSE_FROM dovetail_test_headers)
  endif()
  if(("one_thread" IN_LIST arg_LABELS AND DOVETAIL_SANITIZE STREQUAL "thread")
      OR ("gpu" IN_LIST arg_LABELS AND (DOVETAIL_SANITIZE OR NOT DOVETAIL_BUILD_GPU_PROGRAMS)))
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    return()
  endif()
  add_test(NAME ${name} COMMAND ${name})
  if(arg_COST)
    list(APPEND arg_LABELS long)
  endif()
  set(timeout 600)
  if(DOVETAIL_SANITIZE OR CMAKE_CROSSCOMPILING_EMULATOR)
    set(timeout 1800)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${timeout} LABELS "${arg_LABELS}"
    ENVIRONMENT "DOVETAIL_GOLDEN_DIR=${PROJECT_SOURCE_DIR}/tests/golden")
  if(arg_COST)
    set_tests_properties(${name} PROPERTIES COST ${arg_COST})
  endif()
  if("gpu" IN_LIST arg_LABELS)
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77 RUN_SERIAL ON)
    dovetail_gpu_program(${name})
  endif()
endfunction()
