// SPDX-License-Identifier: BSD-2-Clause
// Files that a run writes.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

namespace exrnic {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using OutputFile = std::unique_ptr<std::FILE, CloseFile>;

// Makes the file anew. Empty, with errno, if it cannot be written; so is a FIFO that nobody reads
// (ENXIO): to wait for a reader would hold the program.
OutputFile open_output(const std::string& path);

// The folder that TMPDIR names; else /tmp.
std::string temporary_folder();
// A file without a name there, to be written and read. Empty, with errno, if there can be none.
OutputFile open_temporary();

}  // namespace exrnic
