// SPDX-License-Identifier: BSD-2-Clause
// What the driver has told a device, as far as the comparison needs it: where completions are
// written, who a queue pair's peer is, how much its queues hold.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "exrnic_hw.h"
#include "rtl-model/ref/pio.h"
#include "rtl-model/systemc/core.h"

namespace exrnic::lockstep {

enum class Side { kReference, kSubject };
constexpr size_t kSides = 2;

struct CompletionRing {
  uint32_t cqn = 0;
  uint32_t page = 0;
  uint32_t vector = 0;
  struct Place {
    uint32_t log_entries = 0;
    std::vector<uint64_t> pages;

    uint64_t address_of(uint32_t entry) const;
    uint8_t phase_of(uint32_t entry) const { return !(entry >> log_entries & 1); }
  };
  std::array<Place, kSides> places;
  std::optional<Place> later;  // of the subject, as soon as it executes the command in its mailbox
  std::array<uint32_t, kSides> next{};  // entries written by each side, free-running
  uint32_t consumer = 0;                // entries taken by the program
  uint32_t skew = 0;                    // by which the reference was ahead at the last rest
  bool rearmed = false;                 // since the last rest
  bool arms_differ = false;  // one side may have fired where the other one is still armed

  // Where a completion that a side writes there is to be in its ring, if it is the next one.
  const Place* place_of(Side side, uint64_t address);
};

// Where events are written. How often one is told that happens again and again is a matter of time.
struct EventRing {
  uint32_t vector = 0;
  uint64_t address = 0;
  uint32_t log_entries = 0;
  std::array<uint32_t, kSides> next{};  // entries written by each side, free-running
  uint32_t consumer = 0;                // entries taken by the driver,
  uint32_t reference_consumer = 0;      // as the reference was told
  uint32_t skew = 0;                    // by which the reference was ahead at the last rest
  bool differs = false;                 // it has been full since, or has ended
  bool rearmed = false;                 // since the last rest
  bool arms_differ = false;  // one side may have fired where the other one is still armed
  // Since then, by type and number of the object.
  struct Told {
    std::array<unsigned, kSides> times{};
    std::array<uint32_t, kSides> detail{};  // of the last one
  };
  std::map<std::pair<uint8_t, uint32_t>, Told> told;

  uint64_t address_of(uint32_t entry) const {
    return address + (entry & ((1u << log_entries) - 1)) * sizeof(exrnic_eqe);
  }
  bool is_full(Side side) const { return next[size_t(side)] - consumer >= 1u << log_entries; }
  // What a doorbell says, as the reference counts. Nothing: time decides whether it is taken.
  std::optional<uint32_t> to_reference(uint32_t index);
};

// A send or a receive queue, or a shared one.
struct WorkQueue {
  uint32_t log_slots = 0;
  uint32_t page = 0;  // of a shared one
  uint16_t posted = 0;
  bool skewed = false;  // of a shared one: the two sides have taken different numbers of slots
  std::array<uint16_t, kSides> ended{};  // slots of which it is known that a side has taken them

  // More than the queue holds, as far as it is known.
  bool is_beyond(uint32_t index) const {
    return static_cast<uint16_t>(index - ended[size_t(Side::kSubject)]) > 1u << log_slots;
  }
};

struct QueuePairView {
  struct Peer {
    uint32_t node = 0;
    uint32_t qpn = 0;
  };
  uint32_t page = 0;
  uint32_t send_cqn = 0;
  uint32_t recv_cqn = 0;
  WorkQueue sq;
  std::vector<uint64_t> sq_pages;
  WorkQueue rq;
  uint32_t srqn = EXRNIC_NO_SRQ;
  uint32_t state = EXRNIC_QP_STATE_RESET;  // that the driver gave it
  std::optional<Peer> peer;
  bool datagrams = false;   // it has no peer
  bool reliable = true;     // of service RC
  bool has_window = false;  // its RDMA Writes are stores, and may be cut anyhow
};

class DriverView {
 public:
  using ReadMemory = std::function<bool(uint64_t address, uint8_t* out, size_t length)>;

  // A word of the mailbox's payload.
  void fill(uint32_t offset, uint32_t word) { payload_.at(offset / sizeof word) = word; }

  // The command in the mailbox begins: what it makes may be used before it has succeeded. And it
  // fails.
  void begins(uint32_t op);
  void failed(uint32_t op);
  // Takes over what the command in the mailbox, which has succeeded, says.
  void succeeded(uint32_t op, const ReadMemory& read_memory);

  // Of RESIZE_CQ, which the reference has refused because of what is unread: time decides what the
  // subject does. False: there is no such doubt.
  bool may_resize(const ReadMemory& read_memory);
  // The subject has said how the command in its mailbox ended.
  void subject_ended(bool well);

  template <typename Command>
  Command command() const {
    static_assert(sizeof(Command) <= sizeof payload_);
    Command command;
    std::memcpy(&command, payload_.data(), sizeof command);
    return command;
  }

  QueuePairView* queue_pair(uint32_t qpn);
  bool has_window(uint32_t qpn) const;
  const std::map<uint32_t, QueuePairView>& queue_pairs() const { return queue_pairs_; }

  CompletionRing* ring(uint32_t cqn);
  // The ring for a completion, if it has one.
  CompletionRing* ring_of(const exrnic_cqe& cqe);

  // Whether it depends on time if the core accepts this doorbell: it goes beyond what the core is
  // known to have done. A program that waits for completions never rings so.
  bool is_rash_qp(uint32_t qpn, bool receive, uint32_t index) const;
  bool is_rash_srq(uint32_t srqn, uint32_t index) const;
  bool is_rash_cq(uint32_t cqn, uint32_t index);

  // The event queue of that number; and the one that has its next entry for this side there.
  EventRing* event_ring(uint32_t eqn);
  EventRing* event_ring_at(Side side, uint64_t address);
  const std::map<uint32_t, EventRing>& event_rings() const { return event_rings_; }
  bool is_of_events(uint32_t vector) const;

  // A store to a PIO block; the block, if that completes it.
  std::optional<exrnic_wqe> store_block(const MmioAccess& access);
  // Whether the ring of its queue pair, which exists, says the same as the block.
  bool is_in_ring(const exrnic_wqe& block, const ReadMemory& read_memory) const;

  bool owns_qp(uint32_t page, uint32_t qpn) const;
  bool owns_srq(uint32_t page, uint32_t srqn) const;
  bool owns_cq(uint32_t page, uint32_t cqn) const;

  // The queue pair takes its receives from where others take theirs: which one a message gets, is a
  // matter of time.
  bool shares_receives(uint32_t qpn) const;

  // The consumer index of a doorbell, as the reference counts.
  uint32_t to_reference(uint32_t cqn, uint32_t index) const;

  // Time has decided how many receives this queue pair took.
  void skew_receives(uint32_t qpn);
  bool has_skewed_receives(uint32_t qpn) const;

  // The queue pairs that a message is for: those attached to the group, or this one.
  std::vector<uint32_t> addressees(uint32_t qpn, std::optional<uint32_t> group) const;

  // Whether a queue pair of the reference knows its peer, and has a receive if it needs one.
  bool is_ready(uint32_t qpn, bool for_receive) const;

  // A doorbell of a receive queue, or of a shared one.
  void posted(uint32_t qpn, uint32_t index);
  void posted_shared(uint32_t srqn, uint32_t index);

  // A side has written this completion.
  void ended(Side side, const exrnic_cqe& cqe);

  // A doorbell that arms; `certain`: both sides do the same with it.
  void armed(uint32_t cqn, bool certain);
  bool arms_differ(uint32_t vector) const;
  bool completions_differ(uint32_t cqn) const;

  // What was destroyed is used no more. `excused`: time may have decided which completions fired.
  void rest(bool excused);
  void reset() { *this = {}; }

 private:
  void create_cq(const exrnic_mbox_create_cq& command, const ReadMemory& read_memory);
  CompletionRing::Place new_place(const ReadMemory& read_memory) const;
  void create_eq(const exrnic_mbox_create_eq& command);
  void create_qp(const exrnic_mbox_create_qp& command, const ReadMemory& read_memory);
  void create_srq(const exrnic_mbox_create_srq& command);
  void modify_qp(const exrnic_mbox_modify_qp& command);
  void detach(uint32_t qpn);

  std::array<uint32_t, EXRNIC_MBOX_DATA_BYTES / sizeof(uint32_t)> payload_{};
  std::map<uint32_t, CompletionRing> rings_;             // by cqn
  std::map<uint32_t, EventRing> event_rings_;            // by eqn
  bool begun_ = false;                                   // the last of them that was to be made
  std::map<uint32_t, WorkQueue> shared_queues_;          // by srqn
  std::map<uint32_t, QueuePairView> queue_pairs_;        // by qpn
  std::set<std::pair<uint32_t, uint32_t>> attachments_;  // group, qpn
  std::map<uint32_t, ref::PioAssembly> pio_;             // by page
  // Destroyed; the subject may lag behind.
  std::vector<uint32_t> ended_rings_, ended_event_rings_, ended_queue_pairs_;
};

}  // namespace exrnic::lockstep
