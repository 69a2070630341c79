// SPDX-License-Identifier: BSD-2-Clause
// Processes that are killed while their work is in flight.
#include "child_connection.h"
#include "pattern.h"
#include "stream.h"

namespace exrnic {

namespace {

// ---- The sending process is killed

void KillSender(Bench* bench) {
  Side side(*bench);
  Connection other(&side);
  other.Meet(bench);
  Child child([bench](int in, int out) {
    Side own_side(*bench);
    Connection stream(&own_side);
    MeetThroughParent(&stream, in, out);
    StreamUntilError(stream);
  });
  MeetForChild(bench, &child);
  bench->Meet();  // the stream has arrived
  SendChecked(bench, other);
  child.Kill();
  SendChecked(bench, other);
}

void OutliveSender(Bench* bench) {
  Side side(*bench);
  Connection other(&side);
  other.Meet(bench);
  Connection stream(&side);
  stream.Meet(bench);
  bench->Expect(AwaitStreamInto(stream.target()), "no PUSH of the child arrived within 30 s");
  bench->Meet();
  ReceiveChecked(bench, other);
  ReceiveChecked(bench, other);
}

// ---- The receiving process is killed

void LosePeer(Bench* bench) {
  Side side(*bench);
  Connection other(&side);
  other.Meet(bench);
  Connection stream(&side);
  stream.Meet(bench);
  const vl_wc end = StreamUntilError(stream);
  // Whether the queue pair or the region went first is for the kernel to say.
  bench->Expect(end.status == VL_WC_REM_OP_ERR || end.status == VL_WC_REM_ACCESS_ERR,
                std::string("the stream ended with \"") + vl_status_string(end.status) + "\"");
  SendChecked(bench, other);
}

void KillReceiver(Bench* bench) {
  Side side(*bench);
  Connection other(&side);
  other.Meet(bench);
  Child child([bench](int in, int out) {
    Side own_side(*bench);
    Connection stream(&own_side);
    MeetThroughParent(&stream, in, out);
    const bool arrived = AwaitStreamInto(stream.target());
    Child::WriteAll(out, &arrived, sizeof(arrived));
    uint8_t never;
    Child::ReadAll(in, &never, sizeof(never));
  });
  MeetForChild(bench, &child);
  bench->Expect(child.Receive<bool>("that PUSHes arrive"), "no PUSH arrived within 30 s");
  child.Kill();
  ReceiveChecked(bench, other);
}

}  // namespace

std::vector<GuestCheck> ProcessChecks() {
  return {
      {"a process killed while it sends takes nobody with it", KillSender, OutliveSender, true},
      {"a process killed while it receives ends its own traffic only", LosePeer, KillReceiver,
       true},
  };
}

}  // namespace exrnic
