// SPDX-License-Identifier: BSD-2-Clause
// The memory of the area, mapped twice: for the program, at the same address in all processes,
// where pages are protected; and for the library and the RNIC, which see all of it always.
#ifndef EXRNIC_DSM_AREA_H
#define EXRNIC_DSM_AREA_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace exrnic {

enum class DsmAccess : uint8_t { kNone, kRead, kWrite };

class DsmArea {
 public:
  explicit DsmArea(size_t bytes);  // nobody may access anything
  ~DsmArea();
  DsmArea(const DsmArea&) = delete;
  DsmArea& operator=(const DsmArea&) = delete;

  size_t bytes() const { return bytes_; }
  uint8_t* program() const { return program_; }
  uint8_t* view() const { return view_; }
  uint8_t* view(uint32_t page) const;
  bool Has(const void* address) const;
  void Protect(uint32_t page, uint32_t count, DsmAccess access);
  void Protect(const std::vector<uint32_t>& pages, DsmAccess access);

 private:
  const size_t bytes_;
  uint8_t* program_ = nullptr;
  uint8_t* view_ = nullptr;
};

}  // namespace exrnic

#endif  // EXRNIC_DSM_AREA_H
