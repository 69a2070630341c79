// SPDX-License-Identifier: BSD-2-Clause
// What exrnicctl prints.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "counters.h"

namespace exrnic::ctl {

// A line for each counter, a column for each node. Without `all`, only counters that some node has
// counted. With `before`, an earlier snapshot, a second column for each: what has come since.
std::string counter_table(const Snapshot& now, bool all, const Snapshot* before = nullptr);

// What of `text` fits into a window: no line is broken; if lines are missing, the last one says so.
std::string fitted(const std::string& text, unsigned rows, unsigned columns);

// The counters as one line of JSON: {"nodes": [{"id": 0, "counters": {...}}]}.
std::string counter_json(const Snapshot& now);

// What the simulator answers to "status".
std::string status_text(const nlohmann::ordered_json& status);

}  // namespace exrnic::ctl
