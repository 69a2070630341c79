// SPDX-License-Identifier: BSD-2-Clause
#include "links.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "dsm_error.h"

namespace exrnic {

namespace {

constexpr uint32_t kReceivesOfNode = 4;
constexpr uint32_t kReceivesLeast = 64;
constexpr uint32_t kSends = 64;
constexpr uint32_t kPageWork = 128;  // of a node, under way
constexpr uint32_t kPageList = 32;   // posted together
constexpr uint32_t kInlineRun = 32;  // bytes of a run that is copied into its work request
constexpr uint32_t kReadsOfNode = 4;
// Of fewer nodes messages are as fast.
constexpr unsigned kFirmwareFrom = 4;
constexpr unsigned kPollsBetweenLooks = 256;
// A message that finds no receive comes again, as often as it takes: 10 us later.
constexpr vl::RnrTerms kComesAgain = {1, VL_RNR_RETRY_ENDLESS};

// node, and what it is about: a place of memory, or work requests that end with it.
uint64_t DsmWorkId(unsigned node, uint32_t what) { return uint64_t{node} << 32 | what; }

}  // namespace

DsmLinks::DsmLinks(const std::string& device, Mesh* mesh, void* view, size_t bytes,
                   MeshClock::time_point deadline)
    : mesh_(mesh),
      receive_places_(std::max(kReceivesLeast, kReceivesOfNode * mesh->nodes())),
      view_(static_cast<uint8_t*>(view)),
      bytes_(bytes),
      rnic_(vl::OpenRnic(device)) {
  pd_ = vl::AllocatePd(rnic_.get());
  channel_ = vl::CreateCompChannel(rnic_.get());
  vl_cq_init_attr queue = {};
  queue.entries = receive_places_ + kSends;
  queue.channel = channel_.get();
  message_queue_ = vl::CreateCq(rnic_.get(), queue);
  page_queue_ = vl::CreateCq(rnic_.get(), kPageWork * (mesh->nodes() - 1));
  receives_ = vl::CreateSrq(pd_.get(), receive_places_, 1);
  message_memory_.resize(size_t{receive_places_ + kSends} * kDsmMessageBytes);
  message_region_ = vl::AllocateMr(pd_.get(), message_memory_.data(), message_memory_.size(),
                                   VL_ACCESS_LOCAL_WRITE);
  area_ = vl::AllocateMr(pd_.get(), view, bytes,
                         VL_ACCESS_LOCAL_WRITE | VL_ACCESS_REMOTE_WRITE | VL_ACCESS_REMOTE_READ);
  MakePeers(mesh->self(), mesh->nodes());
  for (uint32_t place = 0; place < receive_places_; ++place) PostReceive(place);
  for (uint32_t place = 0; place < kSends; ++place) free_sends_.push_back(receive_places_ + place);

  if (mesh->nodes() >= kFirmwareFrom) firmware_ = FirmwareBarrier::Make(rnic_.get());
  const uint32_t node_id = vl::QueryRnic(rnic_.get()).node_id;
  const auto infos = mesh->Exchange(
      MeshKind::kInfo,
      [&](unsigned node) {
        const Info info = {node_id,
                           vl_qp_number(peers_[node]->messages.get()),
                           vl_qp_number(peers_[node]->pages.get()),
                           vl_mr_stag(area_.get()),
                           vl::AddressOf(view),
                           bytes,
                           firmware_ != nullptr};
        const auto* begin = reinterpret_cast<const uint8_t*>(&info);
        return std::vector<uint8_t>(begin, begin + sizeof(info));
      },
      deadline);
  for (const auto& peer : peers_) {
    if (peer == nullptr) continue;
    const auto& info = infos[peer->node];
    if (info.size() != sizeof(Info))
      throw DsmError(mesh->Name(peer->node) + " is no node of shared memory of this version");
    memcpy(&peer->theirs, info.data(), sizeof(Info));
    if (peer->theirs.bytes != bytes) {
      throw DsmError(mesh->Name(peer->node) + " has an area of " +
                     std::to_string(peer->theirs.bytes) + " bytes, and node " +
                     std::to_string(mesh->self()) + " one of " + std::to_string(bytes) +
                     " (JIA_AREA)");
    }
    vl::ConnectQp(peer->messages.get(), peer->theirs.node_id, peer->theirs.message_qpn,
                  kComesAgain);
    vl::ConnectQp(peer->pages.get(), peer->theirs.node_id, peer->theirs.page_qpn);
  }
  AgreeOnFirmware(node_id);
  // Nothing may arrive before its receiver is ready.
  mesh->Exchange(MeshKind::kReady, [](unsigned) { return std::vector<uint8_t>(); }, deadline);
}

void DsmLinks::MakePeers(unsigned self, unsigned nodes) {
  peers_.resize(nodes);
  for (unsigned node = 0; node < nodes; ++node) {
    if (node == self) continue;
    vl_qp_init_attr messages = vl::QpAttributes(message_queue_.get(), kSends);
    messages.max_send_sge = messages.max_recv_sge = 1;
    messages.srq = receives_.get();
    messages.max_inline = kInlineRun;
    vl_qp_init_attr pages = vl::QpAttributes(page_queue_.get(), kPageWork);
    pages.max_send_sge = 1;
    pages.max_inline = kInlineRun;
    pages.max_reads_out = pages.max_reads_in = kReadsOfNode;
    peers_[node] = std::make_unique<Peer>(
        Peer{node, vl::CreateQp(pd_.get(), messages), vl::CreateQp(pd_.get(), pages), Info{}});
  }
}

void DsmLinks::AgreeOnFirmware(uint32_t node_id) {
  std::vector<uint32_t> node_ids = {node_id};
  bool all = firmware_ != nullptr;
  for (const auto& peer : peers_) {
    if (peer == nullptr) continue;
    node_ids.push_back(peer->theirs.node_id);
    all = all && peer->theirs.firmware != 0;
  }
  if (!all || !firmware_->SetNodes(node_ids)) firmware_.reset();
}

// ---- Messages

void DsmLinks::PostReceive(uint32_t place) {
  vl_sge sge = {vl::AddressOf(message_memory_.data() + size_t{place} * kDsmMessageBytes),
                kDsmMessageBytes, vl_mr_stag(message_region_.get())};
  vl_recv_wr wr = {};
  wr.wr_id = place;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  vl::Check(vl_post_srq_recv(receives_.get(), &wr, nullptr), "vl_post_srq_recv");
}

void DsmLinks::Send(unsigned node, const DsmMessage& message) {
  outbox_.push_back({node, WriteDsmMessage(message), message.wakes});
  PostOutbox();
}

void DsmLinks::PostOutbox() {
  for (; !outbox_.empty() && !free_sends_.empty(); outbox_.pop_front()) {
    const Waiting& next = outbox_.front();
    const uint32_t place = free_sends_.back();
    uint8_t* const memory = message_memory_.data() + size_t{place} * kDsmMessageBytes;
    const auto length = static_cast<uint32_t>(next.bytes.size());
    memcpy(memory, next.bytes.data(), length);
    vl_sge sge = {vl::AddressOf(memory), length, vl_mr_stag(message_region_.get())};
    vl_send_wr wr = {};
    wr.wr_id = DsmWorkId(next.node, place);
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = VL_OP_SEND;
    wr.flags = VL_SEND_SIGNALED | (length <= kInlineRun ? VL_SEND_INLINE : 0) |
               (next.wakes ? VL_SEND_SOLICITED : 0);
    if (vl_post_sq(peers_[next.node]->messages.get(), &wr, nullptr) != 0) {
      Fail(next.node, std::string("vl_post_sq: ") + vl_error_text());
      continue;
    }
    free_sends_.pop_back();
    ++sending_;
  }
}

void DsmLinks::TakeSent(const vl_wc& wc) {
  free_sends_.push_back(static_cast<uint32_t>(wc.wr_id));
  --sending_;
  if (wc.status != VL_WC_SUCCESS) {
    Fail(static_cast<unsigned>(wc.wr_id >> 32),
         std::string("a message to it: ") + vl_status_string(wc.status));
  }
}

DsmLinks::Peer* DsmLinks::PeerOf(const vl_wc& wc) {
  for (const auto& peer : peers_)
    if (peer != nullptr && vl_qp_number(peer->messages.get()) == wc.qpn) return peer.get();
  throw DsmError("a completion of queue pair " + std::to_string(wc.qpn) + ", which is none");
}

bool DsmLinks::Take(uint32_t pages, unsigned* node, DsmMessage* message) {
  for (vl_wc wc;;) {
    const int count = vl_poll_cq(message_queue_.get(), 1, &wc);
    vl::Check(count, "vl_poll_cq");
    if (count == 0) {
      PostOutbox();
      return false;
    }
    if (static_cast<uint32_t>(wc.wr_id) >= receive_places_) {
      TakeSent(wc);
      continue;
    }
    const Peer* const peer = PeerOf(wc);
    const auto place = static_cast<uint32_t>(wc.wr_id);
    if (wc.status != VL_WC_SUCCESS) {
      Fail(peer->node, std::string("a message of it: ") + vl_status_string(wc.status));
      continue;
    }
    const std::string wrong =
        ReadDsmMessage(message_memory_.data() + size_t{place} * kDsmMessageBytes, wc.byte_len,
                       mesh_->nodes(), pages, message);
    PostReceive(place);
    if (!wrong.empty()) throw DsmError(mesh_->Name(peer->node) + " sent " + wrong);
    *node = peer->node;
    return true;
  }
}

// ---- Pages

void DsmLinks::PostPages(Peer* peer, vl_send_wr* list, uint32_t count, const Idle& idle) {
  for (unsigned polls = 1; peer->page_work + count > kPageWork; ++polls) {
    PollPages();
    if (polls % kPollsBetweenLooks == 0) idle();
  }
  for (uint32_t i = 0; i < count; ++i) {
    list[i].next = i + 1 < count ? &list[i + 1] : nullptr;
    list[i].num_sge = 1;
    list[i].remote_stag = peer->theirs.stag;
    list[i].wr_id = DsmWorkId(peer->node, i + 1 < count ? 0 : count);
  }
  list[count - 1].flags |= VL_SEND_SIGNALED;
  if (vl_post_sq(peer->pages.get(), list, nullptr) != 0)
    return Fail(peer->node, std::string("vl_post_sq: ") + vl_error_text());
  peer->page_work += count;
}

void DsmLinks::Pull(unsigned node, uint64_t offset, uint32_t bytes, const Idle& idle) {
  Peer* const peer = peers_[node].get();
  vl_sge sge = {vl::AddressOf(view_ + offset), bytes, vl_mr_stag(area_.get())};
  vl_send_wr wr = {};
  wr.sg_list = &sge;
  wr.opcode = VL_OP_PULL;
  wr.remote_address = peer->theirs.view + offset;
  PostPages(peer, &wr, 1, idle);
}

void DsmLinks::Push(unsigned node, const std::vector<DsmRun>& runs, uint64_t offset,
                    const Idle& idle) {
  Peer* const peer = peers_[node].get();
  std::array<vl_sge, kPageList> elements;
  std::array<vl_send_wr, kPageList> list;
  uint32_t count = 0;
  for (const DsmRun& run : runs) {
    const uint64_t at = offset + run.offset;
    elements[count] = {vl::AddressOf(view_ + at), run.bytes, vl_mr_stag(area_.get())};
    list[count] = {};
    list[count].sg_list = &elements[count];
    list[count].opcode = VL_OP_PUSH;
    list[count].remote_address = peer->theirs.view + at;
    if (run.bytes <= kInlineRun) list[count].flags = VL_SEND_INLINE;
    if (++count < kPageList) continue;
    PostPages(peer, list.data(), count, idle);
    count = 0;
  }
  if (count > 0) PostPages(peer, list.data(), count, idle);
}

void DsmLinks::PollPages() {
  vl_wc wc;
  const int count = vl_poll_cq(page_queue_.get(), 1, &wc);
  vl::Check(count, "vl_poll_cq");
  if (count == 0) return;
  Peer* const peer = peers_[wc.wr_id >> 32].get();
  if (wc.status != VL_WC_SUCCESS) {
    peer->page_work = 0;  // what it was is told by who asks for failures
    return Fail(peer->node, std::string("pages of it: ") + vl_status_string(wc.status));
  }
  peer->page_work -= std::min(peer->page_work, static_cast<uint32_t>(wc.wr_id));
}

void DsmLinks::AwaitPages(const Idle& idle) {
  const auto under_way = [this] {
    return !failures_.empty() ||
           std::any_of(peers_.begin(), peers_.end(), [](const std::unique_ptr<Peer>& peer) {
             return peer != nullptr && peer->page_work != 0;
           });
  };
  for (unsigned polls = 1; under_way(); ++polls) {
    PollPages();
    if (polls % kPollsBetweenLooks == 0) idle();
  }
}

void DsmLinks::Fail(unsigned node, const std::string& why) {
  const bool known = std::any_of(failures_.begin(), failures_.end(),
                                 [node](const Failure& one) { return one.node == node; });
  if (!known) failures_.push_back({node, why, MeshClock::now()});
}

// ---- Sleep

// One that cannot be armed is gone: who polls it next hears why.
void DsmLinks::Arm() { vl_req_notify_cq(message_queue_.get(), 1); }

void DsmLinks::TakeEvent() {
  vl_cq* fired = nullptr;
  vl::Check(vl_get_cq_event(channel_.get(), &fired, nullptr), "vl_get_cq_event");
  vl::Check(vl_ack_cq_events(fired, 1), "vl_ack_cq_events");
}

}  // namespace exrnic
