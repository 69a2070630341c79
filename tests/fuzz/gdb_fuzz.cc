// SPDX-License-Identifier: BSD-2-Clause
// What comes from a debugger: packets of GDB and noise, in pieces, while the processor halts, goes
// on and fails as the input says.
#include <algorithm>

#include "exrnic_hw.h"
#include "sim/debug/gdb_session.h"
#include "tests/fuzz/target.h"

namespace exrnic::fuzz {
namespace {

using debug::packet;

// Halts when it is asked to, and mostly obeys.
class Processor final : public debug::FwRegisters {
 public:
  void behave(uint8_t how) { how_ = how; }
  uint32_t read(uint32_t offset) override {
    switch (offset) {
      case EXRNIC_REG_FW_MEMORY:
        return EXRNIC_FW_MEMORY_BYTES;
      case EXRNIC_REG_FW_STATE:
        return how_ == kDead ? EXRNIC_FW_STATE_FAILED : EXRNIC_FW_STATE_READY;
      case EXRNIC_REG_FW_DEBUG_STATUS:
        return (how_ == kDeaf ? 0 : EXRNIC_FW_DEBUG_STATUS_HALTED) |
               (how_ == kRefusing ? EXRNIC_FW_DEBUG_STATUS_FAILED : 0) |
               (how_ == kStuck ? EXRNIC_FW_DEBUG_STATUS_BUSY : 0);
      default:
        return offset * 0x01010101;
    }
  }
  void write(uint32_t offset, uint32_t) override {
    if (offset < EXRNIC_REG_FW_DEBUG || offset > EXRNIC_REG_FW_DEBUG_VALUE)
      found("a debugger writes a register that is not its own");
  }

 private:
  enum : uint8_t { kDead = 1, kDeaf, kRefusing, kStuck };
  uint8_t how_ = 0;
};

void add(Bytes& input, const std::string& piece, uint8_t how = 0) {
  input.push_back(how);
  input.push_back(static_cast<uint8_t>(piece.size()));
  input.insert(input.end(), piece.begin(), piece.end());
}

}  // namespace

std::vector<Bytes> gdb_seeds() {
  std::vector<Bytes> seeds(2);
  for (const char* request : {"qSupported:xmlRegisters=i386", "?", "Hg0", "g", "p25", "p1f",
                              "P25=00000080", "m80000000,40", "M80000100,4:0d000000", "c"})
    add(seeds[0], packet(request));
  add(seeds[0], "\x03");
  add(seeds[0], "-");
  add(seeds[1], packet("qAttached") + "+" + packet("s"));
  add(seeds[1], packet("m0,7ff").substr(0, 5), 3);
  add(seeds[1], packet("G" + std::string(8 * debug::kRegisters, '0')).substr(0, 255));
  add(seeds[1], packet("D"), 2);
  return seeds;
}

void fuzz_gdb(const uint8_t* data, size_t size) {
  Processor processor;
  debug::ProcessorDebugger debugger(processor);
  debug::GdbSession session(debugger);
  for (Reader in(data, size); !in.empty() && !session.ended();) {
    processor.behave(in.take<uint8_t>());
    const Bytes piece = in.bytes(in.take<uint8_t>());
    const std::string answer = session.receive(std::string(piece.begin(), piece.end()));
    // Each payload has a frame around it, and none is longer than GDB was told.
    if (std::count(answer.begin(), answer.end(), '$') !=
        std::count(answer.begin(), answer.end(), '#'))
      found("an answer that is no packet: " + answer);
    session.look();
  }
}

}  // namespace exrnic::fuzz
