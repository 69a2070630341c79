// SPDX-License-Identifier: BSD-2-Clause
#include "sim/workload/host.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "exrnic_records.h"
#include "sim/files/data_file.h"

namespace exrnic::workload {
namespace {

constexpr uint32_t kUserPage = 1;
constexpr uint32_t kPd = 1;
constexpr uint32_t kCqn = 1;
constexpr uint32_t kStag = 1u << EXRNIC_STAG_INDEX_SHIFT;
constexpr uint32_t kQkey = 1;

// What an address of this host's memory is. A ring has so much of it, whatever it needs.
constexpr uint64_t kSpace = uint64_t{1} << 40;
constexpr uint64_t kRings = 1 * kSpace;
constexpr uint64_t kReceives = 2 * kSpace;
constexpr uint64_t kPayload = 3 * kSpace;
constexpr uint64_t kPages = 4 * kSpace;
constexpr uint64_t kRingSpan = sizeof(exrnic_cqe) << EXRNIC_CQ_LOG_MAX;

constexpr uint32_t kMostReceives = 1024;  // posted to one queue

// Of simulated time, until an RNIC is ready, or a mailbox command has ended. Each takes far less.
constexpr uint64_t kPatienceMs = 10;

uint64_t page_list_of(uint64_t address) {
  return kPages + (address >> EXRNIC_PAGE_SHIFT) * EXRNIC_PBL_ENTRY_SIZE;
}

uint32_t log_of(uint64_t entries) {
  uint32_t log = EXRNIC_RING_LOG_MIN;
  while (uint64_t{1} << log < entries) ++log;
  return log;
}

template <typename Payload>
std::vector<uint32_t> words_of(const Payload& payload) {
  std::vector<uint32_t> words((sizeof payload + sizeof(uint32_t) - 1) / sizeof(uint32_t));
  std::memcpy(words.data(), &payload, sizeof payload);
  return words;
}

// Repeats `unit` for ever, from `offset` on.
template <typename Unit>
void repeat(const Unit& unit, uint64_t offset, uint8_t* out, size_t length) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(&unit);
  for (size_t i = 0; i < length; ++i) out[i] = bytes[(offset + i) % sizeof unit];
}

exrnic_wqe with_element(uint8_t opcode, uint32_t bytes) {
  exrnic_wqe wqe{};
  wqe.opcode = opcode;
  wqe.num_sge = 1;
  wqe.num_slots = 1;
  wqe.length = bytes;
  wqe.sge0_address = kPayload;
  wqe.sge0_length = bytes;
  wqe.sge0_stag = kStag;
  return wqe;
}

}  // namespace

Host::Host(Node& node, const Workload& workload, const Plan& plan, const std::string& where)
    : node_(node), workload_(workload), plan_(plan), endpoints_(plan.endpoints(node.id())) {
  for (const Traffic& traffic : workload_.traffic)
    for (const Size& size : traffic.sizes) largest_ = std::max(largest_, size.bytes);
  add_ring(0);  // of the completions; its size follows
  flows_.resize(endpoints_.size());
  size_t count = Plan::kFirstQpn;
  for (const Endpoint& endpoint : endpoints_) count += endpoint.qps();
  queue_pairs_.reserve(count);
  uint64_t completions = 1;
  for (unsigned i = 0; i < endpoints_.size(); ++i) {
    add_queue_pairs(endpoints_[i], i);
    completions += std::min<size_t>(workload_.traffic[endpoints_[i].traffic].outstanding,
                                    endpoints_[i].messages.size());
  }
  for (const QueuePair& qp : queue_pairs_)
    if (takes_receives(qp)) completions += uint64_t{1} << qp.log_receives;
  log_completions_ = log_of(completions);
  if (log_completions_ > EXRNIC_CQ_LOG_MAX) {
    throw DataFileError(
        fmt::format("{}: {} completions of node {} could wait at once, and a completion queue has "
                    "{}; let fewer "
                    "be outstanding, or fewer nodes send",
                    where, completions, node.id(), 1u << EXRNIC_CQ_LOG_MAX));
  }
  rings_.front().resize(sizeof(exrnic_cqe) << log_completions_);
  node_.connect_host(this);
  if (!endpoints_.empty()) await_ready();
}

Host::~Host() { node_.connect_host(nullptr); }

unsigned Host::add_ring(uint64_t bytes) {
  rings_.emplace_back(bytes);
  return static_cast<unsigned>(rings_.size() - 1);
}

void Host::add_queue_pairs(const Endpoint& endpoint, unsigned index) {
  const Traffic& traffic = workload_.traffic[endpoint.traffic];
  const auto add = [&](unsigned peer, uint32_t sends, uint32_t expects) {
    QueuePair qp{};
    qp.qpn = Plan::kFirstQpn + static_cast<uint32_t>(queue_pairs_.size());
    qp.endpoint = index;
    qp.peer = peer;
    qp.log_slots = log_of(std::min(sends, traffic.outstanding));
    qp.log_receives = log_of(
        std::min(expects, endpoint.datagrams ? kMostReceives
                                             : std::min(2 * traffic.outstanding, kMostReceives)));
    qp.ring = add_ring(sizeof(exrnic_wqe) << qp.log_slots);
    qp.posted.resize(size_t{1} << qp.log_slots);
    queue_pairs_.push_back(std::move(qp));
    return &queue_pairs_.back();
  };
  const auto sum = [](const std::vector<uint32_t>& counts) {
    uint64_t result = 0;
    for (const uint32_t count : counts) result += count;
    return static_cast<uint32_t>(std::min<uint64_t>(result, kMostReceives));
  };
  Flow& flow = flows_[index];
  flow.sent.resize(endpoint.messages.size());
  if (endpoint.datagrams) {
    flow.to.assign(endpoint.peers.size(), add(0, sum(endpoint.sends), sum(endpoint.expects)));
  } else {
    for (unsigned i = 0; i < endpoint.peers.size(); ++i)
      flow.to.push_back(add(i, endpoint.sends[i], endpoint.expects[i]));
  }
}

bool Host::takes_receives(const QueuePair& qp) const {
  const Endpoint& endpoint = endpoints_[qp.endpoint];
  return exrnic_of_wqe_opcode(traffic_of(qp).operation).receive &&
         (endpoint.datagrams || endpoint.expects[qp.peer] != 0);
}

// The same at both ends: as many as there are for each queue pair of the node that has most.
uint32_t Host::places_for_pulls(const QueuePair& qp) const {
  if (!exrnic_of_wqe_opcode(traffic_of(qp).operation).pull) return 0;
  uint32_t places = EXRNIC_MAX_READS;
  while (places > EXRNIC_READ_SLICE && plan_.most_queue_pairs() * places > records::kNReads) {
    places /= 2;
  }
  return places;
}

// ---- Setting up: a register or a command after the other, each when the one before has ended.

void Host::await_ready() {
  node_.device().mmio_read(EXRNIC_BAR_REGISTERS, EXRNIC_REG_STATUS, 4, [this](uint64_t status) {
    if (!(status & EXRNIC_DEVICE_STATUS_READY)) {
      if (has_patience()) return await_ready();
      trouble_ = fmt::format("it is not ready after {} ms of simulated time", kPatienceMs);
      return;
    }
    node_.device().mmio_write(EXRNIC_BAR_REGISTERS, EXRNIC_REG_CONTROL, 4,
                              EXRNIC_DEVICE_CONTROL_ENABLE);
    node_.device().mmio_write(EXRNIC_BAR_REGISTERS, EXRNIC_REG_MTU, 4, workload_.mtu);
    set_up(0);
  });
}

// Asked when the RNIC has answered that it is not done yet.
bool Host::has_patience() {
  const SimTime now = node_.scheduler().now();
  if (!waits_since_) waits_since_ = now;
  return now - *waits_since_ < kPatienceMs * 1000 * kPsPerUs;
}

// Two for the node, and four for each of its queue pairs.
void Host::set_up(size_t step) {
  waits_since_.reset();
  if (step == 2 + 4 * queue_pairs_.size()) {
    for (QueuePair& qp : queue_pairs_)
      if (takes_receives(qp)) post_receives(qp, 1u << qp.log_receives);
    ready_ = true;
    return;
  }
  const Command next = command(step);
  for (size_t i = 0; i < next.payload.size(); ++i)
    node_.device().mmio_write(EXRNIC_BAR_REGISTERS, EXRNIC_REG_MBOX_DATA + 4 * i, 4,
                              next.payload[i]);
  node_.device().mmio_write(EXRNIC_BAR_REGISTERS, EXRNIC_REG_MBOX_COMMAND, 4, next.op);
  await_command(step);
}

void Host::await_command(size_t step) {
  node_.device().mmio_read(
      EXRNIC_BAR_REGISTERS, EXRNIC_REG_MBOX_STATUS, 4, [this, step](uint64_t status) {
        if (status == EXRNIC_MBOX_STATUS_BUSY) {
          if (has_patience()) return await_command(step);
          trouble_ = fmt::format("mailbox command {} has not ended after {} ms of simulated time",
                                 static_cast<unsigned>(command(step).op), kPatienceMs);
          return;
        }
        if (status == EXRNIC_MBOX_STATUS_OK) return set_up(step + 1);
        trouble_ = fmt::format("mailbox command {} ended with status {}",
                               static_cast<unsigned>(command(step).op), status);
      });
}

Host::Command Host::command(size_t step) const {
  if (step == 0) {
    exrnic_mbox_create_cq create{};
    create.cqn = kCqn;
    create.page = kUserPage;
    create.log_entries = log_completions_;
    create.pbl_address = page_list_of(kRings);
    create.eqn = EXRNIC_NO_EQ;
    return {EXRNIC_MBOX_OP_CREATE_CQ, words_of(create)};
  }
  if (step == 1) {
    exrnic_mbox_register_mr create{};
    create.stag = kStag;
    create.pd = kPd;
    create.base = kPayload;
    create.length = largest_;
    create.pbl_address = page_list_of(kPayload);
    create.access = EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_REMOTE_WRITE |
                    EXRNIC_ACCESS_REMOTE_READ | EXRNIC_ACCESS_REMOTE_ATOMIC;
    create.page_shift = EXRNIC_PAGE_SHIFT;
    return {EXRNIC_MBOX_OP_REGISTER_MR, words_of(create)};
  }
  const QueuePair& qp = queue_pairs_[(step - 2) / 4];
  switch ((step - 2) % 4) {
    case 0:
      return create_qp(qp);
    case 1:
      return modify_qp(qp, EXRNIC_QP_STATE_INIT);
    case 2:
      return modify_qp(qp, EXRNIC_QP_STATE_RTR);
    default:
      return modify_qp(qp, EXRNIC_QP_STATE_RTS);
  }
}

Host::Command Host::create_qp(const QueuePair& qp) const {
  exrnic_mbox_create_qp create{};
  create.qpn = qp.qpn;
  create.page = kUserPage;
  create.pd = kPd;
  create.send_cqn = create.recv_cqn = kCqn;
  create.sq_log_slots = qp.log_slots;
  create.rq_log_slots = qp.log_receives;
  create.service = traffic_of(qp).service;
  create.sq_pbl_address = page_list_of(kRings + qp.ring * kRingSpan);
  create.rq_pbl_address = page_list_of(kReceives);
  create.srqn = EXRNIC_NO_SRQ;
  create.max_reads_out = create.max_reads_in = places_for_pulls(qp);
  return {EXRNIC_MBOX_OP_CREATE_QP, words_of(create)};
}

Host::Command Host::modify_qp(const QueuePair& qp, exrnic_qp_state state) const {
  const Endpoint& endpoint = endpoints_[qp.endpoint];
  exrnic_mbox_modify_qp change{};
  change.qpn = qp.qpn;
  change.state = state;
  if (endpoint.datagrams && state == EXRNIC_QP_STATE_INIT) {
    change.attributes = EXRNIC_QP_ATTRIBUTES_QKEY | EXRNIC_QP_ATTRIBUTES_PKEY_INDEX;
    change.qkey = kQkey;
  }
  if (!endpoint.datagrams && state == EXRNIC_QP_STATE_RTR) {
    change.attributes = EXRNIC_QP_ATTRIBUTES_DEST;
    change.dest_node = endpoint.peers[qp.peer];
    change.dest_qpn = plan_.qpn(endpoint.traffic, change.dest_node, node_.id());
  }
  if (endpoint.datagrams || state != EXRNIC_QP_STATE_RTS ||
      traffic_of(qp).service != EXRNIC_SERVICE_RC)
    return {EXRNIC_MBOX_OP_MODIFY_QP, words_of(change)};
  change.attributes = EXRNIC_QP_ATTRIBUTES_RNR_RETRY;
  change.rnr_retry = EXRNIC_RNR_RETRY_ENDLESS;
  return {EXRNIC_MBOX_OP_MODIFY_QP, words_of(change)};
}

void Host::require_ready() const {
  if (ready_ || endpoints_.empty()) return;
  throw std::runtime_error(fmt::format("node {} cannot be set up for the workload: {}", node_.id(),
                                       trouble_.empty() ? "it does not answer" : trouble_));
}

// ---- The workload.

void Host::start(SimTime begin) {
  begin_ = begin;
  for (unsigned i = 0; i < flows_.size(); ++i) {
    flows_[i].due = node_.scheduler().alarm([this, i] { advance(i); });
    flows_[i].due->set(begin);
  }
}

void Host::advance(unsigned endpoint) {
  Flow& flow = flows_[endpoint];
  const std::vector<Message>& messages = endpoints_[endpoint].messages;
  const Traffic& traffic = workload_.traffic[endpoints_[endpoint].traffic];
  const SimTime now = node_.scheduler().now();
  while (flow.next < messages.size() && flow.under_way < traffic.outstanding) {
    const Message& message = messages[flow.next];
    if (message.needs > flow.received) return;
    const SimTime due = begin_ + message.at_ns * kPsPerNs;
    if (due > now) return flow.due->set(due);
    flow.sent[flow.next].start = traffic.megabits_per_second ? due : now;
    post(endpoint, message);
    ++flow.next;
    ++flow.under_way;
  }
}

void Host::post(unsigned endpoint, const Message& message) {
  const Endpoint& own = endpoints_[endpoint];
  const auto peer = std::lower_bound(own.peers.begin(), own.peers.end(), message.to);
  QueuePair& qp = *flows_[endpoint].to[peer - own.peers.begin()];
  const Traffic& traffic = traffic_of(qp);
  const auto properties = exrnic_of_wqe_opcode(traffic.operation);
  exrnic_wqe wqe = with_element(traffic.operation, message.bytes);
  wqe.flags = EXRNIC_WQE_FLAGS_SIGNALED;
  if (properties.remote) {
    wqe.remote_to = kPayload;
    wqe.remote_stag = kStag;
  }
  if (properties.atomic) wqe.sge1_address = 1;
  if (own.datagrams) {
    wqe.remote_to = uint64_t{message.to} << EXRNIC_DATAGRAM_NODE_SHIFT |
                    plan_.qpn(own.traffic, message.to, node_.id());
    wqe.remote_stag = kQkey;
  }
  const uint32_t slot = qp.sends++ & ((1u << qp.log_slots) - 1);
  qp.posted[slot] = flows_[endpoint].next;
  std::memcpy(rings_[qp.ring].data() + slot * sizeof wqe, &wqe, sizeof wqe);
  ring_doorbell(EXRNIC_DOORBELL_SQ, qp.qpn, qp.sends);
}

void Host::post_receives(QueuePair& qp, uint32_t count) {
  qp.receives = static_cast<uint16_t>(qp.receives + count);
  ring_doorbell(EXRNIC_DOORBELL_RQ, qp.qpn, qp.receives);
}

void Host::ring_doorbell(uint32_t offset, uint32_t number, uint32_t index) {
  const exrnic_doorbell bell{number, index};
  uint64_t value;
  std::memcpy(&value, &bell, sizeof value);
  node_.device().mmio_write(EXRNIC_BAR_USER, kUserPage * EXRNIC_USER_PAGE_SIZE + offset, 8, value);
}

void Host::take_completions() {
  looks_ = false;
  const uint32_t before = completions_;
  for (exrnic_cqe cqe;; ++completions_) {
    const uint32_t slot = completions_ & ((1u << log_completions_) - 1);
    std::memcpy(&cqe, rings_.front().data() + slot * sizeof cqe, sizeof cqe);
    if (cqe.phase != !(completions_ >> log_completions_ & 1)) break;
    take(cqe);
  }
  if (completions_ != before) ring_doorbell(EXRNIC_DOORBELL_CQ, kCqn, completions_);
  for (unsigned i = 0; i < flows_.size(); ++i) advance(i);
}

void Host::take(const exrnic_cqe& cqe) {
  QueuePair& qp = queue_pairs_.at(cqe.qpn - Plan::kFirstQpn);
  Flow& flow = flows_[qp.endpoint];
  if (cqe.opcode == EXRNIC_WQE_OPCODE_RECV) {
    if (cqe.status != EXRNIC_CQE_STATUS_SUCCESS) return;
    ++flow.received;
    return post_receives(qp, 1);
  }
  Sent& sent = flow.sent[qp.posted[cqe.wqe_index & ((1u << qp.log_slots) - 1)]];
  sent.end = node_.scheduler().now();
  sent.failed = cqe.status != EXRNIC_CQE_STATUS_SUCCESS;
  --flow.under_way;
}

// ---- Its memory.

bool Host::dma_read(uint64_t address, uint8_t* out, size_t length) {
  const uint64_t at = address % kSpace;
  switch (address - at) {
    case kRings: {
      const uint64_t ring = at / kRingSpan, offset = at % kRingSpan;
      if (ring >= rings_.size() || offset + length > rings_[ring].size()) return false;
      std::memcpy(out, rings_[ring].data() + offset, length);
      return true;
    }
    case kReceives:
      repeat(with_element(EXRNIC_WQE_OPCODE_RECV, largest_), at, out, length);
      return true;
    case kPayload:
      std::memset(out, 0, length);
      return true;
    case kPages:
      for (size_t i = 0; i < length; ++i) {
        const uint64_t page = (at + i) / EXRNIC_PBL_ENTRY_SIZE << EXRNIC_PAGE_SHIFT;
        out[i] = static_cast<uint8_t>(page >> 8 * ((at + i) % EXRNIC_PBL_ENTRY_SIZE));
      }
      return true;
    default:
      return false;
  }
}

bool Host::dma_write(uint64_t address, const uint8_t* data, size_t length) {
  const uint64_t at = address % kSpace;
  if (address - at == kPayload) return true;
  if (address - at != kRings || at + length > rings_.front().size()) return false;
  std::memcpy(rings_.front().data() + at, data, length);
  if (!looks_) {
    looks_ = true;
    node_.scheduler().at(node_.scheduler().now(), [this] { take_completions(); });
  }
  return true;
}

}  // namespace exrnic::workload
