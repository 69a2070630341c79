// SPDX-License-Identifier: BSD-2-Clause
// A table of objects of which few are in use: who looks at one for the first time makes room for
// it. So a core costs what is done with it, and thousands of them find room in one process.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <vector>

namespace exrnic::ref {

// References stay good as long as the table.
template <typename T>
class Table {
 public:
  explicit Table(size_t size) : size_(size), parts_((size + kPart - 1) / kPart) {}

  size_t size() const { return size_; }

  T& operator[](size_t index) {
    std::unique_ptr<Part>& part = parts_[index / kPart];
    if (part == nullptr) part = std::make_unique<Part>();
    return (*part)[index % kPart];
  }
  const T& operator[](size_t index) const {
    static const T kUnused{};
    const std::unique_ptr<Part>& part = parts_[index / kPart];
    return part == nullptr ? kUnused : (*part)[index % kPart];
  }
  T& at(size_t index) {
    if (index >= size_) throw std::out_of_range("no such object");
    return (*this)[index];
  }

 private:
  static constexpr size_t kPart = 16;
  using Part = std::array<T, kPart>;

  size_t size_;
  std::vector<std::unique_ptr<Part>> parts_;
};

}  // namespace exrnic::ref
