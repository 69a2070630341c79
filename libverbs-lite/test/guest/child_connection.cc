// SPDX-License-Identifier: BSD-2-Clause
#include "child_connection.h"

namespace exrnic {

void MeetThroughParent(Connection* connection, int in, int out) {
  const Hello mine = connection->hello();
  Child::WriteAll(out, &mine, sizeof(mine));
  Hello peer;
  Child::ReadAll(in, &peer, sizeof(peer));
  connection->Join(peer);
  const uint8_t joined = 1;
  Child::WriteAll(out, &joined, sizeof(joined));
  uint8_t both_joined;
  Child::ReadAll(in, &both_joined, sizeof(both_joined));
}

void MeetForChild(Bench* bench, Child* child) {
  const Hello mine = child->Receive<Hello>("its queue pair");
  child->Send(Connection::ExchangeHello(bench, mine));
  child->Receive<uint8_t>("that it is connected");
  Connection::AwaitJoined(bench);
  child->Send(uint8_t{1});
}

}  // namespace exrnic
