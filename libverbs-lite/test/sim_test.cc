// SPDX-License-Identifier: BSD-2-Clause
// The library as a driver in user space: exrnic-sim with two nodes, and no guest.
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "both_ends.h"
#include "exrnic/connect.h"
#include "sim/posix/unix_socket.h"
#include "sim_fixture.h"

namespace exrnic {
namespace {

std::vector<GuestCheck> SimulatorChecks(bool processor) {
  std::vector<GuestCheck> checks;
  for (GuestCheck& check : AllChecks()) {
    if (check.needs_processor && !processor) continue;
    if (!check.needs_kernel && !check.two_contexts) checks.push_back(std::move(check));
  }
  return checks;
}

void RunSimulatorChecks(const std::string& core) {
  Fixture fixture(core);
  const std::vector<GuestCheck> checks = SimulatorChecks(core == "rtl");
  const CheckOutcome outcome =
      RunBothEnds(checks, [&](uint32_t node) { return OpenDevice(fixture.Name(node)); });
  INFO(outcome.output << outcome.peer_output);
  CHECK(outcome.error.empty());
  CHECK(outcome.failed == 0);
  CHECK(outcome.passed() == checks.size());
}

TEST_CASE("the guest checks pass without guests on the reference model") {
  RunSimulatorChecks("ref");
}

TEST_CASE("the guest checks pass without guests on the RTL", "[rtl]") { RunSimulatorChecks("rtl"); }

TEST_CASE("the RNIC says who it is") {
  Fixture fixture;
  for (uint32_t node = 0; node < 2; ++node) {
    const Owned<vl_rnic> rnic = fixture.Open(node);
    const vl_rnic_attr attr = QueryRnic(rnic.get());
    CHECK(attr.node_id == node);
    CHECK(attr.mac[0] == 0x02);
    CHECK(attr.mac[5] == node);
    CHECK(attr.max_qp > 1);
    CHECK(attr.clock_khz > 1000);
  }
}

TEST_CASE("the attributes of a queue pair, and of a shared queue, hold what was granted") {
  Fixture fixture;
  const SimEnd end(OpenDevice(fixture.Name(0)));
  vl_qp_init_attr init = QpAttributes(end.cq.get(), 5, 3);
  const Owned<vl_qp> qp = CreateQp(end.pd.get(), &init);
  CHECK(init.max_send_wr >= 5);
  CHECK(init.max_recv_wr >= 3);
  CHECK(init.max_inline >= QpAttributes(end.cq.get(), 5, 3).max_inline);
  vl_srq_attr attr = {5, 2, 0};
  const Owned<vl_srq> srq = CreateSrq(end.pd.get(), &attr);
  CHECK(attr.max_wr >= 5);
}

TEST_CASE("the environment names the RNIC where the program does not") {
  Fixture fixture;
  setenv("VL_DEVICE", fixture.Name(1).c_str(), 1);
  const Owned<vl_rnic> rnic(vl_open_rnic(nullptr));
  unsetenv("VL_DEVICE");
  REQUIRE(rnic != nullptr);
  CHECK(QueryRnic(rnic.get()).node_id == 1);
}

// A buffer that each end has in another kind of memory, and a PUSH between them.
void PushBetween(vl_pd* from_pd, uint8_t* from, vl_pd* to_pd, uint8_t* to, SimEnd* sender) {
  constexpr uint32_t kLength = 5000;  // more than a page
  for (uint32_t i = 0; i < kLength; ++i) from[i] = static_cast<uint8_t>(i * 7);
  memset(to, 0, kLength);
  const auto source = Own(vl_allocate_mr(from_pd, from, kLength, 0), "source");
  const auto target = Own(vl_allocate_mr(to_pd, to, kLength, VL_ACCESS_REMOTE_WRITE), "target");
  sender->Push(1, {AddressOf(from), kLength, vl_mr_stag(source.get())}, AddressOf(to),
               vl_mr_stag(target.get()));
  CHECK(AwaitCompletion(sender->cq.get(), "a PUSH").status == VL_WC_SUCCESS);
  CHECK(memcmp(from, to, kLength) == 0);
}

TEST_CASE("memory of every kind can be registered where it is") {
  SimPair pair;
  static uint8_t global[8192];
  uint8_t stack[8192];
  std::vector<uint8_t> heap(8192 + 13);
  uint8_t* odd = heap.data() + 13;
  FILE* file = tmpfile();
  REQUIRE(ftruncate(fileno(file), 8192) == 0);
  void* mapped = mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
  REQUIRE(mapped != MAP_FAILED);
  uint8_t* const places[] = {global, stack, odd, static_cast<uint8_t*>(mapped)};
  for (uint8_t* from : places) {
    for (uint8_t* to : places) {
      if (from == to) continue;
      PushBetween(pair.ends[0].pd.get(), from, pair.ends[1].pd.get(), to, &pair.ends[0]);
    }
  }
  uint8_t in_file[8];
  REQUIRE(pread(fileno(file), in_file, sizeof(in_file), 0) == sizeof(in_file));
  CHECK(memcmp(in_file, mapped, sizeof(in_file)) == 0);
  munmap(mapped, 8192);
  fclose(file);
}

TEST_CASE("a region of many pages, of small and of huge ones, may begin and end anywhere") {
  SimPair pair;
  for (const size_t bytes : {size_t{100'000}, size_t{5'000'000}}) {
    std::vector<uint8_t> from(bytes + 11), to(bytes + 11);
    for (size_t i = 0; i < bytes; ++i) from[11 + i] = static_cast<uint8_t>(i * i >> 8);
    const auto source =
        Own(vl_allocate_mr(pair.ends[0].pd.get(), from.data() + 11, bytes, 0), "source");
    const auto target = Own(
        vl_allocate_mr(pair.ends[1].pd.get(), to.data() + 11, bytes, VL_ACCESS_REMOTE_WRITE), "to");
    pair.ends[0].Push(
        1, {AddressOf(from.data() + 11), static_cast<uint32_t>(bytes), vl_mr_stag(source.get())},
        AddressOf(to.data() + 11), vl_mr_stag(target.get()));
    CHECK(AwaitCompletion(pair.ends[0].cq.get(), "a PUSH").status == VL_WC_SUCCESS);
    CHECK(from == to);
  }
}

TEST_CASE("over vl_connect_qp a message that finds no receive waits for one") {
  Fixture fixture;
  SimEnd ends[2] = {SimEnd(OpenDevice(fixture.Name(0))), SimEnd(OpenDevice(fixture.Name(1)))};
  int sockets[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
  int connected[2] = {-1, -1};
  const auto connect = [&](int node) {
    const vl_conn_info mine = {};
    vl_conn_info theirs;
    connected[node] = vl_connect_qp(ends[node].qp.get(), sockets[node], &mine, &theirs, 10'000);
  };
  std::thread other([&] { connect(1); });
  connect(0);
  other.join();
  for (const int node : {0, 1}) {
    CHECK(connected[node] == 0);
    close(sockets[node]);
  }

  uint8_t message = 42, buffer = 0;
  const auto source = Own(vl_allocate_mr(ends[0].pd.get(), &message, 1, 0), "source");
  const auto sink =
      Own(vl_allocate_mr(ends[1].pd.get(), &buffer, 1, VL_ACCESS_LOCAL_WRITE), "sink");
  vl_sge from = {AddressOf(&message), 1, vl_mr_stag(source.get())};
  vl_send_wr send = {};
  send.sg_list = &from;
  send.num_sge = 1;
  send.opcode = VL_OP_SEND;
  send.flags = VL_SEND_SIGNALED;
  Check(vl_post_sq(ends[0].qp.get(), &send, nullptr), "vl_post_sq");
  vl_wc early;
  for (int i = 0; i < 20; ++i) {
    usleep(1000);
    REQUIRE(vl_poll_cq(ends[0].cq.get(), 1, &early) == 0);
  }
  vl_sge to = {AddressOf(&buffer), 1, vl_mr_stag(sink.get())};
  vl_recv_wr receive = {};
  receive.sg_list = &to;
  receive.num_sge = 1;
  Check(vl_post_rq(ends[1].qp.get(), &receive, nullptr), "vl_post_rq");
  CHECK(AwaitCompletion(ends[0].cq.get(), "the SEND").status == VL_WC_SUCCESS);
  CHECK(AwaitCompletion(ends[1].cq.get(), "its receive").status == VL_WC_SUCCESS);
  CHECK(buffer == 42);
}

TEST_CASE("a forked child shares no page that the device uses, and takes none away") {
  SimPair pair;
  uint8_t from[64] = "before", to[64] = "";
  const pid_t child = fork();
  if (child == 0) {
    strcpy(reinterpret_cast<char*>(to), "child");
    pause();
    _exit(0);
  }
  // Both pages are copied on this first write: the device must follow the parent.
  strcpy(reinterpret_cast<char*>(from), "parent");
  const auto source = Own(vl_allocate_mr(pair.ends[0].pd.get(), from, 64, 0), "source");
  const auto target =
      Own(vl_allocate_mr(pair.ends[1].pd.get(), to, 64, VL_ACCESS_REMOTE_WRITE), "target");
  pair.ends[0].Push(1, {AddressOf(from), 64, vl_mr_stag(source.get())}, AddressOf(to),
                    vl_mr_stag(target.get()));
  CHECK(AwaitCompletion(pair.ends[0].cq.get(), "a PUSH").status == VL_WC_SUCCESS);
  CHECK(std::string(reinterpret_cast<char*>(to)) == "parent");
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST_CASE("events wait for who reads late, however many there are") {
  constexpr size_t kQueues = 300;
  Fixture fixture;
  const SimEnd end(OpenDevice(fixture.Name(0)));
  const Owned<vl_comp_channel> channel(vl_create_comp_channel(end.rnic.get()));
  vl_cq_init_attr attr = {};
  attr.entries = 8;
  attr.channel = channel.get();
  attr.comp_vector = 1;  // one event queue of the device, with fewer entries, tells of all
  vl_sge nowhere = {0, 1, 0};
  vl_send_wr wr = {};
  wr.sg_list = &nowhere;
  wr.num_sge = 1;
  wr.opcode = VL_OP_SEND;
  std::vector<Owned<vl_cq>> queues;
  std::vector<Owned<vl_qp>> qps;
  for (size_t i = 0; i < kQueues; ++i) {
    queues.push_back(Own(vl_create_cq_ex(end.rnic.get(), &attr), "vl_create_cq_ex"));
    qps.push_back(CreateQp(end.pd.get(), QpAttributes(queues[i].get(), 16, 16)));
    ConnectQp(qps[i].get(), 1, 1);
    Check(vl_req_notify_cq(queues[i].get(), 0), "vl_req_notify_cq");
    Check(vl_post_sq(qps[i].get(), &wr, nullptr), "vl_post_sq");
  }

  std::set<vl_cq*> fired;
  pollfd readable = {vl_comp_channel_fd(channel.get()), POLLIN, 0};
  while (fired.size() < kQueues && poll(&readable, 1, 10'000) == 1) {
    vl_cq* cq = nullptr;
    Check(vl_get_cq_event(channel.get(), &cq, nullptr), "vl_get_cq_event");
    Check(vl_ack_cq_events(cq, 1), "vl_ack_cq_events");
    fired.insert(cq);
  }
  CHECK(fired.size() == kQueues);
  CHECK(poll(&readable, 1, 0) == 0);
}

// The simulator's answer to a request at its control socket.
std::string Ask(const Fixture& fixture, const std::string& request) {
  const UniqueFd socket = connect_unix(fixture.folder / "control");
  const timeval limit = {10, 0};
  REQUIRE(setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) == 0);
  const std::string line = request + "\n";
  REQUIRE(write(socket.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size()));
  std::string answer;
  for (char letter = 0; letter != '\n' && read(socket.get(), &letter, 1) == 1;) answer += letter;
  return answer;
}

void CheckLink(vl_rnic* rnic, bool expected) {
  pollfd readable = {vl_async_fd(rnic), POLLIN, 0};
  REQUIRE(poll(&readable, 1, 10'000) == 1);
  vl_async_event event;
  Check(vl_get_async_event(rnic, &event), "vl_get_async_event");
  CHECK(event.type == VL_EVENT_LINK);
  CHECK(event.qp == nullptr);
  CHECK(vl_ack_async_event(&event) == 0);
  int up = -1;
  CHECK(vl_query_link(rnic, &up) == 0);
  CHECK(up == expected);
}

TEST_CASE("both ends of a link are told when it goes and when it comes") {
  const std::string core = GENERATE("ref", "rtl", "lockstep");
  CAPTURE(core);
  Fixture fixture(core);
  const Owned<vl_rnic> rnics[] = {fixture.Open(0), fixture.Open(1)};
  int up = -1;
  CHECK(vl_query_link(rnics[0].get(), &up) == 0);
  CHECK(up == 1);
  for (const bool now : {false, true}) {
    const std::string text = now ? "true" : "false";
    const std::string answer = Ask(fixture, R"({"command":"link","link":"0-1","up":)" + text + "}");
    CHECK(answer.find(R"("ok":true)") != std::string::npos);
    for (const auto& rnic : rnics) CheckLink(rnic.get(), now);
  }
}

TEST_CASE("a queue pair leaves a group when its member ends, not when that is moved") {
  Fixture fixture;
  const SimEnd end(OpenDevice(fixture.Name(0)));
  vl_qp_init_attr init = QpAttributes(end.cq.get(), 4);
  init.service = VL_SERVICE_UD;
  const Owned<vl_qp> qp = CreateQp(end.pd.get(), init);
  ReadyDatagrams(qp.get(), 1);
  CHECK(QueryQp(qp.get()).state == VL_QPS_RTS);
  {
    GroupMember first(qp.get(), 5);
    const GroupMember moved = std::move(first);
    CHECK(moved.group() == 5);
    try {
      const GroupMember twice(qp.get(), 5);
      FAIL("it is in the group twice");
    } catch (const VerbsError& error) {
      CHECK(error.error() == EEXIST);
    }
  }
  CHECK(vl_detach_mcast(qp.get(), 5) == -1);
  CHECK(errno == ENOENT);
}

TEST_CASE("a queue pair gets no number of management, and of the P_Keys those that there are") {
  Fixture fixture;
  const SimEnd end(OpenDevice(fixture.Name(0)));
  const vl_rnic_attr node = QueryRnic(end.rnic.get());
  CHECK(node.pkeys[0] == 0xffff);
  CHECK(node.pkeys[VL_PKEYS - 1] == 0);
  vl_qp_init_attr init = QpAttributes(end.cq.get(), 4);
  init.service = VL_SERVICE_UD;
  init.flags = VL_QP_GRH;
  const Owned<vl_qp> qp = CreateQp(end.pd.get(), init);
  CHECK(vl_qp_number(qp.get()) > 1);
  vl_qp_attr attr = {};
  attr.state = VL_QPS_INIT;
  attr.pkey_index = VL_PKEYS - 1;
  CHECK(vl_modify_qp(qp.get(), &attr) == -1);
  CHECK(errno == EINVAL);
  CHECK(std::string(vl_error_text()).find("pkey_index is 15: ") != std::string::npos);
  ReadyDatagrams(qp.get(), VL_QKEY_CONTROLLED | 1);
  CHECK(QueryQp(qp.get()).pkey_index == 0);
}

TEST_CASE(
    "a queue pair has the attributes that a mask names, goes to SQD and back, and tells all") {
  Fixture fixture;
  const SimEnd end(OpenDevice(fixture.Name(0)));
  vl_qp_init_attr init = QpAttributes(end.cq.get(), 4);
  init.max_reads_out = init.max_reads_in = 4;
  const Owned<vl_qp> qp = CreateQp(end.pd.get(), init);
  const auto modify = [&](vl_qp_state state, uint32_t mask) {
    vl_qp_attr attr = {};
    attr.state = state;
    attr.mask = mask;
    attr.dest_node = QueryRnic(end.rnic.get()).node_id;
    attr.dest_qpn = vl_qp_number(qp.get());
    attr.access = VL_ACCESS_REMOTE_WRITE;
    attr.path_mtu = 256;
    attr.max_reads_in = 3;
    attr.max_reads_out = 2;
    attr.min_rnr_timer = 5;
    attr.rnr_retry = 6;
    attr.timeout = 14;
    attr.retry_count = 7;
    return vl_modify_qp(qp.get(), &attr);
  };
  REQUIRE(modify(VL_QPS_INIT, VL_QP_ACCESS) == 0);
  CHECK(modify(VL_QPS_RTR, VL_QP_PATH_MTU) == -1);
  CHECK(errno == EINVAL);
  CHECK(std::string(vl_error_text()).find("needs the attributes 0x1, and mask is 0x10") !=
        std::string::npos);
  REQUIRE(modify(VL_QPS_RTR,
                 VL_QP_DEST | VL_QP_PATH_MTU | VL_QP_MAX_READS_IN | VL_QP_MIN_RNR_TIMER) == 0);
  REQUIRE(modify(VL_QPS_RTS,
                 VL_QP_MAX_READS_OUT | VL_QP_RNR_RETRY | VL_QP_TIMEOUT | VL_QP_RETRY_COUNT) == 0);
  CHECK(modify(VL_QPS_RTS, VL_QP_PATH_MTU) == -1);
  CHECK(errno == EPERM);
  REQUIRE(modify(VL_QPS_SQD, 0) == 0);
  vl_qp_attr now = QueryQp(qp.get());
  CHECK(now.state == VL_QPS_SQD);
  CHECK(now.access == VL_ACCESS_REMOTE_WRITE);
  CHECK(now.path_mtu == 256);
  CHECK(now.max_reads_in == 3);
  CHECK(now.max_reads_out == 2);
  CHECK(now.min_rnr_timer == 5);
  CHECK(now.rnr_retry == 6);
  CHECK(now.timeout == 14);
  CHECK(now.retry_count == 7);
  while (QueryQp(qp.get()).sq_draining != 0) std::this_thread::yield();
  REQUIRE(modify(VL_QPS_RTS, VL_QP_ACCESS) == 0);
  CHECK(modify(VL_QPS_RESET, VL_QP_ACCESS) == -1);
  CHECK(errno == EPERM);
  CHECK(QueryQp(qp.get()).state == VL_QPS_RTS);
}

TEST_CASE("a queue pair of datagrams needs both keys, and the text says so") {
  Fixture fixture;
  const SimEnd end(OpenDevice(fixture.Name(0)));
  vl_qp_init_attr init = QpAttributes(end.cq.get(), 4);
  init.service = VL_SERVICE_UD;
  const Owned<vl_qp> qp = CreateQp(end.pd.get(), init);
  vl_qp_attr attr = {};
  attr.state = VL_QPS_INIT;
  attr.mask = VL_QP_PKEY_INDEX;
  CHECK(vl_modify_qp(qp.get(), &attr) == -1);
  CHECK(errno == EINVAL);
  CHECK(std::string(vl_error_text()).find("needs the attributes 0x6, and mask is 0x4") !=
        std::string::npos);
}

TEST_CASE("STags are not predictable, and none comes back soon") {
  Fixture fixture;
  const Owned<vl_rnic> rnic = fixture.Open(0);
  const Owned<vl_pd> pd(vl_allocate_pd(rnic.get()));
  uint8_t byte = 0;
  std::set<uint32_t> stags;
  for (int i = 0; i < 100; ++i) {
    const auto mr = Own(vl_allocate_mr(pd.get(), &byte, 1, 0), "vl_allocate_mr");
    stags.insert(vl_mr_stag(mr.get()));
  }
  CHECK(stags.size() == 100);
  CHECK(*stags.rbegin() - *stags.begin() > 0x10000);  // they are spread over the table
}

}  // namespace
}  // namespace exrnic
