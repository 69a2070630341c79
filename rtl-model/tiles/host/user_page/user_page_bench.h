// SPDX-License-Identifier: BSD-2-Clause
// The user pages with their neighbours: queue pairs, shared receive queues, scheduler, completer.
#pragma once

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cstring>
#include <map>
#include <vector>

#include "Vuser_page.h"
#include "rtl-model/testing/bench.h"
#include "rtl-model/testing/neighbours.h"

namespace exrnic::testing {

constexpr int kLimit = 50;  // cycles for anything here
constexpr unsigned kQpn = 0x123;
constexpr unsigned kSrqn = 0x45;
constexpr uint8_t kPage = 0x9a;

class UserPage : public Bench<Vuser_page> {
 public:
  UserPage() : events(dut()), qp_reader_(dut(), qps) {
    dut().enable_i = 1;
    dut().quiesce_i = dut().store_valid_i = 0;
    dut().wake_ready_i = dut().cq_ready_i = 1;
    dut().pio_drop_i = 0;
    dut().firmware_i = dut().firmware_drop_i = 0;
    Qp qp;
    qp.cfg.valid = true;
    qp.cfg.page = kPage;
    qp.cfg.sq_log = 4;
    qp.cfg.rq_log = 3;
    qp.status.state = EXRNIC_QP_STATE_RTS;
    qps[kQpn] = qp;
    Srq srq;
    srq.cfg.valid = true;
    srq.cfg.page = kPage;
    srq.cfg.log_slots = 3;
    srqs[kSrqn] = srq;
    reset();
  }

  struct Store {
    uint32_t page = kPage;
    uint32_t offset = EXRNIC_DOORBELL_SQ;
    uint32_t number = kQpn;
    uint32_t index = 0;
    unsigned size = sizeof(exrnic_doorbell);
  };

  std::map<unsigned, Qp> qps;
  std::map<unsigned, Srq> srqs;
  std::vector<unsigned> wakes;
  std::vector<CqDoorbell> bells;
  std::vector<exrnic_wqe> copies;  // work requests that came whole, to be executed from the copy
  struct FirmwareBell {
    unsigned page;
    uint32_t number, index;
    bool whole;
    exrnic_channel_work block;  // if it came whole
  };
  std::vector<FirmwareBell> firmware_bells;
  int writes = 0;
  int reads = 0;  // of rows of queues
  Events<Vuser_page> events;

  void cycle() override {
    qp_reader_.drive();
    settle();
    qp_reader_.sample();
    events.sample();
    reads += dut().qp_read_o + dut().srq_read_o;
    if (dut().producer_we_o) {
      ++writes;
      Qp& qp = qps[dut().producer_qpn_o];
      (dut().producer_rq_o ? qp.rq_producer : qp.sq_producer) = dut().producer_o;
    }
    if (dut().srq_producer_we_o) {
      ++writes;
      srqs[dut().srq_read_srqn_o].producer = dut().srq_producer_o;
    }
    if (dut().pio_valid_o) copies.push_back(unpack_copy());
    if (dut().firmware_valid_o) firmware_bells.push_back(unpack_firmware_bell());
    const bool srq_asked = dut().srq_read_o;
    const unsigned srqn = dut().srq_read_srqn_o;
    if (dut().wake_valid_o && dut().wake_ready_i) wakes.push_back(dut().wake_qpn_o);
    if (dut().cq_valid_o && dut().cq_ready_i) bells.push_back(unpack<CqDoorbell>(dut().cq_o));
    tick();
    if (srq_asked) pack(dut().srq_i, srqs[srqn]);
    settle();
  }

  void begin(const Store& store) {
    store_bytes(store.page * EXRNIC_USER_PAGE_SIZE + store.offset, store.size,
                uint64_t{store.index} << 32 | store.number);
  }
  void store_bytes(uint32_t address, unsigned size, uint64_t value) {
    dut().store_address_i = address;
    dut().store_size_i = size;
    dut().store_data_i = value;
    dut().store_valid_i = 1;
    wait_for("store_ready_o", kLimit, [&] { return dut().store_ready_o != 0; });
    cycle();
    dut().store_valid_i = 0;
  }
  void ring(const Store& store) {
    begin(store);
    wait_for("idle_o", kLimit, [&] { return dut().idle_o != 0; });
  }
  int accepted() const { return events[EXRNIC_COUNTER_DOORBELLS]; }
  int refused() const { return events[EXRNIC_COUNTER_DOORBELLS_REFUSED]; }

 private:
  exrnic_wqe unpack_copy() {
    exrnic_wqe wqe;
    static_assert(sizeof wqe == sizeof dut().pio_slot_o);
    std::memcpy(&wqe, &dut().pio_slot_o, sizeof wqe);
    return wqe;
  }

  FirmwareBell unpack_firmware_bell() {
    FirmwareBell bell{};
    bell.page = dut().firmware_page_o;
    bell.number = static_cast<uint32_t>(dut().firmware_o);
    bell.index = static_cast<uint32_t>(dut().firmware_o >> 32);
    bell.whole = dut().firmware_whole_o;
    static_assert(sizeof bell.block == sizeof dut().firmware_block_o);
    if (bell.whole) std::memcpy(&bell.block, &dut().firmware_block_o, sizeof bell.block);
    return bell;
  }

  QpReader<Vuser_page> qp_reader_;
};
using Store = UserPage::Store;

inline Store send(uint32_t index) {
  Store store;
  store.index = index;
  return store;
}

inline Store share(uint32_t index) {
  Store store;
  store.offset = EXRNIC_DOORBELL_SRQ;
  store.number = kSrqn;
  store.index = index;
  return store;
}

}  // namespace exrnic::testing
