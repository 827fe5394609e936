# SPDX-License-Identifier: BSD-2-Clause
# The interface target hawser_flags: language, warnings, sanitizers, hardening. Nothing is global.
include(CheckPIESupported)
check_pie_supported(LANGUAGES C)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

option(HAWSER_WERROR "warnings are errors (presets dev and tsan)" OFF)
set(HAWSER_SANITIZE none CACHE STRING "address (with undefined), thread or none")
set_property(CACHE HAWSER_SANITIZE PROPERTY STRINGS none address thread)

add_library(hawser_flags INTERFACE)
target_include_directories(hawser_flags INTERFACE "${PROJECT_SOURCE_DIR}")
# Written "=" so that a file which says "#define _GNU_SOURCE" itself does not redefine it.
target_compile_definitions(hawser_flags INTERFACE _GNU_SOURCE=
  HAWSER_VERSION="${PROJECT_VERSION}"
  # What is looked for in a debug build: calls that block a reactor (daemon/base/turn_watch.h).
  HAWSER_TURN_WATCH=$<CONFIG:Debug>)
# Intrusive lists, socket addresses and PDU headers are looked at as more than one type, as in the
# kernel: with strict aliasing a loop that emptied a list never ended (gcc 12, -O2).
target_compile_options(hawser_flags INTERFACE -fno-strict-aliasing
  -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith
  -Wcast-qual -Wformat=2 -Wundef -Wvla -Wimplicit-fallthrough
  $<$<BOOL:${HAWSER_WERROR}>:-Werror>)

if(HAWSER_SANITIZE STREQUAL "address")
  set(sanitize -fsanitize=address,undefined -fno-sanitize-recover=undefined)
  hawser_summary("sanitizers" "address, undefined")
elseif(HAWSER_SANITIZE STREQUAL "thread")
  set(sanitize -fsanitize=thread)
  hawser_summary("sanitizers" "thread")
elseif(HAWSER_SANITIZE STREQUAL "none")
  set(sanitize "")
  hawser_summary("sanitizers" "off, by HAWSER_SANITIZE=none")
else()
  message(FATAL_ERROR "HAWSER_SANITIZE=${HAWSER_SANITIZE}: say address, thread or none")
endif()

if(sanitize)
  target_compile_options(hawser_flags INTERFACE ${sanitize} -fno-omit-frame-pointer)
  target_link_options(hawser_flags INTERFACE ${sanitize})
  hawser_summary("hardening" "PIE, RELRO; FORTIFY off, sanitizers check more")
else()
  target_compile_options(hawser_flags INTERFACE -fstack-protector-strong
    $<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE>
    $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=2>)
  if(CMAKE_BUILD_TYPE STREQUAL "Debug")
    hawser_summary("hardening" "PIE, RELRO, stack protector; FORTIFY off, it needs optimisation")
  else()
    hawser_summary("hardening" "PIE, RELRO, stack protector, FORTIFY")
  endif()
endif()
target_link_options(hawser_flags INTERFACE LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack)
hawser_summary("build type" "${CMAKE_BUILD_TYPE}")
