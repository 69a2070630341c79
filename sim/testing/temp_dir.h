// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace exrnic {

// A folder that lives as long as a test.
struct TempDir {
  TempDir() {
    std::string name = (std::filesystem::temp_directory_path() / "exrnic-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~TempDir() { std::filesystem::remove_all(path); }
  std::string operator/(const std::string& file) const { return (path / file).string(); }
  std::filesystem::path path;
};

}  // namespace exrnic
