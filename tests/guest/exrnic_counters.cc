// SPDX-License-Identifier: BSD-2-Clause
// exrnic-counters: what a network interface has counted, as "ethtool -S" tells it, without zeros.
//
//   exrnic-counters INTERFACE
#include <fmt/format.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>

namespace exrnic::counters {
namespace {

constexpr size_t kMost = 256;

// As the kernel writes them: a head, and behind it the names, or the numbers.
struct Names {
  uint32_t command = ETHTOOL_GSTRINGS;
  uint32_t set = ETH_SS_STATS;
  uint32_t count = 0;
  std::array<std::array<char, ETH_GSTRING_LEN>, kMost> name{};
};

struct Values {
  uint32_t command = ETHTOOL_GSTATS;
  uint32_t count = 0;
  std::array<uint64_t, kMost> value{};
};

struct Counts {
  uint32_t command = ETHTOOL_GSSET_INFO;
  uint32_t reserved = 0;
  uint64_t sets = uint64_t{1} << ETH_SS_STATS;
  uint32_t count = 0;
};

template <typename Command>
void ask(const std::string& interface, Command* command) {
  ifreq request{};
  interface.copy(static_cast<char*>(request.ifr_name), IFNAMSIZ - 1);
  request.ifr_data = reinterpret_cast<char*>(command);
  const int fd = ::socket(AF_INET, SOCK_DGRAM, 0);
  const int result = ::ioctl(fd, SIOCETHTOOL, &request);
  const int error = errno;
  ::close(fd);
  if (result != 0) throw std::runtime_error(fmt::format("{}: {}", interface, std::strerror(error)));
}

void print(const std::string& interface) {
  Counts counts;
  ask(interface, &counts);
  if (counts.count > kMost) {
    throw std::runtime_error(
        fmt::format("{}: {} counters; at most {} are shown", interface, counts.count, kMost));
  }
  Names names;
  Values values;
  ask(interface, &names);
  ask(interface, &values);
  for (size_t i = 0; i < counts.count; i++) {
    if (values.value[i] == 0) continue;
    const char* name = names.name[i].data();
    fmt::print("{}: {}\n", std::string(name, ::strnlen(name, ETH_GSTRING_LEN)), values.value[i]);
  }
}

}  // namespace
}  // namespace exrnic::counters

int main(int argc, char** argv) {
  std::string interface;
  CLI::App app("What a network interface has counted, without zeros");
  app.add_option("interface", interface, "its name")->required();
  CLI11_PARSE(app, argc, argv);
  try {
    exrnic::counters::print(interface);
  } catch (const std::exception& error) {
    fmt::print(stderr, "exrnic-counters: {}\n", error.what());
    return 1;
  }
  return 0;
}
