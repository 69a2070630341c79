// SPDX-License-Identifier: BSD-2-Clause
// A request of the peer that is refused as it comes, behind others that are still being answered.
#include <functional>
#include <string>
#include <vector>

#include "tests/support/exchange.h"
#include "tests/support/faulty_core.h"

namespace exrnic::testing {
namespace {

constexpr uint64_t kAt = 0xb;  // in the far region, whose base makes it a multiple of 8
constexpr uint32_t kEach = 60'000;
constexpr uint64_t kBytes = 3 * kEach;
constexpr int kQuoteAt = EXRNIC_DDP_UNTAGGED_BYTES + EXRNIC_TERMINATE_HEADER_OFFSET;

struct Case {
  std::string name;
  uint16_t code;
  bool atomic = false;
  std::function<void(uint8_t*)> spoil = [](uint8_t*) {};  // of its segment
  uint32_t max_reads_in = EXRNIC_MAX_READS;
};

std::vector<Case> cases(uint32_t before) {
  const auto body = [](uint8_t* ddp) { return ddp + EXRNIC_DDP_UNTAGGED_BYTES; };
  const auto later = [](uint8_t* ddp) { exrnic_ddp_untagged_set_msn(ddp, 9); };
  return {
      {"one more than it takes", 0x1202, false, [](uint8_t*) {}, before},
      {"another number than the next", 0x1203, false, later},
      {"an atomic of another number", 0x1203, true, later},
      {"an offset", 0x1204, false, [](uint8_t* ddp) { exrnic_ddp_untagged_set_mo(ddp, 1); }},
      {"longer than any message", 0x0101, false,
       [=](uint8_t* ddp) { exrnic_read_request_set_length(body(ddp), 0x8000'0001); }},
      {"an atomic that nobody knows", 0x0206, true,
       [=](uint8_t* ddp) { exrnic_atomic_request_set_operation(body(ddp), 9); }},
  };
}

// The left node asks; its request of number `before` + 1 is spoiled as it leaves.
struct Asker {
  Asker(const Case& one, uint32_t before)
      : one_(one), before_(before), e(kBytes, options(), options_for("dc-25g"), cores()) {
    e.testbed.node(0).mac().observe([this](Mac::Direction direction, const Bytes& wire) {
      if (direction == Mac::Direction::kReceive) came(wire);
    });
  }

  Work pull(uint32_t i) { return pull_of({element(e.left.near, i * kEach, kEach)}, i * kEach); }
  // Some that are good, the one that is refused, and two behind it.
  void ask() {
    const exrnic_sge old = element(e.left.near, 2 * kEach, 8);
    for (uint32_t i = 0; i < before_; ++i) e.left.rnic.put(e.left.qp, pull(i));
    e.left.rnic.put(e.left.qp, one_.atomic ? fetch_add_of(old, kAt, 1) : pull(2));
    e.left.rnic.put(e.left.qp, fetch_add_of(old, kAt, 1));
    e.left.rnic.put(e.left.qp, pull(2));
    e.left.rnic.ring(e.left.qp);
  }

 private:
  QueuePairOptions options() const {
    QueuePairOptions options;
    options.max_reads_in = one_.max_reads_in;
    return options;
  }
  CoreFactory cores() {
    const CoreFactory make = test_cores();
    return [this, make](const CoreConfig& config, CoreSink& sink) -> std::unique_ptr<Core> {
      if (config.node_id != 0) return make(config, sink);
      Fault fault;
      fault.transmit = [this](Frame& frame) {
        const uint8_t* efe = frame.data.data() + EXRNIC_ETH_BYTES;
        uint8_t* ddp = frame.data.data() + EXRNIC_ETH_BYTES + EXRNIC_EFE_BYTES;
        if (exrnic_efe_length(efe) > 0 && !exrnic_ddp_tagged_t(ddp) &&
            exrnic_ddp_untagged_qn(ddp) == EXRNIC_READ_QN &&
            exrnic_ddp_untagged_msn(ddp) == before_ + 1) {
          one_.spoil(ddp);
          refused = Bytes(ddp, ddp + exrnic_efe_length(efe));
        }
        return true;
      };
      return std::make_unique<FaultyCore>(config, sink, make, fault);
    };
  }
  void came(const Bytes& wire) {
    const uint8_t* efe = wire.data() + EXRNIC_ETH_BYTES;
    const uint8_t* ddp = efe + EXRNIC_EFE_BYTES;
    if (exrnic_efe_length(efe) > 0 && !exrnic_ddp_tagged_t(ddp) &&
        exrnic_ddp_untagged_opcode(ddp) == EXRNIC_RDMAP_OPCODE_TERMINATE) {
      told = Bytes(ddp, ddp + exrnic_efe_length(efe));
      numbered = (exrnic_efe_flags(efe) & EXRNIC_EFE_FLAGS_SEQ) != 0;
    }
  }

  const Case one_;
  const uint32_t before_;

 public:
  Bytes refused;          // its segment, as it left
  Bytes told;             // the terminate message
  bool numbered = false;  // it was a segment like another
  Exchange e;
};

TEST_CASE(
    "a request that is refused ends behind the PULLs before it, and takes none of them along") {
  for (const uint32_t before : {2u, 0u})
    for (const Case& one : cases(before)) {
      INFO(one.name << ", behind " << before);
      Asker asker(one, before);
      Exchange& e = asker.e;
      std::mt19937_64 random(71);
      const Bytes data = random_bytes(random, kBytes);
      e.right.rnic.write(e.right.far, 0, data);
      asker.ask();
      for (uint32_t i = 0; i < before; ++i) {
        const exrnic_cqe cqe = e.left.wait();
        CHECK(cqe.wqe_index == i);
        CHECK(cqe.status == EXRNIC_CQE_STATUS_SUCCESS);
      }
      const exrnic_cqe cqe = e.left.wait();
      CHECK(cqe.wqe_index == before);
      CHECK(cqe.status ==
            (one.code == 0x0101 ? EXRNIC_CQE_STATUS_REM_ACCESS_ERR : EXRNIC_CQE_STATUS_REM_OP_ERR));
      CHECK(cqe.detail == one.code);
      for (int i = 0; i < 2; ++i) CHECK(e.left.wait().status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
      e.rest();
      for (End* end : {&e.left, &e.right}) CHECK(end->state() == EXRNIC_QP_STATE_ERROR);

      CHECK(difference(e.left.rnic.read(e.left.near, 0, before * kEach),
                       Bytes(data.begin(), data.begin() + before * kEach)) == "");
      CHECK(difference(e.right.rnic.read(e.right.far, 0, kBytes), data) == "");
      CHECK(e.right.rnic.counter(EXRNIC_COUNTER_READS_SERVED) == before);
      CHECK(e.right.rnic.counter(EXRNIC_COUNTER_ATOMICS_SERVED) == 0);
      CHECK(e.right.rnic.counter(EXRNIC_COUNTER_TERMINATES_TX) == 1);
      CHECK(e.left.rnic.counter(EXRNIC_COUNTER_TERMINATES_RX) == 1);

      CHECK(asker.numbered);
      const uint8_t* body = asker.told.data() + EXRNIC_DDP_UNTAGGED_BYTES;
      const int quoted =
          EXRNIC_DDP_UNTAGGED_BYTES + (one.code == 0x0101 ? EXRNIC_READ_REQUEST_BYTES : 0);
      CHECK(exrnic_terminate_code(body) == one.code);
      CHECK(exrnic_terminate_segment_length(body) == asker.refused.size());
      CHECK(difference(Bytes(asker.told.begin() + kQuoteAt, asker.told.end()),
                       Bytes(asker.refused.begin(), asker.refused.begin() + quoted)) == "");
    }
}

TEST_CASE(
    "a queue pair that fails before it has told of a refused request tells that, and may begin "
    "anew") {
  for (const Case& one : cases(2)) {
    INFO(one.name);
    Asker asker(one, 2);
    Exchange& e = asker.e;
    asker.ask();
    e.testbed.run_until([&] { return !e.left.rnic.host().writes().empty(); }, 1'000'000);
    e.right.rnic.stop(Exchange::kRightQpn);
    const exrnic_cqe cqe = e.left.wait();
    CHECK(cqe.status == EXRNIC_CQE_STATUS_REM_OP_ERR);
    CHECK(cqe.detail == EXRNIC_TERM_CODE_STREAM);
    for (int i = 0; i < 4; ++i) CHECK(e.left.wait().status == EXRNIC_CQE_STATUS_WR_FLUSH_ERR);
    e.left.rnic.stop(Exchange::kLeftQpn);
    for (End* end : {&e.left, &e.right}) {
      REQUIRE(end->rnic.modify(end->qp.qpn, EXRNIC_QP_STATE_RESET) == EXRNIC_MBOX_STATUS_OK);
      end->qp.sq.index = end->qp.rq.index = 0;
    }
    e.connect();
    for (uint32_t i = 0; i < 2; ++i) e.left.post(asker.pull(i));
    for (uint32_t i = 0; i < 2; ++i) CHECK(e.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
    e.rest();
    CHECK(e.right.state() == EXRNIC_QP_STATE_RTS);
  }
}

}  // namespace
}  // namespace exrnic::testing
