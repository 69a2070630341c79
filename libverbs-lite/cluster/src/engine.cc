// SPDX-License-Identifier: BSD-2-Clause
#include "engine.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

namespace vl {

namespace {

using exrnic::MeshClock;
using exrnic::MeshKind;
using exrnic::MeshMessage;

constexpr uint32_t kSendsOut = 16;   // messages of a link in its send queue...
constexpr uint32_t kWorkOfSend = 2;  // ...and work requests of each, at most
constexpr int kPollBatch = 64;
constexpr std::chrono::milliseconds kWatchPause(1);
// What a peer had sent when it left has arrived before: only its completions may be to come.
constexpr std::chrono::milliseconds kLeavePatience(2000);
constexpr std::chrono::milliseconds kFarewellPatience(200);
// Rights of a buffer. A sender's has none.
constexpr int kReceiveRights = VL_ACCESS_LOCAL_WRITE | VL_ACCESS_REMOTE_WRITE;

enum class ClusterWork : uint64_t { kOffer, kMessage, kReceive };

uint64_t WorkId(unsigned peer, ClusterWork work) {
  return uint64_t{peer} << 8 | static_cast<uint64_t>(work);
}

// Waits a little longer each time, up to a tenth of a millisecond.
class Pause {
 public:
  void Now() {
    constexpr unsigned kSpins = 64, kYields = 256;
    ++count_;
    if (count_ < kSpins) return;
    if (count_ < kYields) {
      sched_yield();
    } else {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }

 private:
  unsigned count_ = 0;
};

// As a number of a program's own limits.
void CheckRange(const char* name, uint64_t value, uint64_t least, uint64_t most) {
  if (value >= least && value <= most) return;
  throw ClusterError(std::string(name) + " is " + std::to_string(value) + ": " +
                         std::to_string(least) + " to " + std::to_string(most),
                     EINVAL);
}

void CheckTime(const char* name, std::chrono::milliseconds limit) {
  if (limit.count() >= 0) return;
  throw ClusterError(std::string(name) + " is " + std::to_string(limit.count()) + " ms: 0 or more",
                     EINVAL);
}

}  // namespace

ClusterEngine::ClusterEngine(ClusterOptions options)
    : options_(std::move(options)), mesh_(options_.addresses, options_.self) {
  CheckRange("receives", options_.receives, 1, kClusterReceivesMax);
  CheckTime("meet_limit", options_.meet_limit);
  CheckTime("limit", options_.limit);
  links_.resize(mesh_.nodes());
}

ClusterEngine::~ClusterEngine() { Close(); }

void ClusterEngine::Close() {
  const Lock lock(mutex_);
  EndAll(ECANCELED, "this node's Cluster was destroyed");
  registered_.clear();
  step_ = Step::kLeft;
}

void ClusterEngine::Expect(Step step, const char* call) const {
  if (step_ == step) return;
  static constexpr const char* kBefore[] = {"Meet", "CreateObjects", "ConnectQueuePairs",
                                            "transfers and Leave", "nothing"};
  throw ClusterError(
      std::string(call) + " out of order: what is due is " + kBefore[static_cast<int>(step_)],
      EINVAL);
}

void ClusterEngine::Meet() {
  const Lock lock(mutex_);
  Expect(Step::kNew, "Meet");
  deadline_ = MeshClock::now() + options_.meet_limit;
  mesh_.Meet(deadline_);
  step_ = Step::kMet;
}

void ClusterEngine::CreateObjects() {
  const Lock lock(mutex_);
  Expect(Step::kMet, "CreateObjects");
  rnic_ = OpenRnic(options_.device);
  const vl_rnic_attr limits = QueryRnic(rnic_.get());
  node_id_ = limits.node_id;
  const uint32_t peers = mesh_.nodes() - 1;
  const uint32_t entries = peers * (2 * options_.receives + kSendsOut * kWorkOfSend);
  if (entries > limits.max_cq_entries) {
    throw ClusterError("receives is " + std::to_string(options_.receives) + ": with " +
                           std::to_string(peers) + " peers that takes " + std::to_string(entries) +
                           " completions, and the RNIC has " +
                           std::to_string(limits.max_cq_entries),
                       EINVAL);
  }
  pd_ = AllocatePd(rnic_.get());
  cq_ = CreateCq(rnic_.get(), entries);
  ring_.resize(size_t{mesh_.nodes()} * options_.receives);
  for (unsigned peer = 0; peer < mesh_.nodes(); ++peer)
    if (peer != mesh_.self()) MakeLink(peer);
  step_ = Step::kMade;
}

void ClusterEngine::MakeLink(unsigned peer) {
  vl_qp_init_attr init =
      QpAttributes(cq_.get(), options_.receives + kSendsOut * kWorkOfSend, options_.receives);
  init.max_send_sge = 1;
  init.max_recv_sge = 1;
  init.max_inline = sizeof(Offer);
  links_[peer].qp = CreateQp(pd_.get(), init);
  // A region for each: no peer writes what another one offers.
  links_[peer].ring =
      AllocateMr(pd_.get(), RingOf(peer), options_.receives * sizeof(Offer), kReceiveRights);
}

void ClusterEngine::ConnectQueuePairs() {
  const Lock lock(mutex_);
  Expect(Step::kMade, "ConnectQueuePairs");
  const auto infos = mesh_.Exchange(
      MeshKind::kInfo,
      [this](unsigned peer) {
        const Info mine = {node_id_, vl_qp_number(links_[peer].qp.get()), AddressOf(RingOf(peer)),
                           vl_mr_stag(links_[peer].ring.get()), options_.receives};
        const auto* bytes = reinterpret_cast<const uint8_t*>(&mine);
        return std::vector<uint8_t>(bytes, bytes + sizeof(mine));
      },
      deadline_);
  for (unsigned peer = 0; peer < mesh_.nodes(); ++peer) {
    if (peer == mesh_.self()) continue;
    Link* const link = &links_[peer];
    if (infos[peer].size() != sizeof(Info))
      throw ClusterError(Name(peer) + " is of another version", EPROTO, {peer});
    memcpy(&link->theirs, infos[peer].data(), sizeof(Info));
    if (link->theirs.receives != options_.receives) {
      throw ClusterError("receives is " + std::to_string(options_.receives) + ", and " +
                             std::to_string(link->theirs.receives) + " at " + Name(peer) +
                             ": the same at all nodes",
                         EINVAL, {peer});
    }
    ConnectQp(link->qp.get(), link->theirs.node_id, link->theirs.qpn,
              {12, VL_RNR_RETRY_ENDLESS});  // a receive is there before its offer: 640 us are rare
  }
  // Nothing may arrive before its receiver is ready.
  mesh_.Exchange(MeshKind::kReady, [](unsigned) { return std::vector<uint8_t>(); }, deadline_);
  step_ = Step::kConnected;
}

void ClusterEngine::Leave() {
  const Lock lock(mutex_);
  Expect(Step::kConnected, "Leave");
  ProgressLocked();
  for (unsigned peer = 0; peer < links_.size(); ++peer) {
    const Farewell farewell = {links_[peer].sent, links_[peer].received};
    const auto* bytes = reinterpret_cast<const uint8_t*>(&farewell);
    if (peer != mesh_.self()) mesh_.Tell(peer, {MeshKind::kBye, {bytes, bytes + sizeof(farewell)}});
  }
  EndAll(ECANCELED, "this node has left the cluster");
  step_ = Step::kLeft;
}

// ---- What a caller begins

void ClusterEngine::CheckPeer(unsigned peer, const char* call) const {
  Expect(Step::kConnected, call);
  if (peer < mesh_.nodes() && peer != mesh_.self()) return;
  throw ClusterError(std::string(call) + ": peer is " + std::to_string(peer) + ": below " +
                         std::to_string(mesh_.nodes()) + ", and not " +
                         std::to_string(mesh_.self()) + ", which is this node",
                     EINVAL);
}

std::string ClusterEngine::WhyGone(unsigned peer) {
  const Lock lock(mutex_);
  CheckPeer(peer, "WhyGone");
  ProgressLocked();
  return links_[peer].why;
}

void ClusterEngine::Cut(unsigned peer, const std::string& why) {
  const Lock lock(mutex_);
  CheckPeer(peer, "Cut");
  EndLink(peer, ECONNRESET, Name(peer) + " was cut off: " + why);
}

const ClusterEngine::Registered* ClusterEngine::FindRegistered(const void* address, size_t length,
                                                               bool receives) const {
  const auto first = reinterpret_cast<uintptr_t>(address);
  for (const auto& [number, memory] : registered_) {
    if (first < memory.first || first - memory.first > memory.length ||
        length > memory.length - (first - memory.first) || (receives && !memory.receives))
      continue;
    return &memory;
  }
  return nullptr;
}

bool ClusterEngine::IsRegistered(ConstBytes memory, bool receives) {
  const Lock lock(mutex_);
  return FindRegistered(memory.data(), memory.size(), receives) != nullptr;
}

// Its arguments, and where its memory is registered; or registers it.
void ClusterEngine::Prepare(ClusterTransfer* transfer, const char* call) {
  CheckPeer(transfer->peer, call);
  if (transfer->length > kClusterMessageMax) {
    throw ClusterError(std::string(call) + ": " + std::to_string(transfer->length) +
                           " bytes: at most " + std::to_string(kClusterMessageMax),
                       EMSGSIZE, {transfer->peer});
  }
  if (transfer->address == nullptr && transfer->length != 0) {
    throw ClusterError(
        std::string(call) + ": " + std::to_string(transfer->length) + " bytes at a null pointer",
        EINVAL);
  }
  if (links_[transfer->peer].gone || transfer->length == 0) return;
  const Registered* const memory =
      FindRegistered(transfer->address, transfer->length, !transfer->is_send);
  if (memory == nullptr) {
    transfer->own_region = AllocateMr(pd_.get(), transfer->address, transfer->length,
                                      transfer->is_send ? 0 : kReceiveRights);
  }
  transfer->stag =
      vl_mr_stag(memory == nullptr ? transfer->own_region.get() : memory->region.get());
}

void ClusterEngine::StartLocked(const TransferPointer& transfer) {
  Link* const link = &links_[transfer->peer];
  if (link->gone) return FailTransfer(transfer, link->error, link->why, transfer->peer);
  (transfer->is_send ? link->sends_waiting : link->receives_waiting).push_back(transfer);
  Advance(transfer->peer);
}

void ClusterEngine::Start(const TransferPointer& transfer) {
  const Lock lock(mutex_);
  StartLocked(transfer);
}

std::shared_ptr<ClusterTransfer> ClusterEngine::PrepareSend(unsigned peer,
                                                            ClusterOperation operation,
                                                            ConstBytes message,
                                                            uint32_t immediate) {
  auto transfer = std::make_shared<ClusterTransfer>();
  transfer->peer = peer;
  transfer->is_send = true;
  transfer->operation = operation;
  transfer->immediate = immediate;
  transfer->address = const_cast<void*>(message.data());
  transfer->length = message.size();
  const Lock lock(mutex_);
  Prepare(transfer.get(), "Send");
  return transfer;
}

std::shared_ptr<ClusterTransfer> ClusterEngine::PrepareReceive(unsigned peer, Bytes buffer) {
  auto transfer = std::make_shared<ClusterTransfer>();
  transfer->peer = peer;
  transfer->address = buffer.data();
  transfer->length = buffer.size();
  const Lock lock(mutex_);
  Prepare(transfer.get(), "Receive");
  return transfer;
}

std::shared_ptr<ClusterTransfer> ClusterEngine::Send(unsigned peer, ClusterOperation operation,
                                                     ConstBytes message, uint32_t immediate) {
  const TransferPointer transfer = PrepareSend(peer, operation, message, immediate);
  Start(transfer);
  return transfer;
}

std::shared_ptr<ClusterTransfer> ClusterEngine::Receive(unsigned peer, Bytes buffer) {
  const TransferPointer transfer = PrepareReceive(peer, buffer);
  Start(transfer);
  return transfer;
}

std::shared_ptr<ClusterTransfer> ClusterEngine::SendAbort(unsigned peer, unsigned blame) {
  auto transfer = std::make_shared<ClusterTransfer>();
  transfer->peer = peer;
  transfer->is_send = true;
  transfer->word = kWordAborted + blame;
  const Lock lock(mutex_);
  Prepare(transfer.get(), "Send");
  StartLocked(transfer);
  return transfer;
}

uint64_t ClusterEngine::Register(ConstBytes memory, bool receives) {
  const Lock lock(mutex_);
  Expect(Step::kConnected, "Register");
  if (memory.data() == nullptr || memory.size() == 0)
    throw ClusterError("Register: no bytes, or a null pointer", EINVAL);
  void* const first = const_cast<void*>(memory.data());
  registered_[++registrations_] = {
      reinterpret_cast<uintptr_t>(first), memory.size(), receives,
      AllocateMr(pd_.get(), first, memory.size(), receives ? kReceiveRights : 0)};
  return registrations_;
}

void ClusterEngine::Unregister(uint64_t number) {
  const Lock lock(mutex_);
  registered_.erase(number);
}

// ---- How it moves on

void ClusterEngine::PostWork(unsigned peer, const vl_send_wr& wr) {
  Check(vl_post_sq(links_[peer].qp.get(), &wr, nullptr), "vl_post_sq");
}

// The buffer of the next receive, if there is room for it.
bool ClusterEngine::OfferNext(unsigned peer) {
  Link* const link = &links_[peer];
  if (link->receives_waiting.empty() || link->receives_out.size() >= options_.receives ||
      link->offers_out >= options_.receives)
    return false;
  const TransferPointer transfer = link->receives_waiting.front();
  vl_sge buffer = {AddressOf(transfer->address), static_cast<uint32_t>(transfer->length),
                   transfer->stag};
  vl_recv_wr receive = {};
  receive.wr_id = WorkId(peer, ClusterWork::kReceive);
  receive.sg_list = &buffer;
  receive.num_sge = transfer->length == 0 ? 0 : 1;
  Check(vl_post_rq(link->qp.get(), &receive, nullptr), "vl_post_rq");
  link->receives_waiting.pop_front();
  link->receives_out.push_back(transfer);

  const uint64_t place = link->offered++ % options_.receives;
  const Offer offer = {link->offered, buffer.address, buffer.stag, buffer.length, link->offered};
  vl_sge bytes = {AddressOf(&offer), sizeof(offer), 0};
  vl_send_wr wr = {};
  wr.wr_id = WorkId(peer, ClusterWork::kOffer);
  wr.sg_list = &bytes;
  wr.num_sge = 1;
  wr.opcode = VL_OP_PUSH;
  wr.flags = VL_SEND_SIGNALED | VL_SEND_INLINE;
  wr.remote_stag = link->theirs.stag;
  wr.remote_address = link->theirs.ring + place * sizeof(Offer);
  ++link->offers_out;
  PostWork(peer, wr);
  return true;
}

// The next message, if the peer has offered a place for it.
bool ClusterEngine::AnswerNext(unsigned peer) {
  Link* const link = &links_[peer];
  if (link->sends_waiting.empty() || link->sends_out.size() >= kSendsOut) return false;
  Offer* const place = &RingOf(peer)[link->answered % options_.receives];
  const uint64_t number = link->answered + 1;
  const auto at = [](uint64_t* word) {
    return *const_cast<volatile uint64_t*>(word);  // the device writes it
  };
  if (at(&place->number) != number || at(&place->number_again) != number) return false;
  std::atomic_thread_fence(std::memory_order_acquire);
  const Offer offer = *place;
  ++link->answered;
  const TransferPointer transfer = link->sends_waiting.front();
  link->sends_waiting.pop_front();
  link->sends_out.push_back(transfer);
  ++link->sent;
  if (PostMessage(peer, transfer.get(), offer)) return true;
  FailTransfer(transfer, EMSGSIZE,
               "a message of " + std::to_string(transfer->length) + " bytes for " + Name(peer) +
                   " is longer than its receive of " + std::to_string(offer.length),
               peer);
  return true;
}

// False: it is too long, which the peer is told instead.
bool ClusterEngine::PostMessage(unsigned peer, ClusterTransfer* transfer, const Offer& offer) {
  vl_sge bytes = {AddressOf(transfer->address), static_cast<uint32_t>(transfer->length),
                  transfer->stag};
  vl_send_wr data = {};
  data.sg_list = &bytes;
  data.num_sge = transfer->length == 0 ? 0 : 1;
  data.remote_address = offer.address;
  data.remote_stag = offer.stag;
  data.imm_data = transfer->immediate;
  vl_send_wr word = {};
  word.opcode = VL_OP_PUSH_IMM;
  word.remote_address = offer.address;
  word.remote_stag = offer.stag;
  const bool fits = transfer->length <= offer.length;
  if (transfer->word != 0 || !fits) {
    word.imm_data = fits ? transfer->word : kWordRefused | static_cast<uint32_t>(transfer->length);
    data = word;
  } else if (transfer->operation == ClusterOperation::kWrite) {
    word.imm_data = static_cast<uint32_t>(transfer->length);
    if (transfer->length != 0) {
      data.opcode = VL_OP_PUSH;
      data.imm_data = 0;
      PostWork(peer, data);
    }
    data = word;
  } else if (transfer->operation == ClusterOperation::kWriteWithImm && transfer->length != 0) {
    data.opcode = VL_OP_PUSH_IMM;
  } else if (transfer->operation == ClusterOperation::kSend) {
    data.opcode = VL_OP_SEND;
    data.imm_data = 0;
  } else {
    data.opcode = VL_OP_SEND_IMM;  // also of a WRITE of no bytes: its word would say otherwise
  }
  data.wr_id = WorkId(peer, ClusterWork::kMessage);
  data.flags = VL_SEND_SIGNALED;
  PostWork(peer, data);
  return fits;
}

void ClusterEngine::Advance(unsigned peer) try {
  if (links_[peer].gone || links_[peer].ends_by) return;
  while (OfferNext(peer)) {
  }
  while (AnswerNext(peer)) {
  }
} catch (const VerbsError& error) {
  EndLink(peer, error.error(), Name(peer) + ": " + error.what());
}

void ClusterEngine::TakeReceive(Link* link, const vl_wc& wc) {
  const TransferPointer transfer = std::move(link->receives_out.front());
  link->receives_out.pop_front();
  ++link->received;
  const bool with_immediate = (wc.flags & VL_WC_WITH_IMM) != 0;
  const bool is_word = with_immediate && (wc.flags & VL_WC_WRITTEN) != 0 && wc.byte_len == 0;
  if (is_word && wc.imm_data >= kWordAborted) {
    const unsigned blame = std::min(wc.imm_data - kWordAborted, mesh_.nodes() - 1);
    return FailTransfer(
        transfer, ECONNRESET,
        Name(transfer->peer) + " could not pass it on, for " + Name(blame) + " has failed", blame);
  }
  if (is_word && (wc.imm_data & kWordRefused) != 0) {
    return FailTransfer(transfer, EMSGSIZE,
                        "a message of " + std::to_string(wc.imm_data & ~kWordRefused) +
                            " bytes of " + Name(transfer->peer) +
                            " is longer than its receive of " + std::to_string(transfer->length),
                        transfer->peer);
  }
  const uint64_t bytes = is_word ? wc.imm_data : wc.byte_len;
  if (bytes > transfer->length) {  // a PUSH is not bounded by the receive that it takes
    const std::string why = Name(transfer->peer) + " says that it has written " +
                            std::to_string(bytes) + " bytes to a receive of " +
                            std::to_string(transfer->length);
    FailTransfer(transfer, EPROTO, why, transfer->peer);
    return EndLink(transfer->peer, EPROTO, why);
  }
  transfer->received.bytes = bytes;
  if (with_immediate && !is_word) transfer->received.immediate = wc.imm_data;
  transfer->received.timestamp_ns = wc.timestamp_ns;
  transfer->own_region.reset();
  transfer->done = true;
}

void ClusterEngine::Take(const vl_wc& wc) {
  const auto peer = static_cast<unsigned>(wc.wr_id >> 8);
  if (peer >= links_.size()) return;
  Link* const link = &links_[peer];
  if (link->gone) return;
  if (wc.status != VL_WC_SUCCESS) {
    if (link->broken) return;
    link->broken = true;
    link->why = Name(peer) + ": " + vl_status_string(wc.status);
    if (wc.detail != 0) link->why += std::string(", ") + vl_terminate_string(wc.detail);
    // Its farewell, or the end of its connection, says why, and may be on its way.
    if (!link->ends_by) link->ends_by = MeshClock::now() + kFarewellPatience;
    next_watch_ = {};
    return;
  }
  switch (static_cast<ClusterWork>(wc.wr_id & 0xff)) {
    case ClusterWork::kOffer:
      --link->offers_out;
      break;
    case ClusterWork::kMessage: {
      const TransferPointer transfer = std::move(link->sends_out.front());
      link->sends_out.pop_front();
      if (transfer->done) break;  // was too long
      transfer->received.timestamp_ns = wc.timestamp_ns;
      FinishSend(transfer.get());
      break;
    }
    case ClusterWork::kReceive:
      TakeReceive(link, wc);
      break;
  }
}

void ClusterEngine::ProgressLocked() {
  if (step_ != Step::kConnected) return;
  vl_wc wc[kPollBatch];
  int count;
  do {
    count = vl_poll_cq(cq_.get(), kPollBatch, wc);
    if (count < 0) return EndAll(errno, "the RNIC is gone");
    for (int i = 0; i < count; ++i) Take(wc[i]);
  } while (count == kPollBatch);
  for (unsigned peer = 0; peer < links_.size(); ++peer) {
    const Link& link = links_[peer];
    if (!link.sends_waiting.empty() || !link.receives_waiting.empty()) Advance(peer);
  }
  WatchPeers();
}

void ClusterEngine::WatchPeers() {
  const auto now = MeshClock::now();
  if (now < next_watch_) return;
  next_watch_ = now + kWatchPause;
  mesh_.Watch(
      [this, now](unsigned peer, const MeshMessage& message) {
        Link* const link = &links_[peer];
        if (message.kind != MeshKind::kBye || message.body.size() != sizeof(Farewell)) return;
        memcpy(&link->farewell, message.body.data(), sizeof(Farewell));
        link->leaving = true;
        link->ends_by = now + kLeavePatience;
      },
      [this](unsigned peer) {
        if (links_[peer].leaving) return;
        EndLink(peer, ECONNRESET, Name(peer) + " has ended without leaving the cluster");
      });
  for (unsigned peer = 0; peer < links_.size(); ++peer) {
    const Link& link = links_[peer];
    if (link.gone || !link.ends_by) continue;
    if (link.leaving && (link.broken || link.received >= link.farewell.sent)) {
      LetGo(peer);
    } else if (now > *link.ends_by) {
      EndLink(peer, ECONNRESET, link.leaving ? Name(peer) + " has left the cluster" : link.why);
    }
  }
}

void ClusterEngine::FinishSend(ClusterTransfer* transfer) {
  transfer->received.bytes = transfer->length;
  transfer->own_region.reset();
  transfer->done = true;
}

void ClusterEngine::FailTransfer(const TransferPointer& transfer, int error,
                                 const std::string& text, unsigned blame) {
  transfer->error = error;
  transfer->text = text;
  transfer->blame = blame;
  transfer->own_region.reset();
  transfer->done = true;
}

// Behind it the device does nothing for the peer, and so all buffers are their owners'.
void ClusterEngine::EndLink(unsigned peer, int error, const std::string& why) {
  Link* const link = &links_[peer];
  if (link->gone) return;
  link->gone = true;
  link->error = error;
  link->why = why;
  link->qp.reset();
  mesh_.Close(peer);
  for (auto* queue :
       {&link->sends_waiting, &link->sends_out, &link->receives_waiting, &link->receives_out}) {
    for (const TransferPointer& transfer : *queue)
      if (!transfer->done) FailTransfer(transfer, error, why, peer);
    queue->clear();
  }
}

// Of a peer that has left: what it says that it has is good, whether the RNIC has heard so or not.
void ClusterEngine::LetGo(unsigned peer) {
  Link* const link = &links_[peer];
  uint64_t number = link->sent - link->sends_out.size();
  for (const TransferPointer& transfer : link->sends_out)
    if (number++ < link->farewell.received && !transfer->done) FinishSend(transfer.get());
  EndLink(peer, ECONNRESET, Name(peer) + " has left the cluster");
}

void ClusterEngine::EndAll(int error, const std::string& why) {
  for (unsigned peer = 0; peer < links_.size(); ++peer)
    if (peer != mesh_.self()) EndLink(peer, error, Name(peer) + ": " + why);
}

void ClusterEngine::Progress() {
  const Lock lock(mutex_);
  Expect(Step::kConnected, "Poll");
  ProgressLocked();
}

bool ClusterEngine::Done(ClusterTransfer* transfer) {
  const Lock lock(mutex_);
  if (!transfer->done) ProgressLocked();
  return transfer->done;
}

Received ClusterEngine::Wait(ClusterTransfer* transfer, std::chrono::milliseconds limit) {
  CheckTime("limit", limit);
  const auto end = MeshClock::now() + limit;
  for (Pause pause; !Done(transfer); pause.Now()) {
    if (MeshClock::now() < end) continue;
    throw ClusterError(Name(transfer->peer) +
                           (transfer->is_send ? " took no message" : " sent no message") +
                           " within " + std::to_string(limit.count()) + " ms",
                       ETIMEDOUT, {transfer->peer});
  }
  const Lock lock(mutex_);
  if (transfer->error != 0) throw ClusterError(transfer->text, transfer->error, {transfer->blame});
  return transfer->received;
}

}  // namespace vl
