// SPDX-License-Identifier: BSD-2-Clause
#include "tools/fabric/program/arguments.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <stdexcept>

namespace exrnic::fabric {
namespace {

constexpr size_t kKeyDigits = 16;

// All of `text`; none: it is no number in that base.
std::optional<uint64_t> number_in(const std::string& text, int base) {
  uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number, base);
  if (error != std::errc() || at != end) return std::nullopt;
  return number;
}

}  // namespace

uint64_t read_key(const std::string& path) {
  std::ifstream file(path);
  std::string line, more;
  if (!file || !std::getline(file, line))
    throw std::invalid_argument(fmt::format("--key-file {}: it cannot be read, or is empty", path));
  const std::optional<uint64_t> key = number_in(line, 16);
  if (!key || line.size() > kKeyDigits || *key == 0 || std::getline(file, more))
    throw std::invalid_argument(fmt::format(
        "--key-file {}: one line of up to 16 hexadecimal digits is needed, not all zero", path));
  return *key;
}

Assignment parse_assignment(const std::string& text) {
  const size_t equals = text.find('=');
  const std::string left = text.substr(0, equals);
  const size_t dot = left.find('.');
  const auto host = number_in(left.substr(0, dot), 16);
  const auto port = dot == std::string::npos ? 0 : number_in(left.substr(dot + 1), 10);
  const auto device =
      equals == std::string::npos ? std::nullopt : number_in(text.substr(equals + 1), 16);
  if (!host || !port || *port >= EXRNIC_PORT_NONE || !device) {
    throw std::invalid_argument(fmt::format(
        "--assign {}: write HOST[.PORT]=DEVICE, such as 0245585200000002.0=0245585200000003",
        text));
  }
  return {*host, static_cast<uint16_t>(*port), *device};
}

void write_file(const std::string& path, const std::string& text) {
  const std::string anew = path + ".new";
  std::ofstream file(anew, std::ios::trunc);
  file << text;
  file.close();
  if (!file || std::rename(anew.c_str(), path.c_str()) != 0)
    throw std::runtime_error(fmt::format("{}: it cannot be written", path));
}

}  // namespace exrnic::fabric
