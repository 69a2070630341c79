// SPDX-License-Identifier: BSD-2-Clause
#include "area.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "dsm_error.h"
#include "dsm_message.h"
#include "layout.h"

namespace exrnic {

namespace {

// Where nothing else is: programs, libraries, heaps and stacks are far from there, and so is what
// sanitizers have.
constexpr uintptr_t kAreaAddress = 0x5500'0000'0000;

[[noreturn]] void FailArea(const std::string& what, int error) {
  throw DsmError("jia_init: " + what + ": " + strerror(error));
}

}  // namespace

DsmArea::DsmArea(size_t bytes) : bytes_(bytes) {
  const std::string size = "the area of " + std::to_string(bytes) + " bytes (JIA_AREA)";
  const int fd = memfd_create("exrnic-dsm", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, static_cast<off_t>(bytes)) != 0) FailArea(size, errno);
  void* const view = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (view == MAP_FAILED) FailArea(size, errno);
  view_ = static_cast<uint8_t*>(view);
  void* const wanted = reinterpret_cast<void*>(kAreaAddress);
  void* const program = mmap(wanted, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED_NOREPLACE, fd, 0);
  const int error = errno;
  close(fd);
  if (program != wanted) {
    munmap(view, bytes);
    FailArea(size + ", at its address", program == MAP_FAILED ? error : EEXIST);
  }
  program_ = static_cast<uint8_t*>(program);
}

DsmArea::~DsmArea() {
  munmap(program_, bytes_);
  munmap(view_, bytes_);
}

uint8_t* DsmArea::view(uint32_t page) const { return view_ + size_t{page} * kDsmPage; }

bool DsmArea::Has(const void* address) const {
  return address >= program_ && address < program_ + bytes_;
}

void DsmArea::Protect(uint32_t page, uint32_t count, DsmAccess access) {
  const int rights = access == DsmAccess::kNone   ? PROT_NONE
                     : access == DsmAccess::kRead ? PROT_READ
                                                  : PROT_READ | PROT_WRITE;
  if (mprotect(program_ + size_t{page} * kDsmPage, size_t{count} * kDsmPage, rights) == 0) return;
  // ENOMEM: pieces of different rights are counted (vm.max_map_count).
  throw DsmError("mprotect of " + std::to_string(count) + " pages from page " +
                 std::to_string(page) + ": " + strerror(errno) +
                 (errno == ENOMEM ? "; is vm.max_map_count too small?" : ""));
}

void DsmArea::Protect(const std::vector<uint32_t>& pages, DsmAccess access) {
  for (const DsmRange& range : DsmRangesOf(pages)) Protect(range.first, range.count, access);
}

}  // namespace exrnic
