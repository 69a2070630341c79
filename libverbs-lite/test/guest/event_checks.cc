// SPDX-License-Identifier: BSD-2-Clause
// Completion channels and asynchronous events: who sleeps is woken, and learns of what.
#include <fcntl.h>
#include <poll.h>

#include <cerrno>
#include <string>

#include "work.h"

namespace exrnic {

namespace {

constexpr int kWaitMs = 30'000;

bool IsReadable(int fd, int wait_ms) {
  pollfd ready = {fd, POLLIN, 0};
  return poll(&ready, 1, wait_ms) == 1 && (ready.revents & POLLIN) != 0;
}

vl_cq_init_attr Attributes(vl_comp_channel* channel, void* context) {
  vl_cq_init_attr attr = {};
  attr.entries = 64;
  attr.channel = channel;
  attr.context = context;
  return attr;
}

// A queue pair with receives without elements, whose completions are told by a channel.
struct Sleeper {
  explicit Sleeper(Side* side)
      : channel(Own(vl_create_comp_channel(side->rnic.get()), "vl_create_comp_channel")) {
    const vl_cq_init_attr attr = Attributes(channel.get(), this);
    cq = Own(vl_create_cq_ex(side->rnic.get(), &attr), "vl_create_cq_ex");
    qp = CreateQp(side->pd.get(), EveryOperation(cq.get(), 1, 32));
  }
  void Meet(Bench* bench, uint32_t node) {
    const Hello mine = {0, 0, node, vl_qp_number(qp.get()), 0, 0};
    const Hello peer = Connection::ExchangeHello(bench, mine);
    ConnectQp(qp.get(), peer.node, peer.qpn);
    for (uint64_t i = 0; i < 16; ++i) PostReceive(qp.get(), i, {});
    Connection::AwaitJoined(bench);
  }
  int fd() const { return vl_comp_channel_fd(channel.get()); }
  void Arm(int solicited_only) {
    Check(vl_req_notify_cq(cq.get(), solicited_only), "vl_req_notify_cq");
  }
  // Sleeps until there is an event, which is that of the queue.
  void ExpectEvent(Bench* bench, const std::string& when) {
    bench->Expect(IsReadable(fd(), kWaitMs), "nobody was woken " + when);
    vl_cq* fired = nullptr;
    void* context = nullptr;
    Check(vl_get_cq_event(channel.get(), &fired, &context), "vl_get_cq_event");
    bench->Expect(fired == cq.get() && context == this, "an event of another queue " + when);
    Check(vl_ack_cq_events(cq.get(), 1), "vl_ack_cq_events");
  }
  void ExpectNoEvent(Bench* bench, const std::string& when) {
    bench->Expect(!IsReadable(fd(), 0), "an event came " + when);
  }
  void Take(int count) {
    for (int i = 0; i < count; ++i) AwaitCompletion(cq.get(), "a message");
  }

  Owned<vl_comp_channel> channel;
  Owned<vl_cq> cq;
  Owned<vl_qp> qp;
};

// The requester's part of a step: when the responder is ready, these messages, then its look.
void Send(Bench* bench, const Connection& connection, int flags = 0) {
  bench->Meet();
  Work work(VL_OP_SEND, 0);
  work.wr.flags |= flags;
  Post(connection, work);
  ExpectCompletion(bench, connection.cq(), 0, VL_WC_SUCCESS);
  bench->Meet();
}

void SendToSleeper(Bench* bench) {
  Side side(*bench);
  Connection connection(&side);
  connection.Meet(bench);
  for (int flags : {0, 0, 0, static_cast<int>(VL_SEND_SOLICITED), 0})
    Send(bench, connection, flags);
}

void Sleep(Bench* bench) {
  Side side(*bench);
  Sleeper sleeper(&side);
  sleeper.Meet(bench, side.node);
  sleeper.Arm(0);
  bench->Meet();
  sleeper.ExpectEvent(bench, "by a message, armed");
  bench->Meet();
  sleeper.Take(1);

  bench->Meet();
  bench->Meet();
  sleeper.ExpectNoEvent(bench, "by a message, not armed again");
  sleeper.Arm(0);
  sleeper.ExpectEvent(bench, "at once, armed with a completion that waits");
  sleeper.Take(1);

  sleeper.Arm(1);
  bench->Meet();
  bench->Meet();
  sleeper.ExpectNoEvent(bench, "by a plain message, armed for solicited ones");
  bench->Meet();
  sleeper.ExpectEvent(bench, "by a solicited message");
  bench->Meet();
  sleeper.Take(2);

  sleeper.Arm(0);
  sleeper.Arm(1);
  bench->Meet();
  sleeper.ExpectEvent(bench, "by a plain message, armed for any and then for solicited ones");
  bench->Meet();
  sleeper.Take(1);
}

// ---- What a channel and an event hold back

void Wait(Bench* bench) {
  Side side(*bench);
  Connection connection(&side);
  connection.Meet(bench);
  Send(bench, connection);
}

void ExpectBusy(Bench* bench, int result, const std::string& what) {
  bench->Expect(result == -1 && errno == EBUSY, what);
}

void HoldOn(Bench* bench) {
  Side side(*bench);
  Sleeper sleeper(&side);
  sleeper.Meet(bench, side.node);
  vl_cq* fired = nullptr;
  fcntl(sleeper.fd(), F_SETFL, O_NONBLOCK);
  bench->Expect(vl_get_cq_event(sleeper.channel.get(), &fired, nullptr) == -1 && errno == EAGAIN,
                "an event came before any message");
  sleeper.Arm(0);
  bench->Meet();
  bench->Expect(IsReadable(sleeper.fd(), kWaitMs), "nobody was woken");
  Check(vl_get_cq_event(sleeper.channel.get(), &fired, nullptr), "vl_get_cq_event");
  bench->Meet();
  sleeper.Take(1);
  sleeper.qp.reset();
  ExpectBusy(bench, vl_destroy_comp_channel(sleeper.channel.get()),
             "a channel was destroyed under its queue");
  ExpectBusy(bench, vl_destroy_cq(sleeper.cq.get()), "a queue was destroyed under its event");
  bench->Expect(vl_ack_cq_events(fired, 2) == -1 && errno == EINVAL,
                "two events were acknowledged, of which one had come");
  bench->ExpectEqual(static_cast<uint64_t>(vl_ack_cq_events(fired, 1)), 0, "vl_ack_cq_events");
  bench->ExpectEqual(static_cast<uint64_t>(vl_destroy_cq(sleeper.cq.release())), 0,
                     "vl_destroy_cq behind the acknowledgement");
}

// An event that nobody has read goes with its queue, and nobody is woken for it any more.
void LoseEvent(Bench* bench) {
  Side side(*bench);
  Sleeper sleeper(&side);
  sleeper.Meet(bench, side.node);
  sleeper.Arm(0);
  bench->Meet();
  bench->Expect(IsReadable(sleeper.fd(), kWaitMs), "nobody was woken");
  bench->Meet();
  sleeper.qp.reset();
  sleeper.cq.reset();
  sleeper.ExpectNoEvent(bench, "of a queue that is gone");
}

// ---- Asynchronous events

// The next one is of this type, and of this queue pair or shared queue.
vl_async_event TakeAsync(Bench* bench, const Side& side, vl_event_type type,
                         const std::string& what) {
  vl_async_event event = {};
  const bool readable = IsReadable(vl_async_fd(side.rnic.get()), kWaitMs);
  bench->Expect(readable, "no event: " + what);
  if (!readable) return event;
  Check(vl_get_async_event(side.rnic.get(), &event), "vl_get_async_event");
  bench->Expect(event.type == type,
                what + ": the event is \"" + vl_event_type_string(event.type) + "\"");
  return event;
}

void ExpectQpError(Bench* bench, const Side& side, Connection* connection) {
  const vl_async_event event = TakeAsync(bench, side, VL_EVENT_QP_ERROR, "a queue pair failed");
  if (event.qp == nullptr) return;
  bench->Expect(event.qp == connection->qp(), "the event is of another queue pair");
  ExpectBusy(bench, vl_destroy_qp(event.qp), "a queue pair was destroyed under its event");
  Check(vl_ack_async_event(&event), "vl_ack_async_event");
  connection->DestroyQp();
  bench->Expect(!IsReadable(vl_async_fd(side.rnic.get()), 0), "a second event came");
}

void FailAtPeer(Bench* bench) {
  Side side(*bench);
  Connection by_hand(&side);
  Connection connection(&side);
  by_hand.Meet(bench);
  connection.Meet(bench);
  // An error that was asked for is none to be told of.
  ModifyQp(by_hand.qp(), VL_QPS_ERROR);
  Push push = MakePush(connection, 1, 0, 0, 8);
  push.remote_stag ^= 1;
  Post(connection, {push});
  ExpectCompletion(bench, connection.cq(), 1, VL_WC_REM_ACCESS_ERR, EXRNIC_TERM_CODE_TAGGED_STAG);
  ExpectQpError(bench, side, &connection);
  bench->Meet();
}

void BeFailed(Bench* bench) {
  Side side(*bench);
  Connection by_hand(&side);
  Connection connection(&side);
  by_hand.Meet(bench);
  connection.Meet(bench);
  ExpectQpError(bench, side, &connection);
  bench->Meet();
}

void SendToLimit(Bench* bench) {
  Side side(*bench);
  Connection connection(&side);
  connection.Meet(bench);
  Send(bench, connection);
}

// A shared receive queue that reaches its limit with the next message, and who takes that.
struct AtLimit {
  AtLimit(Bench* bench, Side* side)
      : cq(Own(vl_create_cq(side->rnic.get(), 16, nullptr), "vl_create_cq")),
        srq(CreateSrq(side->pd.get(), 8, 1)) {
    vl_qp_init_attr init = EveryOperation(cq.get(), 1, 0);
    init.srq = srq.get();
    qp = CreateQp(side->pd.get(), init);
    const Hello peer =
        Connection::ExchangeHello(bench, {0, 0, side->node, vl_qp_number(qp.get()), 0, 0});
    ConnectQp(qp.get(), peer.node, peer.qpn);
    const vl_recv_wr wr = {};
    for (int i = 0; i < 2; ++i)
      Check(vl_post_srq_recv(srq.get(), &wr, nullptr), "vl_post_srq_recv");
    Check(vl_modify_srq(srq.get(), 2), "vl_modify_srq");
    Connection::AwaitJoined(bench);
  }

  Owned<vl_cq> cq;
  Owned<vl_srq> srq;
  Owned<vl_qp> qp;
};

void ExpectLimit(Bench* bench) {
  Side side(*bench);
  AtLimit receiver(bench, &side);
  bench->Meet();
  const vl_async_event event = TakeAsync(bench, side, VL_EVENT_SRQ_LIMIT, "a limit was reached");
  bench->Meet();
  if (event.srq == nullptr) return;
  bench->Expect(event.srq == receiver.srq.get(), "the event is of another queue");
  receiver.qp.reset();
  ExpectBusy(bench, vl_destroy_srq(receiver.srq.get()),
             "a shared queue was destroyed under its event");
  Check(vl_ack_async_event(&event), "vl_ack_async_event");
}

void LoseLimit(Bench* bench) {
  Side side(*bench);
  AtLimit receiver(bench, &side);
  bench->Meet();
  const int fd = vl_async_fd(side.rnic.get());
  bench->Expect(IsReadable(fd, kWaitMs), "no event: a limit was reached");
  bench->Meet();
  receiver.qp.reset();
  receiver.srq.reset();
  bench->Expect(!IsReadable(fd, 0), "the event of a shared queue that is gone can be read");
}

}  // namespace

std::vector<GuestCheck> EventChecks() {
  return {
      {"who sleeps in a completion channel is woken when it is armed, for what it is armed for",
       SendToSleeper, Sleep},
      {"a channel is held by its queues, a queue by its events until they are acknowledged", Wait,
       HoldOn},
      {"an event that nobody read is gone with its queue, and its channel not readable", Wait,
       LoseEvent},
      {"both ends of a queue pair that fails get an event, one that is taken to ERROR gets none",
       FailAtPeer, BeFailed},
      {"a shared receive queue below its limit raises its event", SendToLimit, ExpectLimit},
      {"an asynchronous event that nobody read is gone with its object", SendToLimit, LoseLimit},
  };
}

}  // namespace exrnic
