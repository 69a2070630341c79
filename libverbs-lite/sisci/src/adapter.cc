// SPDX-License-Identifier: BSD-2-Clause
// An adapter's objects, and its thread.
#include "adapter.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <random>

#include "limits.h"
#include "objects.h"
#include "signals.h"

namespace exrnic::sisci {

namespace {

uint64_t DrawLife() {
  std::random_device source;
  return uint64_t{source()} << 32 | source();
}

template <typename T>
vl::Owned<vl_mr> Register(vl_pd* pd, std::vector<T>* memory, int access) {
  return vl::AllocateMr(pd, memory->data(), memory->size() * sizeof(T), access);
}

vl::Owned<vl_cq> MakeCq(vl_rnic* rnic, vl_comp_channel* channel, uint32_t entries) {
  vl_cq_init_attr attr = {};
  attr.entries = entries;
  attr.channel = channel;
  return vl::CreateCq(rnic, attr);
}

vl::Owned<vl_qp> MakeDatagramQp(vl_pd* pd, vl_cq* cq) {
  vl_qp_init_attr init = vl::QpAttributes(cq, kDatagramSends, kDatagramReceives);
  init.service = VL_SERVICE_UD;
  init.max_recv_sge = 1;
  init.max_send_sge = 1;
  init.max_inline = sizeof(Message);
  return vl::CreateQp(pd, init);
}

void SetNonBlocking(int fd) { fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK); }

}  // namespace

Adapter::Adapter(unsigned number, const std::string& device)
    : number_(number),
      device_(device),
      is_shared_(device.rfind("sim:", 0) != 0),
      life_(DrawLife()),
      rnic_(vl::OpenRnic(device)),
      attr_(vl::QueryRnic(rnic_.get())),
      pd_(vl::AllocatePd(rnic_.get())),
      channel_(vl::CreateCompChannel(rnic_.get())),
      messages_cq_(MakeCq(rnic_.get(), channel_.get(),
                          kDatagramReceives + kDatagramSends + kReceives + kSends)),
      data_cq_(MakeCq(rnic_.get(), channel_.get(), kPieces)),
      srq_(vl::CreateSrq(pd_.get(), kReceives, 1)),
      datagrams_(kDatagramReceives),
      datagrams_mr_(Register(pd_.get(), &datagrams_, VL_ACCESS_LOCAL_WRITE)),
      received_(kReceives * kMessageBytes),
      received_mr_(Register(pd_.get(), &received_, VL_ACCESS_LOCAL_WRITE)),
      sent_(kLongSends * kMessageBytes),
      sent_mr_(Register(pd_.get(), &sent_, 0)),
      bounces_(kBounces * kBounceBytes),
      bounces_mr_(Register(pd_.get(), &bounces_, VL_ACCESS_LOCAL_WRITE)),
      credits_(kCredits),
      credits_mr_(Register(pd_.get(), &credits_, VL_ACCESS_REMOTE_READ)),
      credit_used_(kCredits),
      datagram_qp_(MakeDatagramQp(pd_.get(), messages_cq_.get())),
      next_question_(static_cast<uint32_t>(life_)),
      next_probe_(Clock::now() + kProbePeriod) {
  for (uint32_t i = 0; i < kLongSends; ++i) free_sent_.push_back(i);
  for (unsigned i = 0; i < kBounces; ++i) free_bounces_.push_back(i);
  for (uint64_t i = 0; i < kReceives; ++i) PostReceive(i);
  vl::ReadyDatagrams(datagram_qp_.get(), kQkey);
  for (uint64_t i = 0; i < kDatagramReceives; ++i) PostDatagramReceive(i);
  group_.emplace(datagram_qp_.get(), kGroup);
  SetNonBlocking(vl_comp_channel_fd(channel_.get()));
  SetNonBlocking(vl_async_fd(rnic_.get()));
  wake_ = eventfd(0, EFD_CLOEXEC);
  if (wake_ < 0) vl::ThrowErrno("eventfd");
  const SignalsBlocked blocked;
  try {
    thread_ = std::thread([this] { Run(); });
  } catch (...) {
    close(wake_);
    throw;
  }
}

Adapter::~Adapter() {
  {
    const std::lock_guard<std::mutex> guard(TheLibrary().mutex);
    stop_ = true;
  }
  eventfd_write(wake_, 1);
  thread_.join();
  close(wake_);
  const std::lock_guard<std::mutex> guard(TheLibrary().mutex);
  LoseAll();
  for (const auto& link : dying_) link->holds_nothing = true;  // the receives end, too
  BuryDead();
}

void Adapter::LoseAll() {
  while (!made_.empty()) Lose(std::shared_ptr<Link>(made_.begin()->second));
  while (!served_.empty()) Lose(std::shared_ptr<Link>(served_.begin()->second));
}

void Adapter::Run() {
  pollfd waits[] = {{vl_comp_channel_fd(channel_.get()), POLLIN, 0},
                    {vl_async_fd(rnic_.get()), POLLIN, 0},
                    {wake_, POLLIN, 0}};
  Lock lock(TheLibrary().mutex);
  Arm();
  while (!stop_) {
    Progress();
    lock.unlock();
    // A device that is gone makes its descriptors readable for ever.
    const bool idle = gone_;
    poll(idle ? waits + 2 : waits, idle ? 1 : 3, static_cast<int>(kProbePeriod.count()));
    lock.lock();
    if (stop_) return;
    TakeEvents();
    TakeAsyncEvents();
    Progress();  // first: a queue that is armed while it is not empty fires at once
    BuryDead();
    Arm();
    if (Clock::now() < next_probe_) continue;
    next_probe_ = Clock::now() + kProbePeriod;
    ProbeLinks();
  }
}

void Adapter::ArmData() {
  if (data_armed_) return;
  data_armed_ = vl_req_notify_cq(data_cq_.get(), 0) == 0;
}

void Adapter::Arm() {
  if (!messages_armed_) messages_armed_ = vl_req_notify_cq(messages_cq_.get(), 0) == 0;
  if (sleepers_ + wanting_ > 0) ArmData();
}

void Adapter::TakeEvents() {
  vl_cq* cq = nullptr;
  while (vl_get_cq_event(channel_.get(), &cq, nullptr) == 0) {
    vl_ack_cq_events(cq, 1);
    (cq == messages_cq_.get() ? messages_armed_ : data_armed_) = false;
  }
}

void Adapter::TakeAsyncEvents() {
  vl_async_event event;
  while (vl_get_async_event(rnic_.get(), &event) == 0) {
    vl_ack_async_event(&event);
    const auto watched = watched_.find(event.qp);
    if (event.type == VL_EVENT_QP_LAST_WQE) {
      const auto found = by_qpn_.find(vl_qp_number(event.qp));
      if (found != by_qpn_.end()) found->second->holds_nothing = true;
    } else if (event.type == VL_EVENT_QP_ERROR && watched != watched_.end()) {
      if (const auto segment = watched->second.lock()) segment->window_broken = true;
    } else if (event.type == VL_EVENT_PEER_DEAD) {
      ProbeLinks();
    } else if (event.type == VL_EVENT_LINK) {
      TellLink();
    } else if (event.type == VL_EVENT_DEVICE_FATAL) {
      gone_ = true;
      LoseAll();
    }
  }
}

bool Adapter::LinkIsUp() {
  int up = 0;
  return !gone_ && vl_query_link(rnic_.get(), &up) == 0 && up != 0;
}

// Tells segments that are connected.
void Adapter::TellLink() {
  const bool up = LinkIsUp();
  if (up == link_up()) return;
  link_up_ = up;
  const sci_segment_cb_reason_t reason = up ? SCI_CB_OPERATIONAL : SCI_CB_NOT_OPERATIONAL;
  for (const auto& made : made_) {
    for (const auto& weak : made.second->segments) {
      if (const auto segment = weak.lock()) segment->Tell(segment, reason, SCI_ERR_OK);
    }
  }
  for (const auto& served : served_) {
    for (const auto& connection : served.second->connections) {
      const auto segment = connection.second.segment.lock();
      if (segment == nullptr) continue;
      segment->Tell(segment, {reason, served.second->node, number_, SCI_ERR_OK});
    }
  }
}

vl::Owned<vl_qp> Adapter::MakeQp(vl_cq* cq, vl_srq* srq, uint32_t sends, uint32_t reads_out,
                                 uint32_t reads_in) {
  vl_qp_init_attr init = vl::QpAttributes(cq, sends);
  init.srq = srq;
  init.max_send_sge = 1;
  init.max_inline = srq != nullptr ? VL_MAX_INLINE : 0;
  init.max_reads_out = reads_out;
  init.max_reads_in = reads_in;
  return vl::CreateQp(pd_.get(), init);
}

void Adapter::Connect(vl_qp* qp, uint32_t node, uint32_t qpn) {
  vl::ModifyQp(qp, VL_QPS_INIT);
  vl_qp_attr attr = {};
  attr.state = VL_QPS_RTR;
  attr.dest_node = node;
  attr.dest_qpn = qpn;
  attr.min_rnr_timer = 12;  // 640 us
  vl::Check(vl_modify_qp(qp, &attr), "vl_modify_qp to RTR");
  attr.state = VL_QPS_RTS;
  attr.mask = VL_QP_RNR_RETRY | VL_QP_TIMEOUT | VL_QP_RETRY_COUNT;
  attr.rnr_retry = VL_RNR_RETRY_ENDLESS;
  attr.timeout = kTimeout;
  attr.retry_count = kRetries;
  vl::Check(vl_modify_qp(qp, &attr), "vl_modify_qp to RTS");
}

std::string Adapter::HostNameOf(What what, uint32_t number) const {
  if (what == What::kSegment) return "segment/" + std::to_string(number);
  return device_ + (what == What::kInterrupt ? "/interrupt/" : "/data-interrupt/") +
         std::to_string(number);
}

void Adapter::Progress() {
  PollMessages();
  PollData();
}

unsigned Adapter::TakeBounce(Lock* lock, Link* link, bool await) {
  const auto free = [&] { return !free_bounces_.empty() && link->bounces < kLinkBounces; };
  if (!await && !free()) return kBounces;
  TheLibrary().answered.wait(*lock, free);
  ++link->bounces;
  const unsigned bounce = free_bounces_.back();
  free_bounces_.pop_back();
  return bounce;
}

void Adapter::GiveBounce(Link* link, unsigned bounce) {
  --link->bounces;
  free_bounces_.push_back(bounce);
  TheLibrary().answered.notify_all();
}

// ---- Which there are

namespace {

// VL_DEVICE is adapter 0, as everywhere; VL_DEVICE_n names another one.
std::string DeviceOf(unsigned number) {
  const std::string variable = number == 0 ? "VL_DEVICE" : "VL_DEVICE_" + std::to_string(number);
  const char* const device = getenv(variable.c_str());
  return device != nullptr && *device != 0 ? device : "exrnic" + std::to_string(number);
}

// Without the lock.
void CloseAdapter(Adapter* adapter) {
  const unsigned number = adapter->number();
  delete adapter;
  const std::lock_guard<std::mutex> guard(TheLibrary().mutex);
  TheLibrary().has_rnic[number] = false;
  TheLibrary().rnic_is_free.notify_all();
}

}  // namespace

std::shared_ptr<Adapter> OpenAdapter(unsigned number) {
  Require(number < kAdapters, SCI_ERR_ILLEGAL_ADAPTERNO);
  Library& library = TheLibrary();
  std::shared_ptr<Adapter> adapter = library.adapters[number].lock();
  // Another thread may be closing the one before: a process opens an RNIC once.
  while (adapter == nullptr && library.has_rnic[number]) {
    library.rnic_is_free.wait(library.mutex);
    adapter = library.adapters[number].lock();
  }
  if (adapter == nullptr) {
    adapter.reset(new Adapter(number, DeviceOf(number)), CloseAdapter);
    library.adapters[number] = adapter;
    library.has_rnic[number] = true;
  }
  return adapter;
}

Adapter* Descriptor::Open(unsigned number) {
  const auto found = adapters.find(number);
  if (found != adapters.end()) return found->second.get();
  std::shared_ptr<Adapter> adapter = OpenAdapter(number);
  // Kept even if this was closed meanwhile: an adapter does not end under the lock.
  Adapter* const opened = (adapters[number] = std::move(adapter)).get();
  Require(!removed, SCI_ERR_ILLEGAL_PARAMETER);
  return opened;
}

}  // namespace exrnic::sisci
