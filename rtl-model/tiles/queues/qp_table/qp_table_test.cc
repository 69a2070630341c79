// SPDX-License-Identifier: BSD-2-Clause
#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "Vqp_table.h"
#include "rtl-model/testing/bench.h"
#include "rtl-model/testing/records.h"

namespace exrnic::testing {
namespace {

constexpr unsigned kQpn = 0x3ff;
constexpr unsigned kOther = 0x155;
enum StatusWriter { kFromResponder, kFromCompleter, kFromRequester };

// A record as its bits, so that two compare in every field.
template <typename Record>
std::vector<uint32_t> bits_of(const Record& record) {
  VlWide<16> words{};
  pack(words, record);
  return {words.m_storage, words.m_storage + 16};
}

class QpTable : public Bench<Vqp_table> {
 public:
  QpTable() {
    clear_inputs();
    dut().config_clear_i = dut().producer_rq_i = 0;
    reset();
    wait_for("init_done_o", EXRNIC_MAX_QP + 2, [&] { return dut().init_done_o != 0; });
  }

  void cycle() override {
    settle();
    tick();
    clear_inputs();
    settle();
  }
  Qp read(unsigned qpn, QpClient client = kQpMailbox) {
    ask(qpn, client);
    cycle();
    return answer(client);
  }
  void ask(unsigned qpn, QpClient client) {
    dut().read_i |= 1u << client;
    dut().read_qpn_i[client] = qpn;
  }
  Qp answer(QpClient client) { return unpack<Qp>(dut().read_o[client]); }

  void drive_config(unsigned qpn, const QpConfig& config, const QpStatus& status, bool clear) {
    dut().config_we_i = 1;
    dut().config_qpn_i = qpn;
    dut().config_clear_i = clear;
    pack(dut().config_i, config);
    pack(dut().config_status_i, status);
  }
  void drive_status(StatusWriter writer, unsigned qpn, const QpStatus& status) {
    dut().status_valid_i |= 1u << writer;
    dut().status_qpn_i[writer] = qpn;
    pack(dut().status_i[writer], status);
  }
  void drive_producer(unsigned qpn, bool receive, uint16_t index) {
    dut().producer_we_i = 1;
    dut().producer_rq_i = receive;
    dut().producer_qpn_i = qpn;
    dut().producer_i = index;
  }
  void drive_rq_consumer(unsigned qpn, uint16_t index) {
    dut().rq_consumer_we_i = 1;
    dut().rq_consumer_qpn_i = qpn;
    dut().rq_consumer_i = index;
  }
  void drive_sq(unsigned qpn, const QpSq& sq) {
    dut().sq_we_i = 1;
    dut().sq_qpn_i = qpn;
    pack(dut().sq_i, sq);
  }
  void drive_refused(unsigned qpn, const RefusedRequest& refused) {
    dut().refused_we_i = 1;
    dut().refused_qpn_i = qpn;
    pack(dut().refused_i, refused);
  }
  void drive_ended(unsigned qpn, const QpEnded& ended) {
    dut().ended_we_i = 1;
    dut().ended_qpn_i = qpn;
    pack(dut().ended_i, ended);
  }

 private:
  void clear_inputs() {
    dut().read_i = dut().config_we_i = dut().status_valid_i = dut().sq_we_i = 0;
    dut().producer_we_i = dut().rq_consumer_we_i = dut().ended_we_i = 0;
    dut().refused_we_i = dut().peer_we_i = 0;
  }
};

QpConfig config() {
  QpConfig config;
  config.valid = true;
  config.page = 0x42;
  config.pd = 0xbeef;
  config.send_cqn = 0x3fe;
  config.recv_cqn = 0x155;
  config.sq_log = 12;
  config.rq_log = 2;
  config.sq_pbl = 0xaaaaaaaaaac0;
  config.rq_pbl = 0xbbbbbbbbbb80;
  config.has_srq = true;
  config.srqn = 0xc3;
  config.max_reads_out = 16;
  config.max_reads_in = 5;
  config.generation = 0x5c;
  config.dest_node = 9;
  config.dest_qpn = 0x654321;
  return config;
}
QpSq sq_of(uint16_t consumer) { return {true, consumer, 0x80000000, 0xfffffff0, 3, 0xfffe}; }
RefusedRequest refused() {
  return {true, EXRNIC_TERM_CODE_UNTAGGED_MO, true, 0xffff'fff8, 0xffff'fff9, {1, 2, 3}};
}
QpStatus status(exrnic_qp_state state) {
  return {state, true, EXRNIC_CQE_STATUS_REM_OP_ERR, 0x206, true, 0xfffffff0, true, true};
}

TEST_CASE("After reset no queue pair exists") {
  QpTable table;
  for (unsigned qpn = 0; qpn < EXRNIC_MAX_QP; ++qpn) CHECK_FALSE(table.read(qpn).cfg.valid);
}

TEST_CASE("What the driver writes is read, by each client, in each field") {
  QpTable table;
  table.drive_config(kQpn, config(), status(EXRNIC_QP_STATE_INIT), true);
  table.cycle();
  for (unsigned client = 0; client < kQpClients; ++client) {
    const Qp qp = table.read(kQpn, static_cast<QpClient>(client));
    CHECK(bits_of(qp.cfg) == bits_of(config()));
    CHECK(bits_of(qp.status) == bits_of(status(EXRNIC_QP_STATE_INIT)));
    CHECK(bits_of(qp.sq) == bits_of(QpSq{}));
    CHECK(bits_of(qp.peer) == bits_of(QpPeer{}));
    CHECK(bits_of(qp.refused) == bits_of(RefusedRequest{}));
    CHECK(bits_of(qp.ended) == bits_of(QpEnded{}));
    CHECK(qp.sq_producer + qp.rq_producer + qp.rq_consumer + qp.ended.count == 0);
  }
  CHECK_FALSE(table.read(kOther).cfg.valid);
}

TEST_CASE("A reset takes queue pairs away, and leaves their generations") {
  QpTable table;
  const uint16_t other = table.read(kOther).cfg.generation;
  table.drive_config(kQpn, config(), {}, true);
  table.cycle();
  table.reset();
  table.wait_for("init_done_o", EXRNIC_MAX_QP + 2, [&] { return table.dut().init_done_o != 0; });
  CHECK_FALSE(table.read(kQpn).cfg.valid);
  CHECK(table.read(kQpn).cfg.generation == config().generation);
  CHECK(table.read(kOther).cfg.generation == other);
}

TEST_CASE("An answer stays until the client's next read, whatever others read or write") {
  QpTable table;
  table.drive_config(kQpn, config(), status(EXRNIC_QP_STATE_RTS), true);
  table.cycle();
  table.ask(kQpn, kQpRequester);
  table.ask(kOther, kQpResponder);
  table.cycle();
  table.drive_status(kFromCompleter, kQpn, status(EXRNIC_QP_STATE_ERROR));
  table.ask(kQpn, kQpCompleter);  // in the cycle of the write: as before it
  table.cycle();
  CHECK(table.answer(kQpRequester).status.state == EXRNIC_QP_STATE_RTS);
  CHECK(table.answer(kQpCompleter).status.state == EXRNIC_QP_STATE_RTS);
  CHECK_FALSE(table.answer(kQpResponder).cfg.valid);
  CHECK(table.read(kQpn, kQpRequester).status.state == EXRNIC_QP_STATE_ERROR);
}

TEST_CASE("Each ring index has its place, and writes of one cycle do not meet") {
  QpTable table;
  table.drive_config(kQpn, config(), status(EXRNIC_QP_STATE_RTS), true);
  table.cycle();
  table.drive_config(kOther, config(), status(EXRNIC_QP_STATE_RTS), true);
  table.cycle();
  table.drive_producer(kQpn, false, 0xfff1);
  table.drive_rq_consumer(kOther, 0xfff4);
  table.cycle();
  table.drive_producer(kQpn, true, 0xfff2);
  table.drive_sq(kQpn, sq_of(0xfff3));
  table.drive_ended(kQpn, {0xfff5, 0xfff6, 0xffff'fff7});
  table.drive_refused(kQpn, refused());
  table.cycle();
  const Qp qp = table.read(kQpn);
  CHECK(qp.sq_producer == 0xfff1);
  CHECK(qp.rq_producer == 0xfff2);
  CHECK(bits_of(qp.sq) == bits_of(sq_of(0xfff3)));
  CHECK(bits_of(qp.ended) == bits_of(QpEnded{0xfff5, 0xfff6, 0xffff'fff7}));
  CHECK(bits_of(qp.refused) == bits_of(refused()));
  CHECK(qp.rq_consumer == 0);
  const Qp other = table.read(kOther);
  CHECK(other.rq_consumer == 0xfff4);
  CHECK(other.sq_producer + other.rq_producer + other.ended.count == 0);
  CHECK(bits_of(other.sq) == bits_of(QpSq{}));
}

TEST_CASE("The driver's write empties the rings when it says so, else it leaves them") {
  QpTable table;
  table.drive_config(kQpn, config(), status(EXRNIC_QP_STATE_RTS), true);
  table.cycle();
  table.drive_producer(kQpn, false, 7);
  table.drive_sq(kQpn, sq_of(5));
  table.drive_ended(kQpn, {4, 3, 2});
  table.drive_refused(kQpn, refused());
  table.cycle();
  table.drive_config(kQpn, config(), status(EXRNIC_QP_STATE_ERROR), false);
  table.cycle();
  CHECK(table.read(kQpn).sq_producer == 7);
  CHECK(bits_of(table.read(kQpn).sq) == bits_of(sq_of(5)));
  CHECK(table.read(kQpn).ended.count == 4);
  CHECK(bits_of(table.read(kQpn).refused) == bits_of(refused()));
  table.drive_config(kQpn, config(), QpStatus{}, true);
  table.cycle();
  CHECK(table.read(kQpn).sq_producer == 0);
  CHECK(bits_of(table.read(kQpn).sq) == bits_of(QpSq{}));
  CHECK(bits_of(table.read(kQpn).ended) == bits_of(QpEnded{}));
  CHECK(bits_of(table.read(kQpn).refused) == bits_of(RefusedRequest{}));
  CHECK(table.read(kQpn).status.state == EXRNIC_QP_STATE_RESET);
}

TEST_CASE("A status that was made of an older one does not take a queue pair out of ERROR") {
  QpTable table;
  table.drive_config(kQpn, config(), status(EXRNIC_QP_STATE_RTS), true);
  table.cycle();
  table.drive_status(kFromCompleter, kQpn, status(EXRNIC_QP_STATE_ERROR));
  table.cycle();
  for (const auto from : {kFromResponder, kFromCompleter, kFromRequester}) {
    table.drive_status(from, kQpn, status(EXRNIC_QP_STATE_RTS));
    table.cycle();
    CHECK(table.read(kQpn).status.state == EXRNIC_QP_STATE_ERROR);
  }
}

TEST_CASE("A status stays while nobody writes one, that of the first queue pair, too") {
  QpTable table;
  for (const unsigned qpn : {0u, unsigned{EXRNIC_MAX_QP - 1}}) {
    table.drive_config(qpn, config(), status(EXRNIC_QP_STATE_RTS), true);
    table.cycle();
    table.cycle();
    CHECK(bits_of(table.read(qpn).status) == bits_of(status(EXRNIC_QP_STATE_RTS)));
  }
}

TEST_CASE("Of three status changes at once the responder's is done") {
  QpTable table;
  table.drive_config(kQpn, config(), status(EXRNIC_QP_STATE_RTS), true);
  table.cycle();
  const QpStatus first = status(EXRNIC_QP_STATE_ERROR);
  for (const auto from : {kFromResponder, kFromCompleter, kFromRequester})
    table.drive_status(from, from == kFromResponder ? kQpn : kOther, first);
  table.cycle();
  CHECK(bits_of(table.read(kQpn).status) == bits_of(first));
}

TEST_CASE("Of status changes the driver's goes first, then responder, completer, requester") {
  QpTable table;
  const QpStatus first = status(EXRNIC_QP_STATE_ERROR);
  QpStatus second = first;
  second.fault_seq = 1;
  table.drive_config(kQpn, config(), status(EXRNIC_QP_STATE_RTS), true);
  table.drive_status(kFromResponder, kOther, first);
  table.drive_status(kFromCompleter, kOther, second);
  table.settle();
  CHECK(table.dut().status_ready_o == 0);
  table.cycle();
  table.drive_status(kFromResponder, kQpn, first);
  table.drive_status(kFromCompleter, kQpn, second);
  table.settle();
  CHECK(table.dut().status_ready_o == 1u << kFromResponder);
  table.cycle();
  CHECK(bits_of(table.read(kQpn).status) == bits_of(first));
  table.drive_status(kFromCompleter, kQpn, second);
  table.settle();
  CHECK((table.dut().status_ready_o >> kFromCompleter & 1) == 1);
  table.cycle();
  CHECK(bits_of(table.read(kQpn).status) == bits_of(second));
  QpStatus third = second;
  third.fault_seq = 2;
  table.drive_status(kFromCompleter, kQpn, first);
  table.drive_status(kFromRequester, kQpn, third);
  table.settle();
  CHECK((table.dut().status_ready_o >> kFromRequester & 1) == 0);
  table.cycle();
  CHECK(bits_of(table.read(kQpn).status) == bits_of(first));
  table.drive_status(kFromRequester, kQpn, third);
  table.settle();
  CHECK((table.dut().status_ready_o >> kFromRequester & 1) == 1);
  table.cycle();
  CHECK(bits_of(table.read(kQpn).status) == bits_of(third));
}

}  // namespace
}  // namespace exrnic::testing
