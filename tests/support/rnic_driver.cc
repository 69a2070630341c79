// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/rnic_driver.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

namespace exrnic::testing {
namespace {

constexpr uint64_t kPage = 1u << EXRNIC_PAGE_SHIFT;
constexpr uint64_t kMemoryTop = 0x4'0000'0000;  // above 4 GiB: addresses need more than 32 bits
constexpr int kCommandPolls = 10'000;

template <typename T>
Bytes bytes_of(const T& value) {
  const auto* first = reinterpret_cast<const uint8_t*>(&value);
  return Bytes(first, first + sizeof value);
}

}  // namespace

RnicDriver::RnicDriver(Testbed& testbed, unsigned node)
    : testbed_(testbed), node_(node), host_(testbed, node) {
  start();
}

void RnicDriver::start() {
  for (int i = 0; !(read_register(EXRNIC_REG_STATUS) & EXRNIC_DEVICE_STATUS_READY); ++i)
    if (i == kCommandPolls) throw std::runtime_error("waited in vain for the device to be ready");
  write_register(EXRNIC_REG_CONTROL, EXRNIC_DEVICE_CONTROL_ENABLE);
}

uint32_t RnicDriver::read_register(uint32_t offset) {
  return static_cast<uint32_t>(host_.load(EXRNIC_BAR_REGISTERS, offset, 4));
}

void RnicDriver::write_register(uint32_t offset, uint32_t value) {
  host_.store(EXRNIC_BAR_REGISTERS, offset, 4, value);
}

uint64_t RnicDriver::counter(exrnic_counter which) {
  const uint32_t offset = EXRNIC_REG_COUNTERS + 8 * which;
  const uint64_t low = read_register(offset);
  return low | static_cast<uint64_t>(read_register(offset + 4)) << 32;
}

void RnicDriver::begin(exrnic_mbox_op op, const void* payload, size_t bytes) {
  for (size_t at = 0; at < bytes; at += 4) {
    uint32_t word;
    std::memcpy(&word, static_cast<const uint8_t*>(payload) + at, 4);
    write_register(static_cast<uint32_t>(EXRNIC_REG_MBOX_DATA + at), word);
  }
  write_register(EXRNIC_REG_MBOX_COMMAND, op);
}

exrnic_mbox_status RnicDriver::command(exrnic_mbox_op op, const void* payload, size_t bytes) {
  begin(op, payload, bytes);
  for (int i = 0; i < kCommandPolls; ++i) {
    const uint32_t status = read_register(EXRNIC_REG_MBOX_STATUS);
    if (status != EXRNIC_MBOX_STATUS_BUSY) return static_cast<exrnic_mbox_status>(status);
  }
  throw std::runtime_error("waited in vain for mailbox command " + std::to_string(op));
}

void RnicDriver::expect_ok(exrnic_mbox_op op, exrnic_mbox_status status) {
  if (status == EXRNIC_MBOX_STATUS_OK) return;
  throw std::runtime_error("mailbox command " + std::to_string(op) + " ended with status " +
                           std::to_string(status));
}

// Pages come in blocks of 16, shuffled within a block by a step of 5, with a gap behind each.
uint64_t RnicDriver::next_page() {
  const uint64_t n = pages_used_++;
  return kMemoryTop + ((n & ~uint64_t{15}) | (n * 5 & 15)) * 2 * kPage;
}

uint64_t RnicDriver::pin_pbl(const std::vector<uint64_t>& pages) {
  const uint64_t per_page = kPage / EXRNIC_PBL_ENTRY_SIZE;
  const uint64_t pbl_pages = (pages.size() + per_page - 1) / per_page;
  // A PBL is contiguous: take it from memory of its own.
  static constexpr uint64_t kPblSpace = 0x8'0000'0000;
  constexpr uint64_t kPblPagesMax = 64;
  const uint64_t at = kPblSpace + pages_used_ * kPage * kPblPagesMax;
  ++pages_used_;
  if (pbl_pages > kPblPagesMax) throw std::runtime_error("PBL too long for the tests' memory");
  Bytes entries(pbl_pages * kPage);
  std::memcpy(entries.data(), pages.data(), pages.size() * sizeof pages[0]);
  host_.poke(at, entries);
  const uint64_t used = pages.size() * EXRNIC_PBL_ENTRY_SIZE;
  host_.grant(at, (used + EXRNIC_PBL_LINE_SIZE - 1) / EXRNIC_PBL_LINE_SIZE * EXRNIC_PBL_LINE_SIZE,
              DmaRights::kRead);
  return at;
}

PinnedPages RnicDriver::pin(uint64_t first_offset, uint64_t bytes, DmaRights rights) {
  PinnedPages memory;
  const uint64_t count = std::max<uint64_t>(1, (first_offset + bytes + kPage - 1) / kPage);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t from = i == 0 ? first_offset : 0;
    const uint64_t to = std::min(kPage, first_offset + bytes - i * kPage);
    memory.pages.push_back(next_page());
    host_.grant(memory.pages.back() + from, to - from, rights);
  }
  memory.pbl = pin_pbl(memory.pages);
  return memory;
}

Queue RnicDriver::make_ring(uint32_t number, uint32_t log_entries, uint32_t entry_bytes,
                            DmaRights rights) {
  Queue queue;
  queue.number = number;
  queue.log_entries = log_entries;
  queue.ring = pin(0, uint64_t{entry_bytes} << log_entries, rights);
  return queue;
}

Queue RnicDriver::create_cq(uint32_t cqn, uint32_t page, uint32_t log_entries, uint32_t vector,
                            const Moderation& moderation) {
  exrnic_mbox_create_cq create{};
  create.msix_vector = vector;
  create.eqn = EXRNIC_NO_EQ;
  return create_cq(make_ring(cqn, log_entries, sizeof(exrnic_cqe), DmaRights::kWrite), create, page,
                   moderation);
}

Queue RnicDriver::create_cq(uint32_t cqn, uint32_t page, const EventQueue& eq, uint32_t log_entries,
                            const Moderation& moderation) {
  exrnic_mbox_create_cq create{};
  create.eqn = eq.eqn;
  return create_cq(make_ring(cqn, log_entries, sizeof(exrnic_cqe), DmaRights::kWrite), create, page,
                   moderation);
}

Queue RnicDriver::create_cq(Queue queue, exrnic_mbox_create_cq create, uint32_t page,
                            const Moderation& moderation) {
  create.cqn = queue.number;
  create.page = page;
  create.pbl_address = queue.ring.pbl;
  create.log_entries = queue.log_entries;
  create.moderation_count = moderation.count;
  create.moderation_ns = moderation.ns;
  must(EXRNIC_MBOX_OP_CREATE_CQ, create);
  return queue;
}

exrnic_mbox_status RnicDriver::resize_cq(Queue& cq, uint32_t log_entries) {
  Queue next = make_ring(cq.number, log_entries, sizeof(exrnic_cqe), DmaRights::kWrite);
  next.index = cq.index;
  Bytes nothing(kPage);
  for (size_t end = sizeof(exrnic_cqe); end <= kPage; end += sizeof(exrnic_cqe))
    nothing[end - 1] = EXRNIC_CQE_PHASE_NONE;
  for (const uint64_t page : next.ring.pages) host_.poke(page, nothing);
  const exrnic_mbox_status status = command(
      EXRNIC_MBOX_OP_RESIZE_CQ, exrnic_mbox_resize_cq{cq.number, log_entries, next.ring.pbl});
  Queue& unused = status == EXRNIC_MBOX_STATUS_OK ? cq : next;
  for (const uint64_t page : unused.ring.pages) host_.revoke(page, kPage);
  if (status != EXRNIC_MBOX_STATUS_OK) return status;
  for (const uint32_t end = answer<exrnic_mbox_resized_cq>().producer; cq.index != end;
       ++cq.index) {
    exrnic_cqe cqe = cqe_at(cq);
    cqe.phase = !(cq.index >> log_entries & 1);
    host_.poke(address_of(next, cq.index), bytes_of(cqe));
  }
  cq = next;
  return status;
}

EventQueue RnicDriver::create_eq(uint32_t eqn, uint32_t vector, uint32_t log_entries) {
  const uint64_t bytes = sizeof(exrnic_eqe) << log_entries;
  if (bytes > kPage) throw std::runtime_error("an event queue of the tests lies within a page");
  EventQueue eq{eqn, log_entries, next_page()};
  host_.grant(eq.ring, bytes, DmaRights::kWrite);
  exrnic_mbox_create_eq create{};
  create.eqn = eqn;
  create.log_entries = log_entries;
  create.address = eq.ring;
  create.msix_vector = vector;
  must(EXRNIC_MBOX_OP_CREATE_EQ, create);
  return eq;
}

std::optional<exrnic_eqe> RnicDriver::poll(EventQueue& eq) {
  exrnic_eqe eqe;
  const uint32_t slot = eq.index & ((1u << eq.log_entries) - 1);
  const Bytes bytes = host_.peek(eq.ring + slot * sizeof eqe, sizeof eqe);
  std::memcpy(&eqe, bytes.data(), sizeof eqe);
  if (eqe.phase != !(eq.index >> eq.log_entries & 1)) return std::nullopt;
  ++eq.index;
  return eqe;
}

void RnicDriver::ring(const EventQueue& eq, bool arm) {
  const uint32_t first = arm ? EXRNIC_REG_EQ_ARM : EXRNIC_REG_EQ_CONSUMER;
  write_register(first + 4 * eq.eqn, eq.index);
}

QueuePair RnicDriver::create_qp(uint32_t qpn, uint32_t page, uint32_t pd, const Queue& cq,
                                uint32_t log_slots) {
  QueuePairOptions options;
  options.log_slots = log_slots;
  return create_qp(qpn, page, pd, cq, options);
}

QueuePair RnicDriver::create_qp(uint32_t qpn, uint32_t page, uint32_t pd, const Queue& cq,
                                const QueuePairOptions& options) {
  QueuePair qp;
  qp.qpn = qpn;
  qp.page = page;
  qp.pd = pd;
  qp.service = options.service;
  qp.sq = make_ring(qpn, options.log_slots, sizeof(exrnic_wqe), DmaRights::kRead);
  qp.rq = make_ring(qpn, options.log_slots, sizeof(exrnic_wqe), DmaRights::kRead);
  create_again(qp, cq, options);
  return qp;
}

void RnicDriver::create_again(QueuePair& qp, const Queue& cq, const QueuePairOptions& options) {
  qp.sq.index = qp.rq.index = 0;
  exrnic_mbox_create_qp create{};
  create.qpn = qp.qpn;
  create.page = qp.page;
  create.pd = qp.pd;
  create.send_cqn = cq.number;
  create.recv_cqn = options.recv_cq ? options.recv_cq->number : cq.number;
  create.sq_log_slots = create.rq_log_slots = qp.sq.log_entries;
  create.service = qp.service;
  create.sq_pbl_address = qp.sq.ring.pbl;
  create.rq_pbl_address = qp.rq.ring.pbl;
  create.srqn = options.srqn;
  create.max_reads_out = options.max_reads_out;
  create.max_reads_in = options.max_reads_in;
  create.flags = options.flags;
  const exrnic_mbox_status status = command(EXRNIC_MBOX_OP_CREATE_QP, create);
  if (status == EXRNIC_MBOX_STATUS_NO_ROOM)
    throw std::runtime_error("queue pair " + std::to_string(qp.qpn) + ": max_reads_out is " +
                             std::to_string(options.max_reads_out) + " and max_reads_in " +
                             std::to_string(options.max_reads_in) +
                             ", of the device's places for PULLs fewer are free (READ_POOL " +
                             std::to_string(read_register(EXRNIC_REG_READ_POOL)) + ")");
  expect_ok(EXRNIC_MBOX_OP_CREATE_QP, status);
}

SharedReceiveQueue RnicDriver::create_srq(uint32_t srqn, uint32_t page, uint32_t pd,
                                          uint32_t log_slots, uint32_t limit) {
  SharedReceiveQueue srq;
  srq.page = page;
  srq.rq = make_ring(srqn, log_slots, sizeof(exrnic_wqe), DmaRights::kRead);
  exrnic_mbox_create_srq create{};
  create.srqn = srqn;
  create.page = page;
  create.pd = pd;
  create.log_slots = log_slots;
  create.pbl_address = srq.rq.ring.pbl;
  create.limit = limit;
  must(EXRNIC_MBOX_OP_CREATE_SRQ, create);
  return srq;
}

exrnic_mbox_status RnicDriver::modify(uint32_t qpn, exrnic_qp_state state, uint32_t dest_node,
                                      uint32_t dest_qpn, uint8_t rnr) {
  exrnic_mbox_modify_qp change{};
  change.qpn = qpn;
  change.state = state;
  change.dest_node = dest_node;
  change.dest_qpn = dest_qpn;
  change.min_rnr_timer = change.rnr_retry = rnr;
  if (state == EXRNIC_QP_STATE_RTR) change.attributes = EXRNIC_QP_ATTRIBUTES_DEST;
  if (state == EXRNIC_QP_STATE_RTR && rnr != 0)
    change.attributes |= EXRNIC_QP_ATTRIBUTES_MIN_RNR_TIMER;
  if (state == EXRNIC_QP_STATE_RTS && rnr != 0) change.attributes = EXRNIC_QP_ATTRIBUTES_RNR_RETRY;
  return modify(change);
}

void RnicDriver::connect(const QueuePair& qp, uint32_t dest_node, uint32_t dest_qpn,
                         const Rnr& rnr) {
  const auto op = EXRNIC_MBOX_OP_MODIFY_QP;
  const bool reliable = qp.service == EXRNIC_SERVICE_RC;
  const Rnr given = reliable ? rnr : Rnr{};
  expect_ok(op, modify(qp.qpn, EXRNIC_QP_STATE_INIT));
  expect_ok(op, modify(qp.qpn, EXRNIC_QP_STATE_RTR, dest_node, dest_qpn, given.min_timer));
  exrnic_mbox_modify_qp change{};
  change.qpn = qp.qpn;
  change.state = EXRNIC_QP_STATE_RTS;
  change.rnr_retry = given.retry;
  change.timeout = given.timeout;
  change.retry_count = given.retry_count;
  if (given.retry != 0) change.attributes |= EXRNIC_QP_ATTRIBUTES_RNR_RETRY;
  if (given.timeout != 0)
    change.attributes |= EXRNIC_QP_ATTRIBUTES_TIMEOUT | EXRNIC_QP_ATTRIBUTES_RETRY_COUNT;
  expect_ok(op, modify(change));
}

void RnicDriver::set_pkey(uint32_t index, uint16_t pkey) {
  write_register(EXRNIC_REG_PKEYS + 4 * index, pkey);
}

void RnicDriver::open_datagrams(const QueuePair& qp, uint32_t qkey, uint32_t pkey_index) {
  exrnic_mbox_modify_qp change{};
  change.qpn = qp.qpn;
  change.state = EXRNIC_QP_STATE_INIT;
  change.attributes = EXRNIC_QP_ATTRIBUTES_QKEY | EXRNIC_QP_ATTRIBUTES_PKEY_INDEX;
  change.qkey = qkey;
  change.pkey_index = pkey_index;
  must(EXRNIC_MBOX_OP_MODIFY_QP, change);
  change.state = EXRNIC_QP_STATE_RTR;
  change.attributes = 0;
  must(EXRNIC_MBOX_OP_MODIFY_QP, change);
  expect_ok(EXRNIC_MBOX_OP_MODIFY_QP, modify(qp.qpn, EXRNIC_QP_STATE_RTS));
}

exrnic_mbox_status RnicDriver::attach(uint32_t qpn, uint32_t group) {
  return command(EXRNIC_MBOX_OP_ATTACH_GROUP, exrnic_mbox_group{qpn, group});
}

exrnic_mbox_status RnicDriver::detach(uint32_t qpn, uint32_t group) {
  return command(EXRNIC_MBOX_OP_DETACH_GROUP, exrnic_mbox_group{qpn, group});
}

void RnicDriver::stop(uint32_t qpn, uint64_t limit_ns) {
  expect_ok(EXRNIC_MBOX_OP_MODIFY_QP, modify(qpn, EXRNIC_QP_STATE_ERROR));
  const uint64_t deadline = testbed_.now_ns() + limit_ns;
  while (query(qpn).under_way != 0)
    if (testbed_.now_ns() > deadline)
      throw std::runtime_error("queue pair " + std::to_string(qpn) + " has work under way " +
                               std::to_string(limit_ns) + " ns after it went to ERROR");
}

template <typename Answer>
Answer RnicDriver::ask(exrnic_mbox_op op, uint32_t index) {
  must(op, exrnic_mbox_object{index});
  return answer<Answer>();
}

// Of the command that has ended.
template <typename Answer>
Answer RnicDriver::answer() {
  Answer answer{};
  for (uint32_t at = 0; at < sizeof answer; at += 4) {
    const uint32_t word = read_register(EXRNIC_REG_MBOX_DATA + at);
    std::memcpy(reinterpret_cast<uint8_t*>(&answer) + at, &word, 4);
  }
  return answer;
}

exrnic_mbox_query_qp RnicDriver::query(uint32_t qpn) {
  return ask<exrnic_mbox_query_qp>(EXRNIC_MBOX_OP_QUERY_QP, qpn);
}

exrnic_mbox_query_srq RnicDriver::query_srq(uint32_t srqn) {
  return ask<exrnic_mbox_query_srq>(EXRNIC_MBOX_OP_QUERY_SRQ, srqn);
}

Region RnicDriver::create_region(uint32_t stag, uint32_t pd, uint64_t base, uint64_t length,
                                 uint32_t access) {
  const bool writable = access & (EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_REMOTE_WRITE);
  Region region{stag, base, length,
                pin(base % kPage, length, writable ? DmaRights::kReadWrite : DmaRights::kRead)};
  register_again(region, pd, access);
  return region;
}

void RnicDriver::register_again(const Region& region, uint32_t pd, uint32_t access) {
  exrnic_mbox_register_mr create{};
  create.stag = region.stag;
  create.pd = pd;
  create.base = region.base;
  create.length = region.length;
  create.pbl_address = region.memory.pbl;
  create.access = access;
  create.page_shift = EXRNIC_PAGE_SHIFT;
  must(EXRNIC_MBOX_OP_REGISTER_MR, create);
}

template <typename Piece>
void RnicDriver::for_each_piece(const Region& region, uint64_t offset, uint64_t length,
                                Piece piece) {
  uint64_t at = region.base % kPage + offset;
  for (uint64_t done = 0; done < length;) {
    const uint64_t bytes = std::min(length - done, kPage - at % kPage);
    piece(region.memory.pages.at(at / kPage) + at % kPage, done, bytes);
    at += bytes;
    done += bytes;
  }
}

void RnicDriver::write(const Region& region, uint64_t offset, const Bytes& data) {
  for_each_piece(region, offset, data.size(), [&](uint64_t address, uint64_t at, uint64_t bytes) {
    host_.poke(address, Bytes(data.begin() + at, data.begin() + at + bytes));
  });
}

Bytes RnicDriver::read(const Region& region, uint64_t offset, uint64_t length) {
  Bytes out;
  for_each_piece(region, offset, length, [&](uint64_t address, uint64_t, uint64_t bytes) {
    const Bytes piece = host_.peek(address, bytes);
    out.insert(out.end(), piece.begin(), piece.end());
  });
  return out;
}

exrnic_wqe RnicDriver::wqe(const Push& push) {
  exrnic_wqe wqe{};
  wqe.opcode = EXRNIC_WQE_OPCODE_PUSH;
  wqe.flags = push.signaled ? EXRNIC_WQE_FLAGS_SIGNALED : 0;
  wqe.num_sge = push.length ? 1 : 0;
  wqe.num_slots = 1;
  wqe.remote_to = push.remote_to;
  wqe.remote_stag = push.remote_stag;
  wqe.length = push.length;
  if (push.length) {
    wqe.sge0_address = push.from->base + push.from_offset;
    wqe.sge0_length = push.length;
    wqe.sge0_stag = push.from->stag;
  }
  return wqe;
}

void RnicDriver::put(Queue& queue, const Bytes& slots) {
  for (size_t from = 0; from < slots.size(); from += sizeof(exrnic_wqe)) {
    const uint64_t at =
        (queue.index++ & ((1u << queue.log_entries) - 1)) * uint64_t{sizeof(exrnic_wqe)};
    host_.poke(queue.ring.pages.at(at / kPage) + at % kPage,
               Bytes(slots.begin() + from, slots.begin() + from + sizeof(exrnic_wqe)));
  }
}

void RnicDriver::put(QueuePair& qp, const exrnic_wqe& wqe) { put(qp.sq, bytes_of(wqe)); }

void RnicDriver::put(QueuePair& qp, const Work& work) { put(qp.sq, slots_of(work)); }

void RnicDriver::store_doorbell(uint32_t page, uint32_t offset, uint32_t number, uint32_t index) {
  const exrnic_doorbell bell{number, index};
  uint64_t value;
  std::memcpy(&value, &bell, sizeof value);
  host_.store(EXRNIC_BAR_USER, page * EXRNIC_USER_PAGE_SIZE + offset, 8, value);
}

void RnicDriver::ring(const QueuePair& qp) {
  store_doorbell(qp.page, EXRNIC_DOORBELL_SQ, qp.qpn, qp.sq.index & 0xffff);
}

void RnicDriver::post(QueuePair& qp, const Push& push) {
  put(qp, wqe(push));
  ring(qp);
}

void RnicDriver::post(QueuePair& qp, const Work& work) {
  put(qp, work);
  ring(qp);
}

void RnicDriver::post_receive(QueuePair& qp, const std::vector<exrnic_sge>& elements) {
  put(qp.rq, slots_of(receive_into(elements)));
  store_doorbell(qp.page, EXRNIC_DOORBELL_RQ, qp.qpn, qp.rq.index & 0xffff);
}

void RnicDriver::post_receive(SharedReceiveQueue& srq, const std::vector<exrnic_sge>& elements) {
  put(srq.rq, slots_of(receive_into(elements)));
  store_doorbell(srq.page, EXRNIC_DOORBELL_SRQ, srq.rq.number, srq.rq.index & 0xffff);
}

void RnicDriver::arm(const Queue& cq, uint32_t page, bool solicited) {
  store_doorbell(page, solicited ? EXRNIC_DOORBELL_CQ_ARM_SOLICITED : EXRNIC_DOORBELL_CQ_ARM,
                 cq.number, cq.index);
}

uint64_t RnicDriver::address_of(const Queue& cq, uint32_t index) {
  const uint64_t at = (index & ((1u << cq.log_entries) - 1)) * sizeof(exrnic_cqe);
  return cq.ring.pages.at(at / kPage) + at % kPage;
}

exrnic_cqe RnicDriver::cqe_at(const Queue& cq) const {
  const Bytes raw = host_.peek(address_of(cq, cq.index), sizeof(exrnic_cqe));
  exrnic_cqe cqe;
  std::memcpy(&cqe, raw.data(), sizeof cqe);
  return cqe;
}

std::optional<exrnic_cqe> RnicDriver::take(Queue& cq) {
  const exrnic_cqe cqe = cqe_at(cq);
  if (cqe.phase != !(cq.index >> cq.log_entries & 1)) return std::nullopt;
  ++cq.index;
  return cqe;
}
std::optional<exrnic_cqe> RnicDriver::poll(Queue& cq, uint32_t page) {
  const std::optional<exrnic_cqe> cqe = take(cq);
  if (cqe) store_doorbell(page, EXRNIC_DOORBELL_CQ, cq.number, cq.index);
  return cqe;
}

exrnic_cqe RnicDriver::wait(Queue& cq, uint32_t page, uint64_t limit_ns) {
  std::optional<exrnic_cqe> cqe;
  testbed_.run_until([&] { return (cqe = poll(cq, page)).has_value(); }, limit_ns);
  if (!cqe) throw std::runtime_error("waited in vain for a completion");
  return *cqe;
}

}  // namespace exrnic::testing
