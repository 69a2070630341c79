// SPDX-License-Identifier: BSD-2-Clause
#include "sim/devices/nvme/namespace_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <stdexcept>
#include <system_error>
#include <vector>

namespace exrnic::nvme {
namespace {

constexpr uint64_t kMostZeroesAtOnce = 1 << 20;  // bytes

[[noreturn]] void refuse(const std::string& path, const std::string& reason) {
  throw std::runtime_error("namespace " + path + ": " + reason);
}

std::string reason_of(int error) { return std::generic_category().message(error); }

// Calls transfer(at, bytes done so far, bytes left), which returns bytes or -1, until it is done.
template <typename Transfer>
bool transfer_all(uint64_t at, size_t length, Transfer transfer) {
  for (size_t done = 0; done < length;) {
    const ssize_t bytes = transfer(static_cast<off_t>(at + done), done, length - done);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return false;
    done += static_cast<size_t>(bytes);
  }
  return true;
}

}  // namespace

NamespaceFile::NamespaceFile(const std::string& path, unsigned block_shift)
    : file_(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK)), block_shift_(block_shift) {
  assert(block_shift >= kLeastBlockShift && block_shift <= kMostBlockShift);
  if (!file_) refuse(path, reason_of(errno) + "; \"truncate -s 1G FILE\" makes an empty one");
  struct stat status{};
  if (::fstat(file_.get(), &status) != 0) refuse(path, reason_of(errno));
  if (!S_ISREG(status.st_mode)) refuse(path, "it is no regular file");
  const auto bytes = static_cast<uint64_t>(status.st_size);
  const uint64_t block = uint64_t{1} << block_shift;
  if (bytes == 0 || bytes % block != 0) {
    refuse(path, "it has " + std::to_string(bytes) + " bytes, no whole number of blocks of " +
                     std::to_string(block));
  }
  if (::flock(file_.get(), LOCK_EX | LOCK_NB) != 0) refuse(path, "another process has it");
  blocks_ = bytes >> block_shift;
}

bool NamespaceFile::read(uint64_t block, uint64_t count, uint8_t* out) const {
  assert(block < blocks_ && count <= blocks_ - block);
  return transfer_all(block << block_shift_, count << block_shift_,
                      [&](off_t at, size_t done, size_t left) {
                        return ::pread(file_.get(), out + done, left, at);
                      });
}

bool NamespaceFile::write(uint64_t block, uint64_t count, const uint8_t* data) {
  assert(block < blocks_ && count <= blocks_ - block);
  return transfer_all(block << block_shift_, count << block_shift_,
                      [&](off_t at, size_t done, size_t left) {
                        return ::pwrite(file_.get(), data + done, left, at);
                      });
}

bool NamespaceFile::punch(uint64_t block, uint64_t count) {
  assert(block < blocks_ && count <= blocks_ - block);
  return ::fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                     static_cast<off_t>(block << block_shift_),
                     static_cast<off_t>(count << block_shift_)) == 0;
}

bool NamespaceFile::write_zeroes(uint64_t block, uint64_t count) {
  if (punch(block, count)) return true;
  const uint64_t at_once = std::min(count, kMostZeroesAtOnce >> block_shift_);
  const std::vector<uint8_t> zeroes(at_once << block_shift_);
  for (uint64_t done = 0; done < count; done += at_once) {
    if (!write(block + done, std::min(at_once, count - done), zeroes.data())) return false;
  }
  return true;
}

// It is advice: a file system without holes keeps the blocks as they are.
void NamespaceFile::deallocate(uint64_t block, uint64_t count) { punch(block, count); }

bool NamespaceFile::flush() { return ::fdatasync(file_.get()) == 0; }

}  // namespace exrnic::nvme
