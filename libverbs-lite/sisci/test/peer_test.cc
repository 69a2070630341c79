// SPDX-License-Identifier: BSD-2-Clause
// A peer that is another process, and dies.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "two_nodes.h"

namespace exrnic {
namespace {

// Node 1: a segment and an interrupt, until it is killed.
[[noreturn]] void BeNode1(const std::string& device) {
  setenv("VL_DEVICE", device.c_str(), 1);
  sci_error_t error;
  sci_desc_t sd;
  sci_local_segment_t segment;
  sci_local_interrupt_t interrupt;
  unsigned number = 5;
  SCIInitialize(0, &error);
  SCIOpen(&sd, 0, &error);
  SCICreateInterrupt(sd, &interrupt, 0, &number, nullptr, nullptr, SCI_FLAG_FIXED_INTNO, &error);
  SCICreateSegment(sd, &segment, kSegment, 1u << 20, nullptr, nullptr, 0, &error);
  SCIPrepareSegment(segment, 0, 0, &error);
  SCISetSegmentAvailable(segment, 0, 0, &error);
  for (;;) pause();
}

TEST_CASE("a peer that is killed is lost: within a transfer, for its segment, and its interrupt") {
  SimNodes sim;
  const pid_t child = fork();
  if (child == 0) BeNode1(sim.Name(1));
  sci_desc_t sd = nullptr;
  SCI(SCI_ERR_OK, SCIInitialize, 0);
  SCI(SCI_ERR_OK, SCIOpen, &sd, 0);
  sci_remote_segment_t remote = nullptr;
  REQUIRE(Eventually([&] {
    sci_error_t error;
    SCIConnectSegment(sd, &remote, 1, kSegment, 0, nullptr, nullptr, kSeconds, 0, &error);
    REQUIRE((error == SCI_ERR_OK || error == SCI_ERR_NO_SUCH_SEGMENT));
    return error == SCI_ERR_OK;
  }));
  sci_remote_interrupt_t interrupt = nullptr;
  SCI(SCI_ERR_OK, SCIConnectInterrupt, sd, &interrupt, 1, 0, 5, kSeconds, 0);
  OwnedSegment source(sd, 1u << 20, 1, 0);
  sci_dma_queue_t queue = nullptr;
  SCI(SCI_ERR_OK, SCICreateDMAQueue, sd, &queue, 0, 1, 0);
  std::vector<dis_dma_vec_t> parts(DIS_DMA_MAX_VECLEN, {1u << 20, 0, 0, 0});
  SCI(SCI_ERR_OK, SCIStartDmaTransferVec, queue, source.segment, remote, parts.size(), parts.data(),
      nullptr, nullptr, 0);
  usleep(20'000);
  kill(child, SIGSTOP);  // it takes nothing any more
  sci_error_t error, status;
  for (int i = 0; i < 500; ++i) SCITriggerInterrupt(interrupt, 0, &error);
  CHECK(error == SCI_ERR_NOSPC);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  CHECK(SCIWaitForDMAQueue(queue, kSeconds, 0, &error) == SCI_DMAQUEUE_ERROR);
  CHECK(SCIWaitForRemoteSegmentEvent(remote, &status, kSeconds, 0, &error) == SCI_CB_LOST);
  CHECK(error == SCI_ERR_OK);
  SCI(SCI_ERR_NOT_CONNECTED, SCITriggerInterrupt, interrupt, 0);
  SCI(SCI_ERR_SEGMENT_NOT_CONNECTED, SCIStartDmaTransfer, queue, source.segment, remote, 0, 1, 0,
      nullptr, nullptr, 0);
  SCI(SCI_ERR_OK, SCIDisconnectSegment, remote, 0);
  SCI(SCI_ERR_TIMEOUT, SCIConnectSegment, sd, &remote, 1, kSegment, 0, nullptr, nullptr, 100, 0);
  SCI(SCI_ERR_OK, SCIDisconnectInterrupt, interrupt, 0);
  // Others are served as before.
  sci_local_interrupt_t own = nullptr;
  unsigned number = 1;
  SCI(SCI_ERR_OK, SCICreateInterrupt, sd, &own, 0, &number, nullptr, nullptr, 0);
  SCI(SCI_ERR_OK, SCIConnectInterrupt, sd, &interrupt, 0, 0, number, kSeconds, 0);
  for (int i = 0; i < 100; ++i) {
    SCI(SCI_ERR_OK, SCITriggerInterrupt, interrupt, 0);
    SCI(SCI_ERR_OK, SCIWaitForInterrupt, own, kSeconds, 0);
  }
  SCI(SCI_ERR_OK, SCIDisconnectInterrupt, interrupt, 0);
  SCI(SCI_ERR_OK, SCIRemoveInterrupt, own, 0);
  SCI(SCI_ERR_OK, SCIRemoveDMAQueue, queue, 0);
  source.Remove();
  SCI(SCI_ERR_OK, SCIClose, sd, 0);
  SCITerminate();
}

// Node 1 connects to a segment of node 0, and is killed.
[[noreturn]] void ConnectFromNode1(const std::string& device) {
  setenv("VL_DEVICE", device.c_str(), 1);
  sci_error_t error;
  sci_desc_t sd;
  sci_remote_segment_t remote;
  SCIInitialize(0, &error);
  SCIOpen(&sd, 0, &error);
  do {
    SCIConnectSegment(sd, &remote, 0, kSegment, 0, nullptr, nullptr, kSeconds, 0, &error);
  } while (error != SCI_ERR_OK);
  for (;;) pause();
}

TEST_CASE("the owner of a segment hears that who was connected has died, and may remove it") {
  SimNodes sim;
  const pid_t child = fork();
  if (child == 0) ConnectFromNode1(sim.Name(1));
  sci_desc_t sd = nullptr;
  SCI(SCI_ERR_OK, SCIInitialize, 0);
  SCI(SCI_ERR_OK, SCIOpen, &sd, 0);
  OwnedSegment owned(sd, 4096, kSegment, 0);
  sci_error_t error;
  unsigned node = 99;
  const auto event = [&] {
    return SCIWaitForLocalSegmentEvent(owned.segment, &node, nullptr, kSeconds, 0, &error);
  };
  CHECK(event() == SCI_CB_CONNECT);
  CHECK(node == 1);
  SCI(SCI_ERR_BUSY, SCIRemoveSegment, owned.segment, 0);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  CHECK(event() == SCI_CB_LOST);
  CHECK(error == SCI_ERR_OK);
  owned.Remove();
  SCI(SCI_ERR_OK, SCIClose, sd, 0);
  SCITerminate();
}

}  // namespace
}  // namespace exrnic
