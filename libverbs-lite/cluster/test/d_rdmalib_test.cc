// SPDX-License-Identifier: BSD-2-Clause
// The paper's program: its steps, its patterns, its buffers.
#include "exrnic/d_rdmalib.hpp"

#include <catch2/catch_test_macros.hpp>

#include "cluster_rig.h"

namespace exrnic {
namespace {

constexpr int kPaperNodes = 4;
constexpr size_t kPaperBytes = 4096;

// What stands in its buffers behind each pattern.
struct PaperEnd {
  std::vector<std::string> seen;
  unsigned refused = 0;  // calls of no opcode; Catch2 checks nothing in threads
  std::string error;
};

void RunPaperNode(int self, const std::string& device, int port, PaperEnd* end) {
  std::string server[kPaperNodes];
  for (int i = 0; i < kPaperNodes; ++i) server[i] = LoopbackHost(static_cast<unsigned>(i));
  static char send_buffer[kPaperNodes][kPaperNodes][kPaperBytes];
  static char recv_buffer[kPaperNodes][kPaperNodes][kPaperBytes];
  auto* recv = recv_buffer[self];
  vl::myRDMA myrdma;
  myrdma.device = device;
  myrdma.initialize_rdma_connection(server[self].c_str(), server, kPaperNodes, port,
                                    send_buffer[self], recv);
  myrdma.create_rdma_info();
  myrdma.send_info_change_qp();
  const std::string who = "node " + std::to_string(self);
  for (const std::string opcode : {"send", "send_with_imm", "write", "write_with_imm"}) {
    myrdma.rdma_comm(opcode, who + " to all by " + opcode);
    for (int i = 0; i < kPaperNodes - 1; ++i) end->seen.push_back(recv[i]);
    if (self == 0) {
      myrdma.rdma_one_to_many_send_msg(opcode, "one by " + opcode);
      myrdma.rdma_many_to_one_recv_msg(opcode);
      for (int i = 0; i < kPaperNodes - 1; ++i) end->seen.push_back(recv[i]);
    } else {
      myrdma.rdma_one_to_many_recv_msg(opcode);
      end->seen.push_back(recv[0]);
      myrdma.rdma_many_to_one_send_msg(opcode, who + " to one by " + opcode);
    }
    try {
      myrdma.rdma_comm("read", "no such thing");
    } catch (const vl::ClusterError&) {
      ++end->refused;
    }
  }
  myrdma.exit_rdma();
}

TEST_CASE("a program with the paper's calls finds each message in the buffer that the paper says") {
  Fixture fixture("ref", kPaperNodes);
  const int port = FreePort();
  PaperEnd ends[kPaperNodes];
  std::vector<std::thread> threads;
  for (int self = kPaperNodes - 1; self >= 0; --self) {
    threads.emplace_back([&, self] {
      try {
        RunPaperNode(self, fixture.Name(static_cast<uint32_t>(self)), port, &ends[self]);
      } catch (const std::exception& error) {
        ends[self].error = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int self = 0; self < kPaperNodes; ++self) {
    INFO("node " << self);
    CHECK(ends[self].error == "");
    CHECK(ends[self].refused == 4);
    std::vector<std::string> expected;
    for (const std::string opcode : {"send", "send_with_imm", "write", "write_with_imm"}) {
      for (int i = 0; i < kPaperNodes; ++i)
        if (i != self) expected.push_back("node " + std::to_string(i) + " to all by " + opcode);
      if (self != 0) expected.push_back("one by " + opcode);
      for (int i = 1; self == 0 && i < kPaperNodes; ++i)
        expected.push_back("node " + std::to_string(i) + " to one by " + opcode);
    }
    CHECK(ends[self].seen == expected);
  }
}

TEST_CASE("a wrong argument of the paper's calls is named with its value") {
  std::string server[2] = {"127.0.1.1", "127.0.1.2"};
  static char buffer[2][64];
  const auto error_of = [&](const char* ip, int nodes) -> std::string {
    try {
      vl::D_RDMALib rdma;
      rdma.initialize_rdma_connection(ip, server, nodes, 7471, buffer, buffer);
    } catch (const vl::ClusterError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(error_of("127.0.1.9", 2) ==
        "initialize_rdma_connection: ip is \"127.0.1.9\": none of the 2 in server");
  CHECK(error_of("127.0.1.1", 1) == "initialize_rdma_connection: number_of_server is 1: 2 to 256");
  vl::D_RDMALib rdma;
  CHECK_THROWS_AS(rdma.create_rdma_info(), vl::ClusterError);
}

}  // namespace
}  // namespace exrnic
