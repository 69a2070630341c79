// SPDX-License-Identifier: BSD-2-Clause
// Messages as long as there are, or as the time of a test allows: EXRNIC_LONG_MESSAGE bytes. The
// pages of their regions share a few pages of the host, so that it needs little memory; what
// arrives is compared as it comes, with what the message has there and with where that goes.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <optional>
#include <random>

#include "tests/support/exchange.h"

#ifndef EXRNIC_LONG_MESSAGE
#define EXRNIC_LONG_MESSAGE 0x4000001
#endif

namespace exrnic::testing {
namespace {

constexpr uint64_t kLong = EXRNIC_LONG_MESSAGE;
constexpr uint64_t kPage = uint64_t{1} << EXRNIC_HUGE_PAGE_SHIFT;
constexpr uint64_t kPattern = 0x70'0000'0000;  // bus address of the page that all sources share
constexpr uint64_t kSinks = 0x80'0000'0000;    // and of the pages that a sink takes in turn
constexpr uint64_t kSinkPages = 8;
constexpr uint64_t kPbl = 0x60'0000'0000;
constexpr uint64_t kBase = 0x5000'0000'0000;
constexpr uint32_t kSourceStag = 0x0002'44'21;
constexpr uint32_t kSinkStag = 0x0002'55'42;
constexpr uint64_t kLimitNs = 60'000'000'000;

// A region whose page i is at frame(i), of huge pages.
template <typename Frame>
void make_region(RnicDriver& rnic, uint32_t stag, uint32_t access, uint64_t pbl, Frame frame) {
  constexpr uint64_t kPages = kLong / kPage + 1;
  Bytes entries(kPages * EXRNIC_PBL_ENTRY_SIZE);
  for (uint64_t i = 0; i < kPages; ++i) {
    const uint64_t address = frame(i);
    std::memcpy(entries.data() + i * sizeof address, &address, sizeof address);
  }
  rnic.host().poke(pbl, entries);
  rnic.host().grant(pbl, entries.size() + EXRNIC_PBL_LINE_SIZE, DmaRights::kRead);
  exrnic_mbox_register_mr mr{};
  mr.stag = stag;
  mr.pd = Side::kPd;
  mr.base = kBase;
  mr.length = kLong;
  mr.pbl_address = pbl;
  mr.access = access;
  mr.page_shift = EXRNIC_HUGE_PAGE_SHIFT;
  rnic.must(EXRNIC_MBOX_OP_REGISTER_MR, mr);
}

void make_source(RnicDriver& rnic, const Bytes& pattern) {
  rnic.host().poke(kPattern, pattern);
  rnic.host().grant(kPattern, kPage, DmaRights::kRead);
  make_region(rnic, kSourceStag, EXRNIC_ACCESS_REMOTE_READ, kPbl,
              [](uint64_t) { return kPattern; });
}

// Takes what its host sees written, as it comes: so memory holds none of it twice.
class Sink {
 public:
  Sink(RnicDriver& rnic, const Bytes& pattern) : host_(rnic.host()), pattern_(pattern) {
    host_.grant(kSinks, kSinkPages * kPage, DmaRights::kReadWrite);
    make_region(rnic, kSinkStag, EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_REMOTE_WRITE,
                kPbl + kPage, [](uint64_t i) { return kSinks + i % kSinkPages * kPage; });
  }

  void begin() { placed_ = 0; }
  void check_new() {
    for (const auto& write : host_.writes()) {
      if (write.address < kSinks || write.address >= kSinks + kSinkPages * kPage)
        continue;  // a CQE
      const auto from = pattern_.begin() + static_cast<ptrdiff_t>(placed_ % kPage);
      if (write.address != kSinks + placed_ % (kSinkPages * kPage) ||
          !std::equal(write.data.begin(), write.data.end(), from))
        FAIL("byte " << placed_ << " of the message, or one of the next, is not what or where it "
                     << "should be");
      placed_ += write.data.size();
    }
    host_.clear_records();
  }
  uint64_t placed() const { return placed_; }

 private:
  InProcessHost& host_;
  const Bytes& pattern_;
  uint64_t placed_ = 0;
};

exrnic_sge all_of(uint32_t stag) { return {kBase, static_cast<uint32_t>(kLong), stag}; }

struct LongMessages {
  LongMessages() : e(4096, {}, options_for("ntb-gen3x8")) {
    std::mt19937_64 random(64);
    pattern = random_bytes(random, kPage);
  }

  // Until the work request of `end` has completed, with all its bytes in the sink.
  void run(End& end, Sink& sink) {
    std::optional<exrnic_cqe> cqe;
    const auto done = [&] {
      if (sink_host->writes().size() > 1000) sink.check_new();
      return false;
    };
    const uint64_t deadline = e.testbed.now_ns() + kLimitNs;
    while (!cqe && e.testbed.now_ns() < deadline) {
      e.testbed.run_until(done, 100'000);
      cqe = end.rnic.poll(end.cq, End::kPage);
    }
    sink.check_new();
    REQUIRE(cqe.has_value());
    CHECK(cqe->status == EXRNIC_CQE_STATUS_SUCCESS);
    CHECK(cqe->byte_length == kLong);
    CHECK(sink.placed() == kLong);
  }

  Exchange e;
  Bytes pattern;
  InProcessHost* sink_host = nullptr;
};

TEST_CASE("a long message arrives whole, each byte in its place, by PUSH and by SEND") {
  LongMessages test;
  Exchange& e = test.e;
  make_source(e.left.rnic, test.pattern);
  Sink sink(e.right.rnic, test.pattern);
  test.sink_host = &e.right.rnic.host();

  Work push = push_of({all_of(kSourceStag)}, 0);
  push.remote_stag = kSinkStag;
  push.remote_to = kBase;
  e.left.post(push);
  test.run(e.left, sink);

  sink.begin();
  e.right.receive({all_of(kSinkStag)});
  e.left.post(send_of({all_of(kSourceStag)}));
  test.run(e.left, sink);
  CHECK(e.right.wait_receive().byte_length == kLong);
}

TEST_CASE("a long message arrives whole, each byte in its place, by PULL") {
  LongMessages test;
  Exchange& e = test.e;
  make_source(e.right.rnic, test.pattern);
  Sink sink(e.left.rnic, test.pattern);
  test.sink_host = &e.left.rnic.host();
  Work pull = pull_of({all_of(kSinkStag)}, 0);
  pull.remote_stag = kSourceStag;
  pull.remote_to = kBase;
  e.left.post(pull);
  test.run(e.left, sink);
}

}  // namespace
}  // namespace exrnic::testing
