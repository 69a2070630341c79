# SPDX-License-Identifier: BSD-2-Clause
# Builds that watch themselves, each in a build tree of its own (tools/sanitize.sh, tools/fuzz.sh,
# tools/coverage.sh): all that is built with this project's warnings, which is what it has written.
set(EXRNIC_SANITIZE "" CACHE STRING "Sanitizers of GCC or clang, e.g. address,undefined or thread")
option(EXRNIC_LIBFUZZER "Build the targets of tests/fuzz under libFuzzer, too: needs clang" OFF)
set(EXRNIC_MODELS "" CACHE PATH "A build tree whose verilated models are taken, not made anew")
option(EXRNIC_COVERAGE "Count the lines that are executed, of C++ and of the cores' RTL" OFF)

# What guests run has nothing but the kernel; no sanitizer can be linked to that.
set(EXRNIC_STATIC -static)
if(EXRNIC_SANITIZE)
  target_compile_options(exrnic_warnings INTERFACE -fsanitize=${EXRNIC_SANITIZE}
    -fno-sanitize-recover=all -fno-omit-frame-pointer -O1 -g1)
  target_compile_definitions(exrnic_warnings INTERFACE _GLIBCXX_ASSERTIONS)
  add_link_options(-fsanitize=${EXRNIC_SANITIZE})
  set(EXRNIC_STATIC)
endif()
if(EXRNIC_LIBFUZZER)
  target_compile_options(exrnic_warnings INTERFACE -fsanitize=fuzzer-no-link)
endif()
set(EXRNIC_TEST_SECONDS 300)
set(EXRNIC_LONG_TEST_SECONDS 300)
if(EXRNIC_COVERAGE)
  set(EXRNIC_TEST_SECONDS 1200)  # RTL that counts its lines is some times as slow
  set(EXRNIC_LONG_TEST_SECONDS 1200)
  target_compile_options(exrnic_warnings INTERFACE --coverage -fprofile-update=prefer-atomic -O1)
  add_link_options(--coverage)
  set(EXRNIC_COUNT_LINES QUICK COUNT_LINES)
endif()
