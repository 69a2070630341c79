// SPDX-License-Identifier: BSD-2-Clause
// What an administrator says, and gets: keys, assignments, files.
#pragma once

#include <cstdint>
#include <string>

#include "tools/fabric/writer.h"

namespace exrnic::fabric {

// The key in a file: up to 16 hexadecimal digits in one line, not all zero. Throws
// std::invalid_argument, with the path.
uint64_t read_key(const std::string& path);

// "HOST[.PORT]=DEVICE", GUIDs in hexadecimal digits. Throws std::invalid_argument.
Assignment parse_assignment(const std::string& text);

// Who reads the file finds the whole text, or the one before. The text goes to `path`.new first,
// which is made anew: no link there is followed. Throws std::runtime_error, with the path.
void write_file(const std::string& path, const std::string& text);

}  // namespace exrnic::fabric
