// SPDX-License-Identifier: BSD-2-Clause
// Nodes with an EFE each, joined by a channel that loses, doubles, overtakes, breaks and delays.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>

#include "Vefe_loop.h"
#include "rtl-model/testing/bench.h"
#include "rtl-model/tiles/wire/efe_tx/efe_types.h"

namespace exrnic::testing {

// A segment that was placed at its receiver.
struct Placed {
  uint8_t from = 0;
  uint32_t seq = 0;
  uint32_t src_qpn = 0;
  Bytes segment;
};

// What a node is to send. Its number is in the source queue pair and in the tag.
struct Work {
  uint8_t to = 0;
  uint16_t number = 0;
  Bytes payload;
  bool untagged = false;
  bool unreadable = false;  // the last part of the payload fails
};

inline Bytes header_of(const Work& work) {
  Bytes header(work.untagged ? EXRNIC_DDP_UNTAGGED_BYTES : EXRNIC_DDP_TAGGED_BYTES);
  for (std::size_t i = 1; i < header.size(); ++i)
    header[i] = static_cast<uint8_t>(work.number + 3 * i);
  header[0] = work.untagged ? 0x41 : 0xc1;
  return header;
}

inline Bytes segment_of(const Work& work) {
  Bytes segment = header_of(work);
  segment.insert(segment.end(), work.payload.begin(), work.payload.end());
  return segment;
}

class EfeNode : public Bench<Vefe_loop> {
 public:
  static constexpr unsigned kBeat = sizeof(Vefe_loop::tx_data_o);

  EfeNode(uint8_t node, uint32_t seed, uint32_t rto, uint8_t retry_limit)
      : Bench(false), node_(node), random_(seed) {
    dut().cfg_node_i = node;
    dut().cfg_rto_cycles_i = rto;
    dut().cfg_retry_limit_i = retry_limit;
    dut().enable_i = 1;
    dut().time_i = seed;
    dut().done_ready_i = 1;
    reset();
    wait_for("init_done_o", 1000, [this] { return dut().init_done_o; });
  }

  // Power cycle: everything is forgotten, on the way too.
  void restart(uint32_t seed) {
    dut().time_i = seed;
    to_send_.clear();
    beats_.clear();
    placing_.reset();
    injector_ = {};
    collector_ = {};
    reset();
    wait_for("init_done_o", 1000, [this] { return dut().init_done_o; });
  }

  void cycle() override {
    if (!dut().rst_ni) return Bench::cycle();  // outputs mean nothing yet
    drive();
    settle();
    sample();
    tick();
    settle();
  }

  void post(Work work) { to_send_.push_back(std::move(work)); }
  void receive(Frame frame) { arrived_.push_back(std::move(frame)); }
  bool quiet() { return dut().idle_o && to_send_.empty() && arrived_.empty() && !injector_.busy(); }

  uint8_t node() const { return node_; }

  std::function<void(Frame)> transmit;
  // Called when a segment is handed out; true: it is refused, or put off.
  std::function<bool(const RxDesc&)> refuse = [](const RxDesc&) { return false; };
  unsigned refused = 0;
  unsigned put_off = 0;

  // What a refusal of the peer says.
  struct Named {
    uint32_t work = 0;    // its number, by queue pair
    uint32_t number = 0;  // of the segment
    bool ended = false;   // its slot had, before we heard
  };
  std::vector<Named> named;

  std::vector<Placed> placed;
  std::vector<TxDone> dones;
  Counters counters{};
  unsigned dead_node = ~0u;   // the last peer that was given up
  unsigned place_delay = 20;  // up to

 private:
  struct Placing {
    RxDesc desc;
    Bytes bytes;
    unsigned wait = 0;
    bool reading = false;
    enum { kServed, kToRefuse, kRefused, kPutOff } verdict = kServed;
  };

  void drive() {
    drive_send();
    drive_beat();
    drive_place();
    dut().tx_ready_i = random_() % 8 != 0;
    if (!injector_.busy() && !arrived_.empty()) {
      injector_.start(std::move(arrived_.front()));
      arrived_.pop_front();
    }
    injector_.drive(dut());
  }

  void drive_send() {
    dut().submit_valid_i = 0;
    dut().alloc_ready_i = 0;
    if (to_send_.empty() || beats_.size() > 64) return;
    dut().quota_node_i = to_send_.front().to;
    settle();
    if (!dut().quota_room_o || !dut().alloc_payload_valid_o || !dut().submit_ready_o) return;
    const Work work = std::move(to_send_.front());
    to_send_.pop_front();
    TxDesc desc;
    desc.slot = dut().alloc_slot_o;
    desc.node = work.to;
    desc.src_qpn = work.number;
    desc.untagged = work.untagged;
    put_bytes(desc.ddp, header_of(work));
    desc.length = static_cast<uint16_t>(work.payload.size());
    desc.tag.wqe_index = work.number;
    queue_beats(desc.slot, work);
    pack(dut().submit_i, desc);
    dut().submit_valid_i = 1;
    dut().alloc_ready_i = 1;
  }

  void queue_beats(uint8_t slot, const Work& work) {
    const auto& payload = work.payload;
    for (std::size_t at = 0; at < payload.size();) {
      std::size_t bytes = std::min<std::size_t>(1 + random_() % kBeat, payload.size() - at);
      const bool error = work.unreadable && at + bytes == payload.size();
      beats_.push_back(read_beat(slot, payload, at, bytes));
      beats_.back().error = error;
      at += bytes;
    }
  }

  void drive_beat() {
    dut().beat_valid_i = !beats_.empty() && random_() % 4 != 0;
    if (!dut().beat_valid_i) return;
    pack(dut().beat_i, beats_.front());
    beats_.pop_front();
  }

  // Takes segments one by one, reads them, and says that they are placed.
  void drive_place() {
    dut().desc_ready_i = 0;
    dut().frame_done_valid_i = 0;
    dut().refuse_start_i = 0;
    if (!placing_) {
      if (!dut().desc_valid_o) return;
      placing_ = Placing{unpack<RxDesc>(dut().desc_o), {}, random_unsigned(place_delay)};
      dut().desc_ready_i = 1;
    }
    Placing& now = *placing_;
    if (now.reading) {
      for (unsigned i = 0; i < kBeat && now.bytes.size() < now.desc.length; ++i)
        now.bytes.push_back(static_cast<uint8_t>(dut().read_data_o[i / 4] >> (8 * (i % 4))));
    }
    now.reading = now.bytes.size() < now.desc.length;
    dut().read_address_i = static_cast<uint32_t>((now.desc.start + now.bytes.size()) % kRxBytes);
    if (now.reading || now.wait-- > 0) return;
    now.wait = 0;
    if (now.desc.stale) {
      end_segment(now);
    } else if (judged(now)) {
      finish_segment(now);
    } else {
      return;
    }
    placing_.reset();
  }

  // A refused one is over when that is in force, or it is put off.
  bool judged(Placing& now) {
    if (is_terminate(now.desc)) {
      hear(now.desc);
    } else if (now.verdict == Placing::kServed && refuse(now.desc)) {
      now.verdict = Placing::kToRefuse;
      pack(dut().refuse_desc_i, now.desc);
      dut().refuse_start_i = 1;
    }
    return now.verdict != Placing::kToRefuse;
  }

  static bool is_terminate(const RxDesc& desc) {
    return !exrnic_ddp_tagged_t(desc.ddp.data()) &&
           exrnic_ddp_untagged_qn(desc.ddp.data()) == EXRNIC_TERMINATE_QN;
  }

  void hear(const RxDesc& desc) {
    const bool ended = std::any_of(dones.begin(), dones.end(), [&](const TxDone& done) {
      return done.tag.wqe_index == desc.dst_qpn;
    });
    named.push_back({desc.dst_qpn, desc.ack, ended});
  }

  void finish_segment(const Placing& now) {
    const std::size_t head = std::min(now.desc.ddp.size(), now.bytes.size());
    if (!std::equal(now.bytes.begin(), now.bytes.begin() + head, now.desc.ddp.begin()))
      throw std::runtime_error("the descriptor quotes another header than the segment has");
    refused += now.verdict == Placing::kRefused;
    put_off += now.verdict == Placing::kPutOff;
    if (now.verdict != Placing::kPutOff && !is_terminate(now.desc))
      placed.push_back({now.desc.node, now.desc.seq, now.desc.src_qpn, now.bytes});
    end_segment(now);
  }

  void end_segment(const Placing& now) {
    dut().frame_done_valid_i = 1;
    dut().frame_done_node_i = now.desc.node;
  }

  void sample() {
    const uint64_t dead_before = counters[EXRNIC_COUNTER_PEERS_DEAD];
    count_events(counters, dut());
    if (counters[EXRNIC_COUNTER_PEERS_DEAD] != dead_before) dead_node = dut().dead_node_o;
    if (dut().refuse_done_o && placing_)
      placing_->verdict = dut().refuse_put_off_o ? Placing::kPutOff : Placing::kRefused;
    if (dut().done_valid_o) {
      dones.push_back(unpack<TxDone>(dut().done_o));
    }
    if (collector_.sample(dut())) transmit(collector_.take());
    if (collector_.broken()) throw std::runtime_error("a frame without a first or last beat");
  }

  unsigned random_unsigned(unsigned limit) {
    return static_cast<unsigned>(random_() % (limit + 1));
  }

  uint8_t node_;
  std::mt19937 random_;
  std::deque<Work> to_send_;
  std::deque<DmaReadBeat> beats_;
  std::deque<Frame> arrived_;
  std::optional<Placing> placing_;
  FrameInjector injector_;
  FrameCollector collector_;
};

enum class Fault { kNone, kDrop, kDuplicate, kReorder, kCorrupt, kDelay };

// Two nodes, 1 and 2, and what is between them.
class Pair {
 public:
  using Decide = std::function<Fault(const Frame&, unsigned index)>;

  explicit Pair(uint32_t seed, uint32_t rto = 1200, uint8_t retry_limit = 8)
      : random_(seed), a(1, seed + 1, rto, retry_limit), b(2, seed + 2, rto, retry_limit) {
    a.transmit = [this](Frame frame) { send(std::move(frame)); };
    b.transmit = [this](Frame frame) { send(std::move(frame)); };
  }

  Decide decide = [](const Frame&, unsigned) { return Fault::kNone; };

  EfeNode& at(uint8_t node) { return node == 1 ? a : b; }
  unsigned frames() const { return frames_; }

  void run(int cycles) {
    for (int i = 0; i < cycles; ++i) cycle();
  }
  // Until nothing is left to do in the nodes or between them.
  void settle(int limit = 400000) {
    for (int i = 0; !(a.quiet() && b.quiet() && channel_.empty()); ++i) {
      if (i == limit) throw std::runtime_error("waited in vain for the nodes to come to rest");
      cycle();
    }
  }

 private:
  void cycle() {
    ++now_;
    while (!channel_.empty() && channel_.begin()->first <= now_) {
      Frame frame = std::move(channel_.begin()->second);
      channel_.erase(channel_.begin());
      at(frame.dst_node()).receive(std::move(frame));
    }
    a.cycle();
    b.cycle();
  }

  void send(Frame frame) {
    uint64_t when = now_ + 40;
    switch (decide(frame, frames_++)) {
      case Fault::kNone:
        break;
      case Fault::kDrop:
        return;
      case Fault::kDuplicate:
        channel_.emplace(when + 1 + random_() % 400, frame);
        break;
      case Fault::kReorder:  // the next ones overtake it
        when += 100;
        break;
      case Fault::kCorrupt:
        frame.data[random_() % frame.data.size()] ^= static_cast<uint8_t>(1 + random_() % 255);
        frame.data[5] = frame.data[11] == 1 ? 2 : 1;  // it still finds its way
        frame.fcs_error = true;
        break;
      case Fault::kDelay:
        when += 3000;
        break;
    }
    channel_.emplace(when, std::move(frame));
  }

  std::mt19937 random_;
  std::multimap<uint64_t, Frame> channel_;
  uint64_t now_ = 0;
  unsigned frames_ = 0;

 public:
  EfeNode a, b;
};

}  // namespace exrnic::testing
