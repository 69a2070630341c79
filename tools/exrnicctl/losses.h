// SPDX-License-Identifier: BSD-2-Clause
// Frames that did not arrive, as exrnic-sim --losses has written them.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace exrnic::ctl {

using Losses = std::vector<nlohmann::ordered_json>;

// Of the run that has ended, or goes on, below ./build/run: the newest file of that name. Throws
// Failure if there is none.
std::string find_losses();

// A line that is still being written is left out. Throws Failure for a file that cannot be read, or
// is none.
Losses read_losses(const std::string& path);

// How many for each cause and place, and the last `most` of them, one by one; `most` 0: all.
std::string loss_table(const Losses& losses, size_t most);

}  // namespace exrnic::ctl
