// SPDX-License-Identifier: BSD-2-Clause
#include "sim/vfio_user/dma_map.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iterator>

#include "sim/vfio_user/bus_errors.h"

namespace exrnic::vfio_user {
namespace {

constexpr size_t kWord = sizeof(uint64_t);

// What a device's posted writes promise: whoever sees a byte, sees all bytes before it. memcpy
// promises no order, so each store is a release store of its own (a plain mov on x86). Words are
// used where the destination is aligned; their bytes appear together.
void store_ascending(uint8_t* to, const uint8_t* from, size_t length) {
  size_t i = 0;
  const auto store_byte = [&] { __atomic_store_n(to + i, from[i], __ATOMIC_RELEASE); };
  for (; i < length && reinterpret_cast<uintptr_t>(to + i) % kWord != 0; ++i) store_byte();
  for (; length - i >= kWord; i += kWord) {
    uint64_t word;
    std::memcpy(&word, from + i, kWord);
    __atomic_store_n(reinterpret_cast<uint64_t*>(to + i), word, __ATOMIC_RELEASE);
  }
  for (; i < length; ++i) store_byte();
}

// "/proc/1234/mem" and nothing else.
bool names_process_memory(const std::string& path) {
  constexpr char kBefore[] = "/proc/";
  constexpr char kBehind[] = "/mem";
  const size_t digits = sizeof(kBefore) - 1;
  const size_t end = path.find_first_not_of("0123456789", digits);
  return path.compare(0, digits, kBefore) == 0 && end != std::string::npos && end > digits &&
         path.compare(end, std::string::npos, kBehind) == 0;
}

// The kernel's own file of a process's memory: its reads and writes fail cleanly where nothing is
// mapped, at any time, and it has no length. Nothing else of /proc may be written here: a write
// there acts with the rights of the simulator, not of the client.
bool is_process_memory(int file) {
  struct statfs filesystem{};
  if (::fstatfs(file, &filesystem) != 0 || filesystem.f_type != PROC_SUPER_MAGIC) return false;
  char path[64];
  const std::string link = "/proc/self/fd/" + std::to_string(file);
  const ssize_t length = ::readlink(link.c_str(), path, sizeof(path));
  return length > 0 && names_process_memory(std::string(path, static_cast<size_t>(length)));
}

bool cannot_shrink(int fd) {
  const int seals = ::fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
}

// Why `file` cannot stand behind the region; nothing if it can.
std::optional<Fault> check_file(const DmaMapRequest& request, int file) {
  struct stat status{};
  if (::fstat(file, &status) != 0)
    return refused(errno, std::string("DMA_MAP: fstat: ") + strerror(errno));
  if (!S_ISREG(status.st_mode)) {
    return refused(EINVAL, "DMA_MAP of a file of mode " + std::to_string(status.st_mode) +
                               "; it must be a regular file or a memfd");
  }
  const uint64_t end = request.offset + request.size;
  if (!is_process_memory(file) && static_cast<uint64_t>(status.st_size) < end) {
    return refused(EINVAL, "DMA_MAP up to byte " + std::to_string(end) + " of a file of " +
                               std::to_string(status.st_size));
  }
  const int mode = ::fcntl(file, F_GETFL) & O_ACCMODE;
  if ((request.readable && mode == O_WRONLY) || (request.writable && mode == O_RDONLY)) {
    return refused(EACCES, "DMA_MAP grants what its file descriptor does not");
  }
  return std::nullopt;
}

}  // namespace

DmaMap::Region::Region(const DmaMapRequest& request, OpenFiles::File file,
                       MappedFiles::Mapping mapping)
    : request_(request),
      file_(std::move(file)),
      mapping_(std::move(mapping)),
      endless_(file_ && is_process_memory(file_->get())) {}

bool DmaMap::Region::file_holds(uint64_t offset, size_t length) const {
  if (mapping_ != nullptr || endless_) return true;
  struct stat status{};
  return ::fstat(file_->get(), &status) == 0 &&
         static_cast<uint64_t>(status.st_size) >= request_.offset + offset + length;
}

bool DmaMap::Region::read(uint64_t offset, uint8_t* out, size_t length) const {
  if (mapping_ != nullptr) {
    return survives([&] { std::memcpy(out, mapping_->at(request_.offset + offset), length); });
  }
  const auto place = static_cast<off_t>(request_.offset + offset);
  return ::pread(file_->get(), out, length, place) == static_cast<ssize_t>(length);
}

bool DmaMap::Region::write(uint64_t offset, const uint8_t* data, size_t length) const {
  if (mapping_ != nullptr) {
    return survives([&] { store_ascending(mapping_->at(request_.offset + offset), data, length); });
  }
  // A pwrite past the end would make the file longer: file_holds() went before.
  const auto place = static_cast<off_t>(request_.offset + offset);
  // Two calls, so that the last piece, which a driver polls, is stored after all others.
  const size_t head = length > kWord ? length - kWord : 0;
  return ::pwrite(file_->get(), data, head, place) == static_cast<ssize_t>(head) &&
         ::pwrite(file_->get(), data + head, length - head, place + static_cast<off_t>(head)) ==
             static_cast<ssize_t>(length - head);
}

DmaMap::Regions::iterator DmaMap::lower_bound(uint64_t address) {
  const auto behind = regions_.upper_bound(address);
  if (behind == regions_.begin()) return behind;
  const auto before = std::prev(behind);
  return before->second.last() >= address ? before : behind;
}

std::optional<Fault> DmaMap::map(const DmaMapRequest& request, UniqueFd file) {
  if (regions_.size() >= kMaxDmaMaps) {
    return refused(ENOSPC, "DMA_MAP of more than " + std::to_string(kMaxDmaMaps) + " regions");
  }
  const auto place = lower_bound(request.address);
  const uint64_t last = request.address + (request.size - 1);
  if (place != regions_.end() && place->second.first() <= last) {
    return refused(
        EEXIST, "DMA_MAP of address " + hex(request.address) + " overlaps a region that is mapped");
  }
  MappedFiles::Mapping mapping;
  OpenFiles::File held;
  if (file) {
    if (const auto fault = check_file(request, file.get())) return fault;
    if (cannot_shrink(file.get())) {
      auto mapped = mapped_files_.map(file.get(), request.offset, request.size, request.writable);
      if (auto* fault = std::get_if<Fault>(&mapped)) return std::move(*fault);
      mapping = std::get<MappedFiles::Mapping>(std::move(mapped));
    } else {
      auto kept = open_files_.keep(std::move(file));
      if (auto* fault = std::get_if<Fault>(&kept)) return std::move(*fault);
      held = std::get<OpenFiles::File>(std::move(kept));
    }
  }
  regions_.try_emplace(place, request.address, request, std::move(held), std::move(mapping));
  return std::nullopt;
}

std::optional<Fault> DmaMap::unmap(const DmaUnmapRequest& request) {
  if (request.all) {
    clear();
    return std::nullopt;
  }
  const uint64_t last = request.address + (request.size - 1);
  const auto begin = lower_bound(request.address);
  const auto end = regions_.upper_bound(last);
  if (begin == end) return std::nullopt;
  if (begin->second.first() < request.address || std::prev(end)->second.last() > last) {
    return refused(EINVAL,
                   "DMA_UNMAP of address " + hex(request.address) + " would cut a region in two");
  }
  regions_.erase(begin, end);
  last_hit_ = regions_.end();
  return std::nullopt;
}

void DmaMap::clear() {
  regions_.clear();
  last_hit_ = regions_.end();
}

DmaMap::Regions::iterator DmaMap::find(uint64_t address) {
  const auto holds = [&](Regions::iterator region) {
    return region != regions_.end() && region->second.first() <= address &&
           address <= region->second.last();
  };
  if (holds(last_hit_)) return last_hit_;
  const auto found = lower_bound(address);
  if (!holds(found)) return regions_.end();
  return last_hit_ = found;
}

// Calls access(region, offset in it, offset in the access, length) for each piece in ascending
// order; stops and returns false at a hole or when a call says so.
template <typename Access>
bool DmaMap::for_each_piece(uint64_t address, size_t length, Access access) {
  if (length == 0) return true;
  if (length - 1 > UINT64_MAX - address) return false;
  for (size_t done = 0; done < length;) {
    const uint64_t at = address + done;
    const auto found = find(at);
    if (found == regions_.end()) return false;
    const Region& region = found->second;
    const uint64_t rest = region.last() - at;  // bytes behind this one, so that it cannot wrap
    const size_t piece = rest < length - done - 1 ? static_cast<size_t>(rest) + 1 : length - done;
    if (!access(region, at - region.first(), done, piece)) return false;
    done += piece;
  }
  return true;
}

bool DmaMap::granted(uint64_t address, size_t length, bool for_write) {
  return for_each_piece(
      address, length, [&](const Region& region, uint64_t offset, size_t, size_t piece) {
        return region.has_file() && region.grants(for_write) && region.file_holds(offset, piece);
      });
}

bool DmaMap::granted_without_file(uint64_t address, size_t length, bool for_write) {
  return for_each_piece(address, length, [&](const Region& region, uint64_t, size_t, size_t) {
    return !region.has_file() && region.grants(for_write);
  });
}

bool DmaMap::read(uint64_t address, uint8_t* out, size_t length) {
  return granted(address, length, /*for_write=*/false) &&
         for_each_piece(address, length,
                        [&](const Region& region, uint64_t offset, size_t done, size_t piece) {
                          return region.read(offset, out + done, piece);
                        });
}

bool DmaMap::write(uint64_t address, const uint8_t* data, size_t length) {
  return granted(address, length, /*for_write=*/true) &&
         for_each_piece(address, length,
                        [&](const Region& region, uint64_t offset, size_t done, size_t piece) {
                          return region.write(offset, data + done, piece);
                        });
}

}  // namespace exrnic::vfio_user
