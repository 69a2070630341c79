// SPDX-License-Identifier: BSD-2-Clause
// A connection that lives in a child process. The out-of-band line stays with the parent, which
// passes on what the two ends tell each other.
#ifndef EXRNIC_GUEST_CHILD_CONNECTION_H
#define EXRNIC_GUEST_CHILD_CONNECTION_H

#include "child.h"
#include "connection.h"

namespace exrnic {

// In the child: Connection::Meet, through the pipes.
void MeetThroughParent(Connection* connection, int in, int out);
// In the parent, at the same time.
void MeetForChild(Bench* bench, Child* child);

}  // namespace exrnic

#endif  // EXRNIC_GUEST_CHILD_CONNECTION_H
