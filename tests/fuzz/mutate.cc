// SPDX-License-Identifier: BSD-2-Clause
#include "tests/fuzz/mutate.h"

#include <algorithm>
#include <cstddef>
#include <random>

namespace exrnic::fuzz {
namespace {

class Mutator {
 public:
  Mutator(const std::vector<Bytes>& seeds, uint64_t number) : seeds_(seeds), random_(number) {}

  Bytes make() {
    Bytes input = any_seed();
    if (below(16) == 0) input = Bytes(below(512), 0);
    for (size_t n = below(8); n > 0; --n) change(input);
    if (input.size() > kLongestInput) input.resize(kLongestInput);
    return input;
  }

 private:
  size_t below(size_t limit) { return random_() % limit; }
  const Bytes& any_seed() { return seeds_[below(seeds_.size())]; }

  void change(Bytes& input) {
    const size_t at = below(input.size() + 1);
    const auto here = input.begin() + static_cast<std::ptrdiff_t>(at);
    const size_t some = std::min(input.size() - at, below(32) + 1);
    switch (below(7)) {
      case 0:
        if (at < input.size()) input[at] ^= static_cast<uint8_t>(1u << below(8));
        break;
      case 1:
        if (at < input.size()) input[at] = static_cast<uint8_t>(random_());
        break;
      case 2:
        set_number(input, at);
        break;
      case 3:
        input.erase(here, here + static_cast<std::ptrdiff_t>(some));
        break;
      case 4: {
        const Bytes copy(here, here + static_cast<std::ptrdiff_t>(some));
        input.insert(input.begin() + static_cast<std::ptrdiff_t>(below(input.size() + 1)),
                     copy.begin(), copy.end());
        break;
      }
      case 5: {
        const Bytes& other = any_seed();
        const size_t from = below(other.size() + 1);
        input.insert(here, other.begin() + static_cast<std::ptrdiff_t>(from), other.end());
        break;
      }
      default:
        input.resize(at);
    }
  }

  // One at an edge, of either byte order.
  void set_number(Bytes& input, size_t at) {
    constexpr uint64_t kEdges[] = {0,      1,      0x7f,       0x80,       0xff,       0x100,
                                   0x7fff, 0xffff, 0x7fffffff, 0x80000000, UINT32_MAX, INT64_MAX,
                                   0x1000, 0xfff,  UINT64_MAX, 0x4000};
    const uint64_t value = kEdges[below(std::size(kEdges))] + below(3) - 1;
    const size_t width = std::min(size_t{1} << below(4), input.size() - at);
    const bool big = below(2) == 0;
    for (size_t i = 0; i < width; ++i)
      input[at + i] = static_cast<uint8_t>(value >> 8 * (big ? width - 1 - i : i));
  }

  const std::vector<Bytes>& seeds_;
  std::mt19937_64 random_;
};

}  // namespace

Bytes make_input(const std::vector<Bytes>& seeds, uint64_t number) {
  return Mutator(seeds, number).make();
}

}  // namespace exrnic::fuzz
