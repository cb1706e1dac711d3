# sluice_module(NAME [INLINES_ROOMS] DEPS folders and libraries; PRIVATE_DEPS; TEST_DEPS; GENERATED sources)
#
# A folder of src/ becomes the library sluice_<name>, its tests the program <name>_test. What lies in the folder and below
# it is built: *_test.cc and what lies in a folder testing/ are tests and what they share, main.cc is a program's, all
# other *.cc are sources.
# Precise DEPS are what keeps the layers apart: `make check` compares them with the #include lines.
#
# sluice_live_tests(NAME DEPS …; TESTS …) takes tests that start real servers out of their folder's program and makes one of
# their own of them, since that takes time. It stands before the folder's sluice_module().

add_library(sluice_flags INTERFACE)
target_compile_options(sluice_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
  -Wno-missing-field-initializers -Werror)
# Clang checks annotations of locks, where there are any. It also sees what libstdc++ does inside, which is not ours to
# change, and counts the bytes of embedded files.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(sluice_flags INTERFACE -Wthread-safety -Wno-deprecated-declarations -Wno-overlength-strings)
endif()
target_include_directories(sluice_flags INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/bench)

# Headers that nearly every file parses, parsed once. Only where the tests are built: with SLUICE_UNITY=OFF, the release
# build notices a missing #include.
if(SLUICE_TESTS)
  find_package(GTest REQUIRED)
  file(WRITE ${CMAKE_BINARY_DIR}/precompiled.cc "")
  set(parsed_once <algorithm> <array> <charconv> <expected> <filesystem> <functional> <map> <memory> <optional> <string>
    <string_view> <unordered_map> <variant> <vector>)

  add_library(sluice_precompiled OBJECT ${CMAKE_BINARY_DIR}/precompiled.cc)
  target_link_libraries(sluice_precompiled PRIVATE sluice_flags)
  target_precompile_headers(sluice_precompiled PRIVATE ${parsed_once})

  # The tests' own code is not optimized: compiling it costs more than running it. What it tests is.
  add_library(sluice_test_precompiled OBJECT ${CMAKE_BINARY_DIR}/precompiled.cc)
  target_link_libraries(sluice_test_precompiled PRIVATE sluice_flags GTest::gmock GTest::gtest)
  target_compile_options(sluice_test_precompiled PRIVATE -O0)
  target_precompile_headers(sluice_test_precompiled PRIVATE ${parsed_once} <random> <set> <gmock/gmock.h> <gtest/gtest.h>)
endif()

# Most of the time to compile a source goes into what it includes, and the sources of a room include nearly the same. So they
# are compiled as one, and so are the tests of a room, at most so many at a time that both cores stay busy
# (docs/decisions/0011-rooms-compile-as-one.md). A name in an unnamed namespace is therefore unique in its room.
# `cmake -DSLUICE_UNITY=OFF` compiles each file alone, which notices a missing #include. INLINES_ROOMS compiles all rooms of a
# folder as one in the build that users run, so that the functions of one room are inlined into those of another; there a
# name is unique in its folder.
option(SLUICE_UNITY "Compile the sources of a room as one" ON)
set(sluice_sources_max 16)
set(sluice_tests_max 8)

function(sluice_compile_rooms_as_one target most)
  if(NOT SLUICE_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  foreach(source ${ARGN})
    cmake_path(GET source PARENT_PATH room)
    if(ARG_INLINES_ROOMS AND NOT SLUICE_TESTS)
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${target})
      continue()
    endif()
    string(MAKE_C_IDENTIFIER "${room}" room)
    math(EXPR in_${room} "0${in_${room}} + 1")
    math(EXPR part "(${in_${room}} - 1) / ${most}")
    string(SHA1 group "${room}")
    string(SUBSTRING ${group} 0 8 group)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group}_${part})
  endforeach()
endfunction()

set(SLUICE_TESTS_WITH "" CACHE STRING "Build only the files of tests in which this regular expression matches a line")

function(sluice_module name)
  cmake_parse_arguments(ARG "INLINES_ROOMS" "" "DEPS;PRIVATE_DEPS;TEST_DEPS;GENERATED" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "(_test|/main)\\.cc$|/testing/")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$|/testing/")
  list(REMOVE_ITEM tests ${live_tests} "")
  add_library(sluice_${name} STATIC ${sources} ${ARG_GENERATED})
  target_link_libraries(sluice_${name} PUBLIC sluice_flags ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS})
  sluice_compile_rooms_as_one(sluice_${name} ${sluice_sources_max} ${sources})
  if(SLUICE_TESTS)
    target_precompile_headers(sluice_${name} REUSE_FROM sluice_precompiled)
    sluice_test_program(${name} TESTS ${tests} DEPS sluice_${name} ${ARG_TEST_DEPS})
  endif()
endfunction()

macro(sluice_live_tests name)
  cmake_parse_arguments(LIVE "" "" "DEPS;TESTS;SHARED" ${ARGN})
  list(TRANSFORM LIVE_TESTS PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  list(TRANSFORM LIVE_SHARED PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  list(APPEND live_tests ${LIVE_TESTS})
  if(SLUICE_TESTS)
    sluice_test_program(${name} TESTS ${LIVE_TESTS} ${LIVE_SHARED} DEPS ${LIVE_DEPS})
    if(TEST ${name})
      set_tests_properties(${name} PROPERTIES COST 1000)  # they take longest, so they start first
    endif()
  endif()
endmacro()

function(sluice_test_program name)
  cmake_parse_arguments(ARG "" "" "DEPS;TESTS" ${ARGN})
  if(SLUICE_TESTS_WITH)
    foreach(test ${ARG_TESTS})
      file(STRINGS ${test} has_one REGEX ${SLUICE_TESTS_WITH} LIMIT_COUNT 1)
      if(NOT has_one AND NOT test MATCHES /testing/)
        list(REMOVE_ITEM ARG_TESTS ${test})
      endif()
    endforeach()
  endif()
  if(NOT ARG_TESTS)
    return()
  endif()
  add_executable(${name}_test ${ARG_TESTS})
  target_link_libraries(${name}_test PRIVATE ${ARG_DEPS} GTest::gmock GTest::gtest GTest::gtest_main)
  target_compile_options(${name}_test PRIVATE -O0)
  target_precompile_headers(${name}_test REUSE_FROM sluice_test_precompiled)
  # Only where it is used: every other test then compiles to the same in any folder, and ccache knows it.
  foreach(test ${ARG_TESTS})
    file(STRINGS ${test} uses_it REGEX SLUICE_SOURCE_DIR LIMIT_COUNT 1)
    if(uses_it)
      set_property(SOURCE ${test} APPEND PROPERTY COMPILE_DEFINITIONS SLUICE_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
    endif()
  endforeach()
  sluice_compile_rooms_as_one(${name}_test ${sluice_tests_max} ${ARG_TESTS})
  add_test(NAME ${name} COMMAND ${name}_test)
endfunction()
