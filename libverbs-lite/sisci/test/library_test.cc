// SPDX-License-Identifier: BSD-2-Clause
#include <cstdint>
#include <thread>

#include "two_nodes.h"

namespace exrnic {
namespace {

TEST_CASE("nothing works before SCIInitialize") {
  sci_desc_t sd = nullptr;
  unsigned node = 0;
  SCI(SCI_ERR_NOT_INITIALIZED, SCIOpen, &sd, 0);
  SCI(SCI_ERR_NOT_INITIALIZED, SCIGetLocalNodeId, 0, &node, 0);
  SCI(SCI_ERR_NOT_INITIALIZED, SCIClose, sd, 0);
  SCI(SCI_ERR_ILLEGAL_FLAG, SCIInitialize, 1);
}

TEST_CASE("an RNIC that is not there is no adapter") {
  setenv("VL_DEVICE", "sim:nobody.sock", 1);
  sci_desc_t sd = nullptr;
  unsigned node = 0;
  SCI(SCI_ERR_OK, SCIInitialize, 0);
  SCI(SCI_ERR_NO_SUCH_ADAPTERNO, SCIOpen, &sd, 0);
  SCI(SCI_ERR_NO_SUCH_ADAPTERNO, SCIGetLocalNodeId, 0, &node, 0);
  SCI(SCI_ERR_ILLEGAL_ADAPTERNO, SCIGetLocalNodeId, 16, &node, 0);
  SCITerminate();
}

TEST_CASE("queries say what an adapter is") {
  TwoNodes nodes;
  for (unsigned adapter = 0; adapter < 2; ++adapter) {
    unsigned value = 99;
    SCI(SCI_ERR_OK, SCIGetLocalNodeId, adapter, &value, 0);
    CHECK(value == adapter);
    sci_query_adapter_t query = {adapter, 0, SCI_Q_ADAPTER_NODEID, &value};
    value = 99;
    SCI(SCI_ERR_OK, SCIQuery, SCI_Q_ADAPTER, &query, 0);
    CHECK(value == adapter);
    query.subcommand = SCI_Q_ADAPTER_LINK_OPERATIONAL;
    SCI(SCI_ERR_OK, SCIQuery, SCI_Q_ADAPTER, &query, 0);
    CHECK(value == 1);
    query.subcommand = SCI_Q_ADAPTER_SCI_LINK_FREQUENCY;
    SCI(SCI_ERR_NOT_IMPLEMENTED, SCIQuery, SCI_Q_ADAPTER, &query, 0);
    query.subcommand = 12345;
    SCI(SCI_ERR_ILLEGAL_QUERY, SCIQuery, SCI_Q_ADAPTER, &query, 0);
  }
  char text[8] = "";
  sci_query_string_t string = {text, sizeof(text)};
  SCI(SCI_ERR_OK, SCIQuery, SCI_Q_API, &string, 0);
  CHECK(std::string(text) == "SISCI o");
  SCI(SCI_ERR_ILLEGAL_QUERY, SCIQuery, 12345, &string, 0);
  dis_nodeId_list_t list;
  dis_virt_adapter_t type;
  char name[] = "node1", wrong[] = "nodes";
  SCI(SCI_ERR_OK, SCIGetNodeIdByAdapterName, name, &list, &type, 0);
  CHECK(list[0] == 1);
  SCI(SCI_ERR_NO_SUCH_NODEID, SCIGetNodeIdByAdapterName, wrong, &list, &type, 0);
  SCI(SCI_ERR_OK, SCIClose, nodes.sd, 0);
}

TEST_CASE("an RNIC that one thread is closing is there for another that opens it") {
  constexpr int kTimes = 20;
  TwoNodes nodes;
  SCI(SCI_ERR_OK, SCIClose, nodes.sd, 0);
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < kTimes; ++j) {
        sci_desc_t sd = nullptr;
        sci_error_t opened, closed;
        SCIOpen(&sd, 0, &opened);
        SCIClose(sd, 0, &closed);
        if (opened != SCI_ERR_OK || closed != SCI_ERR_OK) ++failures;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(failures == 0);
}

TEST_CASE("a node answers when SISCI runs there") {
  TwoNodes nodes;
  sci_error_t error;
  CHECK(SCIProbeNode(nodes.sd, 0, 0, 0, &error) == 1);
  CHECK(SCIProbeNode(nodes.sd, 0, 1, 0, &error) == 0);
  CHECK(error == SCI_ERR_NODE_NOT_RESPONDING);
  CHECK(SCIProbeNode(nodes.sd, 1, 0, 0, &error) == 1);  // and adapter 1 is open now
  CHECK(SCIProbeNode(nodes.sd, 0, 1, 0, &error) == 1);
  CHECK(error == SCI_ERR_OK);
  CHECK(SCIProbeNode(nodes.sd, 0, 1u << 30, 0, &error) == 0);
  CHECK(error == SCI_ERR_ILLEGAL_NODEID);
  SCI(SCI_ERR_OK, SCIClose, nodes.sd, 0);
}

TEST_CASE("handles of nothing, and null pointers, are refused") {
  TwoNodes nodes;
  sci_desc_t other = nullptr;
  SCI(SCI_ERR_OK, SCIOpen, &other, 0);
  SCI(SCI_ERR_OK, SCIClose, other, 0);
  sci_local_segment_t segment;
  sci_remote_segment_t remote;
  unsigned number = 1;
  for (const sci_desc_t sd : {other, sci_desc_t{}, reinterpret_cast<sci_desc_t>(0xdeadbeefUL),
                              reinterpret_cast<sci_desc_t>(UINTPTR_MAX)}) {
    SCI(SCI_ERR_ILLEGAL_PARAMETER, SCIClose, sd, 0);
    SCI(SCI_ERR_ILLEGAL_PARAMETER, SCICreateSegment, sd, &segment, 1, 1, nullptr, nullptr, 0);
    SCI(SCI_ERR_ILLEGAL_PARAMETER, SCIConnectSegment, sd, &remote, 1, 1, 0, nullptr, nullptr, 1, 0);
    SCI(SCI_ERR_ILLEGAL_PARAMETER, SCIPrepareSegment, reinterpret_cast<sci_local_segment_t>(sd), 0,
        0);
    SCI(SCI_ERR_ILLEGAL_PARAMETER, SCIUnmapSegment, reinterpret_cast<sci_map_t>(sd), 0);
    SCI(SCI_ERR_ILLEGAL_PARAMETER, SCITriggerInterrupt,
        reinterpret_cast<sci_remote_interrupt_t>(sd), 0);
    SCI(SCI_ERR_ILLEGAL_PARAMETER, SCIRemoveDMAQueue, reinterpret_cast<sci_dma_queue_t>(sd), 0);
    CHECK(SCIDMAQueueState(reinterpret_cast<sci_dma_queue_t>(sd)) == SCI_DMAQUEUE_ERROR);
    CHECK(SCIGetRemoteSegmentSize(reinterpret_cast<sci_remote_segment_t>(sd)) == 0);
    SCIStoreBarrier(reinterpret_cast<sci_sequence_t>(sd), 0);
  }
  // Of another type.
  SCI(SCI_ERR_ILLEGAL_PARAMETER, SCIUnmapSegment, reinterpret_cast<sci_map_t>(nodes.sd), 0);
  SCI(SCI_ERR_ILLEGAL_PARAMETER, SCIOpen, nullptr, 0);
  SCI(SCI_ERR_ILLEGAL_PARAMETER, SCICreateSegment, nodes.sd, nullptr, 1, 1, nullptr, nullptr, 0);
  SCI(SCI_ERR_ILLEGAL_PARAMETER, SCICreateInterrupt, nodes.sd, nullptr, 0, &number, nullptr,
      nullptr, 0);
  SCI(SCI_ERR_ILLEGAL_PARAMETER, SCIQuery, SCI_Q_ADAPTER, nullptr, 0);
  SCIClose(nullptr, 0, nullptr);  // nobody wants to know
  SCI(SCI_ERR_OK, SCIClose, nodes.sd, 0);
}

TEST_CASE("what the RNIC has not says so") {
  TwoNodes nodes;
  SCI(SCI_ERR_NOT_IMPLEMENTED, SCIGetLocalCSR, nodes.sd, 0, 0, 0);
  SCI(SCI_ERR_NOT_IMPLEMENTED, SCIShareSegment, nullptr, 0);
  SCI(SCI_ERR_NOT_IMPLEMENTED, SCIAttachPhysicalMemory, 0, nullptr, 0, 1, nullptr, 0);
  SCI(SCI_ERR_OK, SCIClose, nodes.sd, 0);
}

}  // namespace
}  // namespace exrnic
