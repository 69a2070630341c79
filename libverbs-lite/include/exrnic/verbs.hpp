// SPDX-License-Identifier: BSD-2-Clause
// The verbs for C++17: objects that are destroyed with their owner, and errors as exceptions. A
// header over the C functions of verbs.h, messages.h and ntb.h, with nothing of its own below; they
// mix freely. All of it is in namespace vl, as all of C begins with vl_.
//
// Ownership: an Owned<vl_qp>, ... destroys its object. Declare objects in the order in which they
// are made, so that users go before what they use: RNIC, domain, channel, queues, queue pairs,
// regions, windows. The destruction of an object that is still in use fails, and the object stays.
//
// Errors: VerbsError, which names the call and says what was wrong. Destructors throw never.
// Threads: as in verbs.h. AwaitCompletion busy-waits in the calling thread, SleepUntilCompletion
// sleeps.
#ifndef EXRNIC_VERBS_HPP
#define EXRNIC_VERBS_HPP

#include <poll.h>
#include <sched.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "exrnic/messages.h"
#include "exrnic/ntb.h"
#include "exrnic/verbs.h"

namespace vl {

// "<call>: <what was wrong>".
class VerbsError : public std::runtime_error {
 public:
  VerbsError(const std::string& text, int error) : std::runtime_error(text), error_(error) {}
  // The errno of the call.
  int error() const { return error_; }

 private:
  int error_;
};

// From errno, and from vl_error_text() if that has more to say. Of the call before it.
[[noreturn]] inline void ThrowErrno(const std::string& call) {
  const int error = errno;
  const std::string text = vl_error_text();
  throw VerbsError(call + ": " + (text.empty() ? strerror(error) : text), error);
}

// Throws if a call has failed.
inline void Check(int result, const char* call) {
  if (result < 0) ThrowErrno(call);
}

struct VlDelete {
  void operator()(vl_rnic* rnic) const { vl_close_rnic(rnic); }
  void operator()(vl_pd* pd) const { vl_deallocate_pd(pd); }
  void operator()(vl_comp_channel* channel) const { vl_destroy_comp_channel(channel); }
  void operator()(vl_cq* cq) const { vl_destroy_cq(cq); }
  void operator()(vl_srq* srq) const { vl_destroy_srq(srq); }
  void operator()(vl_qp* qp) const { vl_destroy_qp(qp); }
  void operator()(vl_mr* mr) const { vl_deallocate_mr(mr); }
  void operator()(vl_mw* mw) const { vl_deallocate_mw(mw); }
  void operator()(vl_message_channel* channel) const { vl_destroy_message_channel(channel); }
  void operator()(vl_window* window) const { vl_unmap_window(window); }
  void operator()(vl_port* port) const { vl_close_port(port); }
};
template <typename T>
using Owned = std::unique_ptr<T, VlDelete>;

// What a call that makes an object has returned.
template <typename T>
Owned<T> Own(T* object, const char* call) {
  if (object == nullptr) ThrowErrno(call);
  return Owned<T>(object);
}

// "": as vl_open_rnic(NULL).
inline Owned<vl_rnic> OpenRnic(const std::string& name = "") {
  return Own(vl_open_rnic(name.empty() ? nullptr : name.c_str()), "vl_open_rnic");
}
inline Owned<vl_pd> AllocatePd(vl_rnic* rnic) {
  return Own(vl_allocate_pd(rnic), "vl_allocate_pd");
}
inline Owned<vl_comp_channel> CreateCompChannel(vl_rnic* rnic) {
  return Own(vl_create_comp_channel(rnic), "vl_create_comp_channel");
}
inline Owned<vl_cq> CreateCq(vl_rnic* rnic, uint32_t entries,
                             const vl_cq_moderation* moderation = nullptr) {
  return Own(vl_create_cq(rnic, entries, moderation), "vl_create_cq");
}
inline Owned<vl_cq> CreateCq(vl_rnic* rnic, const vl_cq_init_attr& attr) {
  return Own(vl_create_cq_ex(rnic, &attr), "vl_create_cq_ex");
}
// Behind these with a pointer the attributes hold what was granted.
inline Owned<vl_srq> CreateSrq(vl_pd* pd, vl_srq_attr* attr) {
  return Own(vl_create_srq(pd, attr), "vl_create_srq");
}
inline Owned<vl_srq> CreateSrq(vl_pd* pd, uint32_t receives, uint32_t elements) {
  vl_srq_attr attr = {receives, elements, 0};
  return CreateSrq(pd, &attr);
}
inline Owned<vl_qp> CreateQp(vl_pd* pd, vl_qp_init_attr* init) {
  return Own(vl_create_qp(pd, init), "vl_create_qp");
}
inline Owned<vl_qp> CreateQp(vl_pd* pd, vl_qp_init_attr init) { return CreateQp(pd, &init); }
inline Owned<vl_mr> AllocateMr(vl_pd* pd, void* address, size_t length, int access) {
  return Own(vl_allocate_mr(pd, address, length, access), "vl_allocate_mr");
}
inline Owned<vl_mw> AllocateMw(vl_pd* pd) { return Own(vl_allocate_mw(pd), "vl_allocate_mw"); }
inline Owned<vl_message_channel> CreateMessageChannel(vl_rnic* rnic,
                                                      const vl_message_channel_attr& attr) {
  return Own(vl_create_message_channel(rnic, &attr), "vl_create_message_channel");
}

inline Owned<vl_window> MapWindow(vl_qp* qp, uint32_t remote_stag, uint64_t remote_address,
                                  uint64_t length, int access) {
  return Own(vl_map_window(qp, remote_stag, remote_address, length, access), "vl_map_window");
}
inline Owned<vl_port> OpenPort(vl_rnic* rnic, unsigned port, unsigned peer_node,
                               unsigned peer_port) {
  return Own(vl_open_port(rnic, port, peer_node, peer_port), "vl_open_port");
}

// Each of these changes one thing, and the STag.
inline void MoveMr(vl_mr* mr, void* address, size_t length) {
  Check(vl_reallocate_mr(mr, VL_REALLOCATE_MEMORY, nullptr, address, length, 0),
        "vl_reallocate_mr");
}
inline void SetMrAccess(vl_mr* mr, int access) {
  Check(vl_reallocate_mr(mr, VL_REALLOCATE_ACCESS, nullptr, nullptr, 0, access),
        "vl_reallocate_mr");
}

inline vl_rnic_attr QueryRnic(vl_rnic* rnic) {
  vl_rnic_attr attr = {};
  Check(vl_query_rnic(rnic, &attr), "vl_query_rnic");
  return attr;
}
inline vl_qp_attr QueryQp(vl_qp* qp) {
  vl_qp_attr attr = {};
  Check(vl_query_qp(qp, &attr), "vl_query_qp");
  return attr;
}

// RC, one completion queue for both ways, the smallest work requests, no PULLs.
inline vl_qp_init_attr QpAttributes(vl_cq* cq, uint32_t send_wr, uint32_t recv_wr = 1) {
  vl_qp_init_attr init = {};
  init.send_cq = cq;
  init.recv_cq = cq;
  init.max_send_wr = send_wr;
  init.max_recv_wr = recv_wr;
  init.service = VL_SERVICE_RC;
  return init;
}

// What a queue pair asks of its peer, and grants it, when a message finds no receive: as in
// vl_qp_attr.
struct RnrTerms {
  uint32_t min_rnr_timer = 0;
  uint32_t rnr_retry = 0;
};

inline void ModifyQp(vl_qp* qp, vl_qp_state state) {
  vl_qp_attr attr = {};
  attr.state = state;
  Check(vl_modify_qp(qp, &attr), "vl_modify_qp");
}
// From RESET to RTS. The peer may send before this end is ready to receive: let the two meet
// behind this call.
inline void ConnectQp(vl_qp* qp, uint32_t peer_node, uint32_t peer_qpn, const RnrTerms& rnr = {}) {
  ModifyQp(qp, VL_QPS_INIT);
  vl_qp_attr attr = {};
  attr.state = VL_QPS_RTR;
  attr.dest_node = peer_node;
  attr.dest_qpn = peer_qpn;
  attr.min_rnr_timer = rnr.min_rnr_timer;
  Check(vl_modify_qp(qp, &attr), "vl_modify_qp to RTR");
  attr.state = VL_QPS_RTS;
  attr.rnr_retry = rnr.rnr_retry;
  Check(vl_modify_qp(qp, &attr), "vl_modify_qp to RTS");
}

// ---- Datagrams: queue pairs of VL_SERVICE_UD

// From RESET to RTS.
inline void ReadyDatagrams(vl_qp* qp, uint32_t qkey, uint32_t pkey_index = 0) {
  vl_qp_attr attr = {};
  attr.state = VL_QPS_INIT;
  attr.qkey = qkey;
  attr.pkey_index = pkey_index;
  Check(vl_modify_qp(qp, &attr), "vl_modify_qp to INIT");
  ModifyQp(qp, VL_QPS_RTR);
  ModifyQp(qp, VL_QPS_RTS);
}

// For vl_send_wr.ud.
inline vl_destination ToQp(uint32_t node, uint32_t qpn, uint32_t qkey) { return {node, qpn, qkey}; }
inline vl_destination ToGroup(uint32_t group, uint32_t qkey) {
  return {VL_NODE_GROUP, group, qkey};
}

// A queue pair is in a multicast group for as long as this lives, which ends before the queue pair.
class GroupMember {
 public:
  // Throws VerbsError: EEXIST it is in the group, ENOSPC, ... as vl_attach_mcast.
  GroupMember(vl_qp* qp, uint32_t group) : qp_(qp), group_(group) {
    Check(vl_attach_mcast(qp, group), "vl_attach_mcast");
  }
  ~GroupMember() {
    if (qp_ != nullptr) vl_detach_mcast(qp_, group_);
  }
  GroupMember(GroupMember&& other) noexcept
      : qp_(std::exchange(other.qp_, nullptr)), group_(other.group_) {}
  GroupMember& operator=(GroupMember&& other) noexcept {
    std::swap(qp_, other.qp_);
    std::swap(group_, other.group_);
    return *this;
  }
  uint32_t group() const { return group_; }

 private:
  vl_qp* qp_;
  uint32_t group_;
};

// ---- Message channels

// The next event, if there is one. It occupies its place until vl_release_messages.
inline std::optional<vl_message> PollMessage(vl_message_channel* channel) {
  vl_message message;
  const int found = vl_poll_message(channel, &message);
  Check(found, "vl_poll_message");
  return found == 1 ? std::optional<vl_message>(message) : std::nullopt;
}

// Waits for it, busily. Throws std::runtime_error after the time limit, naming `what` it waited
// for.
inline vl_message AwaitMessage(vl_message_channel* channel, const std::string& what,
                               std::chrono::seconds limit = std::chrono::seconds(60)) {
  const auto until = std::chrono::steady_clock::now() + limit;
  do {
    if (const std::optional<vl_message> message = PollMessage(channel)) return *message;
  } while (std::chrono::steady_clock::now() < until);
  throw std::runtime_error("no event of a message channel within " + std::to_string(limit.count()) +
                           " s: " + what);
}

// ---- Remote windows

// A T at this offset of the window, a multiple of its size of 1, 2, 4 or 8 bytes.
template <typename T>
volatile T* WindowAt(const vl_window* window, size_t offset) {
  static_assert(sizeof(T) <= 8 && (sizeof(T) & (sizeof(T) - 1)) == 0);
  auto* base = static_cast<volatile uint8_t*>(vl_window_address(window));
  return reinterpret_cast<volatile T*>(base + offset);
}

inline uint64_t AddressOf(const void* memory) { return reinterpret_cast<uintptr_t>(memory); }

// The next completion; busy-waits. Throws std::runtime_error after the time limit, naming `what` it
// waited for.
inline vl_wc AwaitCompletion(vl_cq* cq, const std::string& what,
                             std::chrono::seconds limit = std::chrono::seconds(30)) {
  constexpr int kPollsPerLookAtTheClock = 4096;
  const auto until = std::chrono::steady_clock::now() + limit;
  vl_wc wc;
  do {
    for (int i = 0; i < kPollsPerLookAtTheClock; ++i) {
      const int count = vl_poll_cq(cq, 1, &wc);
      Check(count, "vl_poll_cq");
      if (count == 1) return wc;
    }
    sched_yield();
  } while (std::chrono::steady_clock::now() < until);
  throw std::runtime_error("no completion within " + std::to_string(limit.count()) + " s of " +
                           what);
}

// The same asleep in the queue's channel, which no other queue may use, until it fires; the time
// limit is one of silence. solicited_only: as of vl_req_notify_cq; other completions are then found
// behind it.
inline vl_wc SleepUntilCompletion(vl_comp_channel* channel, vl_cq* cq, const std::string& what,
                                  bool solicited_only = false,
                                  std::chrono::seconds limit = std::chrono::seconds(30)) {
  for (vl_wc wc;;) {
    int count = vl_poll_cq(cq, 1, &wc);
    Check(count, "vl_poll_cq");
    if (count == 1) return wc;
    Check(vl_req_notify_cq(cq, solicited_only), "vl_req_notify_cq");
    pollfd event = {vl_comp_channel_fd(channel), POLLIN, 0};
    do {
      count = poll(&event, 1, static_cast<int>(std::chrono::milliseconds(limit).count()));
    } while (count < 0 && errno == EINTR);
    Check(count, "poll of a completion channel");
    if (count == 0) {
      throw std::runtime_error("no event within " + std::to_string(limit.count()) + " s of " +
                               what);
    }
    vl_cq* fired = nullptr;
    Check(vl_get_cq_event(channel, &fired, nullptr), "vl_get_cq_event");
    Check(vl_ack_cq_events(fired, 1), "vl_ack_cq_events");
  }
}

}  // namespace vl

#endif  // EXRNIC_VERBS_HPP
