// SPDX-License-Identifier: BSD-2-Clause
#include "sysfs.h"

#include <algorithm>
#include <fstream>
#include <system_error>

#include "exrnic_hw.h"

namespace exrnic::ctl {
namespace {

namespace fs = std::filesystem;

// What is there, in the order of names; empty if the folder is not.
std::vector<fs::path> entries(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder, error)) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

uint64_t read_number(const fs::path& path) {
  std::ifstream file(path);
  uint64_t value = 0;
  if (!(file >> value)) {
    throw Failure(path.string() + ": no number can be read; is the driver of this version?");
  }
  return value;
}

}  // namespace

bool SysfsCounters::any() const { return !entries(folder_).empty(); }

Snapshot SysfsCounters::read() {
  static constexpr const char* kNames[] = EXRNIC_COUNTER_NAMES;
  Snapshot snapshot;
  for (const fs::path& device : entries(folder_)) {
    NodeCounters counters{static_cast<unsigned>(read_number(device / "node_id")), {}};
    for (const char* name : kNames) {
      counters.values.push_back(read_number(device / "counters" / name));
    }
    snapshot.nodes.push_back(std::move(counters));
  }
  if (snapshot.nodes.empty()) {
    throw Failure("no RNIC in " + folder_.string() + "; load exrnic.ko");
  }
  return snapshot;
}

}  // namespace exrnic::ctl
