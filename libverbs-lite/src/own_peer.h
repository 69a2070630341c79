// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXRNIC_LIBVERBS_OWN_PEER_H
#define EXRNIC_LIBVERBS_OWN_PEER_H

#include <sys/socket.h>

#include <cstring>

namespace exrnic {

// Whether a connected socket is at both ends of its connection.
inline bool IsOwnPeer(int fd) {
  sockaddr_storage self = {}, peer = {};
  socklen_t self_size = sizeof(self), peer_size = sizeof(peer);
  return getsockname(fd, reinterpret_cast<sockaddr*>(&self), &self_size) == 0 &&
         getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &peer_size) == 0 &&
         self_size == peer_size && memcmp(&self, &peer, self_size) == 0;
}

}  // namespace exrnic

#endif  // EXRNIC_LIBVERBS_OWN_PEER_H
