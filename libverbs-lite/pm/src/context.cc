// SPDX-License-Identifier: BSD-2-Clause
#include "context.h"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

using exrnic::kNoBuffer;
using exrnic::MeshKind;
using exrnic::MeshMessage;
using exrnic::PmArea;
using exrnic::PmClock;
using exrnic::PmEntry;
using exrnic::PmError;
using exrnic::PmWork;
using exrnic::PmWorkId;

namespace {

constexpr uint32_t kTransfersOfPeer = 16;
constexpr uint32_t kReadsOfPeer = 4;  // of an RNIC of full size each queue pair can have as many
constexpr size_t kPmPage = 4096;
constexpr size_t kTransferMax = (size_t{1} << 31) - 1;
constexpr unsigned kEmptyPollsOfProgress = 64;
// At places for messages, of one pmReceive: who waits for one sees it within some instructions, and
// not within those of a call.
constexpr size_t kLooks = 16;
// An RNIC has 64 remote windows, which are not for one program alone.
constexpr uint32_t kWindowPeers = 15;
constexpr std::chrono::milliseconds kPmWatchPause(1);
// A queue pair that fails may be its peer's farewell, which is on its way.
constexpr std::chrono::milliseconds kPmFarewell(200);
constexpr std::chrono::milliseconds kPmLimit(30000);

std::unique_ptr<uint8_t, void (*)(void*)> ZeroPages(size_t bytes) {
  void* const memory = aligned_alloc(kPmPage, bytes);
  if (memory == nullptr) throw std::bad_alloc();
  memset(memory, 0, bytes);
  return {static_cast<uint8_t*>(memory), free};
}

size_t WholePages(size_t bytes) { return (bytes + kPmPage - 1) / kPmPage * kPmPage; }

std::vector<std::string> PmAddresses(const pm_attr& attr) {
  if (attr.nodes < 2 || attr.nodes > PM_NODES_MAX) {
    throw PmError(EINVAL, "attr->nodes is " + std::to_string(attr.nodes) + ": 2 to " +
                              std::to_string(PM_NODES_MAX));
  }
  if (attr.self < 0 || attr.self >= attr.nodes) {
    throw PmError(EINVAL, "attr->self is " + std::to_string(attr.self) + ": 0 to " +
                              std::to_string(attr.nodes - 1));
  }
  if (attr.timeout_ms < 0) {
    throw PmError(EINVAL, "attr->timeout_ms is " + std::to_string(attr.timeout_ms) + ": 0 or more");
  }
  std::vector<std::string> addresses;
  for (int node = 0; node < attr.nodes; ++node) {
    if (attr.addresses == nullptr || attr.addresses[node] == nullptr)
      throw PmError(EINVAL, "attr->addresses: that of node " + std::to_string(node) + " is null");
    addresses.emplace_back(attr.addresses[node]);
  }
  return addresses;
}

}  // namespace

// ---- How it is made

pm_context::pm_context(const pm_attr& attr)
    : limit_(attr.timeout_ms == 0 ? kPmLimit : std::chrono::milliseconds(attr.timeout_ms)),
      mesh_(PmAddresses(attr), static_cast<unsigned>(attr.self)) {
  const auto deadline = exrnic::MeshClock::now() + limit_;
  mesh_.Meet(deadline);
  OpenRnic(attr);
  MakePeers();
  const auto infos = mesh_.Exchange(
      MeshKind::kInfo,
      [this](unsigned node) {
        const Info info = InfoFor(node);
        const auto* bytes = reinterpret_cast<const uint8_t*>(&info);
        return std::vector<uint8_t>(bytes, bytes + sizeof(info));
      },
      deadline);
  for (const auto& peer : peers_) {
    if (peer == nullptr) continue;
    const auto& info = infos[peer->node];
    if (info.size() != sizeof(Info))
      throw PmError(EPROTO, mesh_.Name(peer->node) + " is no node of PM of this version");
    memcpy(&peer->theirs, info.data(), sizeof(Info));
    vl::ConnectQp(peer->messages.get(), peer->theirs.node_id, peer->theirs.message_qpn);
    vl::ConnectQp(peer->transfers.get(), peer->theirs.node_id, peer->theirs.transfer_qpn);
    OpenWindow(peer.get());
    vl_send_wr* const wr = &peer->inline_push;
    wr->sg_list = &peer->inline_bytes;
    wr->num_sge = 1;
    wr->opcode = VL_OP_PUSH;
    wr->remote_stag = peer->theirs.stag;
  }
  // Nothing may arrive before its receiver is ready.
  mesh_.Exchange(MeshKind::kReady, [](unsigned) { return std::vector<uint8_t>(); }, deadline);
}

pm_context::~pm_context() = default;

void pm_context::OpenRnic(const pm_attr& attr) {
  rnic_ = attr.rnic;
  if (rnic_ == nullptr) {
    own_rnic_ = vl::OpenRnic(attr.device == nullptr ? "" : attr.device);
    rnic_ = own_rnic_.get();
  }
  const vl_rnic_attr limits = vl::QueryRnic(rnic_);
  node_id_ = limits.node_id;
  const uint32_t peers = mesh_.nodes() - 1;
  windows_ = limits.max_window != 0 && peers <= kWindowPeers;
  places_ = std::min<uint32_t>(PM_SLOTS_OF_NODE, PM_SLOTS / peers);
  looks_ = std::max<size_t>(peers, kLooks / peers * peers);
  message_work_ = 2 * places_ + 2 * PM_SLOTS_OF_NODE + 4;
  pd_ = vl::AllocatePd(rnic_);
  cq_ = vl::CreateCq(rnic_, peers * (message_work_ + kTransfersOfPeer));

  const size_t control = WholePages(mesh_.nodes() * sizeof(Control));
  const size_t entries = PM_SLOTS * sizeof(PmEntry);
  const size_t slots = size_t{PM_SLOTS} * PM_MESSAGE_MAX;
  shared_bytes_ = control + entries + slots + WholePages(PM_LOCKS_MAX * sizeof(PmArea));
  shared_ = ZeroPages(shared_bytes_);
  control_ = reinterpret_cast<Control*>(shared_.get());
  entries_ = reinterpret_cast<PmEntry*>(shared_.get() + control);
  slots_ = shared_.get() + control + entries;
  areas_ = std::make_unique<exrnic::PmAreas>(
      reinterpret_cast<PmArea*>(shared_.get() + control + entries + slots));
  shared_region_ =
      vl::AllocateMr(pd_.get(), shared_.get(), shared_bytes_,
                     VL_ACCESS_LOCAL_WRITE | VL_ACCESS_REMOTE_WRITE | VL_ACCESS_REMOTE_READ);
  const size_t send_bytes = size_t{PM_SEND_BUFFERS} * PM_MESSAGE_MAX;
  send_memory_ = ZeroPages(send_bytes);
  send_region_ = vl::AllocateMr(pd_.get(), send_memory_.get(), send_bytes, 0);
}

vl_qp_init_attr pm_context::QueuePair(uint32_t work, uint32_t reads) const {
  vl_qp_init_attr init = vl::QpAttributes(cq_.get(), work);
  init.max_send_sge = 1;
  init.max_inline = sizeof(PmEntry);
  init.max_reads_out = init.max_reads_in = reads;
  return init;
}

// The node's place among all but `at`, in places for messages.
unsigned pm_context::IndexAt(unsigned node, unsigned at) const {
  return (node < at ? node : node - 1) * places_;
}

void pm_context::MakePeers() {
  peers_.resize(mesh_.nodes());
  for (unsigned node = 0; node < mesh_.nodes(); ++node) {
    if (node == mesh_.self()) continue;
    auto peer = std::make_unique<Peer>();
    peer->context = this;
    peer->node = node;
    peer->messages = vl::CreateQp(pd_.get(), QueuePair(message_work_, 1));
    peer->transfers = vl::CreateQp(pd_.get(), QueuePair(kTransfersOfPeer, kReadsOfPeer));
    if (windows_) peer->window_qp = vl::CreateQp(pd_.get(), QueuePair(1, 1));
    Control* const control = ControlOf(node);
    const unsigned first = IndexAt(node, mesh_.self());
    peer->sender.emplace(peer.get(), places_, &control->released, &control->reread);
    peer->receiver.emplace(peer.get(), places_, entries_ + first,
                           slots_ + size_t{first} * PM_MESSAGE_MAX, PM_MESSAGE_MAX,
                           &control->own_released);
    others_.push_back(peer.get());
    peers_[node] = std::move(peer);
  }
}

pm_context::Info pm_context::InfoFor(unsigned node) {
  const unsigned first = IndexAt(node, mesh_.self());
  return {node_id_,
          vl_qp_number(peers_[node]->messages.get()),
          vl_qp_number(peers_[node]->transfers.get()),
          windows_ ? vl_qp_number(peers_[node]->window_qp.get()) : kNoQueuePair,
          vl_mr_stag(shared_region_.get()),
          0,
          vl::AddressOf(ControlOf(node)),
          vl::AddressOf(entries_ + first),
          vl::AddressOf(slots_ + size_t{first} * PM_MESSAGE_MAX),
          vl::AddressOf(shared_.get() + shared_bytes_ - WholePages(PM_LOCKS_MAX * sizeof(PmArea)))};
}

// Without a window short messages are PUSHed: the peer has none, or is on this RNIC, or there is no
// window left.
void pm_context::OpenWindow(Peer* peer) {
  if (!windows_ || peer->theirs.window_qpn == kNoQueuePair) return;
  vl::ConnectQp(peer->window_qp.get(), peer->theirs.node_id, peer->theirs.window_qpn);
  peer->window.reset(vl_map_window(peer->window_qp.get(), peer->theirs.stag, peer->theirs.entries,
                                   places_ * sizeof(PmEntry), VL_WINDOW_STORE | VL_WINDOW_LOAD));
  if (peer->window == nullptr) return;
  peer->entries_there = static_cast<volatile uint64_t*>(vl_window_address(peer->window.get()));
}

// The peer has not taken messages for a while: they may be lost with the window. They are said
// again by PUSHes then.
void pm_context::CheckWindow(Peer* peer) {
  vl_qp_attr attr = {};
  if (peer->entries_there != nullptr && vl_query_qp(peer->window_qp.get(), &attr) == 0 &&
      attr.state != VL_QPS_RTS)
    CloseWindow(peer);
}

void pm_context::CloseWindow(Peer* peer) {
  peer->entries_there = nullptr;
  peer->window.reset();
  peer->window_qp.reset();
}

void pm_context::Close() {
  const Guard guard(lock_);
  const auto none_under_way = [this] {
    for (const auto& peer : peers_)
      if (peer != nullptr &&
          (!Settled(peer.get()) || peer->writes + peer->reads + peer->other_work != 0))
        return false;
    return true;
  };
  Await("all nodes to take what was sent", none_under_way);
  // A load waits behind the stores.
  for (const auto& peer : peers_)
    if (peer != nullptr && peer->entries_there != nullptr) static_cast<void>(*peer->entries_there);
  for (const auto& peer : peers_)
    if (peer != nullptr) mesh_.Tell(peer->node, {MeshKind::kBye, {}});
}

// ---- PUSHes and PULLs of a channel

void pm_context::BuryUnposted(Peer* peer) {
  Bury(peer, std::string("vl_post_sq: ") + vl_error_text());
}

// The peer hears again what it knows.
void pm_context::Flush(Peer* peer) {
  if (peer->unsignaled == 0) return;
  PostInline(peer, &ControlOf(peer->node)->own_released, sizeof(uint64_t),
             peer->theirs.control + offsetof(Control, released), true);
}

bool pm_context::Settled(Peer* peer) {
  if (peer->gone || peer->message_work == 0) return true;
  Flush(peer);
  return false;
}

void pm_context::PostInline(Peer* peer, const void* bytes, uint32_t length, uint64_t remote,
                            bool signaled) {
  // Full: what waits is said again by whoever needs it, see channel.h.
  if (peer->gone || peer->message_work >= message_work_) return;
  PostNow(peer, bytes, length, remote, signaled);
}

void pm_context::Peer::PushMessage(uint32_t place, const void* bytes, uint32_t length,
                                   const PmEntry& entry) {
  const uint64_t entry_at = theirs.entries + place * sizeof(PmEntry);
  // What is said again, too: so it comes before what a place gets next, whose bytes a program may
  // be reading. But a store must not overtake the bytes of a long message.
  if (length == 0 && entries_there != nullptr) {
    if (entry.length <= exrnic::kPmShort || sending.empty()) StoreEntry(place, entry);
    return;
  }
  if (length == 0) return context->PostInline(this, &entry, PmEntryBytes(entry), entry_at);
  const uint32_t buffer = context->sending_;
  vl_sge data = {vl::AddressOf(bytes), length, vl_mr_stag(context->send_region_.get())};
  vl_sge pointer = {vl::AddressOf(&entry), PmEntryBytes(entry), 0};
  vl_send_wr wr[2] = {};
  wr[0].next = &wr[1];
  wr[0].sg_list = &data;
  wr[0].remote_address = theirs.slots + uint64_t{place} * PM_MESSAGE_MAX;
  uint32_t covers = 2;
  context->Signals(this, 2, true, &covers);
  wr[1].wr_id = PmWorkId(node, PmWork::kMessage, buffer, covers);
  wr[1].sg_list = &pointer;
  wr[1].flags = VL_SEND_SIGNALED | VL_SEND_INLINE;
  wr[1].remote_address = entry_at;
  for (vl_send_wr& each : wr) {
    each.num_sge = 1;
    each.opcode = VL_OP_PUSH;
    each.remote_stag = theirs.stag;
  }
  ++context->buffers_[buffer].users;
  sending.push_back(buffer);
  context->Post(this, messages.get(), wr[0]);
}

void pm_context::Peer::PushReleased(uint64_t released) {
  context->PostInline(this, &released, sizeof(released),
                      theirs.control + offsetof(Control, released));
}

void pm_context::Peer::PullReleased() {
  if (gone || message_work >= context->message_work_) return;
  vl_sge sge = {vl::AddressOf(&context->ControlOf(node)->reread), sizeof(uint64_t),
                vl_mr_stag(context->shared_region_.get())};
  vl_send_wr wr = {};
  uint32_t covers = 1;
  context->Signals(this, 1, true, &covers);
  wr.wr_id = PmWorkId(node, PmWork::kMessage, kNoBuffer, covers);
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = VL_OP_PULL;
  wr.flags = VL_SEND_SIGNALED;
  wr.remote_stag = theirs.stag;
  wr.remote_address = theirs.control + offsetof(Control, own_released);
  context->Post(this, messages.get(), wr);
}

// ---- Messages

void pm_context::FailPeer(const char* name, int node) const {
  throw PmError(EINVAL, std::string(name) + " is " + std::to_string(node) + ": 0 to " +
                            std::to_string(nodes() - 1) + ", and not " + std::to_string(self()) +
                            ", which is this one");
}

std::optional<uint32_t> pm_context::FreeBuffer() {
  for (uint32_t i = 0; i < PM_SEND_BUFFERS; ++i) {
    const uint32_t buffer = (next_buffer_ + i) % PM_SEND_BUFFERS;
    if (buffers_[buffer].users == 0) return buffer;
  }
  return std::nullopt;
}

// Null: ENOBUFS.
void* pm_context::GetSendBuffer(const int* nodes, int count, size_t length) {
  const Guard guard(lock_);
  if (length > PM_MESSAGE_MAX) {
    throw PmError(EINVAL, "length is " + std::to_string(length) + ": at most " +
                              std::to_string(PM_MESSAGE_MAX));
  }
  if (count < 1 || count >= this->nodes())
    throw PmError(EINVAL, "count is " + std::to_string(count) + ": 1 to " +
                              std::to_string(this->nodes() - 1));
  if (held_ && holder_ == ThisThread())
    throw PmError(EBUSY, "this thread has a send buffer that it has not sent");
  std::vector<Peer*>& wanted = wanted_;  // kept, so that no call takes memory
  wanted.clear();
  for (int i = 0; i < count; ++i) {
    Peer* const peer = CheckPeer(count == 1 ? "node" : "a node", nodes[i]);
    if (i > 0 && std::find(wanted.begin(), wanted.end(), peer) != wanted.end())
      throw PmError(EINVAL, "node " + std::to_string(nodes[i]) + " is named twice");
    wanted.push_back(peer);
  }
  bool room = !held_;
  for (Peer* const peer : wanted) {
    ExpectConnected(*peer);
    if (!room || HasRoom(peer)) continue;
    PollQueue();
    ExpectConnected(*peer);
    room = HasRoom(peer);
  }
  std::optional<uint32_t> buffer;
  if (room) buffer = FreeBuffer();
  if (room && !buffer) {
    PollQueue();
    buffer = FreeBuffer();
  }
  if (!buffer) {
    Progress();
    return nullptr;
  }
  held_for_one_ = nullptr;
  held_for_.swap(wanted);
  return Hold(*buffer, length);
}

// By a PUSH, if there is no window, and room. Where there is one all entries go by it: an older one
// that a PUSH brings late would be in the place of a newer one.
bool pm_context::PushShort() {
  Peer* const peer = held_for_one_;
  if (!IsShortOfThisThread() || peer->gone || peer->entries_there != nullptr ||
      peer->message_work >= message_work_)
    return false;
  uint32_t place;
  const PmEntry* const entry = FillHeld(peer, &place);
  PostNow(peer, entry, PmEntryBytes(*entry), peer->theirs.entries + place * sizeof(PmEntry), false);
  ExpectConnected(*peer);
  return true;
}

void pm_context::Send() {
  const Guard guard(lock_);
  if (PushShort()) return;
  if (!held_ || holder_ != ThisThread()) throw PmError(EINVAL, "this thread has no send buffer");
  held_ = false;
  sending_ = held_buffer_;
  if (held_for_one_ != nullptr) held_for_.assign(1, held_for_one_);
  std::string why;
  int node = -1;
  for (Peer* const peer : held_for_) {
    if (!peer->gone)
      peer->sender->Send(MemoryOf(held_buffer_), held_length_, peer->receiver->Tell());
    if (!peer->gone) continue;
    why += (why.empty() ? "" : "; ") + peer->why;
    node = static_cast<int>(peer->node);
  }
  if (!why.empty()) throw PmError(ECONNRESET, why, node);
}

void pm_context::Release() {
  const Guard guard(lock_);
  if (received_count_ == released_count_)
    throw PmError(EINVAL, "no receive buffer is the program's");
  received_[released_count_++ % PM_SLOTS]->receiver->Release();
}

void pm_context::ReceiveNone() {
  const Guard guard(lock_);
  if (liar_ != nullptr) {
    Bury(liar_, mesh_.Name(liar_->node) + " sent what is no message");
    liar_ = nullptr;
  }
  if (++empty_polls_ % kEmptyPollsOfProgress == 0) Progress();
  if (!some_dead_) return;
  some_dead_ = false;
  for (const auto& peer : peers_) {
    if (peer == nullptr || !peer->dead) continue;
    peer->dead = false;
    some_dead_ = true;  // there may be more
    throw PmError(ECONNRESET, peer->why, static_cast<int>(peer->node));
  }
}

// ---- Remote write and read

pm_handle pm_context::Lock(int node, void* address, size_t length) {
  const Guard guard(lock_);
  if (node != PM_NODE_ANY) CheckPeer("node", node);
  if (address == nullptr || length == 0 || length >> exrnic::kPmOffsetBits != 0) {
    throw PmError(EINVAL, "address is null, or length is " + std::to_string(length) + ": 1 to 2^" +
                              std::to_string(exrnic::kPmOffsetBits) + " - 1");
  }
  return areas_->Lock(pd_.get(), node, address, length);
}

void pm_context::Unlock(pm_handle handle) {
  const Guard guard(lock_);
  const uint32_t index = areas_->Unlock(handle);
  ++version_;
  for (const auto& peer : peers_) {
    if (peer == nullptr) continue;
    // It must not be lost for want of room.
    Await(mesh_.Name(peer->node) + " to take what was sent",
          [&] { return peer->gone || peer->message_work < message_work_; });
    PostInline(peer.get(), &version_, sizeof(version_),
               peer->theirs.control + offsetof(Control, version), true);
  }
  try {
    Await("all nodes to hear that memory was unlocked", [this] {
      for (const auto& peer : peers_)
        if (peer != nullptr && !Settled(peer.get())) return false;
      return true;
    });
  } catch (const PmError&) {
    areas_->Forget(index);
    throw;
  }
  areas_->Forget(index);
}

void pm_context::FetchArea(Peer* peer, uint32_t index) {
  const uint64_t version = *const_cast<volatile uint64_t*>(&ControlOf(peer->node)->version);
  if (version != peer->known_version) peer->known.clear();
  peer->known_version = version;
  if (peer->known.count(index) != 0) return;
  PmArea* const area = &ControlOf(peer->node)->area;
  vl_sge sge = {vl::AddressOf(area), sizeof(*area), vl_mr_stag(shared_region_.get())};
  vl_send_wr wr = {};
  wr.wr_id = PmWorkId(peer->node, PmWork::kOther);
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = VL_OP_PULL;
  wr.flags = VL_SEND_SIGNALED;
  wr.remote_stag = peer->theirs.stag;
  wr.remote_address = peer->theirs.areas + index * sizeof(PmArea);
  const auto work = [peer] { return peer->writes + peer->reads + peer->other_work; };
  const std::string name = mesh_.Name(peer->node);
  const auto ended = [peer] { return peer->gone || peer->transfers_gone; };
  Await(name + " to take transfers", [&] { return ended() || work() < kTransfersOfPeer; });
  if (!ended()) {
    ++peer->other_work;
    Post(peer, peer->transfers.get(), wr);
    Await(name + " to say where its memory is", [&] { return ended() || peer->other_work == 0; });
  }
  ExpectConnected(*peer);
  if (peer->transfers_gone)
    throw PmError(ECONNRESET, peer->transfers_why, static_cast<int>(peer->node));
  peer->known[index] = *area;
}

const PmArea& pm_context::AreaOf(Peer* peer, pm_handle handle) {
  static constexpr PmArea kNone = {};
  const uint32_t index = exrnic::PlaceOf(handle).index;
  if (index >= PM_LOCKS_MAX) return kNone;
  FetchArea(peer, index);
  const PmArea* area = &peer->known[index];
  if (area->generation != exrnic::PlaceOf(handle).generation || area->locked == 0) {
    // What is known may be older than the handle.
    peer->known.erase(index);
    FetchArea(peer, index);
    area = &peer->known[index];
  }
  return *area;
}

void pm_context::Write(int node, pm_handle remote, pm_handle local, size_t length) {
  Transfer(VL_OP_PUSH, node, remote, local, length);
}
void pm_context::Read(int node, pm_handle remote, pm_handle local, size_t length) {
  Transfer(VL_OP_PULL, node, remote, local, length);
}

void pm_context::Transfer(vl_wr_opcode opcode, int node, pm_handle remote, pm_handle local,
                          size_t length) {
  const Guard guard(lock_);
  Peer* const peer = CheckPeer("node", node);
  if (length == 0 || length > kTransferMax) {
    throw PmError(EINVAL,
                  "length is " + std::to_string(length) + ": 1 to " + std::to_string(kTransferMax));
  }
  ExpectConnected(*peer);
  if (peer->transfers_gone) throw PmError(ECONNRESET, peer->transfers_why, node);
  const PmArea& here = areas_->Find("local", local);
  exrnic::CheckPlace("local", local, here, length, PM_NODE_ANY, "here");
  const PmArea& there = AreaOf(peer, remote);
  exrnic::CheckPlace("remote", remote, there, length, self(), "of " + mesh_.Name(peer->node));
  if (peer->writes + peer->reads + peer->other_work >= kTransfersOfPeer) {
    PollQueue();
    if (peer->writes + peer->reads + peer->other_work >= kTransfersOfPeer) {
      throw PmError(ENOBUFS, std::to_string(kTransfersOfPeer) + " transfers with " +
                                 mesh_.Name(peer->node) + " are under way");
    }
  }
  vl_sge sge = {here.address + exrnic::PlaceOf(local).offset, static_cast<uint32_t>(length),
                here.stag};
  vl_send_wr wr = {};
  const bool is_write = opcode == VL_OP_PUSH;
  wr.wr_id = PmWorkId(peer->node, is_write ? PmWork::kWrite : PmWork::kRead);
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = opcode;
  wr.flags = VL_SEND_SIGNALED;
  wr.remote_stag = there.stag;
  wr.remote_address = there.address + exrnic::PlaceOf(remote).offset;
  ++(is_write ? peer->writes : peer->reads);
  Post(peer, peer->transfers.get(), wr);
}

// False: EBUSY.
bool pm_context::TransfersDone(bool writes) {
  const Guard guard(lock_);
  Progress();
  std::vector<std::string>* const failed = writes ? &failed_writes_ : &failed_reads_;
  if (!failed->empty()) {
    std::string text;
    for (const std::string& each : *failed) text += (text.empty() ? "" : "; ") + each;
    failed->clear();
    throw PmError(ECONNRESET, text);
  }
  for (const auto& peer : peers_)
    if (peer != nullptr && (writes ? peer->writes : peer->reads) != 0) return false;
  return true;
}

void pm_context::WaitDone() {
  const auto end = PmClock::now() + limit_;
  // Without the lock between: others may go on.
  for (;;) {
    const bool writes = TransfersDone(true);
    if (TransfersDone(false) && writes) return;
    if (PmClock::now() > end)
      throw PmError(ETIMEDOUT,
                    "transfers have not ended within " + std::to_string(limit_.count()) + " ms");
    sched_yield();
  }
}

// ---- How it moves on

template <typename Condition>
void pm_context::Await(const std::string& what, Condition&& condition) {
  const auto end = PmClock::now() + limit_;
  while (!condition()) {
    Progress();
    if (condition()) return;
    if (PmClock::now() > end) {
      throw PmError(ETIMEDOUT,
                    "waited " + std::to_string(limit_.count()) + " ms in vain for " + what);
    }
    sched_yield();
  }
}

void pm_context::Progress() {
  PollQueue();
  const auto now = PmClock::now();
  if (now >= next_watch_) {
    next_watch_ = now + kPmWatchPause;
    Watch();
    for (const auto& peer : peers_)
      if (peer != nullptr && !peer->gone && peer->sender->Remind(now)) CheckWindow(peer.get());
  }
}

void pm_context::PollQueue() {
  vl_wc wc[16];
  for (;;) {
    const int count = vl_poll_cq(cq_.get(), 16, wc);
    if (count < 0) {
      for (const auto& peer : peers_)
        if (peer != nullptr) Bury(peer.get(), mesh_.Name(peer->node) + ": the own RNIC is gone");
      return;
    }
    for (int i = 0; i < count; ++i) Take(wc[i]);
    if (count < 16) return;
  }
}

void pm_context::Take(const vl_wc& wc) {
  const auto node = static_cast<unsigned>(wc.wr_id >> 32);
  const auto covers = static_cast<uint32_t>(wc.wr_id >> 16 & 0xffff);
  const auto work = static_cast<PmWork>(wc.wr_id >> 8 & 0xff);
  const uint64_t buffer = wc.wr_id & 0xff;  // below PM_SEND_BUFFERS, or none
  if (node >= peers_.size() || peers_[node] == nullptr) return;
  Peer* const peer = peers_[node].get();
  if (peer->gone) return;
  const bool of_messages = work == PmWork::kMessage;
  if (wc.status != VL_WC_SUCCESS) {
    const std::string why = mesh_.Name(node) + ": " + vl_status_string(wc.status) +
                            (wc.detail == 0 ? "" : ", ") +
                            (wc.detail == 0 ? "" : vl_terminate_string(wc.detail));
    // The device reads nothing for it any more, and all later ones end likewise.
    if (of_messages) {
      if (!peer->broken_until) peer->broken_until = PmClock::now() + kPmFarewell;
      if (peer->why.empty()) peer->why = why;
    } else {
      if (work == PmWork::kWrite) failed_writes_.push_back("pmWrite to " + why);
      if (work == PmWork::kRead) failed_reads_.push_back("pmRead from " + why);
      EndTransfers(peer, why);
    }
  }
  if (of_messages) {
    if (buffer != kNoBuffer) {
      --buffers_[buffer].users;
      peer->sending.pop_front();  // they complete in order
    }
    peer->message_work -= std::min(peer->message_work, covers);  // what fails may cover no more
    return;
  }
  uint32_t* const count = work == PmWork::kWrite  ? &peer->writes
                          : work == PmWork::kRead ? &peer->reads
                                                  : &peer->other_work;
  --*count;
}

void pm_context::EndTransfers(Peer* peer, const std::string& why) {
  if (peer->transfers_gone) return;
  peer->transfers_gone = true;
  peer->transfers_why = why;
}

void pm_context::Watch() {
  mesh_.Watch(
      [this](unsigned node, const MeshMessage& message) {
        if (message.kind == MeshKind::kBye) peers_[node]->left = true;
      },
      [this](unsigned node) {
        Peer* const peer = peers_[node].get();
        Bury(peer, mesh_.Name(node) + (peer->left ? " has left" : " has died"), !peer->left);
      });
  const auto now = PmClock::now();
  for (const auto& peer : peers_) {
    if (peer == nullptr || peer->gone || !peer->broken_until || now < *peer->broken_until) continue;
    Bury(peer.get(), peer->why, !peer->left);
  }
}

// What it has sent stays. Nothing is under way behind it.
void pm_context::Bury(Peer* peer, const std::string& why, bool tell) {
  if (peer->gone) return;
  peer->gone = true;
  peer->dead = tell;
  some_dead_ = some_dead_ || tell;
  peer->why = why;
  EndTransfers(peer, why);
  for (uint32_t i = 0; i < peer->writes; ++i) failed_writes_.push_back("pmWrite: " + why);
  for (uint32_t i = 0; i < peer->reads; ++i) failed_reads_.push_back("pmRead: " + why);
  peer->writes = peer->reads = peer->other_work = peer->message_work = 0;
  CloseWindow(peer);
  peer->messages.reset();
  peer->transfers.reset();
  // Its completions do not come any more.
  for (const uint32_t buffer : peer->sending) --buffers_[buffer].users;
  peer->sending.clear();
  mesh_.Close(peer->node);
}
