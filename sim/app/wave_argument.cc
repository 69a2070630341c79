// SPDX-License-Identifier: BSD-2-Clause
#include "sim/app/wave_argument.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <sstream>
#include <stdexcept>

namespace exrnic {
namespace {

uint64_t number_of(const std::string& part, size_t equals) {
  uint64_t value = 0;
  const char* first = part.data() + equals + 1;
  const char* last = part.data() + part.size();
  const auto [end, error] = std::from_chars(first, last, value);
  if (error != std::errc() || end != last)
    throw std::invalid_argument(fmt::format("'{}': write a whole number", part));
  return value;
}

void check(const WaveWindow& window, bool has_length, size_t nodes) {
  if (window.path.empty()) throw std::invalid_argument("name a file: FILE,node=N,from=NS,to=NS");
  if (window.node >= nodes) {
    throw std::invalid_argument(
        fmt::format("there is no node {}; the nodes are 0 to {}", window.node, nodes - 1));
  }
  if (window.to_ns && has_length)
    throw std::invalid_argument("'to' and 'length' say the same: give one");
  if (window.to_ns && *window.to_ns <= window.from_ns.value_or(0)) {
    throw std::invalid_argument(fmt::format("to={} does not lie behind from={}", *window.to_ns,
                                            window.from_ns.value_or(0)));
  }
}

}  // namespace

WaveWindow parse_waves(const std::string& text, size_t nodes) {
  std::istringstream parts(text);
  WaveWindow window;
  std::set<std::string> seen;
  std::getline(parts, window.path, ',');
  for (std::string part; std::getline(parts, part, ',');) {
    const size_t equals = part.find('=');
    const std::string key = part.substr(0, equals);
    if (key != "node" && key != "from" && key != "to" && key != "length") {
      throw std::invalid_argument(
          fmt::format("'{}': write node=N, from=NS, to=NS or length=NS", part));
    }
    if (!seen.insert(key).second)
      throw std::invalid_argument(fmt::format("'{}': '{}' is given twice", part, key));
    const uint64_t value = number_of(part, std::min(equals, part.size() - 1));
    if (key == "node") window.node = static_cast<unsigned>(std::min<uint64_t>(value, ~0u));
    if (key == "from") window.from_ns = value;
    if (key == "to") window.to_ns = value;
    if (key == "length") window.length_ns = value;
  }
  check(window, seen.count("length") != 0, nodes);
  return window;
}

}  // namespace exrnic
