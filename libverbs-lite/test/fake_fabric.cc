// SPDX-License-Identifier: BSD-2-Clause
#include "fake_fabric.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "fake_bytes.h"
#include "rnic.h"

namespace exrnic {

namespace {

constexpr uint32_t kDoorbells[] = {0, 8, 40, 16, 24, 32};
constexpr uint32_t kBell = 48;  // of a message channel: the test hears it
constexpr uint32_t kPioArea = 0x800, kPioBlocks = 32;
constexpr size_t kPageBytes = 4096;
// Between two steps of the thread, so that calls through transports get the lock.
constexpr auto kRest = std::chrono::microseconds(10);

void Tell(int fd, uint64_t cookie, EventType type, uint32_t number) {
  const Event event = {cookie, type, number};
  [[maybe_unused]] const ssize_t written = write(fd, &event, sizeof(event));
}

// Takes what nobody has read of this object out of a pipe.
void Forget(int from, int to, uint64_t cookie) {
  // By a description of its own: who reads at `from` may wait there, or be faster.
  const std::string path = "/proc/self/fd/" + std::to_string(from);
  const int unread = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  std::vector<Event> kept;
  for (Event event; read(unread, &event, sizeof(event)) == sizeof(event);)
    if (event.cookie != cookie) kept.push_back(event);
  close(unread);
  for (const Event& event : kept) Tell(to, event.cookie, event.type, event.handle);
}

template <typename Map>
void EraseOfPage(Map* map, uint32_t page) {
  for (auto it = map->begin(); it != map->end();) {
    it = it->second.page == page ? map->erase(it) : std::next(it);
  }
}

}  // namespace

// One context's way to its device.
class FakeTransport : public Transport {
 public:
  FakeTransport(FakeFabric* fabric, FakeFabric::Context* context)
      : fabric_(fabric), context_(context) {}
  ~FakeTransport() override { fabric_->Close(context_); }

  UserPage user_page() override { return UserPage(context_->page); }

  int Query(DeviceInfo* info) override {
    std::lock_guard<std::mutex> guard(fabric_->mutex_);
    *info = {context_->node,
             1024,
             1024,
             1024,
             16384,
             256,
             4096,
             65536,
             250000,
             31,
             4096,
             256,
             {2, 0, 0, 0, 0, 1},
             {EXRNIC_PKEY_DEFAULT},
             64 << 20};
    info->max_node = fabric_->max_node_;
    return Outcome();
  }
  int QueryLink(bool* up) override {
    std::lock_guard<std::mutex> guard(fabric_->mutex_);
    *up = true;
    return Outcome();
  }
  // It has no agent.
  int SendManagement(const void* /*frame*/) override { return WithoutAgent(); }
  int ReceiveManagement(void* /*frame*/) override { return WithoutAgent(); }
  int CreateChannel(int* fd) override {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return -1;
    std::lock_guard<std::mutex> guard(fabric_->mutex_);
    if (Outcome() != 0) return -1;
    context_->channels[ends[0]] = ends[1];
    *fd = ends[0];
    return 0;
  }
  void CloseChannel(int fd) override {
    std::lock_guard<std::mutex> guard(fabric_->mutex_);
    close(context_->channels[fd]);
    close(fd);
    context_->channels.erase(fd);
  }
  int event_fd() override { return context_->async[0]; }
  int ReadEvent(int fd, Event* event) override {
    return read(fd, event, sizeof(*event)) == sizeof(*event) ? 0 : -1;
  }

  int AllocatePd(uint32_t* pd) override {
    return Make(&FakeDevice::pds, pd, [&] { return FakePd{context_->page_number}; });
  }
  int DeallocatePd(uint32_t pd) override { return Drop(&FakeDevice::pds, pd); }

  int CreateCq(const CqRequest& request, uint32_t* cqn) override {
    return Make(&FakeDevice::cqs, cqn, [&] {
      FakeCq cq{context_->page_number, static_cast<uint8_t*>(request.ring), request.entries,
                request.moderation_count, request.moderation_ns};
      cq.cookie = request.cookie;
      cq.channel = request.channel_fd;
      return cq;
    });
  }
  // Behind the doorbells that were stored before.
  int ResizeCq(uint32_t cqn, void* ring, uint32_t entries, uint32_t* producer) override {
    std::lock_guard<std::mutex> guard(fabric_->mutex_);
    if (Outcome() != 0) return -1;
    auto it = device().cqs.find(cqn);
    if (it == device().cqs.end()) return Fail(ENOENT);
    fabric_->ServeDoorbells();
    FakeCq& cq = it->second;
    if (cq.produced - cq.consumed > entries) return Fail(ENOSPC);
    cq.ring = static_cast<uint8_t*>(ring);
    cq.entries = entries;
    *producer = cq.produced;
    return 0;
  }
  int DestroyCq(uint32_t cqn) override { return DropWithEvents(&FakeDevice::cqs, cqn); }

  int CreateSrq(const SrqRequest& request, uint32_t* srqn) override {
    return Make(&FakeDevice::srqs, srqn, [&] {
      FakeSrq srq{context_->page_number,
                  request.pd,
                  {static_cast<uint8_t*>(request.ring), request.slots},
                  request.limit};
      srq.cookie = request.cookie;
      return srq;
    });
  }
  int ModifySrq(uint32_t srqn, uint32_t limit) override {
    std::lock_guard<std::mutex> guard(fabric_->mutex_);
    if (Outcome() != 0) return -1;
    auto it = device().srqs.find(srqn);
    if (it == device().srqs.end()) return Fail(ENOENT);
    it->second.limit = limit;
    return 0;
  }
  int QuerySrq(uint32_t srqn, uint32_t* limit) override {
    std::lock_guard<std::mutex> guard(fabric_->mutex_);
    if (Outcome() != 0) return -1;
    auto it = device().srqs.find(srqn);
    if (it == device().srqs.end()) return Fail(ENOENT);
    *limit = it->second.limit;
    return 0;
  }
  int DestroySrq(uint32_t srqn) override { return DropWithEvents(&FakeDevice::srqs, srqn); }

  int CreateQp(const QpRequest& request, uint32_t* qpn) override {
    return Make(&FakeDevice::qps, qpn, [&] {
      FakeQp qp{context_->page_number,
                request.pd,
                request.send_cqn,
                request.recv_cqn,
                {static_cast<uint8_t*>(request.sq), request.sq_slots},
                {static_cast<uint8_t*>(request.rq), request.rq_slots},
                request.srqn,
                request.max_reads_out,
                request.max_reads_in};
      qp.cookie = request.cookie;
      return qp;
    });
  }

  int ModifyQp(uint32_t qpn, const QpChange& change) override {
    std::lock_guard<std::mutex> guard(fabric_->mutex_);
    if (Outcome() != 0) return -1;
    auto it = device().qps.find(qpn);
    if (it == device().qps.end()) return Fail(ENOENT);
    FakeQp& qp = it->second;
    const uint32_t to = change.state;
    const bool forward = to >= 1 && to <= 3 && to == qp.state + 1;
    const bool stays = to == qp.state && (to == 1 || to == 3 || to == 5);
    const bool drains = to + qp.state == 8 && (to == 3 || to == 5);
    if (!forward && !stays && !drains && to != 0 && to != 4) return Fail(EPERM);
    if (change.attributes & EXRNIC_QP_ATTRIBUTES_DEST) {
      qp.dest_node = change.dest_node;
      qp.dest_qpn = change.dest_qpn;
    }
    const auto set = [&](uint32_t attribute, auto* what, auto value) {
      if (change.attributes & attribute) *what = value;
    };
    set(EXRNIC_QP_ATTRIBUTES_QKEY, &qp.has.qkey, change.qkey);
    set(EXRNIC_QP_ATTRIBUTES_PKEY_INDEX, &qp.has.pkey_index, change.pkey_index);
    set(EXRNIC_QP_ATTRIBUTES_ACCESS, &qp.has.access, change.access);
    set(EXRNIC_QP_ATTRIBUTES_PATH_MTU, &qp.has.path_mtu, change.path_mtu);
    set(EXRNIC_QP_ATTRIBUTES_MAX_READS_IN, &qp.has.max_reads_in, change.max_reads_in);
    set(EXRNIC_QP_ATTRIBUTES_MAX_READS_OUT, &qp.has.max_reads_out, change.max_reads_out);
    set(EXRNIC_QP_ATTRIBUTES_MIN_RNR_TIMER, &qp.has.min_rnr_timer, change.min_rnr_timer);
    set(EXRNIC_QP_ATTRIBUTES_RNR_RETRY, &qp.has.rnr_retry, change.rnr_retry);
    set(EXRNIC_QP_ATTRIBUTES_TIMEOUT, &qp.has.timeout, change.timeout);
    set(EXRNIC_QP_ATTRIBUTES_RETRY_COUNT, &qp.has.retry_count, change.retry_count);
    if (to == 0) {
      qp.has = {};
      qp.sq.producer = qp.sq.consumer = 0;
      qp.rq.producer = qp.rq.consumer = 0;
    }
    qp.state = to;
    qp.error_told = to == 4;
    return 0;
  }

  // It knows no datagrams.
  int AttachGroup(uint32_t, uint32_t) override { return Fail(EINVAL); }
  int DetachGroup(uint32_t, uint32_t) override { return Fail(EINVAL); }

  int QueryQp(uint32_t qpn, QpInfo* info) override {
    std::lock_guard<std::mutex> guard(fabric_->mutex_);
    if (Outcome() != 0) return -1;
    auto it = device().qps.find(qpn);
    if (it == device().qps.end()) return Fail(ENOENT);
    const FakeQp& qp = it->second;
    *info = qp.has;
    info->state = static_cast<exrnic_qp_state>(qp.state);
    info->dest_node = qp.dest_node;
    info->dest_qpn = qp.dest_qpn;
    info->sq_producer = qp.sq.producer;
    info->sq_consumer = qp.sq.consumer;
    return 0;
  }
  int DestroyQp(uint32_t qpn) override { return DropWithEvents(&FakeDevice::qps, qpn); }

  int RegisterMr(const MrRequest& request, uint32_t* stag) override {
    return Make(&FakeDevice::mrs, stag, [&] {
      return FakeMr{context_->page_number, request.pd, request.address, request.length,
                    request.access};
    });
  }
  int ReregisterMr(const MrChange& change, uint32_t* stag) override {
    FakeMr mr;
    {
      std::lock_guard<std::mutex> guard(fabric_->mutex_);
      const auto it = device().mrs.find(*stag);
      if (it == device().mrs.end()) return Fail(ENOENT);
      mr = it->second;
    }
    if (change.what & VL_REALLOCATE_MEMORY) {
      mr.base = change.address;
      mr.length = change.length;
    }
    if (change.what & VL_REALLOCATE_PD) mr.pd = change.pd;
    if (change.what & VL_REALLOCATE_ACCESS) mr.access = change.access;
    const uint32_t old = *stag;
    if (Make(&FakeDevice::mrs, stag, [&] { return mr; }) != 0) return -1;
    return Drop(&FakeDevice::mrs, old);
  }
  int DeregisterMr(uint32_t stag) override { return Drop(&FakeDevice::mrs, stag); }

  // Nothing is behind it: it knows no binds.
  int AllocateMw(uint32_t pd, uint32_t* stag) override {
    return Make(&FakeDevice::mrs, stag, [&] {
      FakeMr window{context_->page_number, pd, 0, 0, 0};
      window.invalidated = true;
      return window;
    });
  }
  int DeallocateMw(uint32_t stag) override { return Drop(&FakeDevice::mrs, stag); }

  // The test is the firmware.
  int CreateMessageChannel(const MessageChannelRequest& request) override {
    std::lock_guard<std::mutex> guard(fabric_->mutex_);
    fabric_->message_channel_ = request;
    return Outcome();
  }
  int DestroyMessageChannel(uint32_t number) override {
    std::lock_guard<std::mutex> guard(fabric_->mutex_);
    if (number != fabric_->message_channel_.number) return Fail(ENOENT);
    return Outcome();
  }

  int GetPbl(uint32_t stag, uint64_t* entries, uint32_t* pages, uint32_t* page_shift) override {
    std::lock_guard<std::mutex> guard(fabric_->mutex_);
    if (Outcome() != 0) return -1;
    auto it = device().mrs.find(stag);
    if (it == device().mrs.end()) return Fail(ENOENT);
    const FakeMr& mr = it->second;
    const uint64_t first = mr.base / kPageBytes;
    const uint32_t total =
        static_cast<uint32_t>((mr.base + mr.length - 1) / kPageBytes - first + 1);
    for (uint32_t i = 0; i < *pages && i < total; ++i) entries[i] = (first + i) * kPageBytes;
    *pages = total;
    *page_shift = 12;
    return 0;
  }

 private:
  FakeDevice& device() { return *fabric_->devices_[context_->node]; }

  // Under the lock. Stores before a call reach the device before it.
  int Outcome() {
    if (fabric_->started_) fabric_->ServeDoorbells();
    const int error = fabric_->next_error_.exchange(0);
    return error == 0 ? 0 : Fail(error);
  }

  int WithoutAgent() {
    std::lock_guard<std::mutex> guard(fabric_->mutex_);
    return Outcome() != 0 ? -1 : Fail(EOPNOTSUPP);
  }

  // Numbers are reused as soon as they are free, as a driver might. An STag is an index over 8 bits
  // of key.
  template <typename Map, typename Build>
  int Make(Map FakeDevice::* map, uint32_t* number, Build build) {
    std::lock_guard<std::mutex> guard(fabric_->mutex_);
    if (Outcome() != 0) return -1;
    const bool stag = std::is_same_v<Map, decltype(FakeDevice::mrs)>;
    uint32_t free = stag ? 0x15a : 1;
    while ((device().*map).count(free) != 0) free += stag ? 0x100 : 1;
    (device().*map).emplace(free, build());
    *number = free;
    return 0;
  }

  template <typename Map>
  int Drop(Map FakeDevice::* map, uint32_t number) {
    std::lock_guard<std::mutex> guard(fabric_->mutex_);
    if (Outcome() != 0) return -1;
    return (device().*map).erase(number) == 1 ? 0 : Fail(ENOENT);
  }
  template <typename Map>
  int DropWithEvents(Map FakeDevice::* map, uint32_t number) {
    uint64_t cookie = 0;
    {
      std::lock_guard<std::mutex> guard(fabric_->mutex_);
      const auto object = (device().*map).find(number);
      if (object != (device().*map).end()) cookie = object->second.cookie;
    }
    if (Drop(map, number) != 0) return -1;
    std::lock_guard<std::mutex> guard(fabric_->mutex_);
    Forget(context_->async[0], context_->async[1], cookie);
    for (const auto& [from, to] : context_->channels) Forget(from, to, cookie);
    return 0;
  }

  FakeFabric* fabric_;
  FakeFabric::Context* context_;
};

FakeFabric::FakeFabric(uint32_t nodes) {
  for (uint32_t node = 0; node < nodes; ++node) {
    devices_.push_back(std::make_unique<FakeDevice>(
        node, [this](const FakeDevice::Message& message) { return Deliver(message); }));
  }
}

uint32_t FakeFabric::Deliver(const FakeDevice::Message& message) {
  const uint32_t code = devices_[message.node]->Place(message);
  if (code == FakeDevice::kPlaced && message.kind == FakeDevice::Kind::kWrite &&
      message.length > 0 && tamper_) {
    tamper_(reinterpret_cast<uint8_t*>(message.to), message.length);
  }
  return code;
}

FakeFabric::~FakeFabric() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
  for (auto& context : contexts_) {
    munmap(context->page, kPageBytes);
    for (int end : context->async) close(end);
  }
}

vl_rnic* FakeFabric::Open(uint32_t node) {
  void* page =
      mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return nullptr;
  auto context = std::make_unique<Context>();
  if (pipe2(context->async, O_CLOEXEC) != 0) return nullptr;
  context->node = node;
  context->page = static_cast<uint64_t*>(page);
  for (uint32_t offset : kDoorbells) context->page[offset / 8] = kIdle;
  context->page[kBell / 8] = kIdle;
  for (uint32_t i = 1; i <= kPioBlocks; ++i)
    context->page[(kPioArea + i * kWqeBytes) / 8 - 1] = kIdle;
  Context* raw = context.get();
  {
    std::lock_guard<std::mutex> guard(mutex_);
    raw->page_number = next_number_++;
    contexts_.push_back(std::move(context));
  }
  return OpenRnic(std::make_unique<FakeTransport>(this, raw));
}

void FakeFabric::Close(Context* context) {
  std::lock_guard<std::mutex> guard(mutex_);
  context->open = false;
  FakeDevice& device = *devices_[context->node];
  EraseOfPage(&device.qps, context->page_number);
  EraseOfPage(&device.srqs, context->page_number);
  EraseOfPage(&device.cqs, context->page_number);
  EraseOfPage(&device.mrs, context->page_number);
  EraseOfPage(&device.pds, context->page_number);
}

uint64_t FakeFabric::DoorbellAt(uint32_t offset) const {
  return __atomic_load_n(contexts_.back()->page + offset / 8, __ATOMIC_ACQUIRE);
}

void FakeFabric::ServeDoorbells() {
  for (auto& context : contexts_) {
    if (!context->open) continue;
    for (uint32_t offset : kDoorbells) {
      const uint64_t value =
          __atomic_exchange_n(context->page + offset / 8, kIdle, __ATOMIC_ACQ_REL);
      if (value == kIdle) continue;
      devices_[context->node]->Doorbell(context->page_number, offset, value);
    }
    __atomic_store_n(context->page + kBell / 8, kIdle, __ATOMIC_RELEASE);
    while (ServeBlocks(context.get())) {
    }
  }
}

void FakeFabric::RaiseEvents() {
  for (auto& context : contexts_) {
    if (!context->open) continue;
    FakeDevice& device = *devices_[context->node];
    const auto own = [&](const auto& object) { return object.page == context->page_number; };
    for (auto& [number, cq] : device.cqs) {
      if (!own(cq) || cq.fired == cq.fired_told || cq.channel < 0) continue;
      cq.fired_told = cq.fired;
      Tell(context->channels.at(cq.channel), cq.cookie, EventType::kCompletion, number);
    }
    for (auto& [number, qp] : device.qps) {
      if (!own(qp) || qp.state != 4 || qp.error_told) continue;
      qp.error_told = true;
      Tell(context->async[1], qp.cookie, EventType::kQpError, number);
    }
    for (auto& [number, srq] : device.srqs) {
      if (!own(srq) || srq.limit_events == srq.events_told) continue;
      srq.events_told = srq.limit_events;
      Tell(context->async[1], srq.cookie, EventType::kSrqLimit, number);
    }
  }
}

void FakeFabric::TellOfMessage() {
  std::lock_guard<std::mutex> guard(mutex_);
  Tell(contexts_.back()->channels.at(message_channel_.channel_fd), 0, EventType::kMessage,
       message_channel_.number);
}

// Whether any was served: another one may only then have its turn.
bool FakeFabric::ServeBlocks(Context* context) {
  bool served = false;
  for (uint32_t i = 0; i < kPioBlocks; ++i) {
    uint64_t* words = context->page + (kPioArea + i * kWqeBytes) / 8;
    uint64_t* last = words + kWqeBytes / 8 - 1;
    if (__atomic_load_n(last, __ATOMIC_ACQUIRE) == kIdle) continue;
    uint8_t block[kWqeBytes];
    memcpy(block, words, sizeof(block));
    if (!devices_[context->node]->Block(context->page_number, block)) continue;
    __atomic_store_n(last, kIdle, __ATOMIC_RELEASE);
    served = true;
  }
  return served;
}

void FakeFabric::Step() {
  std::lock_guard<std::mutex> guard(mutex_);
  ServeDoorbells();
  for (auto& device : devices_) device->Run();
  RaiseEvents();
}

void FakeFabric::Start() {
  started_ = true;
  thread_ = std::thread([this] {
    while (!stop_) {
      Step();
      std::this_thread::sleep_for(kRest);
    }
  });
}

}  // namespace exrnic
