// SPDX-License-Identifier: BSD-2-Clause
// The line below an out-of-band channel.
#ifndef EXRNIC_EXAMPLES_OOB_LINE_H
#define EXRNIC_EXAMPLES_OOB_LINE_H

#include <chrono>
#include <cstdint>
#include <string>

namespace exrnic {

// For the help of programs.
constexpr char kOobLineHelp[] =
    "Line to the other end: a serial line such as /dev/ttyS1, or unix:PATH, a socket that node 0 "
    "makes";

// Opens the end of a node: of "unix:PATH", where both programs run on one machine, node 0 listens
// and the other connects, whoever is first; anything else is a serial line (or any terminal), which
// is set to raw mode. Throws std::runtime_error, also when nobody is at the other end of a socket
// within the limit.
int OpenOobLine(const std::string& line, uint32_t node,
                std::chrono::milliseconds limit = std::chrono::seconds(60));

}  // namespace exrnic

#endif  // EXRNIC_EXAMPLES_OOB_LINE_H
