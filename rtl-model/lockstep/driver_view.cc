// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/lockstep/driver_view.h"

#include <algorithm>
#include <iterator>

namespace exrnic::lockstep {
namespace {

constexpr uint64_t kPage = uint64_t{1} << EXRNIC_PAGE_SHIFT;
constexpr uint64_t kNoPage = ~uint64_t{0};

// An entry of the PBL that the host refuses stands for entries that no core can use.
std::vector<uint64_t> pages_of(uint64_t pbl, uint64_t bytes,
                               const DriverView::ReadMemory& read_memory) {
  std::vector<uint64_t> pages(std::max<uint64_t>(1, bytes / kPage), kNoPage);
  for (size_t i = 0; i < pages.size(); ++i) {
    uint64_t page;
    if (read_memory(pbl + i * EXRNIC_PBL_ENTRY_SIZE, reinterpret_cast<uint8_t*>(&page),
                    sizeof page))
      pages[i] = page & ~(kPage - 1);
  }
  return pages;
}

void forget(std::vector<uint32_t>& numbers, uint32_t number) {
  numbers.erase(std::remove(numbers.begin(), numbers.end(), number), numbers.end());
}

}  // namespace

uint64_t CompletionRing::Place::address_of(uint32_t entry) const {
  const uint64_t offset = (entry & ((1u << log_entries) - 1)) * sizeof(exrnic_cqe);
  return pages.at(offset / kPage) + offset % kPage;
}

const CompletionRing::Place* CompletionRing::place_of(Side side, uint64_t address) {
  const uint32_t entry = next[size_t(side)];
  Place& place = places[size_t(side)];
  if (side == Side::kSubject && later && later->address_of(entry) == address)
    place = *std::exchange(later, std::nullopt);
  return place.address_of(entry) == address ? &place : nullptr;
}

void DriverView::begins(uint32_t op) {
  if (op != EXRNIC_MBOX_OP_CREATE_EQ) return;
  const auto eq = command<exrnic_mbox_create_eq>();
  const auto& ended = ended_event_rings_;
  begun_ = event_rings_.count(eq.eqn) == 0 ||
           std::find(ended.begin(), ended.end(), eq.eqn) != ended.end();
  if (begun_) create_eq(eq);
}

void DriverView::failed(uint32_t op) {
  if (op == EXRNIC_MBOX_OP_CREATE_EQ && begun_)
    event_rings_.erase(command<exrnic_mbox_create_eq>().eqn);
}

void DriverView::succeeded(uint32_t op, const ReadMemory& read_memory) {
  switch (op) {
    case EXRNIC_MBOX_OP_CREATE_CQ:
      return create_cq(command<exrnic_mbox_create_cq>(), read_memory);
    case EXRNIC_MBOX_OP_RESIZE_CQ: {
      CompletionRing& ring = rings_.at(command<exrnic_mbox_resize_cq>().cqn);
      ring.later = ring.places[size_t(Side::kReference)] = new_place(read_memory);
      return;
    }
    case EXRNIC_MBOX_OP_DESTROY_CQ:
      return ended_rings_.push_back(command<exrnic_mbox_object>().index);
    case EXRNIC_MBOX_OP_DESTROY_EQ: {
      const uint32_t eqn = command<exrnic_mbox_object>().index;
      event_rings_.at(eqn).differs = true;
      return ended_event_rings_.push_back(eqn);
    }
    case EXRNIC_MBOX_OP_CREATE_QP:
      return create_qp(command<exrnic_mbox_create_qp>(), read_memory);
    case EXRNIC_MBOX_OP_CREATE_SRQ:
      return create_srq(command<exrnic_mbox_create_srq>());
    case EXRNIC_MBOX_OP_ATTACH_GROUP: {
      const auto attached = command<exrnic_mbox_group>();
      attachments_.emplace(attached.group, attached.qpn);
      return;
    }
    case EXRNIC_MBOX_OP_DETACH_GROUP: {
      const auto detached = command<exrnic_mbox_group>();
      attachments_.erase({detached.group, detached.qpn});
      return;
    }
    case EXRNIC_MBOX_OP_DESTROY_QP:
      detach(command<exrnic_mbox_object>().index);
      return ended_queue_pairs_.push_back(command<exrnic_mbox_object>().index);
    case EXRNIC_MBOX_OP_MODIFY_QP:
      return modify_qp(command<exrnic_mbox_modify_qp>());
    case EXRNIC_MBOX_OP_SET_WINDOW: {
      const auto window = command<exrnic_mbox_set_window>();
      QueuePairView* qp = window.access == 0 ? nullptr : queue_pair(window.qpn);
      if (qp != nullptr) qp->has_window = true;
      return;
    }
    default:
      return;
  }
}

bool DriverView::has_window(uint32_t qpn) const {
  const auto found = queue_pairs_.find(qpn);
  return found != queue_pairs_.end() && found->second.has_window;
}

CompletionRing::Place DriverView::new_place(const ReadMemory& read_memory) const {
  const auto resize = command<exrnic_mbox_resize_cq>();
  return {resize.log_entries,
          pages_of(resize.pbl_address, sizeof(exrnic_cqe) << resize.log_entries, read_memory)};
}

bool DriverView::may_resize(const ReadMemory& read_memory) {
  const auto resize = command<exrnic_mbox_resize_cq>();
  CompletionRing* queue = ring(resize.cqn);
  if (queue == nullptr) return false;
  const uint32_t unread = queue->next[size_t(Side::kSubject)] - queue->consumer;
  if (unread > 1u << resize.log_entries) return false;
  queue->later = new_place(read_memory);
  return true;
}

void DriverView::subject_ended(bool well) {
  for (auto& [cqn, ring] : rings_) {
    auto later = std::exchange(ring.later, std::nullopt);
    if (later && well) ring.places[size_t(Side::kSubject)] = std::move(*later);
  }
}

void DriverView::create_cq(const exrnic_mbox_create_cq& command, const ReadMemory& read_memory) {
  forget(ended_rings_, command.cqn);
  CompletionRing ring;
  ring.cqn = command.cqn;
  ring.page = command.page;
  ring.vector =
      command.eqn == EXRNIC_NO_EQ ? command.msix_vector : event_rings_.at(command.eqn).vector;
  ring.places.fill(
      {command.log_entries,
       pages_of(command.pbl_address, sizeof(exrnic_cqe) << command.log_entries, read_memory)});
  rings_[command.cqn] = std::move(ring);
}

void DriverView::create_eq(const exrnic_mbox_create_eq& command) {
  forget(ended_event_rings_, command.eqn);
  EventRing& ring = event_rings_[command.eqn] = {};
  ring.vector = command.msix_vector;
  ring.address = command.address;
  ring.log_entries = command.log_entries;
}

void DriverView::create_qp(const exrnic_mbox_create_qp& command, const ReadMemory& read_memory) {
  forget(ended_queue_pairs_, command.qpn);
  QueuePairView& qp = queue_pairs_[command.qpn] = {};
  qp.datagrams = command.service == EXRNIC_SERVICE_UD;
  qp.reliable = command.service == EXRNIC_SERVICE_RC;
  qp.page = command.page;
  qp.send_cqn = command.send_cqn;
  qp.recv_cqn = command.recv_cqn;
  qp.sq.log_slots = command.sq_log_slots;
  qp.rq.log_slots = command.rq_log_slots;
  qp.srqn = command.srqn;
  qp.sq_pages =
      pages_of(command.sq_pbl_address, sizeof(exrnic_wqe) << command.sq_log_slots, read_memory);
  pio_[command.page].drop();
}

void DriverView::create_srq(const exrnic_mbox_create_srq& command) {
  WorkQueue& queue = shared_queues_[command.srqn] = {};
  queue.log_slots = command.log_slots;
  queue.page = command.page;
}

void DriverView::modify_qp(const exrnic_mbox_modify_qp& command) {
  QueuePairView& qp = queue_pairs_[command.qpn];
  if (command.state == EXRNIC_QP_STATE_RTR && !qp.datagrams)
    qp.peer = QueuePairView::Peer{command.dest_node, command.dest_qpn};
  if (command.state == EXRNIC_QP_STATE_RESET) {
    qp.sq = {qp.sq.log_slots};
    qp.rq = {qp.rq.log_slots};
    pio_[qp.page].drop();
  }
  qp.state = command.state;
}

QueuePairView* DriverView::queue_pair(uint32_t qpn) {
  const auto found = queue_pairs_.find(qpn);
  return found == queue_pairs_.end() ? nullptr : &found->second;
}

CompletionRing* DriverView::ring_of(const exrnic_cqe& cqe) {
  const QueuePairView* qp = queue_pair(cqe.qpn);
  if (qp == nullptr) return nullptr;
  const bool receive = cqe.opcode == EXRNIC_WQE_OPCODE_RECV;
  return ring(receive ? qp->recv_cqn : qp->send_cqn);
}

CompletionRing* DriverView::ring(uint32_t cqn) {
  const auto found = rings_.find(cqn);
  return found == rings_.end() ? nullptr : &found->second;
}

EventRing* DriverView::event_ring(uint32_t eqn) {
  const auto found = event_rings_.find(eqn);
  return found == event_rings_.end() ? nullptr : &found->second;
}

EventRing* DriverView::event_ring_at(Side side, uint64_t address) {
  for (auto& [eqn, ring] : event_rings_)
    if (ring.address_of(ring.next[size_t(side)]) == address) return &ring;
  return nullptr;
}

std::optional<uint32_t> EventRing::to_reference(uint32_t index) {
  // So far that no core takes it.
  constexpr uint32_t kNever = 1u << 30;
  const uint32_t written = next[size_t(Side::kSubject)];
  const uint32_t ahead = index - written;
  if (ahead != 0 && ahead < 1u << 20) return std::nullopt;
  if (index - consumer > written - consumer) return next[size_t(Side::kReference)] + kNever;
  consumer = index;
  const uint32_t most = next[size_t(Side::kReference)] - reference_consumer;
  reference_consumer += std::min(index + skew - reference_consumer, most);
  return reference_consumer;
}

bool DriverView::is_rash_qp(uint32_t qpn, bool receive, uint32_t index) const {
  const auto qp = queue_pairs_.find(qpn);
  if (qp == queue_pairs_.end()) return false;
  return (receive ? qp->second.rq : qp->second.sq).is_beyond(index);
}

bool DriverView::is_rash_srq(uint32_t srqn, uint32_t index) const {
  const auto queue = shared_queues_.find(srqn);
  return queue != shared_queues_.end() && queue->second.is_beyond(index);
}

bool DriverView::is_rash_cq(uint32_t cqn, uint32_t index) {
  CompletionRing* queue = ring(cqn);
  if (queue == nullptr) return false;
  const uint32_t written = queue->next[size_t(Side::kSubject)];
  if (index - queue->consumer > written - queue->consumer) return true;
  queue->consumer = index;
  return false;
}

std::optional<exrnic_wqe> DriverView::store_block(const MmioAccess& access) {
  const uint32_t offset = access.offset % EXRNIC_USER_PAGE_SIZE - EXRNIC_PIO_AREA;
  return pio_[access.offset / EXRNIC_USER_PAGE_SIZE].store(offset, access.size, access.data).block;
}

// Those two fields mean nothing in a ring.
bool DriverView::is_in_ring(const exrnic_wqe& block, const ReadMemory& read_memory) const {
  const QueuePairView& qp = queue_pairs_.at(block.number);
  const uint64_t slot = (block.index - 1) & ((1u << qp.sq.log_slots) - 1);
  const uint64_t at = slot * sizeof block;
  exrnic_wqe posted;
  if (!read_memory(qp.sq_pages.at(at / kPage) + at % kPage, reinterpret_cast<uint8_t*>(&posted),
                   sizeof posted))
    return false;
  posted.number = block.number;
  posted.index = block.index;
  return std::memcmp(&posted, &block, sizeof block) == 0;
}

bool DriverView::owns_qp(uint32_t page, uint32_t qpn) const {
  const auto found = queue_pairs_.find(qpn);
  return found != queue_pairs_.end() && found->second.page == page;
}

bool DriverView::owns_srq(uint32_t page, uint32_t srqn) const {
  const auto found = shared_queues_.find(srqn);
  return found != shared_queues_.end() && found->second.page == page;
}

bool DriverView::owns_cq(uint32_t page, uint32_t cqn) const {
  const auto found = rings_.find(cqn);
  return found != rings_.end() && found->second.page == page;
}

bool DriverView::shares_receives(uint32_t qpn) const {
  const auto own = queue_pairs_.find(qpn);
  if (own == queue_pairs_.end()) return false;
  if (shared_queues_.count(own->second.srqn) == 0) return false;
  return std::any_of(queue_pairs_.begin(), queue_pairs_.end(), [&](const auto& other) {
    return other.first != qpn && other.second.srqn == own->second.srqn;
  });
}

bool DriverView::has_skewed_receives(uint32_t qpn) const {
  const auto own = queue_pairs_.find(qpn);
  if (own == queue_pairs_.end()) return false;
  const auto shared = shared_queues_.find(own->second.srqn);
  return shared != shared_queues_.end() && shared->second.skewed;
}

uint32_t DriverView::to_reference(uint32_t cqn, uint32_t index) const {
  const auto ring = rings_.find(cqn);
  return ring == rings_.end() ? index : index + ring->second.skew;
}

void DriverView::skew_receives(uint32_t qpn) {
  const QueuePairView* qp = queue_pair(qpn);
  if (qp == nullptr) return;
  const auto shared = shared_queues_.find(qp->srqn);
  if (shared != shared_queues_.end()) shared->second.skewed = true;
}

void DriverView::detach(uint32_t qpn) {
  for (auto attached = attachments_.begin(); attached != attachments_.end();)
    attached = attached->second == qpn ? attachments_.erase(attached) : std::next(attached);
}

std::vector<uint32_t> DriverView::addressees(uint32_t qpn, std::optional<uint32_t> group) const {
  if (!group) return {qpn};
  std::vector<uint32_t> all;
  for (const auto& [attached_group, attached] : attachments_)
    if (attached_group == *group) all.push_back(attached);
  return all;
}

bool DriverView::is_ready(uint32_t qpn, bool for_receive) const {
  const auto found = queue_pairs_.find(qpn);
  if (found == queue_pairs_.end()) return false;
  const QueuePairView& qp = found->second;
  if (qp.state == EXRNIC_QP_STATE_RESET || qp.state == EXRNIC_QP_STATE_INIT) return false;
  const auto shared = shared_queues_.find(qp.srqn);
  const WorkQueue& receives = shared == shared_queues_.end() ? qp.rq : shared->second;
  return !for_receive || receives.posted != receives.ended[size_t(Side::kReference)];
}

void DriverView::posted(uint32_t qpn, uint32_t index) {
  if (QueuePairView* qp = queue_pair(qpn)) qp->rq.posted = static_cast<uint16_t>(index);
}

void DriverView::posted_shared(uint32_t srqn, uint32_t index) {
  const auto queue = shared_queues_.find(srqn);
  if (queue != shared_queues_.end()) queue->second.posted = static_cast<uint16_t>(index);
}

void DriverView::ended(Side side, const exrnic_cqe& cqe) {
  QueuePairView& qp = *queue_pair(cqe.qpn);
  const bool receive = cqe.opcode == EXRNIC_WQE_OPCODE_RECV;
  WorkQueue& own = receive ? qp.rq : qp.sq;
  WorkQueue& queue = receive && qp.srqn != EXRNIC_NO_SRQ ? shared_queues_[qp.srqn] : own;
  const auto ended = static_cast<uint16_t>(cqe.wqe_index + 1);
  uint16_t& known = queue.ended[size_t(side)];
  if (static_cast<int16_t>(ended - known) > 0) known = ended;
}

void DriverView::armed(uint32_t cqn, bool certain) {
  CompletionRing* queue = ring(cqn);
  if (queue == nullptr) return;
  queue->rearmed = certain;
  if (!certain) queue->arms_differ = true;
}

bool DriverView::arms_differ(uint32_t vector) const {
  const auto differs = [vector](const auto& entry) {
    return entry.second.vector == vector && entry.second.arms_differ;
  };
  return std::any_of(rings_.begin(), rings_.end(), differs) ||
         std::any_of(event_rings_.begin(), event_rings_.end(), differs);
}

bool DriverView::completions_differ(uint32_t cqn) const {
  const auto found = rings_.find(cqn);
  return found == rings_.end() || found->second.arms_differ;
}

bool DriverView::is_of_events(uint32_t vector) const {
  return std::any_of(event_rings_.begin(), event_rings_.end(),
                     [vector](const auto& entry) { return entry.second.vector == vector; });
}

void DriverView::rest(bool excused) {
  for (auto& [cqn, ring] : rings_) {
    ring.skew = ring.next[size_t(Side::kReference)] - ring.next[size_t(Side::kSubject)];
    ring.arms_differ = excused || (ring.arms_differ && !ring.rearmed);
    ring.rearmed = false;
  }
  for (auto& [eqn, ring] : event_rings_) {
    ring.skew = ring.next[size_t(Side::kReference)] - ring.next[size_t(Side::kSubject)];
    ring.arms_differ = excused || ring.differs || (ring.arms_differ && !ring.rearmed);
    ring.rearmed = false;
    ring.differs = ring.is_full(Side::kSubject);
    ring.told.clear();
  }
  for (const uint32_t eqn : ended_event_rings_) event_rings_.erase(eqn);
  ended_event_rings_.clear();
  for (const uint32_t cqn : ended_rings_) rings_.erase(cqn);
  for (const uint32_t qpn : ended_queue_pairs_) queue_pairs_.erase(qpn);
  ended_rings_.clear();
  ended_queue_pairs_.clear();
}

}  // namespace exrnic::lockstep
