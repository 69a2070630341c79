// SPDX-License-Identifier: BSD-2-Clause
// A driver and user of the RNIC on an in-process host: registers, mailbox, rings, regions. It does
// in a test what exrnic.ko and libverbs-lite do in a guest, with every step within reach.
//
// Host memory: pages are handed out one by one, never neighbours, in an order that is not that of
// their addresses; between them lies memory that the RNIC was not granted. Nothing contiguous is
// assumed by mistake that way, and a write that strays is refused and recorded.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "exrnic_hw.h"
#include "sim/host/in_process_host.h"
#include "tests/support/work.h"

namespace exrnic::testing {

// Pinned pages of which the RNIC knows by a PBL.
struct PinnedPages {
  std::vector<uint64_t> pages;
  uint64_t pbl = 0;
};

struct Region {
  uint32_t stag = 0;
  uint64_t base = 0;  // tagged offset of the first byte
  uint64_t length = 0;
  PinnedPages memory;
};

struct Queue {
  uint32_t number = 0;
  uint32_t log_entries = 0;
  PinnedPages ring;
  uint32_t index = 0;  // completion queue: entries taken; else: slots posted
};

struct QueuePair {
  uint32_t qpn = 0;
  uint32_t page = 0;
  uint32_t pd = 0;
  exrnic_service service = EXRNIC_SERVICE_RC;
  Queue sq;
  Queue rq;
};

// What a queue pair may have besides; the defaults are a receive queue of its own and as many
// PULLs as the core can have under way.
struct QueuePairOptions {
  uint32_t log_slots = 6;
  uint32_t srqn = EXRNIC_NO_SRQ;
  uint32_t max_reads_out = EXRNIC_MAX_READS;
  uint32_t max_reads_in = EXRNIC_MAX_READS;
  const Queue* recv_cq = nullptr;  // if it is not that of the send queue
  exrnic_service service = EXRNIC_SERVICE_RC;
  uint32_t flags = 0;  // qp_flags
};

// What comes of messages that find no receive: the pause that this end asks for (RNR_TIMER_MAX),
// and how often it sends its own again. And of work of which nothing is heard: as verbs have it.
struct Rnr {
  uint8_t min_timer = 0;
  uint8_t retry = 0;
  uint8_t timeout = 0;
  uint8_t retry_count = 0;
};

struct SharedReceiveQueue {
  uint32_t page = 0;
  Queue rq;
};

// A ring of events, within a page.
struct EventQueue {
  uint32_t eqn = 0;
  uint32_t log_entries = 0;
  uint64_t ring = 0;
  uint32_t index = 0;  // events taken
};

struct Moderation {
  uint32_t count = 0;
  uint32_t ns = 0;
};

struct Push {
  const Region* from = nullptr;
  uint64_t from_offset = 0;
  uint32_t length = 0;
  uint32_t remote_stag = 0;
  uint64_t remote_to = 0;
  bool signaled = true;
};

inline exrnic_sge element(const Region& region, uint64_t offset, uint32_t length) {
  return {region.base + offset, length, region.stag};
}

class RnicDriver {
 public:
  RnicDriver(Testbed& testbed, unsigned node);

  // Waits until the device is ready and enables it: once more after a reset of the device, which
  // knows nothing of queues and regions then. Host memory stays as it is.
  void start();

  InProcessHost& host() { return host_; }
  Testbed& testbed() { return testbed_; }
  unsigned node() const { return node_; }

  uint32_t read_register(uint32_t offset);
  void write_register(uint32_t offset, uint32_t value);
  uint64_t counter(exrnic_counter which);

  // Runs a mailbox command; the payload is 64 bytes at most.
  void begin(exrnic_mbox_op op, const void* payload, size_t bytes);  // a command, and go on
  exrnic_mbox_status command(exrnic_mbox_op op, const void* payload, size_t bytes);
  template <typename Payload>
  exrnic_mbox_status command(exrnic_mbox_op op, const Payload& payload) {
    return command(op, &payload, sizeof payload);
  }
  // The same for what must succeed; throws std::runtime_error otherwise.
  template <typename Payload>
  void must(exrnic_mbox_op op, const Payload& payload) {
    expect_ok(op, command(op, payload));
  }

  PinnedPages pin(uint64_t first_offset, uint64_t bytes, DmaRights rights);

  Queue create_cq(uint32_t cqn, uint32_t page, uint32_t log_entries = 6, uint32_t vector = 1,
                  const Moderation& moderation = {});
  // A completion queue that tells an event queue when it fires.
  Queue create_cq(uint32_t cqn, uint32_t page, const EventQueue& eq, uint32_t log_entries = 6,
                  const Moderation& moderation = {});
  // Another ring: completions that are not taken come along, and the old one is the RNIC's no more.
  exrnic_mbox_status resize_cq(Queue& cq, uint32_t log_entries);
  EventQueue create_eq(uint32_t eqn, uint32_t vector, uint32_t log_entries = 6);
  QueuePair create_qp(uint32_t qpn, uint32_t page, uint32_t pd, const Queue& cq,
                      uint32_t log_slots = 6);
  QueuePair create_qp(uint32_t qpn, uint32_t page, uint32_t pd, const Queue& cq,
                      const QueuePairOptions& options);
  // One that was destroyed, with the rings that it had.
  void create_again(QueuePair& qp, const Queue& cq, const QueuePairOptions& options);
  SharedReceiveQueue create_srq(uint32_t srqn, uint32_t page, uint32_t pd, uint32_t log_slots = 6,
                                uint32_t limit = 0);
  // With RTR the peer is given; with RTR and RTS, unless it is 0, min_rnr_timer or rnr_retry.
  exrnic_mbox_status modify(uint32_t qpn, exrnic_qp_state state, uint32_t dest_node = 0,
                            uint32_t dest_qpn = 0, uint8_t rnr = 0);
  exrnic_mbox_status modify(const exrnic_mbox_modify_qp& change) {
    return command(EXRNIC_MBOX_OP_MODIFY_QP, change);
  }
  void connect(const QueuePair& qp, uint32_t dest_node, uint32_t dest_qpn,
               const Rnr& rnr = {});             // RESET to RTS
  void set_pkey(uint32_t index, uint16_t pkey);  // of the node's table
  void open_datagrams(const QueuePair& qp, uint32_t qkey, uint32_t pkey_index = 0);  // UD: likewise
  exrnic_mbox_status attach(uint32_t qpn, uint32_t group);
  exrnic_mbox_status detach(uint32_t qpn, uint32_t group);
  // To ERROR, and waits until nothing of it is under way: then it may be reset or destroyed. Throws
  // std::runtime_error when that does not come within `limit_ns`.
  void stop(uint32_t qpn, uint64_t limit_ns = 10'000'000);
  exrnic_mbox_query_qp query(uint32_t qpn);
  exrnic_mbox_query_srq query_srq(uint32_t srqn);

  Region create_region(uint32_t stag, uint32_t pd, uint64_t base, uint64_t length, uint32_t access);
  // The same memory with the STag that it has now.
  void register_again(const Region& region, uint32_t pd, uint32_t access);
  void write(const Region& region, uint64_t offset, const Bytes& data);
  Bytes read(const Region& region, uint64_t offset, uint64_t length);

  static exrnic_wqe wqe(const Push& push);
  void put(QueuePair& qp, const exrnic_wqe& wqe);  // into the send queue, without a doorbell
  void put(QueuePair& qp, const Work& work);
  void put(Queue& queue, const Bytes& slots);  // into any ring of work requests, around its end
  void ring(const QueuePair& qp);
  void post(QueuePair& qp, const Push& push);
  void post(QueuePair& qp, const Work& work);
  void post_receive(QueuePair& qp, const std::vector<exrnic_sge>& elements);
  void post_receive(SharedReceiveQueue& srq, const std::vector<exrnic_sge>& elements);
  void store_doorbell(uint32_t page, uint32_t offset, uint32_t number, uint32_t index);
  // The next completion fires, or the next solicited one.
  void arm(const Queue& cq, uint32_t page, bool solicited = false);

  // The next event, if it is there, without a doorbell; and that doorbell, which may arm.
  std::optional<exrnic_eqe> poll(EventQueue& eq);
  void ring(const EventQueue& eq, bool arm = false);

  // The next completion, if it is there: taken, and the RNIC is told of that later, or at once.
  std::optional<exrnic_cqe> take(Queue& cq);
  std::optional<exrnic_cqe> poll(Queue& cq, uint32_t page);
  // The next completion; throws std::runtime_error when none comes within `limit_ns`.
  exrnic_cqe wait(Queue& cq, uint32_t page, uint64_t limit_ns = 10'000'000);

 private:
  void expect_ok(exrnic_mbox_op op, exrnic_mbox_status status);
  uint64_t next_page();
  uint64_t pin_pbl(const std::vector<uint64_t>& pages);
  template <typename Answer>
  Answer answer();
  template <typename Answer>
  Answer ask(exrnic_mbox_op op, uint32_t index);
  Queue create_cq(Queue queue, exrnic_mbox_create_cq create, uint32_t page,
                  const Moderation& moderation);
  static uint64_t address_of(const Queue& cq, uint32_t index);  // of a completion
  exrnic_cqe cqe_at(const Queue& cq) const;                     // the next one
  Queue make_ring(uint32_t number, uint32_t log_entries, uint32_t entry_bytes, DmaRights rights);
  template <typename Piece>
  void for_each_piece(const Region& region, uint64_t offset, uint64_t length, Piece piece);

  Testbed& testbed_;
  unsigned node_;
  InProcessHost host_;
  uint64_t pages_used_ = 0;
};

}  // namespace exrnic::testing
