// SPDX-License-Identifier: BSD-2-Clause
// What is fuzzed. A target takes any bytes; what it finds ends the process: abort() with a line on
// stderr, a sanitizer's report, or a signal.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace exrnic::fuzz {

using Bytes = std::vector<uint8_t>;

struct Target {
  const char* name;
  // Inputs to start from: what a well-behaved peer, guest or user sends.
  std::vector<Bytes> (*seeds)();
  void (*run)(const uint8_t* data, size_t size);
  unsigned shared = 1;  // so many inputs in a row meet what those before them left
};

const std::vector<Target>& targets();  // all but frames-rtl

[[noreturn]] void found(const std::string& what);

// Takes an input apart; behind its end everything is zero.
class Reader {
 public:
  Reader(const uint8_t* data, size_t size) : at_(data), left_(size) {}

  bool empty() const { return left_ == 0; }
  template <typename T>
  T take() {
    T value{};
    const size_t bytes = left_ < sizeof value ? left_ : sizeof value;
    if (bytes > 0) std::memcpy(&value, at_, bytes);
    skip(bytes);
    return value;
  }
  Bytes bytes(size_t most) {
    const size_t count = left_ < most ? left_ : most;
    Bytes taken(at_, at_ + count);
    skip(count);
    return taken;
  }

 private:
  void skip(size_t bytes) {
    at_ += bytes;
    left_ -= bytes;
  }

  const uint8_t* at_;
  size_t left_;
};

// Seeds, the other way round.
template <typename T>
void put(Bytes& to, T value) {
  const auto* first = reinterpret_cast<const uint8_t*>(&value);
  to.insert(to.end(), first, first + sizeof value);
}
inline void put(Bytes& to, const Bytes& bytes) { to.insert(to.end(), bytes.begin(), bytes.end()); }

// ---- The targets, one file each.
std::vector<Bytes> frame_seeds();
void fuzz_frames_ref(const uint8_t* data, size_t size);
inline constexpr unsigned kFramesRtlShared = 16;
void fuzz_frames_rtl(const uint8_t* data, size_t size);
std::vector<Bytes> vfio_user_seeds();
void fuzz_vfio_user(const uint8_t* data, size_t size);
std::vector<Bytes> nvme_seeds();
void fuzz_nvme(const uint8_t* data, size_t size);
std::vector<Bytes> peb_seeds();
void fuzz_peb(const uint8_t* data, size_t size);
std::vector<Bytes> management_seeds();
void fuzz_management(const uint8_t* data, size_t size);
std::vector<Bytes> connection_seeds();
void fuzz_connection(const uint8_t* data, size_t size);
std::vector<Bytes> control_seeds();
void fuzz_control(const uint8_t* data, size_t size);
std::vector<Bytes> gdb_seeds();
void fuzz_gdb(const uint8_t* data, size_t size);
std::vector<Bytes> profile_seeds();
void fuzz_profile(const uint8_t* data, size_t size);
std::vector<Bytes> topology_seeds();
void fuzz_topology(const uint8_t* data, size_t size);

}  // namespace exrnic::fuzz
