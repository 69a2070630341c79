// SPDX-License-Identifier: BSD-2-Clause
// The hardware of firmware on the host: registers, requests of peers, memory behind one region.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <stdexcept>
#include <vector>

extern "C" {
#include "hal/devices.h"
#include "hal/fault.h"
#include "hal/memory.h"
#include "hal/port.h"
}

namespace exrnic::testing {

struct Assertion : std::runtime_error {
  using std::runtime_error::runtime_error;
};

using DirectWords = std::array<uint32_t, EXRNIC_FW_DIRECT_WORDS>;

// A direct command that firmware has started, with its operands.
struct Direct {
  uint32_t op;
  DirectWords words;

  uint32_t operator[](uint32_t word) const { return words.at(word); }
  uint64_t wide(uint32_t word) const { return uint64_t{words.at(word)} << 32 | words.at(word + 1); }
};

// While one lives it is what dev_read() and dev_write() speak to.
class Hardware {
 public:
  Hardware();
  ~Hardware();

  uint32_t read(uint32_t reg);
  void write(uint32_t reg, uint32_t value);

  // Payload in words of the wire, as numbers.
  void punt(exrnic_fw_punt_kind kind, uint16_t qpn, uint32_t pd, std::vector<uint32_t> payload);

  std::map<uint32_t, uint32_t> registers;
  uint64_t time_ns = 1000;

  std::deque<std::array<uint32_t, EXRNIC_FW_PUNT_WORDS>> punts;
  std::vector<Direct> commands;
  std::map<uint64_t, uint32_t> region;  // of FW_PD: words by their offset
  struct Bell {
    uint32_t page, number, index;
  };
  std::deque<Bell> bells;
  struct Block {
    uint32_t page;
    std::vector<uint32_t> words;
  };
  std::deque<Block> blocks;
  // What other nodes may write, by name.
  struct Grant {
    uint32_t node;
    uint64_t to;
    uint32_t length;
    bool operator==(const Grant& other) const {
      return node == other.node && to == other.to && length == other.length;
    }
  };
  std::map<uint32_t, Grant> grants;
  std::vector<uint32_t> raises;   // channels whose process was woken, each time
  uint32_t room_bytes = 1 << 20;  // of SEND_DATA: as many leave, the others find no room
  // How a command ends; OK unless a test says otherwise.
  std::function<exrnic_fw_direct_status(const Direct&)> judge;

 private:
  void run(uint32_t op);
  void run_in_region(uint32_t op);

  DirectWords words_{};
  exrnic_fw_direct_status status_ = EXRNIC_FW_DIRECT_STATUS_OK;
  Bell bell_{};
  bool busy_ = false;  // the first look at the status of a command finds it running
};

}  // namespace exrnic::testing
