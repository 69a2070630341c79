// SPDX-License-Identifier: BSD-2-Clause
// What several of this folder's tests need.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "sim/pcie/host_port.h"
#include "sim/posix/unique_fd.h"

namespace exrnic::vfio_user {

// Memory of a client: a memfd, and the client's own view of it.
class Memory {
 public:
  enum class Kind { kSealed, kUnsealed };  // kSealed: cannot shrink, as QEMU's memfds

  Memory(size_t size, Kind kind)
      : size_(size), fd_(::memfd_create("client", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
    if (::ftruncate(fd_.get(), static_cast<off_t>(size)) != 0) std::abort();
    if (kind == Kind::kSealed) ::fcntl(fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
    bytes_ = static_cast<uint8_t*>(
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0));
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { ::munmap(bytes_, size_); }

  int fd() const { return fd_.get(); }
  UniqueFd duplicate() const { return UniqueFd(::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0)); }
  uint8_t* bytes() const { return bytes_; }
  size_t file_size() const {
    struct stat status{};
    ::fstat(fd_.get(), &status);
    return static_cast<size_t>(status.st_size);
  }

 private:
  size_t size_;
  UniqueFd fd_;
  uint8_t* bytes_;
};

// An interrupt as a client receives it.
class Eventfd {
 public:
  Eventfd() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  int fd() const { return fd_.get(); }
  UniqueFd duplicate() const { return UniqueFd(::fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0)); }
  // How often it was signalled since the last take().
  uint64_t take() {
    uint64_t count = 0;
    return ::read(fd_.get(), &count, sizeof(count)) == sizeof(count) ? count : 0;
  }

 private:
  UniqueFd fd_;
};

inline size_t open_fds() {
  DIR* folder = ::opendir("/proc/self/fd");
  size_t count = 0;
  while (::readdir(folder) != nullptr) ++count;
  ::closedir(folder);
  return count;
}

// A device that notes what is done to it and answers loads when told to.
class FakeDevice : public DevicePort {
 public:
  struct Access {
    unsigned bar;
    uint64_t offset;
    unsigned size;
    uint64_t value;
    bool operator==(const Access& o) const {
      return bar == o.bar && offset == o.offset && size == o.size && value == o.value;
    }
  };

  void mmio_write(unsigned bar, uint64_t offset, unsigned size, uint64_t value) override {
    writes.push_back({bar, offset, size, value});
    if (when_stored) when_stored();
  }
  void mmio_read(unsigned bar, uint64_t offset, unsigned size, ReadDone done) override {
    reads.push_back({bar, offset, size, 0});
    pending.push_back(std::move(done));
  }
  void reset() override {
    ++resets;
    while (!pending.empty()) answer(~uint64_t{0});
  }

  size_t backlog() override { return waiting; }

  // Answers the oldest load.
  void answer(uint64_t value) {
    const ReadDone done = std::move(pending.front());
    pending.pop_front();
    done(value);
  }

  size_t waiting = 0;  // accesses, as it says
  std::vector<Access> writes;
  std::vector<Access> reads;
  std::deque<ReadDone> pending;
  std::function<void()> when_stored;
  int resets = 0;
};

}  // namespace exrnic::vfio_user
