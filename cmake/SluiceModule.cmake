# sluice_module(NAME SOURCES… HEADERS-ONLY sources may be empty; DEPS folders and libraries; TESTS …)
#
# A folder of src/ becomes the library sluice_<name>, its tests the program <name>_test.
# Precise DEPS are what keeps the layers apart: `make check` compares them with the #include lines.

add_library(sluice_flags INTERFACE)
target_compile_options(sluice_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
  -Wno-missing-field-initializers -Werror)
target_include_directories(sluice_flags INTERFACE ${CMAKE_SOURCE_DIR}/src)

function(sluice_module name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;PRIVATE_DEPS;TESTS;TEST_DEPS" ${ARGN})
  if(ARG_SOURCES)
    add_library(sluice_${name} STATIC ${ARG_SOURCES})
    target_link_libraries(sluice_${name} PUBLIC sluice_flags ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS})
  else()
    add_library(sluice_${name} INTERFACE)
    target_link_libraries(sluice_${name} INTERFACE sluice_flags ${ARG_DEPS})
  endif()
  if(SLUICE_TESTS AND ARG_TESTS)
    find_package(GTest REQUIRED)
    include(GoogleTest)
    add_executable(${name}_test ${ARG_TESTS})
    target_link_libraries(${name}_test PRIVATE sluice_${name} ${ARG_TEST_DEPS} GTest::gmock GTest::gtest GTest::gtest_main)
    # Only where it is used: every other test then compiles to the same in any folder, and ccache knows it.
    foreach(test ${ARG_TESTS})
      file(STRINGS ${test} uses_it REGEX SLUICE_SOURCE_DIR LIMIT_COUNT 1)
      if(uses_it)
        set_property(SOURCE ${test} APPEND PROPERTY COMPILE_DEFINITIONS SLUICE_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
      endif()
    endforeach()
    add_test(NAME ${name} COMMAND ${name}_test)
  endif()
endfunction()
