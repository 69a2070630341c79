// SPDX-License-Identifier: BSD-2-Clause
// Ports: doorbell bits and scratchpads that are shared with one port of another node, and the link
// between the two.
#pragma once

#include <array>

#include "rtl-model/ref/dma_write.h"
#include "rtl-model/ref/efe_tx.h"
#include "rtl-model/ref/state.h"

namespace exrnic::ref {

class Ports {
 public:
  Ports(State& state, EfeTx& efe_tx, DmaWrite& dma_write)
      : state_(state), efe_tx_(efe_tx), dma_write_(dma_write) {}

  static bool has(const MmioAccess& access);  // one of its registers
  void write(const MmioAccess& access);
  uint64_t read(const MmioAccess& access) const;

  static bool addressed(const Received& segment);
  void arrived(const Received& segment);
  void ended(const Ended& message);
  void run();  // takes what the state says of peers

 private:
  using Spads = std::array<uint32_t, EXRNIC_PORT_SPADS>;
  struct Port {
    bool enabled = false;
    bool linked = false;
    bool greets = false;  // it has been enabled, and its link was never up since
    uint32_t node = 0;
    uint32_t peer = 0;  // its port
    uint32_t vector = 0;
    uint8_t life = 0;       // how often it was enabled
    uint8_t peer_life = 0;  // as the peer has said
    uint8_t link = 0;       // how often it was enabled, or its link came up
    uint32_t events = 0;
    uint32_t bells = 0;
    uint32_t mask = 0;
    Spads own{};
    Spads peers{};  // as this node knows them
  };

  uint32_t pending() const;  // register PORTS_PENDING
  void set_peer(Port& port, uint32_t value);
  void enable(uint32_t number, bool enable);
  void say(uint32_t number, uint32_t to, uint32_t data);
  void say_state(uint32_t number, uint32_t state);
  bool say_linked(uint32_t number, uint32_t to, uint32_t data);  // false: it is refused
  void set_spad(uint32_t number, Spads& spads, uint32_t index, uint32_t to, uint32_t value);
  bool hear(uint32_t number, uint64_t to, uint32_t data);
  void hear_spad(uint32_t number, uint64_t to, uint32_t data);
  bool hear_state(uint32_t number, bool is_meant, const exrnic_port_says& said);
  void go(Port& port, bool up);

  State& state_;
  EfeTx& efe_tx_;
  DmaWrite& dma_write_;
  std::array<Port, EXRNIC_PORTS> ports_{};
};

}  // namespace exrnic::ref
