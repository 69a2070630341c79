// SPDX-License-Identifier: BSD-2-Clause
// Each frame that does not arrive is told, with its work request: as often as it is counted.
#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sim/trace/tracer.h"
#include "tests/support/exchange.h"
#include "tests/support/trace_events.h"

namespace exrnic::testing {
namespace {

using nlohmann::json;

// Two ends, whose losses are read back at the end.
struct Watched {
  explicit Watched(TestbedOptions options = options_for("dc-25g")) {
    options.observer = &*tracer;
    exchange.emplace(20'000, QueuePairOptions{}, options, test_cores());
  }

  // All that is under way has ended.
  std::vector<json> losses() {
    exchange->rest();
    log->flush();
    std::vector<json> lines;
    std::ifstream in(file.path);
    for (std::string line; std::getline(in, line);) lines.push_back(json::parse(line));
    CHECK(lines.size() == log->losses());
    return lines;
  }
  std::map<std::string, uint64_t> causes() {
    std::map<std::string, uint64_t> counts;
    for (const json& loss : losses()) ++counts[loss["cause"]];
    return counts;
  }

  TemporaryFile file;
  std::optional<LossLog> log{std::in_place, file.path, [](const std::string& line) { FAIL(line); }};
  std::optional<Tracer> tracer{std::in_place, "", [](const std::string& line) { FAIL(line); },
                               &*log};
  std::optional<Exchange> exchange;
};

TestbedOptions with_fault(uint64_t frame, Fault fault) {
  TestbedOptions options = options_for("dc-25g");
  options.faults_towards[1].script[frame] = fault;
  return options;
}

Work push_of(Exchange& exchange, uint32_t bytes, uint32_t stag = kFarStag) {
  Work work = send_of({element(exchange.left.near, 0, bytes)});
  work.opcode = EXRNIC_WQE_OPCODE_PUSH;
  work.remote_stag = stag;
  work.remote_to = exchange.right.far.base;
  return work;
}

// Of one that node 0 had sent.
void check_work(const json& loss, const char* opcode) {
  CAPTURE(loss.dump());
  CHECK(loss["from"] == 0);
  CHECK(loss["to"] == 1);
  CHECK(loss["opcode"] == opcode);
  CHECK(loss["src_qpn"] == Exchange::kLeftQpn);
  CHECK(loss["dst_qpn"] == Exchange::kRightQpn);
  CHECK(loss["work"]["node"] == 0);
  CHECK(loss["work"]["qpn"] == Exchange::kLeftQpn);
  CHECK(loss["work"]["opcode"] == opcode);
}

TEST_CASE("nothing is told of a run without losses") {
  Watched watched;
  watched.exchange->left.post(push_of(*watched.exchange, 5 * kMtu));
  CHECK(watched.exchange->left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  CHECK(watched.losses().empty());
}

TEST_CASE(
    "a frame that the line drops, or damages, is told once: when, where, why, and whose it is") {
  for (const auto& [fault, cause] : {std::pair(Fault::kDrop, "line: dropped by a fault"),
                                     std::pair(Fault::kCorrupt, "line: corrupted by a fault")}) {
    for (const uint64_t frame : {0, 2, 4}) {
      INFO(cause << ", frame " << frame);
      Watched watched(with_fault(frame, fault));
      watched.exchange->left.post(push_of(*watched.exchange, 5 * kMtu));
      CHECK(watched.exchange->left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
      const double end_ns = static_cast<double>(watched.exchange->testbed.now_ns());
      const auto losses = watched.losses();
      REQUIRE(losses.size() == 1);
      CHECK(losses[0]["at"] == "node1");
      CHECK(losses[0]["cause"] == cause);
      CHECK(losses[0]["time_ns"] < end_ns);
      if (losses[0].contains("seq")) check_work(losses[0], "PUSH");
    }
  }
}

TEST_CASE("a message that finds no receive is told each time that it was sent in vain") {
  Watched watched;
  Exchange& exchange = *watched.exchange;
  constexpr Rnr kEndless{1, EXRNIC_RNR_RETRY_ENDLESS};
  for (End* end : {&exchange.left, &exchange.right})
    REQUIRE(end->rnic.modify(end->qp.qpn, EXRNIC_QP_STATE_RESET) == EXRNIC_MBOX_STATUS_OK);
  exchange.left.rnic.connect(exchange.left.qp, 1, Exchange::kRightQpn, kEndless);
  exchange.right.rnic.connect(exchange.right.qp, 0, Exchange::kLeftQpn, kEndless);
  exchange.left.post(send_of({element(exchange.left.near, 0, 100)}));
  exchange.testbed.run_until([] { return false; }, 5 * EXRNIC_RNR_UNIT_NS);
  exchange.right.receive({element(exchange.right.near, 0, 1000)});
  CHECK(exchange.left.wait().status == EXRNIC_CQE_STATUS_SUCCESS);
  const auto losses = watched.losses();
  CHECK(losses.size() == exchange.right.rnic.counter(EXRNIC_COUNTER_RNR_NAK_TX));
  REQUIRE_FALSE(losses.empty());
  for (const json& loss : losses) {
    CHECK(loss["at"] == "node1");
    CHECK(loss["cause"] == "no receive: comes again after a pause");
    check_work(loss, "SEND");
  }
}

TEST_CASE("a segment that is refused is told with its code, and what was behind it as discarded") {
  Watched watched;
  Exchange& exchange = *watched.exchange;
  constexpr uint32_t kNobodys = 0x0002'11'00;
  exchange.left.post(push_of(exchange, 3 * kMtu, kNobodys));
  CHECK(exchange.left.wait().status != EXRNIC_CQE_STATUS_SUCCESS);
  const auto losses = watched.losses();
  REQUIRE_FALSE(losses.empty());
  CHECK(losses[0]["at"] == "node1");
  CHECK(losses[0]["cause"] == "refused: 0x1100, DDP, tagged buffer error: invalid STag");
  check_work(losses[0], "PUSH");
  CHECK(losses.size() == 1 + exchange.right.rnic.counter(EXRNIC_COUNTER_RX_DISCARDED));
  for (size_t i = 1; i < losses.size(); ++i) {
    CHECK(losses[i]["cause"] == "receiver: rx_discarded");
    check_work(losses[i], "PUSH");
  }
}

TEST_CASE("over a bad line each loss that is counted is told under its cause") {
  TestbedOptions options = options_for("dc-25g");
  options.faults.rates.drop = options.faults.rates.corrupt = 0.03;
  options.faults.rates.duplicate = options.faults.rates.reorder = 0.03;
  Watched watched(options);
  Exchange& exchange = *watched.exchange;
  for (int i = 0; i < 20; ++i) {
    exchange.left.post(push_of(exchange, 9 * kMtu));
    CHECK(exchange.left.wait(200'000'000).status == EXRNIC_CQE_STATUS_SUCCESS);
  }
  auto told = watched.causes();
  uint64_t dropped = 0, corrupted = 0;
  for (const unsigned node : {0, 1}) {
    dropped += exchange.testbed.line_towards(node)->counters().dropped;
    corrupted += exchange.testbed.line_towards(node)->counters().corrupted;
  }
  CHECK(dropped > 0);
  CHECK(told["line: dropped by a fault"] == dropped);
  CHECK(corrupted > 0);
  CHECK(told["line: corrupted by a fault"] == corrupted);
  for (const auto& [counter, name] :
       {std::pair(EXRNIC_COUNTER_RX_SESSION, "receiver: rx_session"),
        std::pair(EXRNIC_COUNTER_RX_OVERFLOW, "receiver: rx_overflow"),
        std::pair(EXRNIC_COUNTER_RX_MALFORMED, "receiver: rx_malformed"),
        std::pair(EXRNIC_COUNTER_RX_DISCARDED, "receiver: rx_discarded")}) {
    CHECK(told[name] == exchange.left.rnic.counter(counter) + exchange.right.rnic.counter(counter));
  }
}

TEST_CASE("a frame that is none is told at the receiver's check") {
  Watched watched;
  Exchange& exchange = *watched.exchange;
  exchange.rest();
  Frame frame{Bytes(100)};
  exrnic_eth_set_dst(frame.data.data(), mac_address(1));
  exrnic_eth_set_src(frame.data.data(), mac_address(0));
  append_fcs(frame.data);
  exchange.testbed.node(1).mac().receive_wire(Bytes(frame.data));
  const auto losses = watched.losses();
  REQUIRE(losses.size() == 1);
  CHECK(losses[0]["at"] == "node1");
  CHECK(losses[0]["cause"] == "receiver: rx_malformed");
  CHECK_FALSE(losses[0].contains("from"));
}

TEST_CASE("a file that cannot be written costs a line, and no more") {
  std::vector<std::string> said;
  LossLog log("no-such-folder/losses", [&](const std::string& line) { said.push_back(line); });
  log.add(1, "node0", "line: down", std::nullopt, std::nullopt);
  log.flush();
  CHECK(log.losses() == 1);
  REQUIRE(said.size() == 1);
  CHECK(said[0].find("no-such-folder/losses: No such file") != std::string::npos);
}

}  // namespace
}  // namespace exrnic::testing
