// SPDX-License-Identifier: BSD-2-Clause
// One connected unix stream socket that carries vfio-user messages and file descriptors, without
// ever blocking. Both ends use it; it looks at no field but the header's size.
//
// Errors: a connection that failed stays failed; receive() says why, once and for all.
// Threads: none; every call comes from one thread.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

#include "sim/posix/unique_fd.h"
#include "sim/vfio_user/protocol.h"

namespace exrnic::vfio_user {

struct Message {
  Header header;
  Bytes payload;
  std::vector<UniqueFd> fds;  // at most kMaxMessageFds
};

class Connection {
 public:
  enum class Peer { kClient, kServer };  // who is at the other end
  enum class Status {
    kMessage,    // one whole message is in *out
    kNothing,    // come again when the socket is readable
    kClosed,     // the peer is gone, between two messages
    kMalformed,  // the stream cannot be trusted any more; failure() says why
  };

  // Owns `socket`, and makes it non-blocking.
  Connection(UniqueFd socket, Peer peer);
  // The peer reads the end of the stream, whatever it has sent: a socket that is closed with bytes
  // that nobody read gives it ECONNRESET, which ends QEMU 11.1 (README.md).
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // From now on commands and replies come from the peer, whichever it is: a server asks its client
  // for memory. Before, only commands come from a client, and only replies from a server.
  void talk_both_ways() { both_ways_ = true; }

  Status receive(Message* out);
  const std::string& failure() const { return failure_; }

  // Sends, or queues what the socket does not take now; `fds` stay the caller's and are duplicated
  // if they must wait. True says that it will be sent as long as the connection lasts, and flush()
  // is called; false that it never will.
  bool send(const Header& header, const Bytes& payload, const std::vector<int>& fds = {});
  // Sends what is queued, as far as it goes. False: the connection is lost.
  bool flush();

  // Nothing goes any more, either way; who polls the socket finds it readable.
  void shut_down();

  int fd() const { return socket_.get(); }
  size_t queued_bytes() const { return queued_bytes_; }

 private:
  struct Outgoing {
    Bytes bytes;
    size_t sent = 0;
    std::vector<UniqueFd> fds;  // go with the first byte
  };

  Status receive_into(uint8_t* to, size_t wanted, size_t* have);
  bool take_fds(void* message_header);
  Status fail(std::string reason);
  bool send_some(Outgoing& item);

  UniqueFd socket_;
  Peer peer_;
  bool both_ways_ = false;
  std::string failure_;
  bool lost_ = false;

  // The message that is being received.
  uint8_t header_bytes_[sizeof(Header)] = {};
  size_t header_have_ = 0;
  size_t payload_have_ = 0;
  Message incoming_;

  std::deque<Outgoing> outgoing_;
  size_t queued_bytes_ = 0;
};

}  // namespace exrnic::vfio_user
