// SPDX-License-Identifier: BSD-2-Clause
#include "sim_transport.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <new>
#include <set>
#include <thread>
#include <utility>

#include "exrnic/verbs.h"
#include "exrnic_driver.h"
#include "sim_device.h"
#include "sim_error.h"
#include "sim_events.h"
#include "sim_firmware.h"
#include "sim_mailbox.h"
#include "sim_memory.h"
#include "sim_message_channel.h"
#include "sim_numbers.h"
#include "sim_ports.h"
#include "transport/error_text.h"

namespace exrnic {

namespace {

constexpr uint32_t kUserPage = 0;
constexpr std::chrono::seconds kStopLimit(5);
constexpr uint32_t kWriteAccess = EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_REMOTE_WRITE;

uint32_t Log2(uint32_t power) { return static_cast<uint32_t>(__builtin_ctz(power)); }

int FailWith(int error, const char* text) {
  SetErrorText(text);
  errno = error;
  return -1;
}

// Runs a call that throws, and returns what a Transport does.
template <typename Call>
int Guard(Call call) {
  try {
    call();
    return 0;
  } catch (const SimError& error) {
    return FailWith(error.error(), error.what());
  } catch (const std::bad_alloc&) {
    return FailWith(ENOMEM, "");
  }
}

struct Cq {
  SimRing ring;
  SimVector vector;
};

struct QpRings {
  SimRing sq;
  SimRing rq;
};

struct Mr {
  MrRequest request;
  SimPbl pbl;
};

// What a driver does, in user space. The verbs keep the objects in order: each is destroyed once,
// and behind its users.
class SimTransport : public Transport {
 public:
  SimTransport(const std::string& path, std::chrono::milliseconds patience)
      : link_(path, patience),
        mailbox_(&link_),
        info_(IdentifyDevice(&link_)),
        firmware_(&link_),
        ports_(&link_),
        arena_(&link_),
        pds_("protection domains", 0, EXRNIC_FW_PD),
        cqns_("completion queues", 0, info_.max_cq),
        srqns_("shared receive queues", 0, info_.max_srq),
        qpns_("queue pairs", EXRNIC_QPN_MIN, info_.max_qp),
        stags_(info_.max_mr),
        events_(&link_, &mailbox_, &arena_, &firmware_, &ports_) {
    info_.comp_vectors = events_.cq_vectors();
    GrantProcessMemory(&link_);
    EnableDevice(&link_);
  }
  // Before the rings go away.
  ~SimTransport() override { link_.Cut("closed"); }

  UserPage user_page() override { return UserPage(&link_); }

  int Query(DeviceInfo* info) override {
    return Guard([&] {
      ReadAddress(&link_, &info_);
      *info = info_;
    });
  }

  int QueryLink(bool* up) override {
    return Guard(
        [&] { *up = (link_.Read(EXRNIC_REG_STATUS) & EXRNIC_DEVICE_STATUS_LINK_UP) != 0; });
  }

  int SendManagement(const void* frame) override {
    return Guard([&] {
      if (ManagementStatus() & EXRNIC_MANAGEMENT_STATUS_BITS_SENDING)
        throw SimError(EAGAIN, "the management frame before has not left");
      auto writes =
          SimLink::WordsAt(EXRNIC_REG_MANAGEMENT_OUT, frame, EXRNIC_MANAGEMENT_FRAME_BYTES);
      writes.push_back({EXRNIC_REG_MANAGEMENT_SEND, 1});
      link_.Write(writes);
    });
  }
  int ReceiveManagement(void* frame) override {
    return Guard([&] {
      if (!(ManagementStatus() & EXRNIC_MANAGEMENT_STATUS_BITS_WAITING))
        throw SimError(EAGAIN, "no management frame waits");
      uint8_t bytes[EXRNIC_MANAGEMENT_FRAME_BYTES] = {};
      for (uint32_t at = 0; at < sizeof(bytes); at += sizeof(uint32_t)) {
        if (!exrnic_management_word_counts(bytes, at / sizeof(uint32_t))) continue;
        const uint32_t word = link_.Read(EXRNIC_REG_MANAGEMENT_IN + at);
        memcpy(bytes + at, &word, sizeof(word));
      }
      link_.Write({{EXRNIC_REG_MANAGEMENT_TAKEN, 1}});
      memcpy(frame, bytes, sizeof(bytes));
    });
  }

  int CreateChannel(int* fd) override {
    return Guard([&] { *fd = events_.OpenChannel(); });
  }
  void CloseChannel(int fd) override { events_.CloseChannel(fd); }
  int event_fd() override { return events_.async_fd(); }
  int ReadEvent(int fd, Event* event) override { return events_.Read(fd, event) ? 0 : -1; }

  int AllocatePd(uint32_t* pd) override {
    return Guard([&] { *pd = pds_.Take(); });
  }
  int DeallocatePd(uint32_t pd) override {
    pds_.Give(pd);
    return 0;
  }

  int CreateCq(const CqRequest& request, uint32_t* cqn) override {
    return Guard([&] {
      Taken number(&cqns_);
      SimRing ring(&arena_, request.ring, size_t{request.entries} * sizeof(exrnic_cqe));
      SimVector vector(&events_, request.comp_vector);
      exrnic_mbox_create_cq in = {};
      in.cqn = number.value();
      in.page = kUserPage;
      in.pbl_address = ring.pbl_bus();
      in.log_entries = Log2(request.entries);
      in.eqn = SimEvents::EventQueueOf(vector.number());
      in.moderation_count = request.moderation_count;
      in.moderation_ns = request.moderation_ns;
      mailbox_.Set(EXRNIC_MBOX_OP_CREATE_CQ, in);
      events_.AddCq(in.cqn, request.channel_fd, request.cookie);
      cqs_.emplace(in.cqn, Cq{std::move(ring), std::move(vector)});
      *cqn = number.Keep();
    });
  }
  int ResizeCq(uint32_t cqn, void* ring, uint32_t entries, uint32_t* producer) override {
    const auto cq = cqs_.find(cqn);
    if (cq == cqs_.end()) return FailWith(ENOENT, "");
    return Guard([&] {
      SimRing next(&arena_, ring, size_t{entries} * sizeof(exrnic_cqe));
      const exrnic_mbox_resize_cq in = {cqn, Log2(entries), next.pbl_bus()};
      *producer = mailbox_.Ask<exrnic_mbox_resized_cq>(EXRNIC_MBOX_OP_RESIZE_CQ, in).producer;
      cq->second.ring = std::move(next);
    });
  }
  int DestroyCq(uint32_t cqn) override {
    events_.RemoveCq(cqn);
    return Destroy(EXRNIC_MBOX_OP_DESTROY_CQ, cqn, &cqs_, &cqns_);
  }

  int CreateSrq(const SrqRequest& request, uint32_t* srqn) override {
    return Guard([&] {
      Taken number(&srqns_);
      SimRing ring(&arena_, request.ring, size_t{request.slots} * sizeof(exrnic_wqe));
      exrnic_mbox_create_srq in = {};
      in.srqn = number.value();
      in.page = kUserPage;
      in.pd = request.pd;
      in.log_slots = Log2(request.slots);
      in.pbl_address = ring.pbl_bus();
      in.limit = request.limit;
      mailbox_.Set(EXRNIC_MBOX_OP_CREATE_SRQ, in);
      // Nothing is posted yet: its limit is not reached before it is known.
      events_.AddSrq(in.srqn, request.cookie);
      srqs_[number.value()] = std::move(ring);
      *srqn = number.Keep();
    });
  }
  int ModifySrq(uint32_t srqn, uint32_t limit) override {
    return Guard(
        [&] { mailbox_.Set(EXRNIC_MBOX_OP_MODIFY_SRQ, exrnic_mbox_modify_srq{srqn, limit}); });
  }
  int QuerySrq(uint32_t srqn, uint32_t* limit) override {
    return Guard([&] {
      *limit = mailbox_.Query<exrnic_mbox_query_srq>(EXRNIC_MBOX_OP_QUERY_SRQ, srqn).limit;
    });
  }
  int DestroySrq(uint32_t srqn) override {
    events_.RemoveSrq(srqn);
    return Destroy(EXRNIC_MBOX_OP_DESTROY_SRQ, srqn, &srqs_, &srqns_);
  }

  int CreateQp(const QpRequest& request, uint32_t* qpn) override {
    return Guard([&] {
      Taken number(&qpns_);
      QpRings rings;
      rings.sq = SimRing(&arena_, request.sq, size_t{request.sq_slots} * sizeof(exrnic_wqe));
      if (request.rq != nullptr) {
        rings.rq = SimRing(&arena_, request.rq, size_t{request.rq_slots} * sizeof(exrnic_wqe));
      }
      mailbox_.Set(EXRNIC_MBOX_OP_CREATE_QP, CreateQpCommand(number.value(), request, rings));
      events_.AddQp(number.value(), request.cookie);
      qps_[number.value()] = std::move(rings);
      *qpn = number.Keep();
    });
  }
  int ModifyQp(uint32_t qpn, const QpChange& change) override {
    return Guard([&] {
      const bool names_peer = (change.attributes & EXRNIC_QP_ATTRIBUTES_DEST) != 0;
      if (names_peer && (change.dest_node >= info_.max_node || change.dest_qpn >= EXRNIC_MAX_QP)) {
        throw SimError(EINVAL, "there is no queue pair " + std::to_string(change.dest_qpn) +
                                   " of node " + std::to_string(change.dest_node));
      }
      if (change.state == EXRNIC_QP_STATE_RESET) {
        // Refused before the stop, which would be a change.
        if (change.attributes != 0) throw SimError(EPERM, "");
        Stop(qpn);
      }
      SetState(qpn, change);
    });
  }
  int AttachGroup(uint32_t qpn, uint32_t group) override {
    return Guard([&] { mailbox_.Set(EXRNIC_MBOX_OP_ATTACH_GROUP, exrnic_mbox_group{qpn, group}); });
  }
  int DetachGroup(uint32_t qpn, uint32_t group) override {
    return Guard([&] { mailbox_.Set(EXRNIC_MBOX_OP_DETACH_GROUP, exrnic_mbox_group{qpn, group}); });
  }
  int QueryQp(uint32_t qpn, QpInfo* info) override {
    return Guard([&] {
      *info = QpInfoOf(mailbox_.Query<exrnic_mbox_query_qp>(EXRNIC_MBOX_OP_QUERY_QP, qpn));
    });
  }
  int DestroyQp(uint32_t qpn) override {
    events_.RemoveQp(qpn);
    Guard([&] { Stop(qpn); });  // if it fails, the end tells why...
    ClearErrorText();           // ...or does not fail
    return Destroy(EXRNIC_MBOX_OP_DESTROY_QP, qpn, &qps_, &qpns_);
  }

  int RegisterMr(const MrRequest& request, uint32_t* stag) override {
    return Guard([&] { *stag = PublishMr(request); });
  }
  int ReregisterMr(const MrChange& change, uint32_t* stag) override {
    const auto old = mrs_.find(*stag);
    if (old == mrs_.end()) return FailWith(ENOENT, "");
    MrRequest request = old->second.request;
    if (change.what & VL_REALLOCATE_MEMORY) {
      request.address = change.address;
      request.length = change.length;
    }
    if (change.what & VL_REALLOCATE_PD) request.pd = change.pd;
    if (change.what & VL_REALLOCATE_ACCESS) request.access = change.access;
    uint32_t successor = 0;
    if (Guard([&] { successor = PublishMr(request); }) != 0) return -1;
    if (DeregisterMr(*stag) != 0) {  // the device is cut off
      const int error = errno;
      DeregisterMr(successor);
      errno = error;
      return -1;
    }
    *stag = successor;
    return 0;
  }
  int DeregisterMr(uint32_t stag) override {
    return Destroy(EXRNIC_MBOX_OP_INVALIDATE_MR, stag, &mrs_, &stags_);
  }
  int AllocateMw(uint32_t pd, uint32_t* stag) override {
    return Guard([&] {
      Taken number(&stags_);
      exrnic_mbox_register_mr in = {};
      in.stag = number.value();
      in.pd = pd;
      in.kind = EXRNIC_REGION_KIND_MEMORY_WINDOW;
      mailbox_.Set(EXRNIC_MBOX_OP_REGISTER_MR, in);
      mws_.insert(number.value());
      *stag = number.Keep();
    });
  }
  int DeallocateMw(uint32_t stag) override {
    return Destroy(EXRNIC_MBOX_OP_INVALIDATE_MR, stag, &mws_, &stags_);
  }

  int GetPbl(uint32_t stag, uint64_t* entries, uint32_t* pages, uint32_t* page_shift) override {
    const auto mr = mrs_.find(stag);
    if (mr == mrs_.end()) return FailWith(ENOENT, "");
    const SimPbl& pbl = mr->second.pbl;
    for (uint32_t i = 0; i < *pages && i < pbl.count(); ++i) entries[i] = pbl.entries()[i];
    *pages = pbl.count();
    *page_shift = pbl.page_shift();
    return 0;
  }

  int CreateMessageChannel(const MessageChannelRequest& request) override {
    return Guard([&] {
      if (message_channel_ != nullptr) {
        throw SimError(EBUSY, "this RNIC has message channel " +
                                  std::to_string(message_channel_->number()) + " already");
      }
      firmware_.Start();
      message_channel_ = std::make_unique<SimMessageChannel>(
          SimMessageChannel::Device{&mailbox_, &firmware_, &arena_, &stags_, &events_}, kUserPage,
          request);
    });
  }
  int DestroyMessageChannel(uint32_t number) override {
    if (message_channel_ == nullptr || message_channel_->number() != number)
      return FailWith(ENOENT, "");
    return Guard([&] {
      const auto channel = std::move(message_channel_);
      channel->Close();
    });
  }

  // A window is memory whose loads and stores reach the device, and here nobody could see them: in
  // a guest the hypervisor does, but a process has only the simulator's socket.
  int MapWindow(const WindowRequest& /*request*/, WindowInfo* /*info*/) override {
    return FailWith(EOPNOTSUPP,
                    "there are no remote windows without a guest: loads and stores of a process "
                    "cannot reach the simulator");
  }
  int OpenPort(uint32_t port, uint32_t node, uint32_t peer, int* fd) override {
    return Guard([&] { *fd = ports_.Open(port, node, peer); });
  }
  void ClosePort(int fd) override {
    Guard([&] { ports_.Close(fd); });  // in any case
    ClearErrorText();
  }
  int ReadPort(int fd, PortEvent* event) override {
    bool read = false;
    if (Guard([&] { read = ports_.Read(fd, event); }) != 0) return -1;
    return read ? 0 : -1;
  }
  int RingPort(int fd, uint32_t bits) override {
    return Guard([&] { ports_.Ring(fd, bits); });
  }
  int MaskPort(int fd, uint32_t bits) override {
    return Guard([&] { ports_.Mask(fd, bits); });
  }
  int SetSpad(int fd, SpadOwner owner, uint32_t index, uint32_t value) override {
    return Guard([&] { ports_.SetSpad(fd, owner, index, value); });
  }
  int GetSpad(int fd, SpadOwner owner, uint32_t index, uint32_t* value) override {
    return Guard([&] { *value = ports_.GetSpad(fd, owner, index); });
  }

 private:
  uint32_t ManagementStatus() { return link_.Read(EXRNIC_REG_MANAGEMENT_STATUS); }

  // Behind the device's answer it reaches no memory of the object. A device that answered badly, or
  // not at all, is cut off by now: the object goes in any case.
  template <typename Objects, typename Numbers>
  int Destroy(exrnic_mbox_op op, uint32_t number, Objects* objects, Numbers* numbers) {
    const int result = Guard([&] { mailbox_.End(op, number); });
    const int error = errno;
    objects->erase(number);
    numbers->Give(number);
    errno = error;
    return result;
  }

  // The STag.
  uint32_t PublishMr(const MrRequest& request) {
    CheckMapped(request.address, request.length, (request.access & kWriteAccess) != 0);
    Mr mr = {request, SimPbl(&arena_, request.address, request.length)};
    Taken number(&stags_);
    exrnic_mbox_register_mr in = {};
    in.stag = number.value();
    in.pd = request.pd;
    in.base = request.address;
    in.length = request.length;
    in.pbl_address = mr.pbl.bus();
    in.access = request.access;
    in.page_shift = mr.pbl.page_shift();
    mailbox_.Set(EXRNIC_MBOX_OP_REGISTER_MR, in);
    mrs_.emplace(number.value(), std::move(mr));
    return number.Keep();
  }

  void SetState(uint32_t qpn, const QpChange& change) {
    mailbox_.Set(EXRNIC_MBOX_OP_MODIFY_QP, CommandOf<exrnic_mbox_modify_qp>(qpn, change));
  }

  // To ERROR, until nothing of it is under way: see Transport. At most kStopLimit: the peer then
  // may not hear of the end.
  void Stop(uint32_t qpn) {
    QpChange stop = {};
    stop.state = EXRNIC_QP_STATE_ERROR;
    SetState(qpn, stop);
    const auto deadline = std::chrono::steady_clock::now() + kStopLimit;
    while (mailbox_.Query<exrnic_mbox_query_qp>(EXRNIC_MBOX_OP_QUERY_QP, qpn).under_way != 0 &&
           std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
  }

  static exrnic_mbox_create_qp CreateQpCommand(uint32_t qpn, const QpRequest& request,
                                               const QpRings& rings) {
    exrnic_mbox_create_qp in = {};
    in.qpn = qpn;
    in.page = kUserPage;
    in.pd = request.pd;
    in.send_cqn = request.send_cqn;
    in.recv_cqn = request.recv_cqn;
    in.sq_log_slots = Log2(request.sq_slots);
    // The device checks the size of a receive queue also where a shared one takes its place.
    in.rq_log_slots = request.rq != nullptr ? Log2(request.rq_slots) : EXRNIC_RING_LOG_MIN;
    in.service = request.service;
    in.sq_pbl_address = rings.sq.pbl_bus();
    in.rq_pbl_address = request.rq != nullptr ? rings.rq.pbl_bus() : 0;
    in.srqn = request.srqn;
    in.max_reads_out = request.max_reads_out;
    in.max_reads_in = request.max_reads_in;
    in.flags = request.flags;
    return in;
  }

  SimLink link_;
  SimMailbox mailbox_;
  DeviceInfo info_;
  SimFirmware firmware_;
  SimPorts ports_;
  SimArena arena_;
  SimNumbers pds_, cqns_, srqns_, qpns_;
  SimStags stags_;
  SimEvents events_;
  std::map<uint32_t, Cq> cqs_;
  std::map<uint32_t, SimRing> srqs_;
  std::map<uint32_t, QpRings> qps_;
  std::map<uint32_t, Mr> mrs_;
  std::set<uint32_t> mws_;
  std::unique_ptr<SimMessageChannel> message_channel_;
};

}  // namespace

std::unique_ptr<Transport> OpenSim(const std::string& path, std::chrono::milliseconds patience) {
  std::unique_ptr<Transport> transport;
  Guard([&] { transport = std::make_unique<SimTransport>(path, patience); });
  return transport;
}

}  // namespace exrnic
