// SPDX-License-Identifier: BSD-2-Clause
// Unix stream sockets by path, for both ends.
#pragma once

#include <string>

#include "sim/posix/unique_fd.h"

namespace exrnic {

// Both throw std::runtime_error with one line that names the path and the cause.

// A non-blocking listening socket. A socket file that nobody listens on any more is replaced; any
// other file is left alone and is an error.
UniqueFd listen_unix(const std::string& path);

// A connected socket.
UniqueFd connect_unix(const std::string& path);

}  // namespace exrnic
