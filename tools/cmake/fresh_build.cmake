# SPDX-License-Identifier: BSD-2-Clause
# What makes a build from nothing quick: the headers that most files read are compiled once, and the
# files of a target some at a time. Neither with ccache, which serves single files best, and keeps
# none that is compiled with such headers: so both ways stay tried, and every file names what it uses.
if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES ccache)
  set(together OFF)
else()
  set(together ON)
endif()
option(EXRNIC_TOGETHER "Compile common headers once, and files of a target together" ${together})

# GCC takes compiled headers only under the flags that they were compiled with (-Winvalid-pch).
set(EXRNIC_COMMON_HEADERS <algorithm> <array> <chrono> <cstring> <deque> <fstream> <functional>
  <map> <memory> <optional> <random> <set> <sstream> <stdexcept> <string> <utility> <vector>)
if(EXRNIC_TOGETHER)
  file(WRITE ${CMAKE_BINARY_DIR}/headers.cc "")
  add_library(exrnic_headers OBJECT ${CMAKE_BINARY_DIR}/headers.cc)
  target_link_libraries(exrnic_headers PRIVATE exrnic_warnings)
  target_precompile_headers(exrnic_headers PRIVATE ${EXRNIC_COMMON_HEADERS})

  add_library(exrnic_headers_of_tests OBJECT ${CMAKE_BINARY_DIR}/headers.cc)
  target_link_libraries(exrnic_headers_of_tests PRIVATE exrnic_warnings Catch2::Catch2)
  target_compile_options(exrnic_headers_of_tests PRIVATE ${EXRNIC_TEST_OPTIONS})
  target_precompile_headers(exrnic_headers_of_tests PRIVATE ${EXRNIC_COMMON_HEADERS}
    <catch2/catch_test_macros.hpp> <catch2/generators/catch_generators.hpp>)
endif()

# exrnic_alone(SOURCE...): these are compiled by themselves, since they have names for themselves
# that other files of the target have, too.
function(exrnic_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# exrnic_build_together(DIRECTORY): the project's C++ in it and below.
function(exrnic_build_together directory)
  get_property(targets DIRECTORY ${directory} PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target ${targets})
    get_target_property(libraries ${target} LINK_LIBRARIES)
    get_target_property(sources ${target} SOURCES)
    if(NOT exrnic_warnings IN_LIST libraries OR target MATCHES "^exrnic_headers"
        OR NOT sources MATCHES "\\.cc(;|$)")
      continue()
    endif()
    get_target_property(other_headers ${target} PRECOMPILE_HEADERS_REUSE_FROM)
    if(other_headers)
      continue()
    endif()
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    get_target_property(position_independent ${target} POSITION_INDEPENDENT_CODE)
    if(Catch2::Catch2WithMain IN_LIST libraries)
      target_precompile_headers(${target} REUSE_FROM exrnic_headers_of_tests)
    elseif(NOT position_independent)
      target_precompile_headers(${target} REUSE_FROM exrnic_headers)
    endif()
  endforeach()
  get_property(directories DIRECTORY ${directory} PROPERTY SUBDIRECTORIES)
  foreach(below ${directories})
    exrnic_build_together(${below})
  endforeach()
endfunction()
