// SPDX-License-Identifier: BSD-2-Clause
#include "sim/profile/data_file.h"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>

namespace exrnic {

std::string read_data_file(const std::filesystem::path& path, const std::string& where,
                           const std::string& instead) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    throw DataFileError(fmt::format("{}: no such file; {}", where, instead));
  }
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || std::filesystem::is_directory(path, error)) {
    throw DataFileError(fmt::format("{}: cannot be read; check its type and rights", where));
  }
  return text.str();
}

nlohmann::json parse_json(const std::string& text, const std::string& where) {
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    throw DataFileError(
        fmt::format("{}: not JSON at byte {}; correct the text there", where, error.byte));
  } catch (const nlohmann::json::out_of_range& error) {
    throw DataFileError(
        fmt::format("{}: {}; take a number of a sensible size", where, error.what()));
  }
}

}  // namespace exrnic
