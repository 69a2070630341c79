// SPDX-License-Identifier: BSD-2-Clause
// Files that people name: profiles, topologies, a firmware's symbols; and JSON, as they write it.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <stdexcept>
#include <string>

namespace exrnic {

// What is wrong with such a file, in one line: file, key, value, and what to do.
class DataFileError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The text of a regular file of at most 4 MiB; anything else is refused without waiting for it.
// `where` names it in errors, `instead` says what to do if it is not there. Throws DataFileError.
std::string read_data_file(const std::filesystem::path& path, const std::string& where,
                           const std::string& instead);

// Also refused: a key that stands twice in its object, and what is nested more than 8 deep. Throws
// DataFileError with the place of the mistake.
nlohmann::json parse_json(const std::string& text, const std::string& where);

}  // namespace exrnic
