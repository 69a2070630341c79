// SPDX-License-Identifier: BSD-2-Clause
#include <sys/mman.h>

#include "two_nodes.h"

namespace exrnic {
namespace {

TEST_CASE("a segment is not prepared, prepared, available, and can be removed from each") {
  TwoNodes nodes;
  for (int states = 0; states <= 2; ++states) {
    sci_local_segment_t segment = nullptr;
    SCI(SCI_ERR_OK, SCICreateSegment, nodes.sd, &segment, kSegment, 4096, nullptr, nullptr, 0);
    CHECK(SCIGetLocalSegmentId(segment) == kSegment);
    CHECK(SCIGetLocalSegmentSize(segment) == 4096);
    SCI(SCI_ERR_SEGMENT_NOT_PREPARED, SCISetSegmentAvailable, segment, 0, 0);
    SCI(SCI_ERR_ILLEGAL_OPERATION, SCISetSegmentUnavailable, segment, 0, 0);
    if (states >= 1) SCI(SCI_ERR_OK, SCIPrepareSegment, segment, 0, 0);
    if (states >= 1) SCI(SCI_ERR_ILLEGAL_OPERATION, SCIPrepareSegment, segment, 0, 0);
    if (states >= 2) SCI(SCI_ERR_OK, SCISetSegmentAvailable, segment, 0, 0);
    if (states >= 2) SCI(SCI_ERR_ILLEGAL_OPERATION, SCISetSegmentAvailable, segment, 0, 0);
    SCI(SCI_ERR_OK, SCIRemoveSegment, segment, 0);
    SCI(SCI_ERR_ILLEGAL_PARAMETER, SCIRemoveSegment, segment, 0);
  }
  SCI(SCI_ERR_OK, SCIClose, nodes.sd, 0);
}

TEST_CASE("a segment has an id that no other one has, and a size that there can be") {
  TwoNodes nodes;
  sci_local_segment_t segment = nullptr, other = nullptr;
  SCI(SCI_ERR_OK, SCICreateSegment, nodes.sd, &segment, 7, 1, nullptr, nullptr, 0);
  SCI(SCI_ERR_SEGMENTID_USED, SCICreateSegment, nodes.sd, &other, 7, 1, nullptr, nullptr, 0);
  SCI(SCI_ERR_OK, SCICreateSegment, nodes.sd, &other, 7, 1, nullptr, nullptr, SCI_FLAG_AUTO_ID);
  CHECK(SCIGetLocalSegmentId(other) == 8);
  SCI(SCI_ERR_OK, SCIRemoveSegment, other, 0);
  SCI(SCI_ERR_OK, SCICreateSegment, nodes.sd, &other, 7, 1, nullptr, nullptr, SCI_FLAG_PRIVATE);
  SCI(SCI_ERR_OK, SCIPrepareSegment, other, 0, 0);
  SCI(SCI_ERR_ILLEGAL_OPERATION, SCISetSegmentAvailable, other, 0, 0);
  SCI(SCI_ERR_OK, SCIRemoveSegment, other, 0);
  SCI(SCI_ERR_SIZE_ALIGNMENT, SCICreateSegment, nodes.sd, &other, 9, 0, nullptr, nullptr, 0);
  SCI(SCI_ERR_NOSPC, SCICreateSegment, nodes.sd, &other, 9, SIZE_MAX, nullptr, nullptr, 0);
  SCI(SCI_ERR_ILLEGAL_FLAG, SCICreateSegment, nodes.sd, &other, 9, 1, nullptr, nullptr, 1u << 30);
  SCI(SCI_ERR_FLAG_NOT_IMPLEMENTED, SCICreateSegment, nodes.sd, &other, 9, 1, nullptr, nullptr,
      SCI_FLAG_BROADCAST);
  SCI(SCI_ERR_OK, SCIRemoveSegment, segment, 0);
  SCI(SCI_ERR_OK, SCICreateSegment, nodes.sd, &other, 7, 1, nullptr, nullptr, 0);
  SCI(SCI_ERR_BUSY, SCIClose, nodes.sd, 0);
  SCI(SCI_ERR_OK, SCIRemoveSegment, other, 0);
  SCI(SCI_ERR_OK, SCIClose, nodes.sd, 0);
}

TEST_CASE("who connects finds a segment that is available, and no other") {
  TwoNodes nodes;
  sci_remote_segment_t remote = nullptr;
  const auto connect = [&](sci_error_t expected, unsigned node, unsigned timeout) {
    SCI(expected, SCIConnectSegment, nodes.sd, &remote, node, kSegment, 0, nullptr, nullptr,
        timeout, 0);
  };
  connect(SCI_ERR_ILLEGAL_NODEID, 1'000'000, 100);
  connect(SCI_ERR_TIMEOUT, 1, 100);  // nobody is there
  sci_local_segment_t segment = nullptr;
  SCI(SCI_ERR_OK, SCICreateSegment, nodes.sd, &segment, kSegment, 12345, nullptr, nullptr, 0);
  SCI(SCI_ERR_OK, SCIPrepareSegment, segment, 1, 0);
  connect(SCI_ERR_NO_SUCH_SEGMENT, 1, kSeconds);
  SCI(SCI_ERR_OK, SCISetSegmentAvailable, segment, 1, 0);
  connect(SCI_ERR_OK, 1, kSeconds);
  CHECK(SCIGetRemoteSegmentSize(remote) == 12345);
  CHECK(SCIGetRemoteSegmentId(remote) == kSegment);
  SCI(SCI_ERR_BUSY, SCIRemoveSegment, segment, 0);
  SCI(SCI_ERR_OK, SCISetSegmentUnavailable, segment, 1, 0);
  sci_remote_segment_t second = nullptr;
  SCI(SCI_ERR_NO_SUCH_SEGMENT, SCIConnectSegment, nodes.sd, &second, 1, kSegment, 0, nullptr,
      nullptr, kSeconds, 0);
  SCI(SCI_ERR_OK, SCIDisconnectSegment, remote, 0);
  SCI(SCI_ERR_ILLEGAL_PARAMETER, SCIDisconnectSegment, remote, 0);
  const auto removed = [&] {
    sci_error_t error;
    SCIRemoveSegment(segment, 0, &error);
    return error == SCI_ERR_OK;
  };
  CHECK(Eventually(removed));  // it is told that nobody is connected
  SCI(SCI_ERR_OK, SCIClose, nodes.sd, 0);
}

TEST_CASE("both ends hear what happens to a segment") {
  TwoNodes nodes;
  OwnedSegment owned(nodes.sd, 4096);
  const sci_remote_segment_t remote = ConnectTo(nodes.sd);
  sci_error_t error, status;
  unsigned node = 99, adapter = 99;
  const auto local_event = [&] {
    return SCIWaitForLocalSegmentEvent(owned.segment, &node, &adapter, kSeconds, 0, &error);
  };
  CHECK(local_event() == SCI_CB_CONNECT);
  CHECK(error == SCI_ERR_OK);
  CHECK(node == 0);
  CHECK(adapter == 1);
  SCIWaitForLocalSegmentEvent(owned.segment, &node, &adapter, 1, 0, &error);
  CHECK(error == SCI_ERR_TIMEOUT);
  SCI(SCI_ERR_OK, SCISetSegmentUnavailable, owned.segment, 1, SCI_FLAG_NOTIFY);
  CHECK(SCIWaitForRemoteSegmentEvent(remote, &status, kSeconds, 0, &error) == SCI_CB_DISCONNECT);
  CHECK(error == SCI_ERR_OK);
  SCI(SCI_ERR_OK, SCISetSegmentAvailable, owned.segment, 1, 0);
  SCI(SCI_ERR_OK, SCISetSegmentUnavailable, owned.segment, 1, SCI_FLAG_FORCE_DISCONNECT);
  CHECK(local_event() == SCI_CB_DISCONNECT);
  CHECK(SCIWaitForRemoteSegmentEvent(remote, &status, kSeconds, 0, &error) == SCI_CB_LOST);
  SCIWaitForRemoteSegmentEvent(remote, &status, 0, 0, &error);
  CHECK(error == SCI_ERR_TIMEOUT);
  owned.Remove();  // nobody is connected, though the other end still has its handle
  SCI(SCI_ERR_OK, SCIDisconnectSegment, remote, 0);
  SCI(SCI_ERR_OK, SCIClose, nodes.sd, 0);
}

struct Told {
  std::vector<int> reasons;
  std::atomic<int> count{0};
  sci_desc_t sd = nullptr;
  sci_error_t inside = SCI_ERR_SYSTEM;
};

TEST_CASE("callbacks hear it, too, may call the library, and end when they want to") {
  TwoNodes nodes;
  Told told;
  told.sd = nodes.sd;
  const auto callback = [](void* arg, sci_local_segment_t segment, sci_segment_cb_reason_t reason,
                           unsigned, unsigned, sci_error_t) {
    auto* const heard = static_cast<Told*>(arg);
    heard->reasons.push_back(reason);
    // A whole life of a segment, and a wait that ends.
    sci_local_segment_t other;
    SCICreateSegment(heard->sd, &other, 0, 100, nullptr, nullptr, SCI_FLAG_AUTO_ID, &heard->inside);
    if (heard->inside == SCI_ERR_OK) SCIRemoveSegment(other, 0, &heard->inside);
    CHECK(SCIGetLocalSegmentSize(segment) == 4096);
    ++heard->count;
    return reason == SCI_CB_DISCONNECT ? SCI_CALLBACK_CANCEL : SCI_CALLBACK_CONTINUE;
  };
  sci_local_segment_t segment = nullptr;
  SCI(SCI_ERR_ILLEGAL_PARAMETER, SCICreateSegment, nodes.sd, &segment, kSegment, 4096, nullptr,
      nullptr, SCI_FLAG_USE_CALLBACK);
  SCI(SCI_ERR_OK, SCICreateSegment, nodes.sd, &segment, kSegment, 4096, callback, &told,
      SCI_FLAG_USE_CALLBACK);
  SCI(SCI_ERR_OK, SCIPrepareSegment, segment, 1, 0);
  SCI(SCI_ERR_OK, SCISetSegmentAvailable, segment, 1, 0);
  sci_error_t error;
  SCIWaitForLocalSegmentEvent(segment, nullptr, nullptr, 0, 0, &error);
  CHECK(error == SCI_ERR_ILLEGAL_OPERATION);
  sci_remote_segment_t remote = ConnectTo(nodes.sd);
  CHECK(Eventually([&] { return told.count == 1; }));
  SCI(SCI_ERR_OK, SCIDisconnectSegment, remote, 0);
  CHECK(Eventually([&] { return told.count == 2; }));
  remote = ConnectTo(nodes.sd);  // told to nobody
  SCI(SCI_ERR_OK, SCIDisconnectSegment, remote, 0);
  SCI(SCI_ERR_OK, SCIRemoveSegment, segment, SCI_FLAG_FORCE_REMOVE);
  CHECK(told.reasons == std::vector<int>{SCI_CB_CONNECT, SCI_CB_DISCONNECT});
  CHECK(told.inside == SCI_ERR_OK);
  SCI(SCI_ERR_OK, SCIClose, nodes.sd, 0);
}

TEST_CASE("a connect that does not wait tells how it ended") {
  TwoNodes nodes;
  sci_remote_segment_t remote = nullptr, nowhere = nullptr;
  OwnedSegment owned(nodes.sd, 100);
  SCI(SCI_ERR_OK, SCIConnectSegment, nodes.sd, &remote, 1, kSegment, 0, nullptr, nullptr, kSeconds,
      SCI_FLAG_ASYNCHRONOUS_CONNECT);
  SCI(SCI_ERR_OK, SCIConnectSegment, nodes.sd, &nowhere, 1, 1, 0, nullptr, nullptr, kSeconds,
      SCI_FLAG_ASYNCHRONOUS_CONNECT);
  sci_error_t error, status = SCI_ERR_SYSTEM;
  CHECK(SCIWaitForRemoteSegmentEvent(remote, &status, kSeconds, 0, &error) == SCI_CB_CONNECT);
  CHECK(status == SCI_ERR_OK);
  CHECK(SCIWaitForRemoteSegmentEvent(nowhere, &status, kSeconds, 0, &error) == SCI_CB_CONNECT);
  CHECK(status == SCI_ERR_NO_SUCH_SEGMENT);
  sci_map_t map;
  SCIMapRemoteSegment(nowhere, &map, 0, 1, nullptr, SCI_FLAG_COPY_ONLY_MAP, &error);
  CHECK(error == SCI_ERR_SEGMENT_NOT_CONNECTED);
  SCI(SCI_ERR_OK, SCIDisconnectSegment, nowhere, 0);
  SCI(SCI_ERR_OK, SCIDisconnectSegment, remote, 0);
  owned.Remove(SCI_FLAG_FORCE_REMOVE);
  SCI(SCI_ERR_OK, SCIClose, nodes.sd, 0);
}

TEST_CASE("memory of the program can be a segment, if it is memory") {
  TwoNodes nodes;
  sci_local_segment_t segment = nullptr;
  SCI(SCI_ERR_OK, SCICreateSegment, nodes.sd, &segment, kSegment, 8192, nullptr, nullptr,
      SCI_FLAG_EMPTY);
  sci_map_t map;
  sci_error_t error;
  SCI(SCI_ERR_ILLEGAL_OPERATION, SCIPrepareSegment, segment, 1, 0);
  SCIMapLocalSegment(segment, &map, 0, 1, nullptr, 0, &error);
  CHECK(error == SCI_ERR_ILLEGAL_OPERATION);
  std::vector<uint8_t> memory(8192);
  void* const hole = mmap(nullptr, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(hole, 8192);
  SCI(SCI_ERR_SIZE_ALIGNMENT, SCIRegisterSegmentMemory, memory.data(), 0, segment, 0);
  SCI(SCI_ERR_OUT_OF_RANGE, SCIRegisterSegmentMemory, memory.data(), 8193, segment, 0);
  SCI(SCI_ERR_ILLEGAL_ADDRESS, SCIRegisterSegmentMemory, nullptr, 10, segment, 0);
  SCI(SCI_ERR_ILLEGAL_ADDRESS, SCIRegisterSegmentMemory, hole, 10, segment, 0);
  SCI(SCI_ERR_OK, SCIRegisterSegmentMemory, memory.data() + 3, 8000, segment, 0);
  SCI(SCI_ERR_ILLEGAL_OPERATION, SCIRegisterSegmentMemory, memory.data(), 10, segment, 0);
  CHECK(SCIGetLocalSegmentSize(segment) == 8000);
  CHECK(SCIMapLocalSegment(segment, &map, 1, 7999, nullptr, 0, &error) == memory.data() + 4);
  SCI(SCI_ERR_BUSY, SCIRemoveSegment, segment, 0);
  SCI(SCI_ERR_OK, SCIUnmapSegment, map, 0);
  SCI(SCI_ERR_OK, SCIRemoveSegment, segment, 0);
  SCI(SCI_ERR_OK, SCIClose, nodes.sd, 0);
}

TEST_CASE("maps end where their segments do") {
  TwoNodes nodes;
  OwnedSegment owned(nodes.sd, 1000);
  const sci_remote_segment_t remote = ConnectTo(nodes.sd);
  sci_map_t map;
  sci_error_t error;
  const struct {
    size_t offset, size;
    sci_error_t error;
  } cases[] = {{0, 0, SCI_ERR_SIZE_ALIGNMENT},
               {1, 1000, SCI_ERR_OUT_OF_RANGE},
               {1000, 1, SCI_ERR_OUT_OF_RANGE},
               {SIZE_MAX, 2, SCI_ERR_OUT_OF_RANGE},
               {1, SIZE_MAX, SCI_ERR_OUT_OF_RANGE}};
  for (const auto& it : cases) {
    SCIMapLocalSegment(owned.segment, &map, it.offset, it.size, nullptr, 0, &error);
    CHECK(error == it.error);
    SCIMapRemoteSegment(remote, &map, it.offset, it.size, nullptr, SCI_FLAG_COPY_ONLY_MAP, &error);
    CHECK(error == it.error);
  }
  // A load or store of a process cannot reach the simulator.
  SCIMapRemoteSegment(remote, &map, 0, 1000, nullptr, 0, &error);
  CHECK(error == SCI_ERR_NOT_IMPLEMENTED);
  SCIMapRemoteSegment(remote, &map, 0, 1000, nullptr, SCI_FLAG_COPY_ONLY_MAP, &error);
  CHECK(error == SCI_ERR_OK);
  SCI(SCI_ERR_BUSY, SCIDisconnectSegment, remote, 0);
  SCI(SCI_ERR_OK, SCIUnmapSegment, map, 0);
  SCI(SCI_ERR_OK, SCIDisconnectSegment, remote, 0);
  owned.Remove(SCI_FLAG_FORCE_REMOVE);
  SCI(SCI_ERR_OK, SCIClose, nodes.sd, 0);
}

TEST_CASE("a segment of the own process is mapped as it is") {
  TwoNodes nodes;
  OwnedSegment owned(nodes.sd, 4096, kSegment, 0);
  const sci_remote_segment_t remote = ConnectTo(nodes.sd, kSegment, 0);
  sci_map_t map;
  sci_error_t error;
  CHECK(SCIMapRemoteSegment(remote, &map, 16, 32, nullptr, 0, &error) == owned.memory + 16);
  sci_query_map_t query = {map, SCI_Q_MAP_MAPPED_TO_LOCAL_TARGET, 0};
  SCI(SCI_ERR_OK, SCIQuery, SCI_Q_MAP, &query, 0);
  CHECK(query.data == 1);
  SCI(SCI_ERR_OK, SCIUnmapSegment, map, 0);
  SCI(SCI_ERR_OK, SCIDisconnectSegment, remote, 0);
  owned.Remove(SCI_FLAG_FORCE_REMOVE);
  SCI(SCI_ERR_OK, SCIClose, nodes.sd, 0);
}

}  // namespace
}  // namespace exrnic
