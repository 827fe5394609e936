# SPDX-License-Identifier: BSD-2-Clause
# How targets of this tree are made. Sources are globbed, so that a new file needs no change here;
# a folder without sources yields an empty library (or no program) instead of an error.

# SHARED: a change in a library links nothing but that library again, which tests/mutation makes use of.
set(HAWSER_LIBRARIES STATIC CACHE STRING "STATIC or SHARED")

# hawser_library(NAME [STATIC] SOURCES <glob>... [EXCLUDE <file>...] [LINK <target>...]
#   [DEFINE <def>...]); STATIC: always, since it calls what its users are linked with.
function(hawser_library name)
  cmake_parse_arguments(arg "STATIC" "" "SOURCES;EXCLUDE;LINK;DEFINE" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${arg_SOURCES})
  foreach(file IN LISTS arg_EXCLUDE)
    list(REMOVE_ITEM sources "${CMAKE_CURRENT_SOURCE_DIR}/${file}")
  endforeach()
  if(sources)
    set(kind ${HAWSER_LIBRARIES})
    if(arg_STATIC)
      set(kind STATIC)
    endif()
    add_library(${name} ${kind} ${sources})
    set(scope PUBLIC)
    target_link_libraries(${name} PRIVATE hawser_flags)
  else()
    add_library(${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_link_libraries(${name} ${scope} ${arg_LINK})
  target_compile_definitions(${name} ${scope} ${arg_DEFINE})
endfunction()

# hawser_program(NAME SOURCES <glob>... [LINK <target>...])
function(hawser_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${arg_SOURCES})
  if(sources)
    add_executable(${name} ${sources})
    target_link_libraries(${name} PRIVATE hawser_flags ${arg_LINK})
  endif()
endfunction()
