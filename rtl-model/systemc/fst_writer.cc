// SPDX-License-Identifier: BSD-2-Clause
// Verilator's FST writer, with its temporary files in memory: it maps them, and does not survive a
// disk that fills up beneath them.
#include <sys/mman.h>

#include <cstdio>

namespace {

std::FILE* memory_file() {
  const int file = ::memfd_create("exrnic waves", MFD_CLOEXEC);
  return file < 0 ? nullptr : ::fdopen(file, "w+b");
}

}  // namespace

#define tmpfile memory_file
#include <verilated_fst_c.cpp>
