# SPDX-License-Identifier: BSD-2-Clause
# What every folder's CMakeLists.txt uses.

find_package(Catch2 3 REQUIRED)
find_package(verilator REQUIRED HINTS $ENV{VERILATOR_ROOT} /usr/share/verilator)
find_package(SystemCLanguage QUIET)
find_package(fmt REQUIRED)
find_package(MPI REQUIRED COMPONENTS C)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(PCAP REQUIRED IMPORTED_TARGET libpcap)
pkg_check_modules(DEFLATE REQUIRED IMPORTED_TARGET libdeflate)

# For who works on the project: another compiler warns of other things, and is to build it all the same.
option(EXRNIC_WERROR "Warnings of the compilers are errors (make WERROR=1)" OFF)
set(EXRNIC_WARNINGS -Wall -Wextra)
if(EXRNIC_WERROR)
  list(APPEND EXRNIC_WARNINGS -Werror)
endif()

add_library(exrnic_warnings INTERFACE)
# GCC 12 sees writes beyond vectors that are none when it inlines insert().
target_compile_options(exrnic_warnings INTERFACE ${EXRNIC_WARNINGS}
  $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds -Wno-stringop-overflow>)
include(instrument)
set(EXRNIC_TEST_OPTIONS -O1)  # a test runs for moments: the compiler's time counts
include(fresh_build)

# exrnic_reads_arguments(SOURCE...): what does little but read a command line. It runs once, and
# CLI11 takes the optimiser half a minute.
function(exrnic_reads_arguments)
  set_source_files_properties(${ARGN} PROPERTIES
    COMPILE_OPTIONS -O0 SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# Of tables of the core: of the RTL, of the reference model beside it, and as tests of blocks see them.
set(EXRNIC_SIZES "" CACHE STRING
  "Where they are not those of the full build (rtl-model/spec/blocks/types.yaml): N_QP=256;N_STAG=1024")
list(TRANSFORM EXRNIC_SIZES PREPEND EXRNIC_ OUTPUT_VARIABLE exrnic_sizes)

# The generated C header, for everything written in C or C++.
add_library(exrnic_hw INTERFACE)
target_compile_definitions(exrnic_hw INTERFACE ${exrnic_sizes})
target_include_directories(exrnic_hw INTERFACE ${CMAKE_SOURCE_DIR}/rtl-model/gen)

# exrnic_test_program(NAME LIBS... [SOURCES...]): a Catch2 program.
function(exrnic_test_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LIBS} exrnic_warnings Catch2::Catch2WithMain)
  target_compile_options(${name} PRIVATE ${EXRNIC_TEST_OPTIONS})
endfunction()

# exrnic_run_test(NAME COMMAND... [CORES...]): ctest runs it; once, or as NAME_CORES on each of the
# cores (tests/support/test_cores.h). Labels: rtl, whole nodes of RTL; guest, see tests/guest; long,
# what else takes more than some seconds; quick, all others.
function(exrnic_run_test name)
  cmake_parse_arguments(ARG "" "" "COMMAND;CORES" ${ARGN})
  get_property(names GLOBAL PROPERTY EXRNIC_TEST_NAMES)
  if(name IN_LIST names)
    message(FATAL_ERROR "there is a ${name} already: give this one a name of its own")
  endif()
  set_property(GLOBAL APPEND PROPERTY EXRNIC_TEST_NAMES ${name})
  if(NOT ARG_CORES)
    add_test(NAME ${name} COMMAND ${ARG_COMMAND})
    set_tests_properties(${name} PROPERTIES TIMEOUT ${EXRNIC_TEST_SECONDS} LABELS quick)
  endif()
  foreach(cores ${ARG_CORES})
    set(label rtl)
    if(cores STREQUAL ref)
      set(label quick)
    endif()
    add_test(NAME ${name}_${cores} COMMAND ${ARG_COMMAND})
    set_tests_properties(${name}_${cores} PROPERTIES
      TIMEOUT ${EXRNIC_TEST_SECONDS} ENVIRONMENT EXRNIC_TEST_CORES=${cores} LABELS ${label})
  endforeach()
endfunction()

# exrnic_long_tests(NAME...): these take more than some ten seconds, and are of this folder.
function(exrnic_long_tests)
  set_tests_properties(${ARGN} PROPERTIES LABELS long)
endfunction()

# exrnic_test(NAME SOURCES... LIBS... [CORES...]): a program that is one test.
function(exrnic_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS;CORES" ${ARGN})
  exrnic_test_program(${name} SOURCES ${ARG_SOURCES} LIBS ${ARG_LIBS})
  exrnic_run_test(${name} COMMAND ${name} CORES ${ARG_CORES})
endfunction()

# exrnic_tests_of(PROGRAM FILES... [CORES...]): FILE.cc is a part of the program, and FILE a test.
function(exrnic_tests_of program)
  cmake_parse_arguments(ARG "" "" "FILES;CORES" ${ARGN})
  foreach(file ${ARG_FILES})
    target_sources(${program} PRIVATE ${file}.cc)
    exrnic_run_test(${file} CORES ${ARG_CORES}
      COMMAND ${program} --filenames-as-tags "[#${file}]~[.]")  # but what is hidden
  endforeach()
endfunction()

set(EXRNIC_TILES ${CMAKE_SOURCE_DIR}/rtl-model/tiles)
set(EXRNIC_SV_COMMON  # packages, and the memories that any block may have
  ${CMAKE_SOURCE_DIR}/rtl-model/gen/exrnic_pkg.sv
  ${CMAKE_SOURCE_DIR}/rtl-model/gen/exrnic_records_pkg.sv
  ${CMAKE_SOURCE_DIR}/rtl-model/core/exrnic_core_pkg.sv
  ${CMAKE_SOURCE_DIR}/rtl-model/memories/ram_1r1w.sv
  ${CMAKE_SOURCE_DIR}/rtl-model/memories/ram_nr1w.sv
  ${CMAKE_SOURCE_DIR}/rtl-model/memories/lut_ram_nr1w.sv
  ${CMAKE_SOURCE_DIR}/rtl-model/memories/ram_fifo.sv)
set(EXRNIC_VERILATOR_FLAGS -Wall -O3 --x-assign fast --x-initial fast
  -I${CMAKE_SOURCE_DIR}/rtl-model/core)
set(EXRNIC_VERILATOR_UNCHECKED --noassert)
# A reset is synchronous to what is asserted. What has no reset begins as it likes, if a test says so.
set(EXRNIC_VERILATOR_CHECKED --assert -DEXRNIC_ASSERT -Wno-SYNCASYNCNET --x-initial unique)

# Verilator's run-time sources, compiled once for all models: verilate() adds them to each. Those of
# waves are in exrnic_waves; those of DPI nobody needs.
add_library(exrnic_verilated STATIC
  ${VERILATOR_ROOT}/include/verilated.cpp ${VERILATOR_ROOT}/include/verilated_threads.cpp
  $<$<BOOL:${EXRNIC_COVERAGE}>:${VERILATOR_ROOT}/include/verilated_cov.cpp>)
target_include_directories(exrnic_verilated SYSTEM PUBLIC
  ${VERILATOR_ROOT}/include ${VERILATOR_ROOT}/include/vltstd)
find_package(Threads REQUIRED)
target_link_libraries(exrnic_verilated PUBLIC Threads::Threads)

option(EXRNIC_TESTS "With the models that tests alone need. Without them programs can be built, and no tests" ON)
option(EXRNIC_CORES "With the models of whole cores. Without them blocks can be tested, and nothing else of the RTL" ON)

# exrnic_take_model(LIB CLASS): as another build tree, EXRNIC_MODELS, has made it.
function(exrnic_take_model lib class)
  file(RELATIVE_PATH folder ${CMAKE_BINARY_DIR} ${CMAKE_CURRENT_BINARY_DIR})
  set(folder ${EXRNIC_MODELS}/${folder})
  add_library(${lib} INTERFACE)
  target_link_libraries(${lib} INTERFACE ${folder}/lib${lib}.a exrnic_verilated)
  target_include_directories(${lib} SYSTEM INTERFACE ${folder}/CMakeFiles/${lib}.dir/${class}.dir)
endfunction()

# Verilator writes a hundred files of a few lines for a core, and with each the compiler reads all headers of the model:
# half of its time. exrnic_join_small(VARIABLE NAME PATTERN): those of its list become one, with their flags.
function(exrnic_join_small variable name pattern)
  set(small)
  foreach(source ${${variable}})
    if(source MATCHES "${pattern}" AND EXISTS ${source})
      file(SIZE ${source} size)
      if(size LESS 65536)
        list(APPEND small ${source})
      endif()
    endif()
  endforeach()
  list(LENGTH small count)
  if(count LESS 2)
    return()
  endif()
  list(GET small 0 first)
  get_filename_component(folder ${first} DIRECTORY)
  set(joined ${folder}/${name}.cpp)
  set(text)
  foreach(source ${small})
    string(APPEND text "#include \"${source}\"\n")
  endforeach()
  file(CONFIGURE OUTPUT ${joined} CONTENT "${text}" @ONLY)
  get_source_file_property(flags ${first} COMPILE_FLAGS)
  set_source_files_properties(${joined} PROPERTIES OBJECT_DEPENDS "${small}" COMPILE_FLAGS "${flags}")
  list(REMOVE_ITEM ${variable} ${small} ${joined})
  list(APPEND ${variable} ${joined})
  set(${variable} "${${variable}}" PARENT_SCOPE)
endfunction()

# exrnic_verilate(LIB TOP SOURCES... [LIST FILE] [QUICK] [CHECKED] [COUNT_LINES] [PREFIX CLASS]
# [ARGS...]): a static library with the class V<TOP>, or CLASS. LIST: what else it is made of. Verilator
# reads it each time: it runs before CMake does when files change, and has to find one that is new.
# QUICK: it runs for moments only, so the compiler's time is what counts. CHECKED: what is asserted in it
# holds, or it ends. COUNT_LINES: it counts the lines of RTL that are executed (systemc/line_coverage.h).
function(exrnic_verilate lib top)
  cmake_parse_arguments(ARG "QUICK;CHECKED;COUNT_LINES" "PREFIX;LIST" "SOURCES;ARGS" ${ARGN})
  if(NOT ARG_PREFIX)
    set(ARG_PREFIX V${top})
  endif()
  if(EXRNIC_MODELS)
    exrnic_take_model(${lib} ${ARG_PREFIX})
    return()
  endif()
  if((NOT EXRNIC_TESTS AND (ARG_QUICK OR ARG_CHECKED)) OR (NOT EXRNIC_CORES AND ARG_LIST))
    add_library(${lib} INTERFACE)
    return()
  endif()
  if(ARG_LIST)
    list(APPEND ARG_ARGS -I${CMAKE_SOURCE_DIR} -f ${ARG_LIST})
  else()
    list(PREPEND ARG_SOURCES ${EXRNIC_SV_COMMON})
  endif()
  foreach(size ${exrnic_sizes})
    list(APPEND ARG_ARGS -D${size})
  endforeach()
  if(ARG_COUNT_LINES)
    list(APPEND ARG_ARGS --coverage-line ${CMAKE_SOURCE_DIR}/rtl-model/systemc/line_coverage.vlt)
  endif()
  if(ARG_CHECKED)
    list(APPEND ARG_ARGS ${EXRNIC_VERILATOR_CHECKED})
  else()
    list(APPEND ARG_ARGS ${EXRNIC_VERILATOR_UNCHECKED})
  endif()
  if(NOT ARG_QUICK)
    # Slow is what runs once. The rest is straight code that runs once a cycle, more than a cache of
    # instructions holds: padding to align it costs more than it gives.
    set(optimise OPT_SLOW -O0
      OPT_FAST -fno-align-functions -fno-align-jumps -fno-align-labels -fno-align-loops)
  endif()
  add_library(${lib} STATIC)
  verilate(${lib} TOP_MODULE ${top} PREFIX ${ARG_PREFIX}
    SOURCES ${ARG_SOURCES} ${optimise}
    VERILATOR_ARGS ${EXRNIC_VERILATOR_FLAGS} ${ARG_ARGS})
  get_target_property(sources ${lib} SOURCES)
  list(FILTER sources EXCLUDE REGEX "/include/verilated(_threads|_fst_c|_dpi|_cov)?\\.cpp$")
  if(NOT ARG_QUICK)
    exrnic_join_small(sources joined__Slow "__Slow[.]cpp$")
    exrnic_join_small(sources joined "[.]cpp$")
  endif()
  set_target_properties(${lib} PROPERTIES SOURCES "${sources}")
  if(ARG_COUNT_LINES)
    target_compile_options(${lib} PRIVATE
      -include ${CMAKE_SOURCE_DIR}/rtl-model/systemc/line_coverage_of_classes.h)
  endif()
  if(ARG_QUICK)
    set_target_properties(${lib} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
    target_compile_options(${lib} PRIVATE -O1)
  endif()
  target_link_libraries(${lib} PUBLIC exrnic_verilated)
  target_include_directories(${lib} SYSTEM PUBLIC
    ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${lib}.dir/${ARG_PREFIX}.dir)
endfunction()

# exrnic_block_test(TILE/BLOCK [EXTRA_SV...] [FLAT [PORT=TYPE...]]): verilates tiles/TILE/BLOCK/BLOCK.sv (plus other
# SystemVerilog it instantiates) and builds BLOCK_test.cc and BLOCK_*_test.cc on it. FLAT: its ports are interfaces,
# and the test sees their signals (tools/hwgen/flat_top.py).
function(exrnic_block_test path)
  cmake_parse_arguments(ARG "" "" "FLAT" ${ARGN})
  get_filename_component(block ${path} NAME)
  set(top ${block})
  set(sources ${ARG_UNPARSED_ARGUMENTS} ${EXRNIC_TILES}/${path}/${block}.sv)
  if("FLAT" IN_LIST ARGN)
    set(top ${block}_flat)
    set(flat ${CMAKE_CURRENT_BINARY_DIR}/flat/${top}.sv)
    file(GLOB interfaces CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/rtl-model/core/interfaces/*.sv)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${interfaces}
      ${EXRNIC_TILES}/${path}/${block}.sv ${CMAKE_SOURCE_DIR}/tools/hwgen/flat_top.py
      ${CMAKE_SOURCE_DIR}/tools/hwgen/module_head.py)
    execute_process(COMMAND ${CMAKE_SOURCE_DIR}/tools/hwgen/flat_top.py ${EXRNIC_TILES}/${path}/${block}.sv
      ${CMAKE_SOURCE_DIR}/rtl-model/core/interfaces ${flat} ${ARG_FLAT} COMMAND_ERROR_IS_FATAL ANY)
    set(sources ${interfaces} ${sources} ${flat} ARGS -Wno-UNUSEDSIGNAL -Wno-UNDRIVEN -Wno-DECLFILENAME)
  endif()
  exrnic_verilate(${block}_model ${top} PREFIX V${block} QUICK CHECKED SOURCES ${sources})
  file(GLOB tests CONFIGURE_DEPENDS ${EXRNIC_TILES}/${path}/${block}_test.cc
    ${EXRNIC_TILES}/${path}/${block}_*_test.cc)
  exrnic_test(${block}_test SOURCES ${tests} LIBS ${block}_model exrnic_hw)
  target_include_directories(${block}_test PRIVATE ${CMAKE_SOURCE_DIR})
endfunction()

# target_uses_firmware(TARGET): firmware/ builds the images; the test gets their paths, and what reads them.
function(target_uses_firmware target)
  target_compile_definitions(${target} PRIVATE
    EXRNIC_FIRMWARE="${CMAKE_BINARY_DIR}/firmware/firmware.bin"
    EXRNIC_FIRMWARE_ELF="${CMAKE_BINARY_DIR}/firmware/firmware.elf"
    EXRNIC_FIRMWARE_SYMBOLS="${CMAKE_BINARY_DIR}/firmware/firmware.symbols"
    EXRNIC_FAULTY_FIRMWARE="${CMAKE_BINARY_DIR}/firmware/faulty.bin")
  target_link_libraries(${target} PRIVATE exrnic_firmware_image)
  add_dependencies(${target} firmware faulty)
endfunction()
