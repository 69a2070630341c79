// SPDX-License-Identifier: BSD-2-Clause
// Armed completion queues: the interrupts that the guest's kernel counts.
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <string>

#include "work.h"

namespace exrnic {

namespace {

constexpr auto kTimeLimit = std::chrono::seconds(10);
constexpr useconds_t kLookAgainUs = 1000;
constexpr vl_cq_moderation kFourOrLate = {4, 200000};

// Of all vectors of completion queues: nobody else arms one.
uint64_t Interrupts() {
  std::ifstream file("/proc/interrupts");
  uint64_t total = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.find("exrnic-") == std::string::npos || line.find("-comp") == std::string::npos)
      continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    for (uint64_t count; words >> count;) total += count;
  }
  return total;
}

// Counts interrupts from its making on.
class InterruptCount {
 public:
  uint64_t now() const { return Interrupts() - before_; }
  // Once there are that many; false after a time limit.
  bool Reaches(uint64_t count) const {
    const auto until = std::chrono::steady_clock::now() + kTimeLimit;
    while (now() < count) {
      if (std::chrono::steady_clock::now() > until) return false;
      usleep(kLookAgainUs);
    }
    return true;
  }

 private:
  const uint64_t before_ = Interrupts();
};

vl_cq_init_attr CqAttributes(vl_comp_channel* channel, const vl_cq_moderation* moderation) {
  vl_cq_init_attr attributes = {};
  attributes.entries = 64;
  attributes.channel = channel;
  if (moderation != nullptr) attributes.moderation = *moderation;
  return attributes;
}

// A queue pair that receives on a moderated completion queue.
struct Listener {
  Listener(Side* side, const vl_cq_moderation* moderation)
      : channel(Own(vl_create_comp_channel(side->rnic.get()), "vl_create_comp_channel")) {
    const vl_cq_init_attr attributes = CqAttributes(channel.get(), moderation);
    cq = Own(vl_create_cq_ex(side->rnic.get(), &attributes), "vl_create_cq_ex");
    qp = CreateQp(side->pd.get(), QpAttributes(cq.get(), 1, 32));
  }

  void Meet(Bench* bench, uint32_t node) {
    const Hello peer = Connection::ExchangeHello(bench, {0, 0, node, vl_qp_number(qp.get()), 0, 0});
    ConnectQp(qp.get(), peer.node, peer.qpn);
    for (uint64_t i = 0; i < 32; ++i) PostReceive(qp.get(), i, {});
    Connection::AwaitJoined(bench);
  }
  void Arm(int solicited_only) {
    Check(vl_req_notify_cq(cq.get(), solicited_only), "vl_req_notify_cq");
  }
  void Take(int count) {
    for (int i = 0; i < count; ++i) AwaitCompletion(cq.get(), "a message");
  }
  // Interrupts for who has not read of the last one may be held back.
  void ReadEvent() {
    vl_cq* fired = nullptr;
    Check(vl_get_cq_event(channel.get(), &fired, nullptr), "vl_get_cq_event");
    Check(vl_ack_cq_events(fired, 1), "vl_ack_cq_events");
  }

  Owned<vl_comp_channel> channel;
  Owned<vl_cq> cq;
  Owned<vl_qp> qp;
};

// One step: the responder has prepared; the requester sends these; the responder has looked.
void Send(Bench* bench, const Connection& connection, int count, int flags = 0) {
  bench->Meet();
  for (int i = 0; i < count; ++i) {
    Work work(VL_OP_SEND, 0);
    work.wr.flags |= flags;
    Post(connection, work);
    ExpectCompletion(bench, connection.cq(), 0, VL_WC_SUCCESS);
  }
  bench->Meet();
  bench->Meet();
}

// The responder's part of a step: `count` messages come, and this many interrupts.
void ExpectInterrupts(Bench* bench, Listener* listener, int count, uint64_t expected,
                      const std::string& what) {
  const InterruptCount interrupts;
  bench->Meet();
  bench->Meet();
  listener->Take(count);
  bench->Expect(interrupts.Reaches(expected), "no interrupt came: " + what);
  bench->ExpectEqual(interrupts.now(), expected, "interrupts, " + what);
  if (interrupts.now() != 0) listener->ReadEvent();
  bench->Meet();
}

// ---- Armed for any, and for solicited completions

void SendToArmed(Bench* bench) {
  Side side(*bench);
  Connection connection(&side);
  connection.Meet(bench);
  Send(bench, connection, 2);
  Send(bench, connection, 2);
  Send(bench, connection, 1);
  Send(bench, connection, 2);
  Send(bench, connection, 2, VL_SEND_SOLICITED);
  Send(bench, connection, 2);
}

void ListenArmed(Bench* bench) {
  Side side(*bench);
  Listener listener(&side, nullptr);
  listener.Meet(bench, side.node);
  ExpectInterrupts(bench, &listener, 2, 0, "not armed");
  listener.Arm(0);
  ExpectInterrupts(bench, &listener, 2, 1, "armed once, for two completions");
  ExpectInterrupts(bench, &listener, 1, 0, "not armed again");
  listener.Arm(1);
  ExpectInterrupts(bench, &listener, 2, 0, "armed for solicited completions, none came");
  ExpectInterrupts(bench, &listener, 2, 1, "armed for solicited completions, two came");
  listener.Arm(0);
  Check(vl_resize_cq(listener.cq.get(), 1000), "vl_resize_cq");
  ExpectInterrupts(bench, &listener, 2, 1, "armed before the queue was resized");
}

// ---- Moderated

void SendToModerated(Bench* bench) {
  Side side(*bench);
  Connection connection(&side);
  connection.Meet(bench);
  Send(bench, connection, 4);
  Send(bench, connection, 1);
}

void ListenModerated(Bench* bench) {
  Side side(*bench);
  Listener listener(&side, &kFourOrLate);
  listener.Meet(bench, side.node);
  listener.Arm(0);
  ExpectInterrupts(bench, &listener, 4, 1, "armed, behind four completions");
  listener.Arm(0);
  ExpectInterrupts(bench, &listener, 1, 1, "armed, some time behind one");
}

}  // namespace

std::vector<GuestCheck> NotifyChecks() {
  return {
      {"a completion queue that is armed interrupts once, if asked for only when solicited",
       SendToArmed, ListenArmed, true},
      {"a moderated completion queue interrupts behind enough completions, or after its time",
       SendToModerated, ListenModerated, true},
  };
}

}  // namespace exrnic
