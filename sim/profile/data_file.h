// SPDX-License-Identifier: BSD-2-Clause
// Files of JSON that people write: profiles, topologies.
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

// The text of a file. `where` names it in errors, `instead` says what to do if it is not there.
// Throws DataFileError.
std::string read_data_file(const std::filesystem::path& path, const std::string& where,
                           const std::string& instead);

// Throws DataFileError with the place of the mistake.
nlohmann::json parse_json(const std::string& text, const std::string& where);

}  // namespace exrnic
