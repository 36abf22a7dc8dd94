# SPDX-License-Identifier: Apache-2.0
# libdovetail.so: everything in one library, of the objects that the static libraries are made of. It exports what
# include/dovetail/export.h marks; the version script keeps back what the compiler instantiates of other projects.

get_property(objects GLOBAL PROPERTY DOVETAIL_OBJECTS)
add_library(dovetail_shared SHARED ${objects})
dovetail_compile_options(dovetail_shared)
set_target_properties(dovetail_shared PROPERTIES OUTPUT_NAME dovetail EXPORT_NAME dovetail LINKER_LANGUAGE CXX
  VERSION ${DOVETAIL_ABI}.${PROJECT_VERSION_MINOR}.${PROJECT_VERSION_PATCH} SOVERSION ${DOVETAIL_ABI} LINK_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/dovetail.map)
target_include_directories(dovetail_shared INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(dovetail_shared
  PUBLIC Boost::headers Threads::Threads
  PRIVATE dovetail)  # all objects are there: this adds only the libraries of others
target_link_options(dovetail_shared PRIVATE
  LINKER:--version-script=${CMAKE_CURRENT_LIST_DIR}/dovetail.map LINKER:--no-undefined LINKER:--as-needed)
install(TARGETS dovetail_shared EXPORT dovetail_shared
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT development)
