# SPDX-License-Identifier: BSD-2-Clause
# Builds that watch themselves, each in a build tree of its own (tools/sanitize.sh, tools/fuzz.sh):
# all that is built with this project's warnings, which is what it has written. What Verilator
# generates is left as it is.
set(EXRNIC_SANITIZE "" CACHE STRING "Sanitizers of GCC or clang, e.g. address,undefined or thread")
option(EXRNIC_LIBFUZZER "Build the targets of tests/fuzz under libFuzzer, too: needs clang" OFF)

if(EXRNIC_SANITIZE)
  target_compile_options(exrnic_warnings INTERFACE -fsanitize=${EXRNIC_SANITIZE}
    -fno-sanitize-recover=all -fno-omit-frame-pointer -O1 -g1)
  add_link_options(-fsanitize=${EXRNIC_SANITIZE})
endif()
if(EXRNIC_LIBFUZZER)
  target_compile_options(exrnic_warnings INTERFACE -fsanitize=fuzzer-no-link)
endif()
