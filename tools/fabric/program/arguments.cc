// SPDX-License-Identifier: BSD-2-Clause
#include "tools/fabric/program/arguments.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <stdexcept>

#include "sim/posix/unique_fd.h"

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

[[noreturn]] void fail_to_write(const std::string& path, int error) {
  throw std::runtime_error(fmt::format("{}: it cannot be written: {}", path, std::strerror(error)));
}

// 0, or errno.
int write_all(int fd, const std::string& text) {
  for (size_t at = 0; at < text.size();) {
    const ssize_t written = ::write(fd, text.data() + at, text.size() - at);
    if (written < 0 && errno != EINTR) return errno;
    at += written < 0 ? 0 : static_cast<size_t>(written);
  }
  return 0;
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
  constexpr int kFresh = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  constexpr mode_t kForAll = 0666;  // but for what the umask takes away
  // One may be left of a manager that was killed; or somebody has put a link there.
  ::unlink(anew.c_str());
  UniqueFd file(::open(anew.c_str(), kFresh, kForAll));
  if (!file) fail_to_write(anew, errno);
  int error = write_all(file.get(), text);
  file.reset();
  if (error == 0 && std::rename(anew.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return;
  ::unlink(anew.c_str());
  fail_to_write(path, error);
}

}  // namespace exrnic::fabric
