// SPDX-License-Identifier: BSD-2-Clause
// Remote windows and ports of a node, as its driver and its processes use them.
#pragma once

#include "tests/support/pair.h"

namespace exrnic::testing {

constexpr uint32_t kStore = EXRNIC_WINDOW_ACCESS_STORE;
constexpr uint32_t kLoad = EXRNIC_WINDOW_ACCESS_LOAD;
constexpr uint64_t kAllOnes = UINT64_MAX;
constexpr uint32_t kWindowSize = 1 << EXRNIC_WINDOW_SHIFT_MIN;  // if a board says nothing else

inline uint64_t all_ones(unsigned size) {
  return size == 8 ? kAllOnes : (uint64_t{1} << (8 * size)) - 1;
}

// A window of BAR 4 on a queue pair.
class RemoteWindow {
 public:
  // `size`: of a window of this board.
  RemoteWindow(RnicDriver& rnic, uint32_t index, uint32_t size = kWindowSize)
      : rnic_(rnic), index_(index), size_(size) {}

  exrnic_mbox_status set(uint32_t qpn, uint32_t stag, uint64_t base, uint32_t length,
                         uint32_t access) {
    return rnic_.command(EXRNIC_MBOX_OP_SET_WINDOW,
                         exrnic_mbox_set_window{qpn, index_, base, stag, length, access, 0});
  }
  exrnic_mbox_status close() { return set(0, 0, 0, 0, 0); }

  void store(uint64_t offset, unsigned size, uint64_t value) {
    rnic_.host().store(EXRNIC_BAR_WINDOW, at(offset), size, value);
  }
  void store_block(uint64_t offset, const Bytes& data) {
    rnic_.host().store_block(EXRNIC_BAR_WINDOW, at(offset), data.data());
  }
  uint64_t load(uint64_t offset, unsigned size) {
    return rnic_.host().load(EXRNIC_BAR_WINDOW, at(offset), size);
  }

 private:
  uint64_t at(uint64_t offset) const { return uint64_t{index_} * size_ + offset; }

  RnicDriver& rnic_;
  uint32_t index_;
  uint32_t size_;
};

// One port of a node.
class Port {
 public:
  Port(RnicDriver& rnic, uint32_t number) : rnic_(rnic), number_(number) {}

  uint32_t read(uint32_t place) { return rnic_.read_register(at(place)); }
  void write(uint32_t place, uint32_t value) { rnic_.write_register(at(place), value); }

  void open(unsigned node, uint32_t peer, uint32_t vector) {
    write(EXRNIC_REG_PORT_PEER, node << 16 | peer);
    write(EXRNIC_REG_PORT_VECTOR, vector);
    write(EXRNIC_REG_PORT_CONTROL, EXRNIC_PORT_CONTROL_ENABLE);
  }
  void close() { write(EXRNIC_REG_PORT_CONTROL, 0); }
  bool linked() { return read(EXRNIC_REG_PORT_STATUS) & EXRNIC_PORT_STATUS_LINK_UP; }
  uint32_t take_events() {
    const uint32_t events = read(EXRNIC_REG_PORT_EVENTS);
    write(EXRNIC_REG_PORT_EVENTS, events);
    return events;
  }
  void ring(uint32_t bits) { write(EXRNIC_REG_PORT_RING, bits); }
  uint32_t bells() { return read(EXRNIC_REG_PORT_BELLS_RUNG); }
  void set_spad(uint32_t index, uint32_t value) { write(EXRNIC_REG_PORT_SPAD + 4 * index, value); }
  void set_peer_spad(uint32_t index, uint32_t value) {
    write(EXRNIC_REG_PORT_PEER_SPAD + 4 * index, value);
  }
  uint32_t spad(uint32_t index) { return read(EXRNIC_REG_PORT_SPAD + 4 * index); }
  uint32_t peer_spad(uint32_t index) { return read(EXRNIC_REG_PORT_PEER_SPAD + 4 * index); }

 private:
  uint32_t at(uint32_t place) const {
    return EXRNIC_PORT_BASE + number_ * EXRNIC_PORT_STRIDE + place;
  }

  RnicDriver& rnic_;
  uint32_t number_;
};

}  // namespace exrnic::testing
