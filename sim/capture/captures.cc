// SPDX-License-Identifier: BSD-2-Clause
#include "sim/capture/captures.h"

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

namespace exrnic {

Captures::Captures(const std::string& directory, Testbed& testbed, Log log)
    : directory_(directory), testbed_(testbed), log_(std::move(log)) {
  std::error_code error;
  std::filesystem::create_directories(directory_, error);
  if (!std::filesystem::is_directory(directory_)) {
    log_("capture " + directory_ + ": no such folder can be made" +
         (error ? ": " + error.message() : "") + "; the run goes on without captures");
    return;
  }
  Fabric& fabric = testbed_.fabric();
  for (const TopologyLink& link : fabric.topology().links) {
    for (int i : {0, 1}) {
      const std::string from = fabric.topology().name_of(link.ends[1 - i]);
      const std::string to = fabric.topology().name_of(link.ends[i]);
      open(to);
      fabric.line_towards(to)->observe(
          [this, from, to](EthernetLink::Point point, const Bytes& wire) {
            add(point == EthernetLink::Point::kEnters ? from : to, wire);
          });
    }
  }
}

// A port that failed once is left alone.
template <typename Action>
void Captures::attempt(const std::string& port, Action action) {
  try {
    action();
  } catch (const std::system_error& error) {
    files_.erase(port);
    log_(std::string(error.what()) + "; the run goes on without this capture");
  }
}

void Captures::open(const std::string& port) {
  attempt(port,
          [&] { files_[port] = std::make_unique<PcapFile>(directory_ + "/" + port + ".pcap"); });
}

void Captures::add(const std::string& port, const Bytes& wire) {
  const auto file = files_.find(port);
  if (file == files_.end()) return;
  attempt(port, [&] { file->second->write(testbed_.now_ns(), wire); });
}

void Captures::flush() {
  std::vector<std::string> ports;
  for (const auto& item : files_) ports.push_back(item.first);
  for (const std::string& port : ports) {
    attempt(port, [&] { files_.at(port)->flush(); });
  }
}

}  // namespace exrnic
