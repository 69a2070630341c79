// SPDX-License-Identifier: BSD-2-Clause
// A serial line between two ends, such as one of two guests without a network has.
#ifndef EXRNIC_LIBVERBS_CONN_LINE_H
#define EXRNIC_LIBVERBS_CONN_LINE_H

#include <functional>

#include "conn_message.h"
#include "conn_wait.h"

namespace exrnic {

// Opens a serial line, or any terminal, and sets it to raw mode. -1 with an error.
int OpenLine(const char* path);

// Tells the peer `mine`, gives its body to join(), which is false with an error, and returns when
// both ends have joined. False with an error. Behind success nothing of it is left on the line, if
// no byte was damaged: all that comes next is the program's. A terminal is in raw mode from here
// on.
bool MeetOnLine(int fd, ConnKind kind, const ConnInfoBody& mine, const Deadline& deadline,
                const std::function<bool(const ConnInfoBody&)>& join);

}  // namespace exrnic

#endif  // EXRNIC_LIBVERBS_CONN_LINE_H
