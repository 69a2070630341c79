// SPDX-License-Identifier: BSD-2-Clause
#include "sim/capture/captures.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

namespace exrnic {

Captures::Captures(const std::string& directory, Testbed& testbed, Log log)
    : directory_(directory), log_(std::move(log)) {
  std::error_code error;
  std::filesystem::create_directories(directory_, error);
  if (!std::filesystem::is_directory(directory_)) {
    log_("capture " + directory_ + ": no such folder can be made" +
         (error ? ": " + error.message() : "") + "; the run goes on without captures");
    return;
  }
  Fabric& fabric = testbed.fabric();
  for (const TopologyLink& link : fabric.topology().links) {
    for (int i : {0, 1}) {
      const std::string from = fabric.topology().name_of(link.ends[1 - i]);
      const std::string to = fabric.topology().name_of(link.ends[i]);
      EthernetLink* const line = fabric.line_towards(to);
      if (line == nullptr) continue;  // of another rank, as the whole port is
      if (line->has_receiver()) open(to);
      line->observe([this, from, to](EthernetLink::Point point, SimTime now, const Bytes& wire) {
        add(point == EthernetLink::Point::kEnters ? from : to, now, wire);
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
    files_.at(port) = nullptr;
    log_(std::string(error.what()) + "; the run goes on without this capture");
  }
}

void Captures::open(const std::string& port) {
  files_[port] = nullptr;
  attempt(port,
          [&] { files_.at(port) = std::make_unique<PcapFile>(directory_ + "/" + port + ".pcap"); });
}

void Captures::add(const std::string& port, SimTime now, const Bytes& wire) {
  const auto& file = files_.at(port);
  if (file) attempt(port, [&] { file->write(now / kPsPerNs, wire); });
}

void Captures::flush() {
  for (const auto& [port, file] : files_) {
    if (file) attempt(port, [&file = file] { file->flush(); });
  }
}

size_t Captures::ports() const {
  return static_cast<size_t>(std::count_if(
      files_.begin(), files_.end(), [](const auto& item) { return item.second != nullptr; }));
}

}  // namespace exrnic
