// SPDX-License-Identifier: BSD-2-Clause
// The library as a driver in user space, where something is wrong: with the socket, with what is
// behind it, with memory, with the simulator.
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "exrnic_hw.h"
#include "other_device.h"
#include "rnic.h"
#include "sim/sim_names.h"
#include "sim/sim_transport.h"
#include "sim/vfio_user/rnic_pci.h"
#include "sim_fixture.h"

namespace exrnic {
namespace {

using std::chrono::milliseconds;

bool TextNames(const std::string& what) {
  INFO(vl_error_text());
  return std::string(vl_error_text()).find(what) != std::string::npos;
}

TEST_CASE("a node that is taken is refused, and free again when its owner has closed it") {
  Fixture fixture;
  {
    const Owned<vl_rnic> first = fixture.Open(0);
    CHECK(vl_open_rnic(fixture.Name(0).c_str()) == nullptr);
    CHECK(errno == EBUSY);
    CHECK(std::string(vl_error_text()).find(fixture.folder / "0") != std::string::npos);
    CHECK(std::string(vl_error_text()).find("another process") != std::string::npos);
  }
  CHECK(fixture.Open(0) != nullptr);
}

TEST_CASE("a path that nobody serves is named") {
  TempDir folder;
  CHECK(vl_open_rnic(("sim:" + folder / "none").c_str()) == nullptr);
  CHECK(errno == ENOENT);
  CHECK(std::string(vl_error_text()).find(folder / "none") != std::string::npos);

  CHECK(vl_open_rnic("sim:") == nullptr);
  CHECK(errno == EINVAL);
  CHECK(vl_open_rnic(("sim:" + std::string(200, 'x')).c_str()) == nullptr);
  CHECK(errno == EINVAL);
  CHECK(vl_open_rnic("sim:/dev/null") == nullptr);
  CHECK(errno == ECONNREFUSED);
  CHECK(std::string(vl_error_text()).find("/dev/null") != std::string::npos);
}

// Accepts one connection, answers it with these bytes, and closes it; or, without any, keeps it.
class Stranger {
 public:
  Stranger(const std::string& path, const std::string& answer)
      : listener_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    if (bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 ||
        listen(listener_, 1) != 0) {
      ThrowErrno("a stranger's socket");
    }
    thread_ = std::thread([this, answer] {
      const int client = accept(listener_, nullptr, nullptr);
      send(client, answer.data(), answer.size(), MSG_NOSIGNAL);
      char bytes[256];
      while (answer.empty() && recv(client, bytes, sizeof(bytes), 0) > 0) continue;
      close(client);
    });
  }
  ~Stranger() {
    thread_.join();
    close(listener_);
  }

 private:
  const int listener_;
  std::thread thread_;
};

TEST_CASE("a socket that is none of vfio-user is refused with its path") {
  TempDir folder;
  const std::pair<std::string, int> answers[] = {
      {"HTTP/1.1 400 Bad Request\r\n\r\n", EBUSY},  // it sent what is no reply
      {std::string(1, 0), EBUSY},                   // it closed in the middle of a header
      {"", ETIMEDOUT},                              // it said nothing
  };
  int number = 0;
  for (const auto& [answer, error] : answers) {
    const std::string path = folder / std::to_string(number++);
    Stranger stranger(path, answer);
    CHECK(OpenSim(path, milliseconds(300)) == nullptr);
    CHECK(errno == error);
    CHECK(TextNames(path));
  }
}

uint64_t NextAbi(uint64_t offset) {
  if (offset == EXRNIC_REG_ID) return EXRNIC_DEVICE_MAGIC;
  return offset == EXRNIC_REG_ABI_VERSION ? EXRNIC_ABI_VERSION + 1 : 0;
}

TEST_CASE("a device of another version is refused, with both versions") {
  TempDir folder;
  OtherDevice device(folder / "rnic", rnic_pci_description({}), NextAbi);
  CHECK(vl_open_rnic(("sim:" + folder / "rnic").c_str()) == nullptr);
  CHECK(errno == EPROTONOSUPPORT);
  CHECK(TextNames("version " + std::to_string(EXRNIC_ABI_VERSION + 1)));
}

TEST_CASE("a PCI device that is no exrnic is refused, with its identifiers") {
  TempDir folder;
  PciDescription description = rnic_pci_description({});
  description.device_id = 0x1042;
  OtherDevice device(folder / "rnic", description, NextAbi);
  CHECK(vl_open_rnic(("sim:" + folder / "rnic").c_str()) == nullptr);
  CHECK(errno == ENODEV);
  CHECK(TextNames("0x1042"));
}

TEST_CASE("a device whose registers make no sense is refused") {
  TempDir folder;
  OtherDevice device(folder / "rnic", rnic_pci_description({}), [](uint64_t) { return ~0u; });
  CHECK(vl_open_rnic(("sim:" + folder / "rnic").c_str()) == nullptr);
  CHECK(errno == ENODEV);
  CHECK(TextNames("register ID"));
}

TEST_CASE("a device that never becomes ready is given up") {
  TempDir folder;
  OtherDevice device(folder / "rnic", rnic_pci_description({}), [](uint64_t offset) {
    return offset == EXRNIC_REG_ABI_VERSION ? EXRNIC_ABI_VERSION : NextAbi(offset);
  });
  CHECK(OpenSim(folder / "rnic", milliseconds(100)) == nullptr);
  CHECK(errno == ETIMEDOUT);
  CHECK(TextNames("not ready"));
}

// A device that is well, but ends all mailbox commands with this status, when it has so many event
// queues.
uint64_t Refusing(uint64_t offset, exrnic_mbox_status status, std::atomic<int>* event_queues) {
  switch (offset) {
    case EXRNIC_REG_ABI_VERSION:
      return EXRNIC_ABI_VERSION;
    case EXRNIC_REG_STATUS:
      return EXRNIC_DEVICE_STATUS_READY;
    case EXRNIC_REG_MAX_QP:
    case EXRNIC_REG_MAX_CQ:
    case EXRNIC_REG_MAX_STAG:
    case EXRNIC_REG_MAX_SRQ:
    case EXRNIC_REG_MAX_NODE:
    case EXRNIC_REG_READ_POOL:
      return 16;
    case EXRNIC_REG_MBOX_STATUS:
      return --*event_queues >= 0 ? EXRNIC_MBOX_STATUS_OK : status;
    default:
      return NextAbi(offset);
  }
}

TEST_CASE("what the device refuses is named, command and status") {
  TempDir folder;
  std::atomic<int> event_queues = EXRNIC_MSIX_VECTORS;  // one for each vector
  OtherDevice device(folder / "rnic", rnic_pci_description({}), [&](uint64_t offset) {
    return Refusing(offset, EXRNIC_MBOX_STATUS_BAD_INDEX, &event_queues);
  });
  const Owned<vl_rnic> rnic(vl_open_rnic(("sim:" + folder / "rnic").c_str()));
  INFO(vl_error_text());
  REQUIRE(rnic != nullptr);
  CHECK(vl_create_cq(rnic.get(), 4, nullptr) == nullptr);
  CHECK(errno == EIO);
  CHECK(TextNames("mailbox command CREATE_CQ with status BAD_INDEX: Index beyond the table"));
}

TEST_CASE("places for PULLs that others have are told as argument, value and limit") {
  Fixture fixture;
  const Owned<vl_rnic> rnic = fixture.Open(0);
  const Owned<vl_pd> pd(vl_allocate_pd(rnic.get()));
  const Owned<vl_cq> cq(vl_create_cq(rnic.get(), 4, nullptr));
  const uint32_t places = QueryRnic(rnic.get()).read_pool;
  REQUIRE(places == EXRNIC_READ_POOL);
  vl_qp_init_attr attr = {};
  attr.send_cq = attr.recv_cq = cq.get();
  attr.max_send_wr = attr.max_recv_wr = 1;
  attr.max_reads_out = attr.max_reads_in = VL_MAX_READS;
  std::vector<Owned<vl_qp>> qps;
  for (uint32_t i = 0; i < places / VL_MAX_READS; ++i) {
    qps.emplace_back(vl_create_qp(pd.get(), &attr));
    REQUIRE(qps.back() != nullptr);
  }
  attr.max_reads_in = 3;
  CHECK(vl_create_qp(pd.get(), &attr) == nullptr);
  CHECK(errno == ENOSPC);
  CHECK(TextNames("max_reads_out is 64 and max_reads_in 3"));
  CHECK(TextNames("4096 places for PULLs (read_pool)"));
  attr.max_reads_out = attr.max_reads_in = 0;
  qps.emplace_back(vl_create_qp(pd.get(), &attr));
  CHECK(qps.back() != nullptr);
  attr.max_reads_out = VL_MAX_READS;
  CHECK(vl_destroy_qp(qps.front().release()) == 0);
  qps.emplace_back(vl_create_qp(pd.get(), &attr));
  CHECK(qps.back() != nullptr);
}

TEST_CASE("a value that has no name is told as its number") {
  CHECK(NameOf(kMailboxCommands, EXRNIC_MBOX_OP_DETACH_GROUP) == "DETACH_GROUP");
  CHECK(NameOf(kMailboxCommands, 99) == "99");
  CHECK(NameOf(kFirmwareCommands, EXRNIC_FW_OP_CHANNEL_OPEN) == "CHANNEL_OPEN");
  CHECK(StatusText(kMailboxStatuses, EXRNIC_MBOX_STATUS_OK) == "status OK: Done");
  CHECK(StatusText(kFirmwareStatuses, 99) == "status 99");
}

TEST_CASE("a transition that there is not, and a peer that there is not, are named") {
  Fixture fixture;
  SimEnd end(fixture.Open(1).release());
  vl_qp_attr attr = {};
  attr.state = VL_QPS_RTS;
  CHECK(vl_modify_qp(end.qp.get(), &attr) == -1);
  CHECK(errno == EPERM);
  CHECK(TextNames("RESET"));
  CHECK(TextNames("to RTS"));
  attr.state = VL_QPS_INIT;
  REQUIRE(vl_modify_qp(end.qp.get(), &attr) == 0);
  CHECK(std::string(vl_error_text()).empty());
  attr.state = VL_QPS_RTR;
  attr.dest_node = EXRNIC_MAX_NODE;
  attr.dest_qpn = 3;
  CHECK(vl_modify_qp(end.qp.get(), &attr) == -1);
  CHECK(errno == EINVAL);
  CHECK(TextNames("queue pair 3 (dest_qpn) of node 65536 (dest_node)"));
}

int RegisterError(vl_pd* pd, void* address, size_t length, int access) {
  const Owned<vl_mr> mr(vl_allocate_mr(pd, address, length, access));
  return mr == nullptr ? errno : 0;
}

// Memory where nobody else maps some: the kernel and sanitizers begin at the other end, so what is
// unmapped of it stays a hole.
uint8_t* MapLonely(size_t bytes) {
  void* const hint = reinterpret_cast<void*>(uintptr_t{1} << 28);
  void* const mapped =
      mmap(hint, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(mapped != MAP_FAILED);
  return static_cast<uint8_t*>(mapped);
}

TEST_CASE("memory that is not mapped, or not writable, is not registered") {
  Fixture fixture;
  const Owned<vl_rnic> rnic = fixture.Open(0);
  const Owned<vl_pd> pd(vl_allocate_pd(rnic.get()));
  constexpr size_t kPage = 4096;
  uint8_t* const pages = MapLonely(4 * kPage);
  REQUIRE(munmap(pages + 2 * kPage, kPage) == 0);
  REQUIRE(mprotect(pages + kPage, kPage, PROT_READ) == 0);

  CHECK(RegisterError(pd.get(), pages, kPage, VL_ACCESS_REMOTE_WRITE) == 0);
  CHECK(RegisterError(pd.get(), pages, 2 * kPage, VL_ACCESS_REMOTE_READ) == 0);
  CHECK(RegisterError(pd.get(), pages, 2 * kPage, VL_ACCESS_REMOTE_WRITE) == EFAULT);
  CHECK(RegisterError(pd.get(), pages, kPage + 1, VL_ACCESS_LOCAL_WRITE) == EFAULT);
  CHECK(RegisterError(pd.get(), pages, 2 * kPage + 1, 0) == EFAULT);
  CHECK(RegisterError(pd.get(), pages + 2 * kPage, 1, 0) == EFAULT);
  CHECK(RegisterError(pd.get(), pages, ~size_t{0}, 0) == EINVAL);
  CHECK(RegisterError(pd.get(), pages, size_t{1} << 60, 0) == EINVAL);
  CHECK(RegisterError(pd.get(), reinterpret_cast<void*>(1), 1, 0) == EFAULT);
  munmap(pages, 2 * kPage);
  munmap(pages + 3 * kPage, kPage);
}

TEST_CASE("a region that was unmapped makes work fail, and neither side crash") {
  SimPair pair;
  uint8_t* const pages = MapLonely(4096);
  uint8_t target[16];
  const auto source = Own(vl_allocate_mr(pair.ends[0].pd.get(), pages, 4096, 0), "source");
  const auto sink =
      Own(vl_allocate_mr(pair.ends[1].pd.get(), target, 16, VL_ACCESS_REMOTE_WRITE), "target");
  REQUIRE(munmap(pages, 4096) == 0);
  pair.ends[0].Push(1, {AddressOf(pages), 16, vl_mr_stag(source.get())}, AddressOf(target),
                    vl_mr_stag(sink.get()));
  CHECK(AwaitCompletion(pair.ends[0].cq.get(), "a PUSH").status == VL_WC_LOC_PROT_ERR);
  CHECK(QueryRnic(pair.ends[0].rnic.get()).node_id == 0);
}

// What each call gives when the simulator is gone, one after the other.
void ExpectGone(SimEnd* end) {
  uint8_t byte = 0;
  vl_wc wc;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  int polled = 0;
  while ((polled = vl_poll_cq(end->cq.get(), 1, &wc)) >= 0) {
    if (std::chrono::steady_clock::now() > until) break;
  }
  CHECK(polled == -1);
  CHECK(errno == ENODEV);
  vl_send_wr wr = {};
  wr.opcode = VL_OP_SEND;
  const vl_send_wr* bad = nullptr;
  CHECK(vl_post_sq(end->qp.get(), &wr, &bad) == -1);
  CHECK(errno == ENODEV);
  CHECK(bad == &wr);
  CHECK(vl_req_notify_cq(end->cq.get(), 0) == -1);
  CHECK(errno == ENODEV);
  CHECK(vl_allocate_mr(end->pd.get(), &byte, 1, 0) == nullptr);
  CHECK(errno == ENODEV);
  CHECK(TextNames("gone"));
  vl_qp_attr attr;
  CHECK(vl_query_qp(end->qp.get(), &attr) == -1);
  CHECK(errno == ENODEV);
  // Nothing is left over.
  CHECK(vl_destroy_qp(end->qp.release()) == 0);
  CHECK(std::string(vl_error_text()).empty());
  CHECK(vl_destroy_cq(end->cq.release()) == 0);
  CHECK(std::string(vl_error_text()).empty());
  CHECK(vl_deallocate_pd(end->pd.release()) == 0);
  CHECK(vl_close_rnic(end->rnic.release()) == 0);
}

TEST_CASE("when the simulator is killed, calls fail and nothing hangs") {
  SimPair pair;
  pair.fixture.simulator.signal(SIGKILL);
  pair.fixture.simulator.wait_for_exit();
  ExpectGone(&pair.ends[0]);
  ExpectGone(&pair.ends[1]);
}

TEST_CASE("who sleeps when the simulator is killed is woken, and told") {
  Fixture fixture;
  const Owned<vl_rnic> rnic = fixture.Open(0);
  const Owned<vl_comp_channel> channel(vl_create_comp_channel(rnic.get()));
  vl_cq_init_attr attr = {};
  attr.entries = 8;
  attr.channel = channel.get();
  const Owned<vl_cq> cq(vl_create_cq_ex(rnic.get(), &attr));
  REQUIRE(cq != nullptr);
  fixture.simulator.signal(SIGKILL);

  // Without a time limit of their own: these would hang.
  vl_cq* fired = nullptr;
  CHECK(vl_get_cq_event(channel.get(), &fired, nullptr) == -1);
  CHECK(errno == ENODEV);
  pollfd ends = {vl_comp_channel_fd(channel.get()), POLLIN, 0};
  CHECK(poll(&ends, 1, 0) == 1);
  CHECK((ends.revents & POLLHUP) != 0);

  vl_async_event event;
  REQUIRE(vl_get_async_event(rnic.get(), &event) == 0);
  CHECK(event.type == VL_EVENT_DEVICE_FATAL);
  CHECK(vl_ack_async_event(&event) == 0);
  CHECK(vl_get_async_event(rnic.get(), &event) == -1);
  CHECK(errno == ENODEV);
}

TEST_CASE("when the simulator stops, calls time out, and it is cut off") {
  Fixture fixture;
  std::unique_ptr<Transport> transport = OpenSim(fixture.folder / "0", milliseconds(200));
  REQUIRE(transport != nullptr);
  const Owned<vl_rnic> rnic(OpenRnic(std::move(transport)));
  const Owned<vl_cq> cq(vl_create_cq(rnic.get(), 8, nullptr));
  REQUIRE(cq != nullptr);
  fixture.simulator.signal(SIGSTOP);
  CHECK(vl_create_cq(rnic.get(), 8, nullptr) == nullptr);
  CHECK(errno == ETIMEDOUT);
  CHECK(vl_create_cq(rnic.get(), 8, nullptr) == nullptr);
  CHECK(errno == ENODEV);
  vl_wc wc;
  CHECK(vl_poll_cq(cq.get(), 1, &wc) == -1);
  CHECK(errno == ENODEV);
  fixture.simulator.signal(SIGCONT);
  // It has dropped the old driver, and takes a new one.
  CHECK(fixture.Open(1) != nullptr);
}

}  // namespace
}  // namespace exrnic
