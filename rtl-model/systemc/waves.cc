// SPDX-License-Identifier: BSD-2-Clause
#include "waves.h"

#include <fmt/core.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace exrnic {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kPsPerNs = 1000;

// Empty if waves can be written. The writer replaces what is there: of devices it keeps off.
std::string obstacle(const WaveWindow& window) {
  std::error_code error;
  if (fs::exists(window.path, error) && !fs::is_regular_file(window.path, error))
    return "something is there that is no file";
  std::FILE* probe = std::fopen(window.path.c_str(), "w");
  if (probe == nullptr) return std::strerror(errno);
  std::fclose(probe);
  return "";
}

// An FST file is sections, each with its type and its length, which counts itself. One that was cut
// short ends within a section; FST's reader may not survive that.
bool is_whole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::error_code error;
  const uint64_t size = fs::file_size(path, error);
  uint64_t at = 0;
  while (file && !error && at < size) {
    uint8_t header[1 + sizeof(uint64_t)] = {};
    file.seekg(static_cast<std::streamoff>(at));
    file.read(reinterpret_cast<char*>(header), sizeof header);
    uint64_t length = 0;
    for (size_t i = 1; i < sizeof header; ++i) length = length << 8 | header[i];
    if (length < sizeof length || length > size - at - 1) return false;
    at += 1 + length;
  }
  return file && !error && size != 0;
}

}  // namespace

void Waves::record_open(uint64_t time_ns, uint64_t before_ps) {
  if (!from_ns_ && stored_) from_ns_ = time_ns;
  if (!from_ns_ || time_ns < *from_ns_) return;
  if (time_ns > window_->to_ns.value_or(*from_ns_ + window_->length_ns)) return close();
  if (file_->isOpen() || open()) file_->dump(time_ns * kPsPerNs - before_ps);
}

bool Waves::open() {
  const std::string why = obstacle(*window_);
  if (why.empty()) {
    file_->open(window_->path.c_str());
    if (file_->isOpen()) return true;
  }
  give_up((why.empty() ? "cannot be written" : why) + "; the run goes on without waves");
  return false;
}

// Only what can be read back is complete.
void Waves::close() {
  const bool was_open = file_ != nullptr && file_->isOpen();
  if (was_open) file_->close();
  file_.reset();
  if (was_open && !(is_whole(window_->path) && write_gtkwave_save(window_->path)))
    give_up("incomplete; is the disk full?");
}

void Waves::give_up(const std::string& why) {
  file_.reset();
  if (window_->log) window_->log(fmt::format("waves {}: {}", window_->path, why));
}

}  // namespace exrnic
