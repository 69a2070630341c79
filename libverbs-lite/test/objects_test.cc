// SPDX-License-Identifier: BSD-2-Clause
// Making, querying and destroying objects; bad input.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <cerrno>

#include "cq.h"
#include "exrnic/messages.h"
#include "exrnic/ntb.h"
#include "rig.h"

namespace exrnic {
namespace {

template <typename Call>
int ErrnoOf(Call call) {
  errno = 0;
  call();
  return errno;
}

TEST_CASE("an RNIC tells what it is") {
  FakeFabric fabric(2);
  Endpoint one(&fabric, 1);
  vl_rnic_attr attr = {};
  REQUIRE(vl_query_rnic(one.rnic, &attr) == 0);
  CHECK(attr.node_id == 1);
  CHECK(attr.mtu == 1024);
  CHECK(attr.max_wr == 4096);
  CHECK(attr.max_cq_entries == 65536 - 65536 / 4 + 1);
  CHECK(attr.mac[0] == 2);
}

TEST_CASE("no device gives ENOENT, and a file that is no RNIC gives ENOTTY") {
  CHECK(vl_open_rnic("exrnic-of-nobody") == nullptr);
  CHECK(errno == ENOENT);
  CHECK(vl_open_rnic("/dev/null") == nullptr);
  CHECK(errno == ENOTTY);
  CHECK(vl_open_rnic(std::string(10000, 'x').c_str()) == nullptr);
  CHECK(errno == ENAMETOOLONG);
}

TEST_CASE("an object in use cannot be destroyed") {
  FakeFabric fabric(1);
  Endpoint self(&fabric, 0);
  CHECK(ErrnoOf([&] { CHECK(vl_close_rnic(self.rnic) == -1); }) == EBUSY);
  CHECK(ErrnoOf([&] { CHECK(vl_destroy_cq(self.cq) == -1); }) == EBUSY);
  CHECK(ErrnoOf([&] { CHECK(vl_deallocate_pd(self.pd) == -1); }) == EBUSY);
}

TEST_CASE("null and out-of-range arguments give EINVAL") {
  FakeFabric fabric(2);
  Endpoint self(&fabric, 0);
  Endpoint other(&fabric, 1);
  uint8_t byte = 0;
  uint32_t pages = 1, shift = 0;
  vl_qp_attr attr = {};
  vl_rnic_attr rnic_attr = {};
  const vl_qp_init_attr good = QpInit(self.cq, self.cq, 4, 4);

  CHECK(ErrnoOf([&] { CHECK(vl_close_rnic(nullptr) == -1); }) == EINVAL);
  CHECK(ErrnoOf([&] { CHECK(vl_query_rnic(nullptr, &rnic_attr) == -1); }) == EINVAL);
  CHECK(ErrnoOf([&] { CHECK(vl_query_rnic(self.rnic, nullptr) == -1); }) == EINVAL);
  CHECK(ErrnoOf([&] { CHECK(vl_allocate_pd(nullptr) == nullptr); }) == EINVAL);
  CHECK(ErrnoOf([&] { CHECK(vl_deallocate_pd(nullptr) == -1); }) == EINVAL);
  CHECK(ErrnoOf([&] { CHECK(vl_create_cq(nullptr, 4, nullptr) == nullptr); }) == EINVAL);
  CHECK(ErrnoOf([&] { CHECK(vl_create_cq(self.rnic, 0, nullptr) == nullptr); }) == EINVAL);
  CHECK(ErrnoOf([&] { CHECK(vl_create_cq(self.rnic, 65536, nullptr) == nullptr); }) == EINVAL);
  CHECK(ErrnoOf([&] { CHECK(vl_destroy_cq(nullptr) == -1); }) == EINVAL);
  CHECK(ErrnoOf([&] { CHECK(vl_modify_qp(nullptr, &attr) == -1); }) == EINVAL);
  CHECK(ErrnoOf([&] { CHECK(vl_modify_qp(self.qp, nullptr) == -1); }) == EINVAL);
  CHECK(ErrnoOf([&] { CHECK(vl_query_qp(self.qp, nullptr) == -1); }) == EINVAL);
  CHECK(ErrnoOf([&] { CHECK(vl_destroy_qp(nullptr) == -1); }) == EINVAL);
  CHECK(ErrnoOf([&] { CHECK(vl_allocate_mr(nullptr, &byte, 1, 0) == nullptr); }) == EINVAL);
  CHECK(ErrnoOf([&] { CHECK(vl_allocate_mr(self.pd, nullptr, 1, 0) == nullptr); }) == EINVAL);
  CHECK(ErrnoOf([&] { CHECK(vl_allocate_mr(self.pd, &byte, 0, 0) == nullptr); }) == EINVAL);
  CHECK(ErrnoOf([&] { CHECK(vl_allocate_mr(self.pd, &byte, SIZE_MAX, 0) == nullptr); }) == EINVAL);
  CHECK(ErrnoOf([&] { CHECK(vl_allocate_mr(self.pd, &byte, 1, 32) == nullptr); }) == EINVAL);
  CHECK(ErrnoOf([&] { CHECK(vl_deallocate_mr(nullptr) == -1); }) == EINVAL);
  CHECK(ErrnoOf([&] { CHECK(vl_get_pbl(self.mr, nullptr, &pages, &shift) == -1); }) == EINVAL);

  for (int field = 0; field < 7; ++field) {
    vl_qp_init_attr init = good;
    if (field == 0) init.send_cq = nullptr;
    if (field == 1) init.recv_cq = nullptr;
    if (field == 2) init.send_cq = other.cq;
    if (field == 3) init.max_send_wr = 0;
    if (field == 4) init.max_send_wr = 4097;
    if (field == 5) init.max_recv_wr = 4097;
    if (field == 6) init.service = static_cast<vl_service>(VL_SERVICE_UD + 1);
    INFO("field " << field);
    CHECK(ErrnoOf([&] { CHECK(vl_create_qp(self.pd, &init) == nullptr); }) == EINVAL);
  }
}

TEST_CASE("what tells a number of an object tells none, and EINVAL, of no object") {
  CHECK(ErrnoOf([] { CHECK(vl_qp_number(nullptr) == 0); }) == EINVAL);
  CHECK(ErrnoOf([] { CHECK(vl_mr_stag(nullptr) == 0); }) == EINVAL);
  CHECK(ErrnoOf([] { CHECK(vl_mw_stag(nullptr) == 0); }) == EINVAL);
  CHECK(ErrnoOf([] { CHECK(vl_messages_ended(nullptr) == 0); }) == EINVAL);
  CHECK(ErrnoOf([] { CHECK(vl_async_fd(nullptr) == -1); }) == EINVAL);
  CHECK(ErrnoOf([] { CHECK(vl_comp_channel_fd(nullptr) == -1); }) == EINVAL);
  CHECK(ErrnoOf([] { CHECK(vl_message_fd(nullptr) == -1); }) == EINVAL);
  CHECK(ErrnoOf([] { CHECK(vl_port_fd(nullptr) == -1); }) == EINVAL);
  CHECK(ErrnoOf([] { CHECK(vl_window_address(nullptr) == nullptr); }) == EINVAL);
}

TEST_CASE("a call that the device refuses changes nothing and passes its errno on") {
  FakeFabric fabric(1);
  Endpoint self(&fabric, 0);
  auto refused = [&](auto call) {
    fabric.FailNextCall(EIO);
    return ErrnoOf(call);
  };
  vl_qp_init_attr init = QpInit(self.cq, self.cq, 4, 4);
  uint8_t byte = 0;
  CHECK(refused([&] { CHECK(vl_allocate_pd(self.rnic) == nullptr); }) == EIO);
  CHECK(refused([&] { CHECK(vl_create_cq(self.rnic, 4, nullptr) == nullptr); }) == EIO);
  CHECK(refused([&] { CHECK(vl_create_qp(self.pd, &init) == nullptr); }) == EIO);
  CHECK(init.max_send_wr == 4);
  CHECK(refused([&] { CHECK(vl_allocate_mr(self.pd, &byte, 1, 0) == nullptr); }) == EIO);
  CHECK(refused([&] { CHECK(vl_allocate_mw(self.pd) == nullptr); }) == EIO);
  CHECK(refused([&] { CHECK(vl_destroy_qp(self.qp) == -1); }) == EIO);
  CHECK(refused([&] { CHECK(vl_deallocate_mr(self.mr) == -1); }) == EIO);
  const vl_qp_attr attr = AttrOf(VL_QPS_INIT);
  CHECK(refused([&] { CHECK(vl_modify_qp(self.qp, &attr) == -1); }) == EIO);
  // Everything is still there: the endpoint's destructor checks that it can be destroyed.
}

TEST_CASE("objects of an RNIC that was removed can be destroyed") {
  FakeFabric fabric(1);
  Endpoint self(&fabric, 0);
  auto removed = [&](auto call) {
    fabric.FailNextCall(ENODEV);
    return call();
  };
  CHECK(removed([&] { return vl_deallocate_mr(self.mr); }) == 0);
  CHECK(removed([&] { return vl_destroy_qp(self.qp); }) == 0);
  CHECK(removed([&] { return vl_destroy_cq(self.cq); }) == 0);
  CHECK(removed([&] { return vl_deallocate_pd(self.pd); }) == 0);
  CHECK(vl_close_rnic(self.rnic) == 0);
  self.mr = nullptr;
  self.qp = nullptr;
  self.cq = nullptr;
  self.pd = nullptr;
  self.rnic = nullptr;
}

TEST_CASE("a region's rights reach the device") {
  FakeFabric fabric(1);
  Endpoint self(&fabric, 0);
  const int all[] = {0,
                     VL_ACCESS_LOCAL_WRITE,
                     VL_ACCESS_REMOTE_WRITE,
                     VL_ACCESS_REMOTE_READ,
                     VL_ACCESS_REMOTE_ATOMIC,
                     VL_ACCESS_MW_BIND};
  for (int access : all) {
    vl_mr* mr = vl_allocate_mr(self.pd, self.buffer.data(), 100, access);
    REQUIRE(mr != nullptr);
    const FakeMr& device_mr = fabric.device(0).mrs.at(vl_mr_stag(mr));
    CHECK(device_mr.access == static_cast<uint32_t>(access));
    CHECK(device_mr.base == reinterpret_cast<uintptr_t>(self.buffer.data()));
    CHECK(device_mr.length == 100);
    CHECK(vl_deallocate_mr(mr) == 0);
  }
}

TEST_CASE("a reallocated region has another STag, and of the rest what was not named") {
  FakeFabric fabric(1);
  Endpoint self(&fabric, 0);
  uint8_t bytes[16] = {};
  vl_pd* pd = vl_allocate_pd(self.rnic);
  vl_mr* mr = vl_allocate_mr(self.pd, bytes, 16, VL_ACCESS_LOCAL_WRITE);
  REQUIRE(mr != nullptr);
  auto reallocate = [&](int what, vl_pd* new_pd, void* address, size_t length, int access) {
    const uint32_t before = vl_mr_stag(mr);
    const int result = vl_reallocate_mr(mr, what, new_pd, address, length, access);
    CHECK((vl_mr_stag(mr) != before) == (result == 0));
    return result;
  };
  CHECK(reallocate(VL_REALLOCATE_MEMORY, nullptr, bytes + 4, 8, 0) == 0);
  CHECK(reallocate(VL_REALLOCATE_ACCESS, nullptr, nullptr, 0, VL_ACCESS_REMOTE_READ) == 0);
  CHECK(reallocate(VL_REALLOCATE_PD, pd, nullptr, 0, 0) == 0);
  const FakeMr& now = fabric.device(0).mrs.at(vl_mr_stag(mr));
  CHECK(now.base == reinterpret_cast<uintptr_t>(bytes + 4));
  CHECK(now.length == 8);
  CHECK(now.access == 4);

  auto refused = [&](auto... arguments) {
    return ErrnoOf([&] { CHECK(reallocate(arguments...) == -1); });
  };
  CHECK(refused(0, nullptr, nullptr, 0, 0) == EINVAL);
  CHECK(refused(8, nullptr, nullptr, 0, 0) == EINVAL);
  CHECK(refused(VL_REALLOCATE_MEMORY, nullptr, bytes, 0, 0) == EINVAL);
  CHECK(refused(VL_REALLOCATE_MEMORY, nullptr, nullptr, 1, 0) == EINVAL);
  CHECK(refused(VL_REALLOCATE_PD, nullptr, nullptr, 0, 0) == EINVAL);
  CHECK(refused(VL_REALLOCATE_ACCESS, nullptr, bytes, 16, 0) == EINVAL);
  CHECK(refused(VL_REALLOCATE_ACCESS, nullptr, nullptr, 0, 32) == EINVAL);
  CHECK(refused(VL_REALLOCATE_MEMORY, nullptr, bytes, 16, VL_ACCESS_LOCAL_WRITE) == EINVAL);

  // The domain counts it as its own, and the old one no more.
  CHECK(ErrnoOf([&] { CHECK(vl_deallocate_pd(pd) == -1); }) == EBUSY);
  CHECK(vl_deallocate_mr(mr) == 0);
  CHECK(vl_deallocate_pd(pd) == 0);
}

TEST_CASE("a memory window is in its domain until it is deallocated") {
  FakeFabric fabric(1);
  Endpoint self(&fabric, 0);
  vl_pd* pd = vl_allocate_pd(self.rnic);
  vl_mw* mw = vl_allocate_mw(pd);
  REQUIRE(mw != nullptr);
  CHECK(vl_mw_stag(mw) != 0);
  CHECK(ErrnoOf([&] { CHECK(vl_deallocate_pd(pd) == -1); }) == EBUSY);
  fabric.FailNextCall(EIO);
  CHECK(ErrnoOf([&] { CHECK(vl_deallocate_mw(mw) == -1); }) == EIO);
  CHECK(vl_deallocate_mw(mw) == 0);
  CHECK(vl_deallocate_pd(pd) == 0);
}

TEST_CASE("a region that the device lost while it was reallocated can only be deallocated") {
  FakeFabric fabric(1);
  Endpoint self(&fabric, 0);
  uint8_t byte = 0;
  vl_mr* mr = vl_allocate_mr(self.pd, &byte, 1, 0);
  REQUIRE(mr != nullptr);
  auto reallocate = [&] {
    CHECK(vl_reallocate_mr(mr, VL_REALLOCATE_ACCESS, nullptr, nullptr, 0, 0) == -1);
  };
  fabric.FailNextCall(ENOSPC);
  CHECK(ErrnoOf(reallocate) == ENOSPC);
  fabric.FailNextCall(ETIMEDOUT);
  CHECK(ErrnoOf(reallocate) == ETIMEDOUT);
  CHECK(ErrnoOf(reallocate) == EIO);
  CHECK(vl_deallocate_mr(mr) == 0);
}

TEST_CASE("the PBL of a region names its pages, as many as fit") {
  FakeFabric fabric(1);
  Endpoint self(&fabric, 0);
  uint8_t* aligned = reinterpret_cast<uint8_t*>(
      (reinterpret_cast<uintptr_t>(self.buffer.data()) + 4095) / 4096 * 4096);
  vl_mr* mr = vl_allocate_mr(self.pd, aligned + 4095, 4098, 0);
  REQUIRE(mr != nullptr);
  uint64_t entries[2] = {};
  uint32_t pages = 2, shift = 0;
  REQUIRE(vl_get_pbl(mr, entries, &pages, &shift) == 0);
  CHECK(pages == 3);
  CHECK(shift == 12);
  CHECK(entries[1] == reinterpret_cast<uintptr_t>(aligned) + 4096);
  pages = 0;
  REQUIRE(vl_get_pbl(mr, nullptr, &pages, &shift) == 0);
  CHECK(pages == 3);
  CHECK(vl_deallocate_mr(mr) == 0);
}

TEST_CASE("rings start on a page, zeroed, and a forked child has none") {
  FakeFabric fabric(1);
  Endpoint self(&fabric, 0);
  const uint8_t* ring = static_cast<const uint8_t*>(self.cq->memory.data());
  CHECK(reinterpret_cast<uintptr_t>(ring) % 4096 == 0);
  for (int i = 0; i < 4096; ++i) REQUIRE(ring[i] == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    unsigned char present;
    // ENOMEM: nothing is mapped there.
    _exit(mincore(self.cq->memory.data(), 1, &present) == -1 && errno == ENOMEM ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace exrnic
