# SPDX-License-Identifier: BSD-2-Clause
# Builds that watch themselves, each in a build tree of its own (tools/sanitize.sh, coverage.sh,
# fuzz.sh). What Verilator generates is left as it is, but for its own coverage.
set(EXRNIC_SANITIZE "" CACHE STRING "Sanitizers of GCC or clang, e.g. address,undefined or thread")
option(EXRNIC_COVERAGE "Count executed lines: gcov of C++, verilator --coverage-line of the RTL" OFF)

set(EXRNIC_GENERATED_OPTIONS "")
if(EXRNIC_SANITIZE)
  add_compile_options(-fsanitize=${EXRNIC_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer -g)
  add_link_options(-fsanitize=${EXRNIC_SANITIZE})
  set(EXRNIC_GENERATED_OPTIONS -fno-sanitize=all)
endif()
if(EXRNIC_COVERAGE)
  add_compile_options(--coverage -fprofile-update=atomic)
  add_link_options(--coverage)
  set(EXRNIC_GENERATED_OPTIONS -fno-profile-arcs -fno-test-coverage)
endif()
