// SPDX-License-Identifier: BSD-2-Clause
#include "chardev_transport.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>

#include "exrnic.h"
#include "exrnic/verbs.h"
#include "transport/error_text.h"

namespace exrnic {

namespace {

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

static_assert(static_cast<uint32_t>(EventType::kCompletion) == EXRNIC_EVENT_COMPLETION &&
                  static_cast<uint32_t>(EventType::kQpError) == EXRNIC_EVENT_QP_ERROR &&
                  static_cast<uint32_t>(EventType::kCqError) == EXRNIC_EVENT_CQ_ERROR &&
                  static_cast<uint32_t>(EventType::kSrqLimit) == EXRNIC_EVENT_SRQ_LIMIT &&
                  static_cast<uint32_t>(EventType::kPeerDead) == EXRNIC_EVENT_PEER_DEAD &&
                  static_cast<uint32_t>(EventType::kDeviceFatal) == EXRNIC_EVENT_DEVICE_FATAL &&
                  static_cast<uint32_t>(EventType::kLink) == EXRNIC_EVENT_LINK &&
                  static_cast<uint32_t>(EventType::kLastWqe) == EXRNIC_EVENT_LAST_WQE &&
                  static_cast<uint32_t>(EventType::kSqDrained) == EXRNIC_EVENT_SQ_DRAINED &&
                  kNoChannel == EXRNIC_NO_CHANNEL && kAnyVector == EXRNIC_ANY_VECTOR,
              "the kernel module's values");

// What stands behind an errno of the kernel module, where that is the same for all calls.
const char* MeaningOf(int error) {
  switch (error) {
    case EIO:
      return "the device refused it, or is broken: the kernel's log says more (dmesg)";
    case ENODEV:
      return "the device was removed";
    case ETIMEDOUT:
      return "the device did not answer: the kernel's log says more (dmesg)";
    case ENOSPC:
      return "all places of the device for these are taken, over all processes (vl_query_rnic says "
             "how many there are)";
    case EDQUOT:
      return "a limit of the kernel module is reached: its parameters max_objects, "
             "max_user_percent, max_pinned_mib and max_device_pinned_mib, or rdma.max of its "
             "cgroup";
    case ENOMEM:
      return "no memory, or more to pin than RLIMIT_MEMLOCK allows (ulimit -l)";
    default:
      return "";
  }
}

class ChardevTransport : public Transport {
 public:
  explicit ChardevTransport(const char* path) : fd_(open(path, O_RDWR | O_CLOEXEC)) {}
  ~ChardevTransport() override {
    if (page_ != nullptr) munmap(page_, EXRNIC_USER_PAGE_SIZE);
    if (state_ != nullptr) munmap(state_, EXRNIC_USER_PAGE_SIZE);
  }

  // False with errno: cannot be used.
  bool Start() { return fd_.get() >= 0 && VersionsFit() && MapPages(); }

  // Behind a Start that failed: what stands before the errno's text.
  const char* complaint() const { return complaint_; }

  UserPage user_page() override {
    return UserPage(page_, &static_cast<const exrnic_state_page*>(state_)->gone);
  }

  int Query(DeviceInfo* info) override {
    exrnic_query query = {};
    if (Call(EXRNIC_IOCTL_QUERY, &query) != 0) return -1;
    info->node_id = query.node_id;
    info->mtu = query.mtu;
    info->max_qp = query.max_qp;
    info->max_cq = query.max_cq;
    info->max_mr = query.max_mr;
    info->max_srq = query.max_srq;
    info->max_sq_slots = query.max_sq_slots;
    info->max_cq_entries = query.max_cq_entries;
    info->clock_khz = query.clock_khz;
    info->comp_vectors = query.comp_vectors;
    info->read_pool = query.read_pool;
    info->max_node = query.max_node;
    memcpy(info->mac, query.mac, sizeof(info->mac));
    static_assert(sizeof(info->pkeys) == sizeof(query.pkeys), "a table of P_Keys");
    memcpy(info->pkeys, query.pkeys, sizeof(info->pkeys));
    info->max_window = query.max_window;
    return 0;
  }

  int QueryLink(bool* up) override {
    exrnic_get_status get = {};
    if (Call(EXRNIC_IOCTL_GET_STATUS, &get) != 0) return -1;
    *up = (get.status & EXRNIC_DEVICE_STATUS_LINK_UP) != 0;
    return 0;
  }

  int SendManagement(const void* frame) override {
    exrnic_management management;
    memcpy(management.frame, frame, sizeof(management.frame));
    return Call(EXRNIC_IOCTL_SEND_MANAGEMENT, &management);
  }
  int ReceiveManagement(void* frame) override {
    exrnic_management management;
    if (Call(EXRNIC_IOCTL_RECEIVE_MANAGEMENT, &management) != 0) return -1;
    memcpy(frame, management.frame, sizeof(management.frame));
    return 0;
  }

  int CreateChannel(int* fd) override {
    exrnic_create_channel create = {};
    if (Call(EXRNIC_IOCTL_CREATE_CHANNEL, &create) != 0) return -1;
    *fd = create.fd;
    return 0;
  }
  void CloseChannel(int fd) override { close(fd); }
  int event_fd() override { return fd_.get(); }
  int ReadEvent(int fd, Event* event) override {
    exrnic_event read_event;
    if (read(fd, &read_event, sizeof(read_event)) != sizeof(read_event)) return -1;
    *event = {read_event.cookie, static_cast<EventType>(read_event.type), read_event.handle};
    return 0;
  }

  int AllocatePd(uint32_t* pd) override {
    exrnic_object object = {};
    if (Call(EXRNIC_IOCTL_ALLOC_PD, &object) != 0) return -1;
    *pd = object.handle;
    return 0;
  }
  int DeallocatePd(uint32_t pd) override { return CallObject(EXRNIC_IOCTL_DEALLOC_PD, pd); }

  int CreateCq(const CqRequest& request, uint32_t* cqn) override {
    exrnic_create_cq create = {};
    create.ring = reinterpret_cast<uintptr_t>(request.ring);
    create.entries = request.entries;
    create.moderation_count = request.moderation_count;
    create.moderation_ns = request.moderation_ns;
    create.comp_vector = request.comp_vector;
    create.channel_fd = request.channel_fd;
    create.cookie = request.cookie;
    if (Call(EXRNIC_IOCTL_CREATE_CQ, &create) != 0) return -1;
    *cqn = create.cqn;
    return 0;
  }
  int ResizeCq(uint32_t cqn, void* ring, uint32_t entries, uint32_t* producer) override {
    exrnic_resize_cq resize = {};
    resize.ring = reinterpret_cast<uintptr_t>(ring);
    resize.cqn = cqn;
    resize.entries = entries;
    if (Call(EXRNIC_IOCTL_RESIZE_CQ, &resize) != 0) return -1;
    *producer = resize.producer;
    return 0;
  }
  int DestroyCq(uint32_t cqn) override { return Destroy(EXRNIC_IOCTL_DESTROY_CQ, cqn); }

  int CreateSrq(const SrqRequest& request, uint32_t* srqn) override {
    exrnic_create_srq create = {};
    create.ring = reinterpret_cast<uintptr_t>(request.ring);
    create.slots = request.slots;
    create.pd = request.pd;
    create.limit = request.limit;
    create.cookie = request.cookie;
    if (Call(EXRNIC_IOCTL_CREATE_SRQ, &create) != 0) return -1;
    *srqn = create.srqn;
    return 0;
  }
  int ModifySrq(uint32_t srqn, uint32_t limit) override {
    exrnic_modify_srq modify = {srqn, limit};
    return Call(EXRNIC_IOCTL_MODIFY_SRQ, &modify);
  }
  int QuerySrq(uint32_t srqn, uint32_t* limit) override {
    exrnic_query_srq query = {};
    query.srqn = srqn;
    if (Call(EXRNIC_IOCTL_QUERY_SRQ, &query) != 0) return -1;
    *limit = query.limit;
    return 0;
  }
  int DestroySrq(uint32_t srqn) override { return Destroy(EXRNIC_IOCTL_DESTROY_SRQ, srqn); }

  int CreateQp(const QpRequest& request, uint32_t* qpn) override {
    exrnic_create_qp create = {};
    create.sq = reinterpret_cast<uintptr_t>(request.sq);
    create.rq = reinterpret_cast<uintptr_t>(request.rq);
    create.sq_slots = request.sq_slots;
    create.rq_slots = request.rq_slots;
    create.pd = request.pd;
    create.send_cqn = request.send_cqn;
    create.recv_cqn = request.recv_cqn;
    create.service = request.service;
    create.srqn = request.srqn;
    create.max_reads_out = request.max_reads_out;
    create.max_reads_in = request.max_reads_in;
    create.flags = request.flags;
    create.cookie = request.cookie;
    if (Call(EXRNIC_IOCTL_CREATE_QP, &create) != 0) {
      if (errno == ENOSPC) ClearErrorText();  // the caller says more
      return -1;
    }
    *qpn = create.qpn;
    return 0;
  }
  int ModifyQp(uint32_t qpn, const QpChange& change) override {
    auto modify = CommandOf<exrnic_modify_qp>(qpn, change);
    return Call(EXRNIC_IOCTL_MODIFY_QP, &modify);
  }
  int AttachGroup(uint32_t qpn, uint32_t group) override {
    exrnic_group change = {qpn, group};
    return Call(EXRNIC_IOCTL_ATTACH_GROUP, &change);
  }
  int DetachGroup(uint32_t qpn, uint32_t group) override {
    exrnic_group change = {qpn, group};
    return Call(EXRNIC_IOCTL_DETACH_GROUP, &change);
  }
  int QueryQp(uint32_t qpn, QpInfo* info) override {
    exrnic_query_qp query = {};
    query.qpn = qpn;
    if (Call(EXRNIC_IOCTL_QUERY_QP, &query) != 0) return -1;
    *info = QpInfoOf(query);
    return 0;
  }
  int DestroyQp(uint32_t qpn) override { return Destroy(EXRNIC_IOCTL_DESTROY_QP, qpn); }

  int RegisterMr(const MrRequest& request, uint32_t* stag) override {
    exrnic_reg_mr reg = {};
    reg.address = request.address;
    reg.length = request.length;
    reg.pd = request.pd;
    reg.access = request.access;
    if (Call(EXRNIC_IOCTL_REG_MR, &reg) != 0) return -1;
    *stag = reg.stag;
    return 0;
  }
  int ReregisterMr(const MrChange& change, uint32_t* stag) override {
    static_assert(VL_REALLOCATE_MEMORY == EXRNIC_REREG_TRANSLATION &&
                  VL_REALLOCATE_PD == EXRNIC_REREG_PD &&
                  VL_REALLOCATE_ACCESS == EXRNIC_REREG_ACCESS);
    exrnic_rereg_mr rereg = {};
    rereg.address = change.address;
    rereg.length = change.length;
    rereg.stag = *stag;
    rereg.flags = change.what;
    rereg.pd = change.pd;
    rereg.access = change.access;
    if (Call(EXRNIC_IOCTL_REREG_MR, &rereg) != 0) return -1;
    *stag = rereg.stag;
    return 0;
  }
  int DeregisterMr(uint32_t stag) override { return CallObject(EXRNIC_IOCTL_DEREG_MR, stag); }
  int AllocateMw(uint32_t pd, uint32_t* stag) override {
    exrnic_alloc_mw alloc = {};
    alloc.pd = pd;
    if (Call(EXRNIC_IOCTL_ALLOC_MW, &alloc) != 0) return -1;
    *stag = alloc.stag;
    return 0;
  }
  int DeallocateMw(uint32_t stag) override { return CallObject(EXRNIC_IOCTL_DEALLOC_MW, stag); }

  int GetPbl(uint32_t stag, uint64_t* entries, uint32_t* pages, uint32_t* page_shift) override {
    exrnic_get_pbl get = {};
    get.buffer = reinterpret_cast<uintptr_t>(entries);
    get.stag = stag;
    get.pages = *pages;
    if (Call(EXRNIC_IOCTL_GET_PBL, &get) != 0) return -1;
    *pages = get.pages;
    *page_shift = get.page_shift;
    return 0;
  }

  int CreateMessageChannel(const MessageChannelRequest& request) override {
    exrnic_create_msg_channel create = {};
    create.address = reinterpret_cast<uintptr_t>(request.memory);
    create.length = request.bytes;
    create.number = request.number;
    create.status = request.status;
    create.work = request.work;
    create.log_work = request.log_work;
    create.events = request.events;
    create.log_events = request.log_events;
    create.slots = request.slots;
    create.slot_bytes = request.slot_bytes;
    create.num_slots = request.num_slots;
    create.channel_fd = request.channel_fd;
    return Call(EXRNIC_IOCTL_CREATE_MSG_CHANNEL, &create);
  }
  int DestroyMessageChannel(uint32_t number) override {
    return CallObject(EXRNIC_IOCTL_DESTROY_MSG_CHANNEL, number);
  }

  int MapWindow(const WindowRequest& request, WindowInfo* info) override {
    exrnic_create_window create = {};
    create.remote = request.remote;
    create.length = request.length;
    create.qpn = request.qpn;
    create.stag = request.stag;
    create.access = request.access;
    if (Call(EXRNIC_IOCTL_CREATE_WINDOW, &create) != 0) return -1;
    const int reads = request.access & EXRNIC_WINDOW_ACCESS_LOAD ? PROT_READ : 0;
    const int writes = request.access & EXRNIC_WINDOW_ACCESS_STORE ? PROT_WRITE : 0;
    void* mapped = mmap(nullptr, create.length, reads | writes, MAP_SHARED, fd_.get(),
                        static_cast<off_t>(create.offset));
    if (mapped != MAP_FAILED && madvise(mapped, create.length, MADV_DONTFORK) == 0) {
      *info = {mapped, create.length, create.window};
      return 0;
    }
    const int error = errno;
    if (mapped != MAP_FAILED) munmap(mapped, create.length);
    CallObject(EXRNIC_IOCTL_DESTROY_WINDOW, create.window);
    errno = error;
    return -1;
  }
  int UnmapWindow(const WindowInfo& info) override {
    munmap(const_cast<void*>(info.address), info.length);
    return CallObject(EXRNIC_IOCTL_DESTROY_WINDOW, info.number);
  }

  int OpenPort(uint32_t port, uint32_t node, uint32_t peer, int* fd) override {
    exrnic_open_port open = {};
    open.port = port;
    open.peer_node = node;
    open.peer_port = peer;
    if (Call(EXRNIC_IOCTL_OPEN_PORT, &open) != 0) return -1;
    *fd = open.fd;
    return 0;
  }
  void ClosePort(int fd) override { close(fd); }
  int ReadPort(int fd, PortEvent* event) override {
    exrnic_port_event from = {};
    if (read(fd, &from, sizeof(from)) != static_cast<ssize_t>(sizeof(from))) return -1;
    *event = {from.bells, from.events, from.link_up != 0};
    return 0;
  }
  int RingPort(int fd, uint32_t bits) override { return ioctl(fd, EXRNIC_PORT_IOCTL_RING, &bits); }
  int MaskPort(int fd, uint32_t bits) override { return ioctl(fd, EXRNIC_PORT_IOCTL_MASK, &bits); }
  int SetSpad(int fd, SpadOwner owner, uint32_t index, uint32_t value) override {
    exrnic_port_spad spad = {index, value};
    const bool peer = owner == SpadOwner::kPeer;
    return ioctl(fd, peer ? EXRNIC_PORT_IOCTL_SET_SPAD : EXRNIC_PORT_IOCTL_SET_OWN_SPAD, &spad);
  }
  int GetSpad(int fd, SpadOwner owner, uint32_t index, uint32_t* value) override {
    exrnic_port_spad spad = {index, 0};
    const bool peer = owner == SpadOwner::kPeer;
    if (ioctl(fd, peer ? EXRNIC_PORT_IOCTL_GET_PEER_SPAD : EXRNIC_PORT_IOCTL_GET_SPAD, &spad) != 0)
      return -1;
    *value = spad.value;
    return 0;
  }

 private:
  int Call(unsigned long request, void* argument) {
    const int result = ioctl(fd_.get(), request, argument);
    SetErrorText(result == 0 ? "" : MeaningOf(errno));
    return result;
  }
  int CallObject(unsigned long request, uint32_t handle) {
    exrnic_object object = {handle, 0};
    return Call(request, &object);
  }

  int Destroy(unsigned long request, uint32_t handle) {
    exrnic_destroy destroy = {};
    destroy.handle = handle;
    return Call(request, &destroy);
  }

  bool VersionsFit() {
    exrnic_query query = {};
    if (Call(EXRNIC_IOCTL_QUERY, &query) != 0) return false;
    if (query.uapi_version == EXRNIC_UAPI_VERSION && query.abi_version == EXRNIC_ABI_VERSION) {
      return true;
    }
    snprintf(complaint_, sizeof(complaint_),
             "kernel module and device speak versions %u and %u, this library %u and %u: ",
             query.uapi_version, query.abi_version, unsigned{EXRNIC_UAPI_VERSION},
             unsigned{EXRNIC_ABI_VERSION});
    errno = EPROTONOSUPPORT;
    return false;
  }

  bool MapPages() {
    page_ = MapPage(PROT_WRITE, EXRNIC_MMAP_USER_PAGE);
    state_ = MapPage(PROT_READ, EXRNIC_MMAP_STATE_PAGE);
    return page_ != nullptr && state_ != nullptr &&
           madvise(page_, EXRNIC_USER_PAGE_SIZE, MADV_DONTFORK) == 0;
  }

  // Null with errno.
  void* MapPage(int protection, off_t offset) {
    void* page = mmap(nullptr, EXRNIC_USER_PAGE_SIZE, protection, MAP_SHARED, fd_.get(), offset);
    return page == MAP_FAILED ? nullptr : page;
  }

  FileDescriptor fd_;
  void* page_ = nullptr;
  void* state_ = nullptr;
  char complaint_[128] = "";
};

}  // namespace

std::unique_ptr<Transport> OpenChardev(const char* path) {
  std::unique_ptr<ChardevTransport> transport(new (std::nothrow) ChardevTransport(path));
  if (transport == nullptr) {
    errno = ENOMEM;
    return nullptr;
  }
  if (transport->Start()) return transport;
  const int error = errno;
  SetErrorText((std::string(path) + ": " + transport->complaint() + strerror(error)).c_str());
  transport.reset();
  errno = error;
  return nullptr;
}

}  // namespace exrnic
