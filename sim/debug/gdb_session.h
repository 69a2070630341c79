// SPDX-License-Identifier: BSD-2-Clause
// One debugger at the on-chip processor: what GDB asks for, and what it is told. Bytes in, bytes
// out; sockets are gdb_server's.
//
// Registers and memory are little-endian, as the processor. Breakpoints are BREAK instructions that
// GDB writes into memory. Threads: none. A processor that is held, or fails, while it is debugged
// ends the session: GDB is told that the program has exited.
#pragma once

#include <string>
#include <string_view>

#include "sim/debug/gdb_packets.h"
#include "sim/debug/processor_debugger.h"

namespace exrnic::debug {

class GdbSession {
 public:
  // The processor is asked to halt.
  explicit GdbSession(ProcessorDebugger& processor);

  // What comes of bytes that GDB has sent.
  std::string receive(std::string_view bytes);
  // While the processor runs: what GDB is to be told now; mostly nothing. For every moment at which
  // it may have halted.
  std::string look();

  bool running() const { return running_; }
  bool ended() const { return ended_; }  // there is nothing more to tell

 private:
  std::string answer(const std::string& payload);
  std::string handle(std::string_view request);
  std::string read_registers();
  std::string write_registers(std::string_view digits);
  std::string read_register(std::string_view request);
  std::string write_register(std::string_view request);
  std::string read_memory(std::string_view request);
  std::string write_memory(std::string_view request);
  void go_on(std::string_view request, bool one_step);
  void end();

  ProcessorDebugger& processor_;
  PacketReader reader_;
  std::string last_;      // the last answer, framed
  bool running_ = false;  // until it halts, GDB waits
  bool asked_ = false;    // by Ctrl-C
  bool ended_ = false;
};

}  // namespace exrnic::debug
