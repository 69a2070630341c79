// SPDX-License-Identifier: BSD-2-Clause
#include <linux/pci_regs.h>
#include <linux/vfio.h>
#include <sys/socket.h>

#include <catch2/catch_test_macros.hpp>
#include <cerrno>

#include "sim/vfio_user/msix_bar.h"
#include "sim/vfio_user/test_support.h"

namespace exrnic::vfio_user {
namespace {

constexpr unsigned kVectors = 32;
constexpr size_t kPba = 0x800;

struct Fixture {
  Msix msix{kVectors};
  MsixBar bar{{kVectors, 1, 0, kPba, 0}, 4096, msix};
  Eventfd events[kVectors];

  int set(IrqData data, IrqAction action, uint32_t start, uint32_t count,
          std::vector<UniqueFd> fds = {}, std::vector<bool> selected = {}) {
    const auto fault = msix.set_irqs(
        {data, action, VFIO_PCI_MSIX_IRQ_INDEX, start, count, selected}, std::move(fds));
    return fault ? fault->error : 0;
  }
  int connect(uint32_t start, uint32_t count) {
    std::vector<UniqueFd> fds;
    for (uint32_t i = 0; i < count; ++i) fds.push_back(events[start + i].duplicate());
    return set(IrqData::kEventfd, IrqAction::kTrigger, start, count, std::move(fds));
  }
  uint8_t pending(unsigned byte) const {
    uint8_t value = 0;
    bar.read(kPba + byte, &value, 1);
    return value;
  }
};

TEST_CASE_METHOD(Fixture, "a vector signals its own eventfd once for each time it fires") {
  REQUIRE(connect(3, 2) == 0);
  CHECK(msix.fire(4));
  CHECK(msix.fire(4));
  CHECK(events[4].take() == 2);
  CHECK(events[3].take() == 0);
}

TEST_CASE_METHOD(Fixture, "a vector that is not set up is dropped") {
  CHECK_FALSE(msix.fire(0));
  CHECK_FALSE(msix.fire(kVectors));
  CHECK_FALSE(msix.fire(~0u));
}

TEST_CASE_METHOD(Fixture, "vectors can be set up one at a time and replaced") {
  for (uint32_t i = 0; i < kVectors; ++i) REQUIRE(connect(i, 1) == 0);
  for (uint32_t i = 0; i < kVectors; ++i) CHECK(msix.fire(i));
  for (Eventfd& event : events) CHECK(event.take() == 1);
  Eventfd other;
  std::vector<UniqueFd> fds;
  fds.push_back(other.duplicate());
  REQUIRE(set(IrqData::kEventfd, IrqAction::kTrigger, 5, 1, std::move(fds)) == 0);
  CHECK(msix.fire(5));
  CHECK(other.take() == 1);
  CHECK(events[5].take() == 0);
}

TEST_CASE_METHOD(Fixture, "SET_IRQS without descriptors releases exactly these vectors") {
  REQUIRE(connect(0, 4) == 0);
  REQUIRE(set(IrqData::kEventfd, IrqAction::kTrigger, 1, 2) == 0);
  CHECK(msix.fire(0));
  CHECK_FALSE(msix.fire(1));
  CHECK_FALSE(msix.fire(2));
  CHECK(msix.fire(3));
}

TEST_CASE_METHOD(Fixture, "a count of zero disables all") {
  REQUIRE(connect(0, 8) == 0);
  const size_t before = open_fds();
  REQUIRE(set(IrqData::kNone, IrqAction::kTrigger, 0, 0) == 0);
  CHECK_FALSE(msix.fire(0));
  CHECK(open_fds() == before - 8);
}

TEST_CASE_METHOD(Fixture, "a masked vector is pending and fires when it is unmasked") {
  REQUIRE(connect(0, 10) == 0);
  REQUIRE(set(IrqData::kNone, IrqAction::kMask, 9, 1) == 0);
  CHECK(msix.fire(9));
  CHECK(msix.fire(9));
  CHECK(events[9].take() == 0);
  CHECK(pending(0) == 0);
  CHECK(pending(1) == 0x02);
  REQUIRE(set(IrqData::kNone, IrqAction::kUnmask, 9, 1) == 0);
  CHECK(events[9].take() == 1);
  CHECK(pending(1) == 0);
  CHECK(msix.fire(9));
  CHECK(events[9].take() == 1);
}

TEST_CASE_METHOD(Fixture, "booleans choose the vectors that an action is for") {
  REQUIRE(connect(0, 4) == 0);
  REQUIRE(set(IrqData::kBool, IrqAction::kTrigger, 0, 4, {}, {true, false, false, true}) == 0);
  CHECK(events[0].take() == 1);
  CHECK(events[1].take() == 0);
  CHECK(events[2].take() == 0);
  CHECK(events[3].take() == 1);
  REQUIRE(set(IrqData::kBool, IrqAction::kMask, 0, 2, {}, {false, true}) == 0);
  msix.fire(0);
  msix.fire(1);
  CHECK(events[0].take() == 1);
  CHECK(events[1].take() == 0);
}

TEST_CASE_METHOD(Fixture, "vectors that do not exist are refused") {
  CHECK(set(IrqData::kNone, IrqAction::kMask, kVectors, 1) == EINVAL);
  CHECK(set(IrqData::kNone, IrqAction::kMask, kVectors - 1, 2) == EINVAL);
  CHECK(set(IrqData::kNone, IrqAction::kMask, UINT32_MAX, 2) == EINVAL);
  CHECK(set(IrqData::kNone, IrqAction::kMask, 1, UINT32_MAX) == EINVAL);
}

TEST_CASE_METHOD(Fixture, "a wrong number of descriptors is refused and none is kept") {
  const size_t before = open_fds();
  std::vector<UniqueFd> fds;
  fds.push_back(events[0].duplicate());
  CHECK(set(IrqData::kEventfd, IrqAction::kTrigger, 0, 2, std::move(fds)) == EINVAL);
  CHECK(open_fds() == before);
}

TEST_CASE_METHOD(Fixture, "what is no eventfd is refused") {
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  UniqueFd other_end(ends[1]);
  std::vector<UniqueFd> fds;
  fds.emplace_back(ends[0]);
  CHECK(set(IrqData::kEventfd, IrqAction::kTrigger, 0, 1, std::move(fds)) == EINVAL);
}

TEST_CASE_METHOD(Fixture, "an eventfd for masking is refused as not supported") {
  std::vector<UniqueFd> fds;
  fds.push_back(events[0].duplicate());
  CHECK(set(IrqData::kEventfd, IrqAction::kMask, 0, 1, std::move(fds)) == ENOTSUP);
}

TEST_CASE_METHOD(Fixture, "a full eventfd does not stop the simulator") {
  const UniqueFd blocking(::eventfd(0, EFD_CLOEXEC));
  const uint64_t most = UINT64_MAX - 1;
  REQUIRE(::write(blocking.get(), &most, sizeof(most)) == sizeof(most));
  std::vector<UniqueFd> fds;
  fds.emplace_back(::fcntl(blocking.get(), F_DUPFD_CLOEXEC, 0));
  REQUIRE(set(IrqData::kEventfd, IrqAction::kTrigger, 0, 1, std::move(fds)) == 0);
  CHECK(msix.fire(0));
}

TEST_CASE_METHOD(Fixture, "the table is memory, masked after a reset, and nothing else is") {
  uint32_t control = 0;
  const auto* bytes = reinterpret_cast<const uint8_t*>(&control);
  const size_t entry = 7 * PCI_MSIX_ENTRY_SIZE;
  bar.read(entry + PCI_MSIX_ENTRY_VECTOR_CTRL, reinterpret_cast<uint8_t*>(&control), 4);
  CHECK(control == PCI_MSIX_ENTRY_CTRL_MASKBIT);

  const std::vector<uint8_t> ones(4096, 0xff);
  bar.write(0, ones.data(), ones.size());
  std::vector<uint8_t> back(4096);
  bar.read(0, back.data(), back.size());
  CHECK(back[entry] == 0xfc);
  CHECK(back[entry + PCI_MSIX_ENTRY_DATA] == 0xff);
  CHECK(back[entry + PCI_MSIX_ENTRY_VECTOR_CTRL] == 1);
  CHECK(back[entry + PCI_MSIX_ENTRY_VECTOR_CTRL + 1] == 0);
  CHECK(back[kVectors * PCI_MSIX_ENTRY_SIZE] == 0);
  CHECK(back[kPba] == 0);
  CHECK(back[4095] == 0);

  control = 0;
  bar.write(entry + PCI_MSIX_ENTRY_VECTOR_CTRL, bytes, 4);
  bar.reset();
  bar.read(0, back.data(), back.size());
  CHECK(back[entry] == 0);
  CHECK(back[entry + PCI_MSIX_ENTRY_VECTOR_CTRL] == 1);
}

TEST_CASE_METHOD(Fixture, "a reset forgets what was pending and keeps the eventfds") {
  REQUIRE(connect(0, 1) == 0);
  REQUIRE(set(IrqData::kNone, IrqAction::kMask, 0, 1) == 0);
  CHECK(msix.fire(0));
  msix.reset();
  REQUIRE(set(IrqData::kNone, IrqAction::kUnmask, 0, 1) == 0);
  CHECK(events[0].take() == 0);
  CHECK(msix.fire(0));
  CHECK(events[0].take() == 1);
}

}  // namespace
}  // namespace exrnic::vfio_user
