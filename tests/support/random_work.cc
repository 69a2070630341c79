// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/random_work.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <stdexcept>
#include <utility>

#include "tests/support/expected_memory.h"
#include "tests/support/memory_window.h"
#include "tests/support/pair.h"
#include "tests/support/pio.h"
#include "tests/support/rnic_driver.h"

namespace exrnic::testing {
namespace {

constexpr uint32_t kPage = 3;
constexpr uint32_t kCqn = 5;
constexpr uint32_t kSrqn = 9;
constexpr uint32_t kCqLog = 14;  // all completions of a round; or one more
constexpr uint64_t kLimitNs = 400'000'000;
// Time-outs are looked after, and strike nobody.
constexpr Rnr kPatient{1, EXRNIC_RNR_RETRY_ENDLESS, 14, EXRNIC_QP_RETRY_COUNT_MAX};
constexpr uint64_t kLateNs = 25'000;  // two to three pauses

constexpr Memory kOfPairs[] = {Memory::kSink, Memory::kLanding, Memory::kInbox, Memory::kVictim,
                               Memory::kOwnVictim};
constexpr uint32_t kVictimBytes = 64;
constexpr uint32_t kBehind = 2000 << EXRNIC_STAG_INDEX_SHIFT;  // from a memory window to its region

uint32_t rights_of(Memory memory) {
  switch (memory) {
    case Memory::kSource:
    case Memory::kVictim:
      return EXRNIC_ACCESS_REMOTE_READ;
    case Memory::kSink:
      return EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_REMOTE_WRITE;
    case Memory::kLanding:
    case Memory::kInbox:
      return EXRNIC_ACCESS_LOCAL_WRITE;
    default:
      return 0;
  }
}

bool is_victim(Memory memory) { return memory == Memory::kVictim || memory == Memory::kOwnVictim; }

TestbedOptions options_of(const Plan& plan) {
  TestbedOptions options = options_for(plan.profile.c_str());
  options.seed = plan.seed;
  const double rate = plan.fault_rate;
  options.faults.rates = {rate, rate, rate, rate, rate};
  return options;
}

// Two nodes have the same STags. On one the right side's are others, of indices that no plan names;
// and there is no other node for datagrams.
uint32_t on_one_node(uint32_t stag, unsigned side) {
  constexpr uint32_t kIndices = 1000;  // of all places of a plan
  const uint32_t index = stag >> EXRNIC_STAG_INDEX_SHIFT;
  return side == 1 && index < kIndices ? stag + (kIndices << EXRNIC_STAG_INDEX_SHIFT) : stag;
}
std::vector<exrnic_sge> on_one_node(std::vector<exrnic_sge> elements, unsigned side) {
  for (exrnic_sge& element : elements) element.stag = on_one_node(element.stag, side);
  return elements;
}
Operation on_one_node(Operation operation, const Batch& batch) {
  const unsigned peer = 1 - batch.node;
  exrnic_wqe& header = operation.header;
  operation.elements = on_one_node(operation.elements, batch.node);
  if (operation.receive) operation.receive = on_one_node(*operation.receive, peer);
  if (header.opcode == EXRNIC_WQE_OPCODE_LOCAL_INVALIDATE)
    header.imm_data = on_one_node(header.imm_data, batch.node);
  if (header.opcode == EXRNIC_WQE_OPCODE_SEND_INVALIDATE)
    header.imm_data = on_one_node(header.imm_data, peer);
  if (service_of(batch.pair) != EXRNIC_SERVICE_UD) {
    header.remote_stag = on_one_node(header.remote_stag, peer);
  } else if (header.remote_to >> EXRNIC_DATAGRAM_NODE_SHIFT == 1) {
    header.remote_to -= uint64_t{1} << EXRNIC_DATAGRAM_NODE_SHIFT;
  }
  return operation;
}

// As it stands in the ring: as many slots as it says, whatever it fills of them.
Bytes ring_bytes(const Operation& operation) {
  constexpr size_t kHeader = offsetof(exrnic_wqe, sge0_address);
  Bytes bytes(slot_count(operation) * sizeof(exrnic_wqe));
  std::memcpy(bytes.data(), &operation.header, kHeader);
  const size_t room = bytes.size() - kHeader;
  const size_t elements = operation.elements.size() * sizeof(exrnic_sge);
  if (elements > 0)
    std::memcpy(bytes.data() + kHeader, operation.elements.data(), std::min(room, elements));
  const auto& data = operation.inline_data;
  std::copy_n(data.begin(), std::min(room, data.size()), bytes.begin() + kHeader);
  return bytes;
}

// What one side has, and what it has seen in this round.
struct Party {
  Party(RnicDriver& rnic, unsigned id)
      : rnic(rnic), id(id), cq(rnic.create_cq(kCqn + id, kPage, kCqLog)) {}

  RnicDriver& rnic;
  unsigned id;
  Queue cq;
  SharedReceiveQueue srq;
  std::array<QueuePair, kPairs> qps;
  std::map<std::pair<Memory, unsigned>, Region> regions;
  std::map<std::pair<uint32_t, bool>, std::vector<exrnic_cqe>> completions;  // by qpn, receives
  std::array<unsigned, kPairs> receives{};                                   // posted
  uint32_t opened = 0;                                                       // for datagrams
  std::array<bool, kPairs> windows{};                                        // that there are
};

class Execution {
 public:
  Execution(const Plan& plan, const CoreFactory& make_core)
      : plan_(plan),
        cuts_(plan.seed),
        testbed_(options_of(plan), make_core),
        rnics_(drivers(testbed_, plan.one_node ? 1 : 2)),
        nodes_{Party(rnics_.front(), 0), Party(rnics_.back(), 1)} {
    std::mt19937_64 random(plan.seed);
    for (Party& node : nodes_) {
      node.rnic.write_register(EXRNIC_REG_MTU, plan.mtu);
      prepare(node, random);
    }
    for (unsigned pair = 0; pair < kPairs; ++pair) connect(pair);
  }

  std::string run() {
    for (const Round& round : plan_.rounds) play(round);
    check_memory();
    report_counters();
    report_memory();
    return facts_;
  }

 private:
  template <typename... Parts>
  void fact(fmt::format_string<Parts...> form, Parts&&... parts) {
    facts_ += fmt::format(form, std::forward<Parts>(parts)...) + '\n';
  }

  // ---- Preparation

  static std::deque<RnicDriver> drivers(Testbed& testbed, unsigned count) {
    std::deque<RnicDriver> drivers;
    for (unsigned node = 0; node < count; ++node) drivers.emplace_back(testbed, node);
    return drivers;
  }
  unsigned node_of(unsigned side) const { return plan_.one_node ? 0 : side; }

  void prepare(Party& node, std::mt19937_64& random) {
    node.srq = node.rnic.create_srq(kSrqn + node.id, kPage, domain_of(0), plan_.ring_log);
    for (unsigned pair = 0; pair < kPairs; ++pair) {
      QueuePairOptions options;
      options.log_slots = plan_.ring_log;
      options.max_reads_out = options.max_reads_in = max_reads_of(pair);
      options.service = service_of(pair);
      if (plan_.grh && options.service == EXRNIC_SERVICE_UD) options.flags = EXRNIC_QP_FLAGS_GRH;
      if (shares_receives(pair)) options.srqn = kSrqn + node.id;
      node.qps[pair] =
          node.rnic.create_qp(qpn_of(node.id, pair), kPage, domain_of(pair), node.cq, options);
      for (const Memory memory : kOfPairs) prepare(node, memory, pair, domain_of(pair));
    }
    for (unsigned domain = 0; domain < kDomains; ++domain) {
      prepare(node, Memory::kSource, domain, domain_of(domain));
      const Region& source = node.regions.at({Memory::kSource, domain});
      const Bytes data = random_bytes(random, kRegionBytes);
      node.rnic.write(source, 0, data);
      expected_.set(node.id, place_of(Memory::kSource, domain).stag, source.base, data);
    }
  }

  void prepare(Party& node, Memory memory, unsigned which, uint32_t pd) {
    const Place place = place_of(memory, which);
    const uint64_t bytes = is_victim(memory) ? kVictimBytes : kRegionBytes;
    const bool by_window = memory == Memory::kSink && plan_.by_window[which];
    node.regions[{memory, which}] =
        by_window ? node.rnic.create_region(stag_of(node, place) + kBehind, pd, place.base, bytes,
                                            EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_MW_BIND)
                  : node.rnic.create_region(stag_of(node, place), pd, place.base, bytes,
                                            rights_of(memory));
    expected_.set(node.id, place.stag, place.base, Bytes(bytes));
  }

  uint32_t stag_of(const Party& node, const Place& place) const {
    return plan_.one_node ? on_one_node(place.stag, node.id) : place.stag;
  }

  void connect(unsigned pair) {
    for (const unsigned id : {0u, 1u}) {
      Party& node = nodes_[id];
      node.qps[pair].sq.index = node.qps[pair].rq.index = 0;
      if (service_of(pair) == EXRNIC_SERVICE_UD) {
        // Another entry of the table each time, and another one than the other side's; one of the
        // two is a full member.
        const uint32_t index = (2 * node.opened++ + id) % EXRNIC_PKEYS;
        node.rnic.set_pkey(index, id == 0 ? EXRNIC_PKEY_FULL | 1 : 1);
        node.rnic.open_datagrams(node.qps[pair], kPlanQkey, index);
      } else {
        node.rnic.connect(node.qps[pair], node_of(1 - id), qpn_of(1 - id, pair), kPatient);
      }
    }
    for (Party& node : nodes_)
      if (plan_.by_window[pair]) bind_sink(node, pair);
  }

  // In each life of the queue pair anew, by a memory window of the driver's anew.
  void bind_sink(Party& node, unsigned pair) {
    const Place place = place_of(Memory::kSink, pair);
    const uint32_t stag = stag_of(node, place);
    if (std::exchange(node.windows[pair], true))
      node.rnic.must(EXRNIC_MBOX_OP_INVALIDATE_MR, exrnic_mbox_object{stag});
    create_memory_window(node.rnic, stag >> EXRNIC_STAG_INDEX_SHIFT, domain_of(pair));
    node.rnic.put(node.qps[pair], bind_of({stag, stag + kBehind, place.base, kRegionBytes,
                                           EXRNIC_ACCESS_REMOTE_WRITE}));
    node.rnic.ring(node.qps[pair]);
    const exrnic_cqe cqe = node.rnic.wait(node.cq, kPage);
    if (cqe.status != EXRNIC_CQE_STATUS_SUCCESS)
      throw std::runtime_error(fmt::format("node {} qp {}: a bind ended with status {}", node.id,
                                           uint32_t{cqe.qpn}, unsigned{cqe.status}));
  }

  // ---- A round

  void play(const Round& round) {
    for (const unsigned id : {0u, 1u})
      if (round.arm[id]) nodes_[id].rnic.arm(nodes_[id].cq, kPage, id == 1);
    for (const Batch& batch : round.batches)
      if (!receives_come_late(batch, round)) post_receives(batch);
    rest();  // a message must not overtake the doorbell of its receive
    for (const Batch& batch : round.batches)
      if (!is_sent_once(batch.pair)) post(batch);
    for (const unsigned id : {0u, 1u})
      if (round.resize[id]) resize(nodes_[id]);
    for (const Batch& batch : round.batches) {
      if (!receives_come_late(batch, round)) continue;
      testbed_.run_until([] { return false; }, kLateNs);
      post_receives(batch);
    }
    rest();
    // Beside the others it might find no room at its receiver. Nothing limits what goes round
    // within a node but the core: there each batch is alone.
    for (const Batch& batch : round.batches) {
      if (!is_sent_once(batch.pair)) continue;
      post(batch);
      if (plan_.one_node) rest();
    }
    rest();
    for (Party& node : nodes_) take_completions(node);
    for (const Batch& batch : round.batches) settle(batch);
    for (unsigned pair = 0; pair < kPairs; ++pair) recover(pair, round);
    restore_victims(round);
  }

  // Of one pair: its messages find no receive at first, and come again. Which of two that share
  // receives takes one, and what fails behind hostile work, would be a matter of time.
  static bool receives_come_late(const Batch& batch, const Round& round) {
    if (batch.pair != kReliablePairs - 1) return false;
    return std::none_of(round.batches.begin(), round.batches.end(), [&](const Batch& other) {
      return other.hostile && other.pair == batch.pair;
    });
  }

  void rest() {
    if (testbed_.run_until([] { return false; }, kLimitNs) != RunResult::kIdle)
      throw std::runtime_error("waited in vain for both nodes to come to rest");
  }

  // As they are posted.
  std::vector<Operation> of(const Batch& batch) const {
    std::vector<Operation> operations = batch.operations;
    if (plan_.one_node)
      for (Operation& operation : operations) operation = on_one_node(operation, batch);
    return operations;
  }

  void post_receives(const Batch& batch) {
    Party& peer = nodes_[1 - batch.node];
    QueuePair& qp = peer.qps[batch.pair];
    for (const Operation& operation : of(batch)) {
      if (!operation.receive) continue;
      ++peer.receives[batch.pair];
      if (shares_receives(batch.pair)) {
        peer.rnic.post_receive(peer.srq, *operation.receive);
      } else {
        peer.rnic.post_receive(qp, *operation.receive);
      }
    }
  }

  void post(const Batch& batch) {
    Party& node = nodes_[batch.node];
    QueuePair& qp = node.qps[batch.pair];
    bool waiting = false;  // for a doorbell
    for (const Operation& operation : of(batch)) {
      const bool by_pio = operation.by_pio && operation.header.num_slots == 1;
      if (by_pio && waiting) node.rnic.ring(qp);
      waiting = !by_pio;
      const Bytes slots = ring_bytes(operation);
      node.rnic.put(qp.sq, slots);
      if (by_pio) store_block(node.rnic, kPage, block_of(qp, slots), random_pio_stores(cuts_));
    }
    if (waiting) node.rnic.ring(qp);
  }

  void resize(Party& node) {
    const uint32_t log = node.cq.log_entries == kCqLog ? kCqLog + 1 : kCqLog;
    if (node.rnic.resize_cq(node.cq, log) != EXRNIC_MBOX_STATUS_OK)
      throw std::runtime_error(fmt::format("node {}: a resize was refused", node.id));
  }

  void take_completions(Party& node) {
    while (const auto cqe = node.rnic.poll(node.cq, kPage))
      node.completions[{cqe->qpn, cqe->opcode == EXRNIC_WQE_OPCODE_RECV}].push_back(*cqe);
  }

  // Every work request has ended; those of a good batch well, with the bytes where they belong.
  void settle(const Batch& batch) {
    Party& node = nodes_[batch.node];
    const uint32_t qpn = qpn_of(batch.node, batch.pair);
    const auto& ended = node.completions[{qpn, false}];
    const auto last = static_cast<uint16_t>(node.qps[batch.pair].sq.index - 1);
    if (ended.empty() || ended.back().wqe_index != last)
      throw std::runtime_error(
          fmt::format("node {} qp {}: work up to slot {} has not ended", batch.node, qpn, last));
    if (batch.hostile) return;
    for (const exrnic_cqe& cqe : ended)
      if (cqe.status != EXRNIC_CQE_STATUS_SUCCESS)
        throw std::runtime_error(fmt::format("node {} qp {}: slot {} ended with status {}",
                                             batch.node, qpn, uint32_t{cqe.wqe_index},
                                             unsigned{cqe.status}));
    for (const Operation& operation : batch.operations) expected_.apply(batch.node, operation);
  }

  void recover(unsigned pair, const Round& round) {
    bool anew = false;
    for (const Batch& batch : round.batches) anew |= batch.pair == pair && batch.hostile;
    for (const unsigned id : {0u, 1u}) {
      Party& node = nodes_[id];
      const uint32_t qpn = qpn_of(id, pair);
      report(id, node.completions[{qpn, false}]);
      report(id, node.completions[{qpn, true}]);
      if (!anew && node.completions[{qpn, true}].size() != node.receives[pair])
        throw std::runtime_error(fmt::format("node {} qp {}: {} of {} receives ended", id, qpn,
                                             node.completions[{qpn, true}].size(),
                                             node.receives[pair]));
      node.completions[{qpn, false}].clear();
      node.completions[{qpn, true}].clear();
      node.receives[pair] = 0;
      const exrnic_mbox_query_qp now = node.rnic.query(qpn);
      fact("node {} qp {} state {} producer {} consumer {}", id, qpn, uint32_t{now.state},
           uint32_t{now.sq_producer}, uint32_t{now.sq_consumer});
    }
    if (anew) connect_anew(pair);
  }

  // What hostile work has done to memory is compared between cores, not foretold.
  void connect_anew(unsigned pair) {
    for (const unsigned id : {0u, 1u}) {
      if (nodes_[id].rnic.modify(qpn_of(id, pair), EXRNIC_QP_STATE_RESET) != EXRNIC_MBOX_STATUS_OK)
        throw std::runtime_error("a queue pair could not be reset");
      for (const Memory memory : {Memory::kSink, Memory::kLanding, Memory::kInbox}) {
        const Region& region = nodes_[id].regions.at({memory, pair});
        expected_.set(id, place_of(memory, pair).stag, region.base,
                      nodes_[id].rnic.read(region, 0, region.length));
      }
      if (shares_receives(pair)) drop_shared_receives(nodes_[id]);
    }
    connect(pair);
  }

  // Those that no message has taken stay posted, as no queue pair owns them.
  void drop_shared_receives(Party& node) {
    const exrnic_mbox_query_srq now = node.rnic.query_srq(kSrqn + node.id);
    fact("node {} srq producer {} consumer {}", node.id, uint32_t{now.producer},
         uint32_t{now.consumer});
    if (now.producer != now.consumer) renew_srq(node);
  }

  // The queue pair goes first, as it names the queue.
  void renew_srq(Party& node) {
    const uint32_t qpn = qpn_of(node.id, 0);
    node.rnic.must(EXRNIC_MBOX_OP_DESTROY_QP, exrnic_mbox_object{qpn});
    node.rnic.must(EXRNIC_MBOX_OP_DESTROY_SRQ, exrnic_mbox_object{kSrqn + node.id});
    node.srq = node.rnic.create_srq(kSrqn + node.id, kPage, domain_of(0), plan_.ring_log);
    QueuePairOptions options;
    options.log_slots = plan_.ring_log;
    options.srqn = kSrqn + node.id;
    node.qps[0] = node.rnic.create_qp(qpn, kPage, domain_of(0), node.cq, options);
  }

  // What was invalidated belongs to the driver until it takes it back.
  void restore_victims(const Round& round) {
    std::set<std::pair<unsigned, uint32_t>> hit;
    for (const Batch& batch : round.batches)
      for (const Operation& operation : batch.operations) {
        if (operation.header.opcode == EXRNIC_WQE_OPCODE_SEND_INVALIDATE)
          hit.insert({1 - batch.node, batch.pair});
        if (operation.header.opcode == EXRNIC_WQE_OPCODE_LOCAL_INVALIDATE)
          hit.insert({batch.node, batch.pair + kPairs});
      }
    for (const auto& [id, which] : hit) {
      const bool own = which >= kPairs;
      const unsigned pair = which % kPairs;
      const Memory memory = own ? Memory::kOwnVictim : Memory::kVictim;
      const Place place = place_of(memory, pair);
      nodes_[id].rnic.must(EXRNIC_MBOX_OP_INVALIDATE_MR,
                           exrnic_mbox_object{stag_of(nodes_[id], place)});
      prepare(nodes_[id], memory, pair, domain_of(pair));
    }
  }

  // ---- Facts

  // How much of a failed work request the core had read is a matter of time, so is whether it had
  // looked at one that it flushed.
  void report(unsigned id, const std::vector<exrnic_cqe>& ended) {
    for (const exrnic_cqe& cqe : ended) {
      const bool good = cqe.status == EXRNIC_CQE_STATUS_SUCCESS;
      const bool received = cqe.opcode == EXRNIC_WQE_OPCODE_RECV;
      fact("node {} qp {} slot {} opcode {} status {} bytes {} detail {:#x} flags {} imm {:#x}", id,
           uint32_t{cqe.qpn}, uint32_t{cqe.wqe_index}, good || received ? unsigned{cqe.opcode} : 0u,
           unsigned{cqe.status}, good ? uint32_t{cqe.byte_length} : 0u, uint32_t{cqe.detail},
           unsigned{cqe.flags}, uint32_t{cqe.imm_data});
    }
  }

  void report_counters() {
    static constexpr const char* kNames[] = EXRNIC_COUNTER_NAMES;
    for (Party& node : nodes_)
      for (const auto counter :
           {EXRNIC_COUNTER_SEGMENTS_PLACED, EXRNIC_COUNTER_CQES, EXRNIC_COUNTER_CQ_OVERRUNS,
            EXRNIC_COUNTER_WQE_ERRORS, EXRNIC_COUNTER_DOORBELLS, EXRNIC_COUNTER_DOORBELLS_REFUSED,
            EXRNIC_COUNTER_PIO_REFUSED, EXRNIC_COUNTER_DMA_READ_ERRORS, EXRNIC_COUNTER_PEERS_DEAD,
            EXRNIC_COUNTER_MSIX, EXRNIC_COUNTER_RECVS, EXRNIC_COUNTER_READS_SERVED,
            EXRNIC_COUNTER_UC_LOST, EXRNIC_COUNTER_UNRELIABLE_DROPPED})
        fact("node {} {} {}", node.id, kNames[counter], node.rnic.counter(counter));
    // How often a message comes again is a matter of time, and so is WQES.
    for (Party& node : nodes_) {
      RnicDriver& rnic = node.rnic;
      fact("node {} terminates sent {} received {}", rnic.node(),
           rnic.counter(EXRNIC_COUNTER_TERMINATES_TX) - rnic.counter(EXRNIC_COUNTER_RNR_NAK_TX),
           rnic.counter(EXRNIC_COUNTER_TERMINATES_RX) - rnic.counter(EXRNIC_COUNTER_RNR_NAK_RX));
    }
  }

  void check_memory() {
    for (Party& node : nodes_)
      for (const auto& [key, region] : node.regions) {
        const std::string wrong =
            difference(node.rnic.read(region, 0, region.length),
                       expected_.bytes(node.id, place_of(key.first, key.second).stag));
        if (!wrong.empty())
          throw std::runtime_error(
              fmt::format("node {} stag {:#x}: {}", node.id, region.stag, wrong));
      }
  }

  void report_memory() {
    for (Party& node : nodes_) {
      for (const auto& [key, region] : node.regions) {
        uint64_t hash = 14695981039346656037u;  // FNV-1a
        for (const uint8_t byte : node.rnic.read(region, 0, region.length))
          hash = (hash ^ byte) * 1099511628211u;
        fact("node {} stag {:#x} hash {:#x}", node.id, region.stag, hash);
      }
      fact("node {} refused reads {} writes {}", node.id, node.rnic.host().refused_reads(),
           node.rnic.host().refused_writes().size());
    }
  }

  const Plan& plan_;
  std::mt19937_64 cuts_;  // of PIO blocks
  Testbed testbed_;
  std::deque<RnicDriver> rnics_;
  std::array<Party, 2> nodes_;
  ExpectedMemory expected_;
  std::string facts_;
};

}  // namespace

std::string run_plan(const Plan& plan, const CoreFactory& make_core) {
  return Execution(plan, make_core).run();
}

}  // namespace exrnic::testing
