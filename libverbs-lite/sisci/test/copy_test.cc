// SPDX-License-Identifier: BSD-2-Clause
#include "two_nodes.h"

namespace exrnic {
namespace {

TEST_CASE("SCIMemCpy by a map that is no memory has arrived when it returns") {
  constexpr size_t kBytes = 1'000'000;
  TwoNodes nodes;
  OwnedSegment target(nodes.sd, kBytes);
  const sci_remote_segment_t remote = ConnectTo(nodes.sd);
  sci_map_t map = nullptr;
  sci_sequence_t sequence = nullptr;
  sci_error_t error;
  CHECK(SCIMapRemoteSegment(remote, &map, 100, kBytes - 100, nullptr, SCI_FLAG_COPY_ONLY_MAP,
                            &error) == nullptr);
  REQUIRE(error == SCI_ERR_OK);
  SCI(SCI_ERR_OK, SCICreateMapSequence, map, &sequence, 0);
  CHECK(SCIStartSequence(sequence, 0, &error) == SCI_SEQ_OK);
  std::vector<uint8_t> from(kBytes), back(kBytes);
  FillBytes(from.data(), kBytes, 9);
  for (const size_t size : {size_t{1}, size_t{4}, size_t{4097}, size_t{65536}, kBytes - 101}) {
    memset(target.memory, 0, kBytes);
    SCI(SCI_ERR_OK, SCIMemCpy, sequence, from.data(), map, 1, size, 0);
    CHECK(memcmp(target.memory + 101, from.data(), size) == 0);
    CHECK(target.memory[100] == 0);
    SCI(SCI_ERR_OK, SCIMemCpy, nullptr, back.data(), map, 1, size, SCI_FLAG_BLOCK_READ);
    CHECK(memcmp(back.data(), from.data(), size) == 0);
  }
  CHECK(SCICheckSequence(sequence, 0, &error) == SCI_SEQ_OK);
  SCI(SCI_ERR_SIZE_ALIGNMENT, SCIMemCpy, sequence, from.data(), map, 0, 0, 0);
  SCI(SCI_ERR_OUT_OF_RANGE, SCIMemCpy, sequence, from.data(), map, 1, kBytes - 100, 0);
  SCI(SCI_ERR_OUT_OF_RANGE, SCIMemCpy, sequence, from.data(), map, SIZE_MAX, 2, 0);
  SCI(SCI_ERR_ILLEGAL_PARAMETER, SCIMemCpy, sequence, nullptr, map, 0, 1, 0);
  SCI(SCI_ERR_BUSY, SCIUnmapSegment, map, 0);
  // The owner takes it away.
  SCI(SCI_ERR_OK, SCISetSegmentUnavailable, target.segment, 1, SCI_FLAG_FORCE_DISCONNECT);
  SCIMemCpy(sequence, from.data(), map, 0, 100, 0, &error);
  CHECK((error == SCI_ERR_TRANSFER_FAILED || error == SCI_ERR_SEGMENT_NOT_CONNECTED));
  CHECK(SCICheckSequence(sequence, 0, &error) == SCI_SEQ_NOT_RETRIABLE);
  SCI(SCI_ERR_OK, SCIRemoveSequence, sequence, 0);
  CHECK(SCICheckSequence(sequence, 0, &error) == SCI_SEQ_NOT_RETRIABLE);
  CHECK(error == SCI_ERR_ILLEGAL_PARAMETER);
  SCI(SCI_ERR_OK, SCIUnmapSegment, map, 0);
  SCI(SCI_ERR_OK, SCIDisconnectSegment, remote, 0);
  target.Remove();
  SCI(SCI_ERR_OK, SCIClose, nodes.sd, 0);
}

TEST_CASE("a block is copied between a local and a remote map, either way") {
  TwoNodes nodes;
  OwnedSegment own(nodes.sd, 5000, 1, 0), target(nodes.sd, 5000);
  const sci_remote_segment_t remote = ConnectTo(nodes.sd);
  sci_map_t map = nullptr;
  sci_error_t error;
  SCIMapRemoteSegment(remote, &map, 0, 5000, nullptr, SCI_FLAG_COPY_ONLY_MAP, &error);
  REQUIRE(error == SCI_ERR_OK);
  FillBytes(own.memory, 5000, 3);
  SCI(SCI_ERR_OK, SCITransferBlock, own.map, 10, map, 20, 3000, 0);
  CHECK(memcmp(own.memory + 10, target.memory + 20, 3000) == 0);
  FillBytes(target.memory, 5000, 4);
  SCI(SCI_ERR_OK, SCITransferBlock, map, 20, own.map, 10, 3000, 0);
  CHECK(memcmp(own.memory + 10, target.memory + 20, 3000) == 0);
  SCI(SCI_ERR_OUT_OF_RANGE, SCITransferBlock, own.map, 10, map, 20, 5000, 0);
  SCI(SCI_ERR_NOT_IMPLEMENTED, SCITransferBlock, map, 0, map, 20, 10, 0);
  SCI(SCI_ERR_OK, SCIUnmapSegment, map, 0);
  SCI(SCI_ERR_OK, SCIDisconnectSegment, remote, 0);
  own.Remove();
  target.Remove(SCI_FLAG_FORCE_REMOVE);
  SCI(SCI_ERR_OK, SCIClose, nodes.sd, 0);
}

}  // namespace
}  // namespace exrnic
