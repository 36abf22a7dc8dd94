# SPDX-License-Identifier: Apache-2.0

# dovetail_cuda_host_compiler(COMPILER REASON): the compiler that nvcc has for the host's half of kernels' sources. A toolkit
# refuses versions of g++ that are newer than itself, and says in a header up to which it takes them. COMPILER is the one that
# the user names, else that of C++, else the newest g++ that it takes; where there is none it is empty, and REASON says why.
function(dovetail_cuda_host_compiler compiler reason)
  set(${reason} "" PARENT_SCOPE)
  set(named "${CMAKE_CUDA_HOST_COMPILER}")
  if(NOT named)
    set(named "$ENV{CUDAHOSTCXX}")
  endif()
  if(named)
    set(${compiler} "${named}" PARENT_SCOPE)
    return()
  endif()

  set(limit 0)
  find_file(header crt/host_config.h PATHS ${CUDAToolkit_INCLUDE_DIRS} NO_DEFAULT_PATH NO_CACHE)
  if(header)
    file(STRINGS ${header} line REGEX "^#if __GNUC__ > [0-9]+" LIMIT_COUNT 1)
    if(line MATCHES "> ([0-9]+)")
      set(limit ${CMAKE_MATCH_1})
    endif()
  endif()
  if(limit EQUAL 0)
    # Nothing is known of a limit; whether this one serves is found out next.
    set(${compiler} "${CMAKE_CXX_COMPILER}" PARENT_SCOPE)
    return()
  endif()

  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS_EQUAL "${limit}.99")
    set(${compiler} "${CMAKE_CXX_COMPILER}" PARENT_SCOPE)
    return()
  endif()
  set(names "")
  foreach(version RANGE ${limit} 8 -1)  # older ones lack parts of C++17
    list(APPEND names g++-${version})
  endforeach()
  find_program(found NAMES ${names} NAMES_PER_DIR NO_CACHE)
  if(NOT found)
    set(found "")
    string(CONCAT text "CUDA Toolkit ${CUDAToolkit_VERSION} takes g++ up to ${limit} for kernels, there is none, and the C++ "
      "compiler is ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}: install g++-${limit}, or name another with "
      "-DCMAKE_CUDA_HOST_COMPILER")
    set(${reason} "${text}" PARENT_SCOPE)
  endif()
  set(${compiler} "${found}" PARENT_SCOPE)
endfunction()
