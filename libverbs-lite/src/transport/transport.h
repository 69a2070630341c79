// SPDX-License-Identifier: BSD-2-Clause
// The way to the device: everything that the verbs need beyond memory. Whatever stands behind it
// (the kernel module's char device; the tests' software device) makes objects and lends a user
// page; work and completions never pass through it.
#ifndef EXRNIC_LIBVERBS_TRANSPORT_H
#define EXRNIC_LIBVERBS_TRANSPORT_H

#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "exrnic_hw.h"
#include "transport/user_page.h"

namespace exrnic {

struct DeviceInfo {
  uint32_t node_id;
  uint32_t mtu;
  uint32_t max_qp;
  uint32_t max_cq;
  uint32_t max_mr;
  uint32_t max_srq;
  uint32_t max_sq_slots;
  uint32_t max_cq_entries;
  uint32_t clock_khz;
  uint32_t comp_vectors;
  uint32_t read_pool;
  uint32_t max_node;
  uint8_t mac[6];
  uint16_t pkeys[EXRNIC_PKEYS];
  uint64_t max_window;  // bytes
};

// What a channel, or the context, has to tell. The values are those of the kernel module.
enum class EventType : uint32_t {
  kCompletion = 1,   // from a channel: a completion queue that was armed has fired
  kQpError = 2,      // went to ERROR, not by ModifyQp
  kCqError = 3,      // has overrun
  kSrqLimit = 4,     // fewer receives than the limit
  kPeerDead = 5,     // of the whole context, as is the next; cookie and handle are zero
  kDeviceFatal = 6,  // nothing works any more
  kLink = 7,         // of the whole context, as kPeerDead: QueryLink tells how it is
  kMessage = 8,      // from a channel: a message channel that was armed has events
  kLastWqe = 9,      // in ERROR: nothing of a shared receive queue is left to it
  kSqDrained = 10,   // in SQD: all work that had begun has ended
};

struct Event {
  uint64_t cookie;  // of the object
  EventType type;
  uint32_t handle;
};

constexpr int kNoChannel = -1;
constexpr uint32_t kAnyVector = ~0u;

// Rings: the transport may put other pages in the place of these, which hold the same.
struct CqRequest {
  void* ring;  // page-aligned, zeroed; stays mapped until DestroyCq
  uint32_t entries;
  uint32_t moderation_count;
  uint32_t moderation_ns;
  uint32_t comp_vector;  // below DeviceInfo.comp_vectors, or kAnyVector
  int channel_fd;        // or kNoChannel
  uint64_t cookie;       // comes back in events
};

struct SrqRequest {
  void* ring;      // page-aligned; stays mapped until DestroySrq
  uint32_t slots;  // a power of two
  uint32_t pd;
  uint32_t limit;
  uint64_t cookie;
};

struct QpRequest {
  void* sq;           // page-aligned; stays mapped until DestroyQp
  void* rq;           // null with a shared receive queue
  uint32_t sq_slots;  // powers of two
  uint32_t rq_slots;  // 0 with a shared receive queue
  uint32_t pd;
  uint32_t send_cqn;
  uint32_t recv_cqn;
  exrnic_service service;
  uint32_t srqn;  // or EXRNIC_NO_SRQ
  uint32_t max_reads_out;
  uint32_t max_reads_in;
  uint32_t flags;  // EXRNIC_QP_FLAGS_*
  uint64_t cookie;
};

// As mbox_modify_qp has them.
struct QpChange {
  exrnic_qp_state state;
  uint32_t attributes;  // flags EXRNIC_QP_ATTRIBUTES: those that are given. The others are zero
  uint32_t dest_node;
  uint32_t dest_qpn;
  uint32_t qkey;
  uint32_t pkey_index;
  uint32_t access;
  uint32_t path_mtu;
  uint8_t max_reads_in;
  uint8_t max_reads_out;
  uint8_t min_rnr_timer;
  uint8_t rnr_retry;
  uint8_t timeout;
  uint8_t retry_count;
};

struct QpInfo {
  exrnic_qp_state state;
  uint32_t dest_node;
  uint32_t dest_qpn;
  uint32_t sq_producer;
  uint32_t sq_consumer;
  uint32_t sq_draining;
  uint32_t qkey;
  uint32_t pkey_index;
  uint32_t access;
  uint32_t path_mtu;
  uint8_t max_reads_in;
  uint8_t max_reads_out;
  uint8_t min_rnr_timer;
  uint8_t rnr_retry;
  uint8_t timeout;
  uint8_t retry_count;
};

// Of a structure that has those of QpInfo under the same names: QUERY_QP's of driver and device.
template <typename Answer>
QpInfo QpInfoOf(const Answer& answer) {
  QpInfo info = {};
  info.state = static_cast<exrnic_qp_state>(answer.state);
  info.dest_node = answer.dest_node;
  info.dest_qpn = answer.dest_qpn;
  info.sq_producer = answer.sq_producer;
  info.sq_consumer = answer.sq_consumer;
  info.sq_draining = answer.sq_draining;
  info.qkey = answer.qkey;
  info.pkey_index = answer.pkey_index;
  info.access = answer.access;
  info.path_mtu = answer.path_mtu;
  info.max_reads_in = answer.max_reads_in;
  info.max_reads_out = answer.max_reads_out;
  info.min_rnr_timer = answer.min_rnr_timer;
  info.rnr_retry = answer.rnr_retry;
  info.timeout = answer.timeout;
  info.retry_count = answer.retry_count;
  return info;
}

// Likewise of MODIFY_QP's.
template <typename Command>
Command CommandOf(uint32_t qpn, const QpChange& change) {
  Command in = {};
  in.qpn = qpn;
  in.state = change.state;
  in.attributes = change.attributes;
  in.dest_node = change.dest_node;
  in.dest_qpn = change.dest_qpn;
  in.qkey = change.qkey;
  in.pkey_index = change.pkey_index;
  in.access = change.access;
  in.path_mtu = change.path_mtu;
  in.max_reads_in = change.max_reads_in;
  in.max_reads_out = change.max_reads_out;
  in.min_rnr_timer = change.min_rnr_timer;
  in.rnr_retry = change.rnr_retry;
  in.timeout = change.timeout;
  in.retry_count = change.retry_count;
  return in;
}

struct MrRequest {
  uint64_t address;
  uint64_t length;
  uint32_t pd;
  uint32_t access;  // EXRNIC_ACCESS_*
};

// Fields that `what` does not name are zero.
struct MrChange {
  uint32_t what;  // VL_REALLOCATE_*
  uint64_t address;
  uint64_t length;
  uint32_t pd;
  uint32_t access;  // EXRNIC_ACCESS_*
};

struct WindowRequest {
  uint32_t qpn;
  uint32_t stag;    // at the peer
  uint64_t remote;  // tagged offset there
  uint64_t length;
  uint32_t access;  // EXRNIC_WINDOW_ACCESS_*
};

struct WindowInfo {
  volatile void* address;
  uint64_t length;
  uint32_t number;
};

// As struct exrnic_channel_open; offsets are into the memory, which is zeroed.
struct MessageChannelRequest {
  void* memory;  // page-aligned; stays mapped until DestroyMessageChannel
  size_t bytes;
  uint32_t number;
  uint32_t status;
  uint32_t work;
  uint32_t log_work;
  uint32_t events;
  uint32_t log_events;
  uint32_t slots;
  uint32_t slot_bytes;
  uint32_t num_slots;
  int channel_fd = kNoChannel;  // gets EventType::kMessage when what was armed for is there
};

enum class SpadOwner { kSelf, kPeer };  // whose scratchpad, of the two ports of a link

struct PortEvent {
  uint32_t bells;
  uint32_t events;  // EXRNIC_PORT_EVENT_*
  bool link_up;
};

// Calls return 0, or -1 with errno. They are made under the lock of the RNIC, one at a time; only
// ReadEvent, and what acts on an open port, may be called at any time.
class Transport {
 public:
  virtual ~Transport() = default;

  // The user page of this context: doorbells at EXRNIC_DOORBELL_*.
  virtual UserPage user_page() = 0;

  virtual int Query(DeviceInfo* info) = 0;
  virtual int QueryLink(bool* up) = 0;
  // Of EXRNIC_MANAGEMENT_FRAME_BYTES. EAGAIN: the last one has not left, or none has come.
  virtual int SendManagement(const void* frame) = 0;
  virtual int ReceiveManagement(void* frame) = 0;
  // A completion channel: a file descriptor that is readable while it has events. The transport's,
  // until it is closed.
  virtual int CreateChannel(int* fd) = 0;
  virtual void CloseChannel(int fd) = 0;
  // The file descriptor of the context's own events, likewise.
  virtual int event_fd() = 0;
  // The next event; waits for one, or gives EAGAIN if fd has O_NONBLOCK. ENODEV: none comes any
  // more. An object has at most one unread event of a type.
  virtual int ReadEvent(int fd, Event* event) = 0;

  virtual int AllocatePd(uint32_t* pd) = 0;
  virtual int DeallocatePd(uint32_t pd) = 0;
  virtual int CreateCq(const CqRequest& request, uint32_t* cqn) = 0;
  // Another ring for it: page-aligned, of entries as exrnic_cq_clear makes them; stays mapped until
  // DestroyCq, or the next one. CQEs before *producer are in the old one, which the device leaves
  // alone and which holds what it held. ENOSPC: more is unread than the new one has entries.
  virtual int ResizeCq(uint32_t cqn, void* ring, uint32_t entries, uint32_t* producer) = 0;
  virtual int DestroyCq(uint32_t cqn) = 0;
  virtual int CreateSrq(const SrqRequest& request, uint32_t* srqn) = 0;
  virtual int ModifySrq(uint32_t srqn, uint32_t limit) = 0;
  // limit: as armed now.
  virtual int QuerySrq(uint32_t srqn, uint32_t* limit) = 0;
  virtual int DestroySrq(uint32_t srqn) = 0;
  virtual int CreateQp(const QpRequest& request, uint32_t* qpn) = 0;
  // RESET, as DestroyQp, first ends what is under way: the peer hears of the end of a PULL, and a
  // shared receive that a message has taken completes.
  virtual int ModifyQp(uint32_t qpn, const QpChange& change) = 0;
  virtual int QueryQp(uint32_t qpn, QpInfo* info) = 0;
  // Of a queue pair of UD, which DestroyQp detaches.
  virtual int AttachGroup(uint32_t qpn, uint32_t group) = 0;
  virtual int DetachGroup(uint32_t qpn, uint32_t group) = 0;
  virtual int DestroyQp(uint32_t qpn) = 0;
  virtual int RegisterMr(const MrRequest& request, uint32_t* stag) = 0;
  // Gives the region another STag. With EIO and ETIMEDOUT it is gone, else as it was.
  virtual int ReregisterMr(const MrChange& change, uint32_t* stag) = 0;
  virtual int DeregisterMr(uint32_t stag) = 0;
  // stag: with its first key, which names it to the end.
  virtual int AllocateMw(uint32_t pd, uint32_t* stag) = 0;
  virtual int DeallocateMw(uint32_t stag) = 0;
  // As vl_get_pbl.
  virtual int GetPbl(uint32_t stag, uint64_t* entries, uint32_t* pages, uint32_t* page_shift) = 0;

  // Remote windows and ports, where a transport has them.
  virtual int MapWindow(const WindowRequest& /*request*/, WindowInfo* /*info*/) { return None(); }
  virtual int UnmapWindow(const WindowInfo& /*info*/) { return None(); }
  virtual int OpenPort(uint32_t /*port*/, uint32_t /*node*/, uint32_t /*peer*/, int* /*fd*/) {
    return None();
  }
  virtual void ClosePort(int /*fd*/) {}
  virtual int ReadPort(int /*fd*/, PortEvent* /*event*/) { return None(); }
  virtual int RingPort(int /*fd*/, uint32_t /*bits*/) { return None(); }
  virtual int MaskPort(int /*fd*/, uint32_t /*bits*/) { return None(); }
  virtual int SetSpad(int /*fd*/, SpadOwner /*owner*/, uint32_t /*index*/, uint32_t /*value*/) {
    return None();
  }
  virtual int GetSpad(int /*fd*/, SpadOwner /*owner*/, uint32_t /*index*/, uint32_t* /*value*/) {
    return None();
  }

  // Message channels, where firmware runs.
  virtual int CreateMessageChannel(const MessageChannelRequest& /*request*/) { return None(); }
  virtual int DestroyMessageChannel(uint32_t /*number*/) { return None(); }

 private:
  static int None() {
    errno = EOPNOTSUPP;
    return -1;
  }
};

}  // namespace exrnic

#endif  // EXRNIC_LIBVERBS_TRANSPORT_H
