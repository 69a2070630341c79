// SPDX-License-Identifier: BSD-2-Clause
// A map for people.
#pragma once

#include <string>
#include <vector>

#include "tools/fabric/map.h"

namespace exrnic::fabric {

// What is wrong with a fabric, and what to do.
std::vector<std::string> problems_of(const Map& map);

// A table of the devices, one of the lines, and the problems, one in a line.
std::string text_of(const Map& map, const std::vector<std::string>& problems);

// A graph in the language of Graphviz: `dot -Tsvg`.
std::string dot_of(const Map& map);

}  // namespace exrnic::fabric
