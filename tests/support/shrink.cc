// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/shrink.h"

#include <algorithm>
#include <cstddef>

namespace exrnic::testing {

std::vector<unsigned> shrink(std::vector<unsigned> items,
                             const std::function<bool(const std::vector<unsigned>&)>& fails,
                             unsigned most_runs) {
  size_t piece = (items.size() + 1) / 2;
  while (piece > 0 && items.size() > 1) {
    bool cut = false;
    for (size_t at = 0; at < items.size();) {
      if (most_runs-- == 0) return items;
      std::vector<unsigned> rest(items.begin(), items.begin() + static_cast<ptrdiff_t>(at));
      const size_t behind = std::min(at + piece, items.size());
      rest.insert(rest.end(), items.begin() + static_cast<ptrdiff_t>(behind), items.end());
      if (!rest.empty() && fails(rest)) {
        items = std::move(rest);
        cut = true;
      } else {
        at += piece;
      }
    }
    if (!cut || piece > items.size()) piece = piece == 1 ? 0 : piece / 2;
  }
  return items;
}

}  // namespace exrnic::testing
