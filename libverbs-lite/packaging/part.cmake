# SPDX-License-Identifier: BSD-2-Clause
# exrnic_part_library(NAME [C] SOURCE...): a library on verbs-lite, static as NAME and shared as
# NAME-shared, of sources that may use the meeting of nodes in cluster/. C: it is called from C, and
# has no other symbols.
#
# exrnic_install_part(NAME SENTENCE FOLDER): a library on verbs-lite, with the targets NAME and
# NAME-shared and the headers of include/, where pkg-config NAME and find_package(NAME) find it. The
# test installs it, builds the programs of its README in both ways, and runs them.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

function(exrnic_part_library name)
  cmake_parse_arguments(PARSE_ARGV 1 PART "C" "" "")
  set(cluster ${CMAKE_SOURCE_DIR}/libverbs-lite/cluster)
  add_library(${name}-objects OBJECT ${PART_UNPARSED_ARGUMENTS})
  target_include_directories(${name}-objects PUBLIC include
    PRIVATE src ../include ${cluster}/src ${cluster}/include)
  set_target_properties(${name}-objects PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(${name}-objects PRIVATE exrnic_warnings)

  add_library(${name} STATIC $<TARGET_OBJECTS:${name}-objects>)
  target_link_libraries(${name} PUBLIC verbs-lite)
  add_library(${name}-shared SHARED $<TARGET_OBJECTS:${name}-objects>)
  set_target_properties(${name}-shared PROPERTIES
    OUTPUT_NAME ${name} VERSION ${VERBS_LITE_VERSION} SOVERSION 0)
  target_link_libraries(${name}-shared PUBLIC verbs-lite-shared)
  foreach(library ${name} ${name}-shared)
    target_include_directories(${library} PUBLIC
      $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>)
  endforeach()
  if(PART_C)
    set_target_properties(${name}-objects PROPERTIES
      CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
    # Who links with a C compiler has to name what a C++ compiler adds by itself.
    target_link_libraries(${name} INTERFACE $<INSTALL_INTERFACE:stdc++>)
  endif()
endfunction()

function(exrnic_install_part name sentence folder)
  set(packages ${CMAKE_INSTALL_LIBDIR}/cmake/${name})
  install(TARGETS ${name} ${name}-shared EXPORT ${name}-targets
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(DIRECTORY include/exrnic DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT ${name}-targets NAMESPACE exrnic:: DESTINATION ${packages})
  set(PART_NAME ${name})
  set(PART_SENTENCE ${sentence})
  configure_package_config_file(${CMAKE_SOURCE_DIR}/libverbs-lite/packaging/part-config.cmake.in
    ${name}-config.cmake INSTALL_DESTINATION ${packages})
  write_basic_package_version_file(${name}-config-version.cmake
    VERSION ${VERBS_LITE_VERSION} COMPATIBILITY SameMinorVersion)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}-config.cmake
    ${CMAKE_CURRENT_BINARY_DIR}/${name}-config-version.cmake DESTINATION ${packages})
  file(RELATIVE_PATH VERBS_LITE_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  configure_file(${CMAKE_SOURCE_DIR}/libverbs-lite/packaging/part.pc.in ${name}.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name}.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

  add_test(NAME verbs_lite_${folder}_install_test
    COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/libverbs-lite/packaging/part_test.py
      --build ${CMAKE_BINARY_DIR} --name ${name} --readme ${CMAKE_CURRENT_SOURCE_DIR}/README.md
    WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(verbs_lite_${folder}_install_test PROPERTIES
    TIMEOUT ${EXRNIC_LONG_TEST_SECONDS})
endfunction()
