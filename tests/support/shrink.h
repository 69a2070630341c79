// SPDX-License-Identifier: BSD-2-Clause
// Cuts what fails down to what is needed to fail (delta debugging: Zeller and Hildebrandt, 2002).
#pragma once

#include <functional>
#include <vector>

namespace exrnic::testing {

// `fails` is true of `items`. Returns a part of them, in their order, of which it is true too: one
// from which no single item can be taken away, unless `fails` was asked `most_runs` times before.
std::vector<unsigned> shrink(std::vector<unsigned> items,
                             const std::function<bool(const std::vector<unsigned>&)>& fails,
                             unsigned most_runs);

}  // namespace exrnic::testing
