// SPDX-License-Identifier: BSD-2-Clause
// The processor with real firmware, as the driver meets it.
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <random>

#include "Vprocessor.h"
#include "exrnic_hw.h"
#include "firmware/image/firmware_image.h"
#include "firmware/test/faulty.h"
#include "rtl-model/testing/bench.h"
#include "sim/debug/processor_debugger.h"

namespace exrnic::testing {
namespace {

constexpr int kStartLimit = 20'000;
constexpr int kCommandLimit = 20'000;
constexpr uint32_t kException = EXRNIC_FW_FAULT_EXCEPTION << 16;

class Processor : public Bench<Vprocessor> {
 public:
  Processor() {
    dut().valid_i = 0;
    dut().time_i = 0;
    reset();
  }
  void cycle() override {
    dut().time_i = begin_of_time + 4 * static_cast<uint64_t>(cycles());
    Bench::cycle();
    if (dut().irq_o) ++interrupts;
    if (dut().failed_o) ++failures;
  }

  void store(uint32_t reg, uint32_t value) { access(reg, true, value); }
  uint32_t load(uint32_t reg) {
    access(reg, false, ~0u);
    if (!dut().rsp_valid_o) throw std::runtime_error("a load was not answered in the next cycle");
    return dut().rsp_data_o;
  }

  void load_image(const std::vector<uint32_t>& payload) {
    store(EXRNIC_REG_FW_CONTROL, 0);
    store(EXRNIC_REG_FW_ADDRESS, 0);
    for (const uint32_t word : payload) store(EXRNIC_REG_FW_DATA, word);
  }
  void start(const std::vector<uint32_t>& payload) {
    load_image(payload);
    store(EXRNIC_REG_FW_CONTROL, EXRNIC_FW_CONTROL_RUN);
    wait_for_state(EXRNIC_FW_STATE_READY);
    wait_for("the processor to doze", kStartLimit, [&] { return dut().idle_o != 0; });
  }
  void wait_for_state(uint32_t state) {
    wait_for("firmware state " + std::to_string(state), kStartLimit,
             [&] { return load(EXRNIC_REG_FW_STATE) == state; });
  }
  uint32_t command(uint32_t op) {
    store(EXRNIC_REG_FW_COMMAND, op);
    wait_for("a command to firmware", kCommandLimit,
             [&] { return load(EXRNIC_REG_FW_COMMAND_STATUS) != EXRNIC_FW_STATUS_BUSY; });
    return load(EXRNIC_REG_FW_COMMAND_STATUS);
  }
  exrnic_fw_info info() {
    exrnic_fw_info info;
    for (uint32_t i = 0; i < sizeof info / 4; ++i) {
      const uint32_t word = load(EXRNIC_REG_FW_WORDS + 4 * i);
      std::memcpy(reinterpret_cast<char*>(&info) + 4 * i, &word, 4);
    }
    return info;
  }

  // After the answer to the last load is gone.
  bool rests() {
    cycle();
    return dut().idle_o != 0;
  }

  int interrupts = 0;
  int failures = 0;
  uint64_t begin_of_time = 0;

 private:
  void access(uint32_t reg, bool write, uint32_t value) {
    dut().valid_i = 1;
    dut().write_i = write;
    dut().word_i = 1;
    dut().address_i = static_cast<uint16_t>(reg);
    dut().data_i = value;
    cycle();
    dut().valid_i = 0;
    settle();
  }
};

const FirmwareImage& firmware() {
  static const FirmwareImage image = read_firmware_image(EXRNIC_FIRMWARE);
  return image;
}
const FirmwareImage& faulty_firmware() {
  static const FirmwareImage image = read_firmware_image(EXRNIC_FAULTY_FIRMWARE);
  return image;
}

TEST_CASE("firmware starts, says its version, and rests") {
  Processor processor;
  processor.start(firmware().payload);
  CHECK(firmware().head.magic == EXRNIC_FW_IMAGE_MAGIC);
  CHECK(processor.load(EXRNIC_REG_FW_VERSION) == firmware().head.version);
  CHECK(processor.load(EXRNIC_REG_FW_CONTROL) == EXRNIC_FW_CONTROL_RUN);
  for (int i = 0; i < 1000; ++i) processor.cycle();
  CHECK(processor.rests());
}

TEST_CASE("a command is answered, with an interrupt, and the processor rests again") {
  Processor processor;
  processor.start(firmware().payload);
  const uint64_t before = static_cast<uint64_t>(processor.cycles());
  for (int i = 0; i < 5000; ++i) processor.cycle();
  REQUIRE(processor.command(EXRNIC_FW_OP_QUERY) == EXRNIC_FW_STATUS_OK);
  const exrnic_fw_info info = processor.info();
  CHECK(info.version == firmware().head.version);
  CHECK(info.commands == 0);
  CHECK(info.uptime_ns >= 4 * 5000);
  CHECK(info.uptime_ns <= 4 * (static_cast<uint64_t>(processor.cycles()) - before + kStartLimit));
  CHECK(info.memory_used >= firmware().head.length);
  CHECK(info.stack_used > 0);
  CHECK(info.stack_used < 4096);
  CHECK(processor.interrupts == 1);
  processor.wait_for("the processor to doze", kCommandLimit,
                     [&] { return processor.dut().idle_o != 0; });
}

TEST_CASE("an unknown command is refused, and the next one served") {
  Processor processor;
  processor.start(firmware().payload);
  CHECK(processor.command(0xff) == EXRNIC_FW_STATUS_BAD_OPCODE);
  CHECK(processor.command(EXRNIC_FW_OP_QUERY) == EXRNIC_FW_STATUS_OK);
  CHECK(processor.info().commands == 1);
}

TEST_CASE("memory cannot be written, and nothing started twice, while the processor runs") {
  Processor processor;
  processor.start(firmware().payload);
  processor.store(EXRNIC_REG_FW_ADDRESS, 0);
  for (int i = 0; i < 256; ++i) processor.store(EXRNIC_REG_FW_DATA, 0);
  processor.store(EXRNIC_REG_FW_CONTROL, EXRNIC_FW_CONTROL_RUN);
  CHECK(processor.load(EXRNIC_REG_FW_STATE) == EXRNIC_FW_STATE_READY);
  CHECK(processor.command(EXRNIC_FW_OP_QUERY) == EXRNIC_FW_STATUS_OK);
}

TEST_CASE("a command to a processor that is not ready is ignored") {
  Processor processor;
  processor.store(EXRNIC_REG_FW_COMMAND, EXRNIC_FW_OP_QUERY);
  CHECK(processor.load(EXRNIC_REG_FW_COMMAND_STATUS) == EXRNIC_FW_STATUS_OK);
  CHECK(processor.rests());
}

TEST_CASE("what firmware does wrong stops it, says why and where, and it can be started again") {
  struct Case {
    uint32_t how;
    uint32_t fault;
  };
  const Case cases[] = {
      {FAULTY_LOAD_NOWHERE, kException | 7},         {FAULTY_STORE_UNALIGNED, kException | 5},
      {FAULTY_JUMP_OUTSIDE, kException | 6},         {FAULTY_READ_WRITE_ONLY, kException | 7},
      {FAULTY_SPIN, EXRNIC_FW_FAULT_WATCHDOG << 16},
  };
  Processor processor;
  for (const Case& one : cases) {
    INFO("faulty_main.c told " << one.how);
    processor.start(faulty_firmware().payload);
    CHECK(processor.command(FAULTY_NOT) == EXRNIC_FW_STATUS_OK);
    processor.failures = 0;
    CHECK(processor.command(one.how) == EXRNIC_FW_STATUS_FAILED);
    CHECK(processor.failures == 1);
    CHECK(processor.load(EXRNIC_REG_FW_STATE) == EXRNIC_FW_STATE_FAILED);
    CHECK(processor.load(EXRNIC_REG_FW_FAULT) == one.fault);
    CHECK(processor.load(EXRNIC_REG_FW_FAULT_PC) >= 0x80000000);
    CHECK(processor.rests());
    processor.start(firmware().payload);
    CHECK(processor.load(EXRNIC_REG_FW_FAULT) == EXRNIC_FW_FAULT_NONE);
    CHECK(processor.command(EXRNIC_FW_OP_QUERY) == EXRNIC_FW_STATUS_OK);
  }
}

TEST_CASE("an assertion leaves line and source file, which the image can name") {
  Processor processor;
  processor.start(faulty_firmware().payload);
  CHECK(processor.command(FAULTY_ASSERT) == EXRNIC_FW_STATUS_FAILED);
  const uint32_t fault = processor.load(EXRNIC_REG_FW_FAULT);
  CHECK(fault >> 16 == EXRNIC_FW_FAULT_ASSERTION);
  CHECK((fault & 0xffff) > 0);
  const uint32_t place = processor.load(EXRNIC_REG_FW_FAULT_FILE) & 0xffff;
  REQUIRE(place < faulty_firmware().head.length);
  const char* bytes = reinterpret_cast<const char*>(faulty_firmware().payload.data());
  CHECK(std::string(bytes + place) == "faulty_main.c");
}

// faulty_main.c, which does as it is told.
struct Raising : Processor {
  Raising() { start(faulty_firmware().payload); }
  uint32_t raise(uint32_t times) {
    store(EXRNIC_REG_FW_WORDS, times);
    return command(FAULTY_RAISE);
  }
  uint32_t raised() { return load(EXRNIC_REG_FW_RAISED); }
};
constexpr uint32_t kAllChannels = (1u << EXRNIC_FW_CHANNELS) - 1;

TEST_CASE(
    "firmware that wakes processes interrupts each time, and says whose until that is cleared") {
  Raising processor;
  CHECK(processor.raised() == 0);
  REQUIRE(processor.raise(1) == EXRNIC_FW_STATUS_OK);
  CHECK(processor.interrupts == 2);  // the other one: the command's
  CHECK(processor.raised() == kAllChannels);
  CHECK(processor.raised() == kAllChannels);  // a read takes nothing
  processor.store(EXRNIC_REG_FW_RAISED, 0xfffffff5);
  CHECK(processor.raised() == (kAllChannels & ~5u));
  REQUIRE(processor.raise(3) == EXRNIC_FW_STATUS_OK);
  CHECK(processor.interrupts == 6);  // also for bits that are set
  CHECK(processor.raised() == kAllChannels);
  CHECK(processor.rests());
}

TEST_CASE("what firmware raises in the cycle in which the driver clears stays, and interrupts") {
  Raising processor;
  processor.store(EXRNIC_REG_FW_WORDS, 100);
  processor.store(EXRNIC_REG_FW_COMMAND, FAULTY_RAISE);
  int together = 0;
  for (int i = 0; i < 3000 && processor.interrupts < 100; ++i) {
    const int before = processor.interrupts;
    processor.store(EXRNIC_REG_FW_RAISED, kAllChannels);  // in each cycle
    if (processor.interrupts == before) continue;
    ++together;
    CHECK(processor.raised() == kAllChannels);
  }
  CHECK(together > 10);
}

TEST_CASE("whom firmware wakes is not forgotten when it is held") {
  Raising processor;
  REQUIRE(processor.raise(1) == EXRNIC_FW_STATUS_OK);
  processor.store(EXRNIC_REG_FW_CONTROL, 0);
  CHECK(processor.raised() == kAllChannels);
  processor.start(firmware().payload);
  CHECK(processor.raised() == kAllChannels);
  processor.store(EXRNIC_REG_FW_RAISED, ~0u);
  CHECK(processor.raised() == 0);
}

TEST_CASE("the driver can hold a processor that is in the middle of a command") {
  Processor processor;
  processor.start(faulty_firmware().payload);
  processor.store(EXRNIC_REG_FW_COMMAND, FAULTY_SPIN);
  for (int i = 0; i < 100; ++i) processor.cycle();
  processor.store(EXRNIC_REG_FW_CONTROL, 0);
  CHECK(processor.load(EXRNIC_REG_FW_STATE) == EXRNIC_FW_STATE_HELD);
  CHECK(processor.load(EXRNIC_REG_FW_CONTROL) == 0);
  CHECK(processor.load(EXRNIC_REG_FW_COMMAND_STATUS) == EXRNIC_FW_STATUS_FAILED);
  processor.wait_for("rest", 10, [&] { return processor.dut().idle_o != 0; });
}

TEST_CASE("garbage in place of firmware harms nobody: the next image runs") {
  constexpr uint32_t kSeed = 20261120;
  INFO("seed " << kSeed);
  std::mt19937 random(kSeed);
  Processor processor;
  for (int i = 0; i < 20; ++i) {
    std::vector<uint32_t> garbage(EXRNIC_FW_MEMORY_BYTES / 4);
    for (uint32_t& word : garbage) word = random();
    processor.load_image(garbage);
    processor.store(EXRNIC_REG_FW_CONTROL, EXRNIC_FW_CONTROL_RUN);
    for (int cycle = 0; cycle < 3000; ++cycle) processor.cycle();
    CHECK(processor.load(EXRNIC_REG_FW_MEMORY) == EXRNIC_FW_MEMORY_BYTES);
  }
  processor.start(firmware().payload);
  CHECK(processor.command(EXRNIC_FW_OP_QUERY) == EXRNIC_FW_STATUS_OK);
}

TEST_CASE("garbage in the driver's registers never stops them from answering") {
  constexpr uint32_t kSeed = 4711;
  INFO("seed " << kSeed);
  std::mt19937 random(kSeed);
  Processor processor;
  processor.start(firmware().payload);
  for (int i = 0; i < 20'000; ++i) {
    const uint32_t reg = 0x1000 + 4 * (random() % 64);
    if (random() % 2 == 0) {
      processor.store(reg, random() % 4 == 0 ? random() : random() % 8);
    } else {
      processor.load(reg);
    }
  }
  processor.start(firmware().payload);
  CHECK(processor.command(EXRNIC_FW_OP_QUERY) == EXRNIC_FW_STATUS_OK);
}

// ---- Debugging

class Registers : public debug::FwRegisters {
 public:
  explicit Registers(Processor& processor) : processor_(processor) {}
  uint32_t read(uint32_t offset) override { return processor_.load(offset); }
  void write(uint32_t offset, uint32_t value) override { processor_.store(offset, value); }

 private:
  Processor& processor_;
};

struct Debugged {
  explicit Debugged(Processor& processor)
      : processor(processor), registers(processor), debugger(registers) {}
  void wait_halted() {
    processor.wait_for("the processor to halt", 1000, [&] { return debugger.halted(); });
  }
  void halt() {
    debugger.halt();
    wait_halted();
  }
  uint32_t step() {
    debugger.step();
    wait_halted();
    return debugger.read_register(debug::kPc);
  }
  uint32_t word(uint32_t address) {
    uint32_t value;
    REQUIRE(debugger.load(address, 4, &value));
    return value;
  }

  Processor& processor;
  Registers registers;
  debug::ProcessorDebugger debugger;
};

constexpr uint32_t kMemory = 0x80000000;
constexpr uint32_t kNop = 0, kBreak = 0x0d;
constexpr uint32_t addiu(unsigned rt, unsigned rs, uint32_t imm) {
  return 0x09u << 26 | rs << 21 | rt << 16 | imm;
}
constexpr uint32_t beq(unsigned rs, unsigned rt, uint32_t words) {
  return 0x04u << 26 | rs << 21 | rt << 16 | (words & 0xffff);
}

TEST_CASE("a debugger halts firmware that rests, and lets it go on as if nothing had been") {
  Processor processor;
  processor.start(firmware().payload);
  Debugged gdb(processor);
  REQUIRE(gdb.debugger.runs());
  CHECK_FALSE(gdb.debugger.halted());
  gdb.halt();
  CHECK(processor.rests());
  uint32_t before[debug::kRegisters];
  for (unsigned i = 0; i < debug::kRegisters; ++i) before[i] = gdb.debugger.read_register(i);
  CHECK(before[debug::kPc] >= kMemory);
  CHECK(before[debug::kPc] < kMemory + firmware().head.length);
  for (unsigned i = 0; i < debug::kRegisters; ++i) {
    CHECK(gdb.debugger.read_register(i) == before[i]);
  }
  gdb.debugger.detach();
  CHECK(processor.command(EXRNIC_FW_OP_QUERY) == EXRNIC_FW_STATUS_OK);
}

TEST_CASE("a command waits while a debugger halts the processor, and the watch-dog does not bite") {
  Processor processor;
  processor.start(firmware().payload);
  Debugged gdb(processor);
  gdb.halt();
  processor.store(EXRNIC_REG_FW_COMMAND, EXRNIC_FW_OP_QUERY);
  for (int i = 0; i < 300'000; ++i) processor.cycle();
  CHECK(processor.load(EXRNIC_REG_FW_COMMAND_STATUS) == EXRNIC_FW_STATUS_BUSY);
  CHECK(gdb.debugger.halted());
  gdb.debugger.resume();
  processor.wait_for("the command", kCommandLimit, [&] {
    return processor.load(EXRNIC_REG_FW_COMMAND_STATUS) == EXRNIC_FW_STATUS_OK;
  });
}

TEST_CASE("a debugger steps from the first instruction on, a branch together with its delay slot") {
  Processor processor;
  processor.load_image({addiu(4, 0, 1), beq(0, 0, 2), addiu(5, 4, 1), kNop, addiu(6, 5, 1),
                        beq(0, 0, 0xffff), kNop});
  Debugged gdb(processor);
  gdb.debugger.halt();
  processor.store(EXRNIC_REG_FW_CONTROL, EXRNIC_FW_CONTROL_RUN);
  gdb.wait_halted();
  CHECK(gdb.debugger.read_register(debug::kPc) == kMemory);
  CHECK(gdb.step() == kMemory + 4);
  CHECK(gdb.debugger.read_register(4) == 1);
  CHECK(gdb.step() == kMemory + 16);
  CHECK(gdb.debugger.read_register(5) == 2);
  CHECK(gdb.step() == kMemory + 20);
  CHECK(gdb.debugger.read_register(6) == 3);
  CHECK(gdb.step() == kMemory + 20);  // an endless loop
}

TEST_CASE("BREAK halts in front of itself, and what a debugger writes there is executed instead") {
  Processor processor;
  processor.load_image({addiu(4, 0, 1), kBreak, addiu(4, 4, 1), beq(0, 0, 0xffff), kNop});
  Debugged gdb(processor);
  gdb.debugger.halt();
  processor.store(EXRNIC_REG_FW_CONTROL, EXRNIC_FW_CONTROL_RUN);
  gdb.wait_halted();
  gdb.debugger.resume();
  gdb.wait_halted();
  CHECK(gdb.debugger.read_register(debug::kPc) == kMemory + 4);
  CHECK(gdb.debugger.read_register(4) == 1);
  REQUIRE(gdb.debugger.store(kMemory + 4, 4, addiu(4, 4, 16)));
  CHECK(gdb.step() == kMemory + 8);
  CHECK(gdb.debugger.read_register(4) == 17);
}

TEST_CASE("a debugger reads and writes every register and any byte, and nothing where nothing is") {
  Processor processor;
  processor.load_image({beq(0, 0, 0xffff), kNop});
  Debugged gdb(processor);
  gdb.debugger.halt();
  processor.store(EXRNIC_REG_FW_CONTROL, EXRNIC_FW_CONTROL_RUN);
  gdb.wait_halted();
  const auto value_of = [](unsigned number) { return 0x12340000u * number + 0xfedc + number; };
  for (unsigned i = 1; i < 32; ++i) gdb.debugger.write_register(i, value_of(i));
  gdb.debugger.write_register(debug::kHi, 0x89abcdef);
  gdb.debugger.write_register(debug::kLo, 0x01234567);
  gdb.debugger.write_register(debug::kStatus, 0x400);
  gdb.debugger.write_register(debug::kPc, kMemory + 4);
  CHECK(gdb.debugger.read_register(0) == 0);
  for (unsigned i = 1; i < 32; ++i) CHECK(gdb.debugger.read_register(i) == value_of(i));
  CHECK(gdb.debugger.read_register(debug::kHi) == 0x89abcdef);
  CHECK(gdb.debugger.read_register(debug::kLo) == 0x01234567);
  CHECK(gdb.debugger.read_register(debug::kStatus) == 0x400);
  CHECK(gdb.debugger.read_register(debug::kPc) == kMemory + 4);

  const uint32_t place = kMemory + EXRNIC_FW_MEMORY_BYTES - 4;
  REQUIRE(gdb.debugger.store(place, 4, 0x44332211));
  REQUIRE(gdb.debugger.store(place + 1, 1, 0xaa));
  REQUIRE(gdb.debugger.store(place + 2, 2, 0xccbb));
  CHECK(gdb.word(place) == 0xccbbaa11);
  uint32_t value;
  REQUIRE(gdb.debugger.load(place + 3, 1, &value));
  CHECK(value == 0xcc);
  CHECK_FALSE(gdb.debugger.load(kMemory + EXRNIC_FW_MEMORY_BYTES, 4, &value));
  CHECK_FALSE(gdb.debugger.store(0x90000000, 4, 0));
  for (unsigned i = 1; i < 32; ++i) CHECK(gdb.debugger.read_register(i) == value_of(i));
  CHECK(gdb.step() == kMemory + 8);
}

constexpr uint32_t lui(unsigned rt, uint32_t imm) { return 0x0fu << 26 | rt << 16 | imm; }
constexpr uint32_t lw(unsigned rt, unsigned base, uint32_t offset) {
  return 0x23u << 26 | base << 21 | rt << 16 | offset;
}

// Of a program that ends with BREAK.
void run_to_break(Processor& processor, Debugged& gdb) {
  gdb.debugger.halt();
  processor.store(EXRNIC_REG_FW_CONTROL, EXRNIC_FW_CONTROL_RUN);
  gdb.wait_halted();
  gdb.debugger.resume();
  gdb.wait_halted();
}

TEST_CASE("when the processor begins no line is up") {
  Processor processor;
  processor.load_image({lui(8, EXRNIC_FW_DEVICES >> 16), lw(4, 8, EXRNIC_REG_DEV_LINES), kBreak});
  Debugged gdb(processor);
  run_to_break(processor, gdb);
  CHECK(gdb.debugger.read_register(4) == 0);
}

constexpr uint32_t sw(unsigned rt, unsigned base, uint32_t offset) {
  return 0x2bu << 26 | base << 21 | rt << 16 | offset;
}

TEST_CASE("the timer raises its line when it has run down, and a store to it lowers that") {
  Processor processor;
  std::vector<uint32_t> program = {lui(8, EXRNIC_FW_DEVICES >> 16), addiu(9, 0, 60),
                                   sw(9, 8, EXRNIC_REG_DEV_TIMER)};
  program.insert(program.end(), 10, kNop);
  program.push_back(lw(3, 8, EXRNIC_REG_DEV_LINES));
  program.insert(program.end(), 80, kNop);
  program.insert(program.end(), {lw(4, 8, EXRNIC_REG_DEV_LINES), sw(0, 8, EXRNIC_REG_DEV_TIMER),
                                 lw(5, 8, EXRNIC_REG_DEV_LINES), kBreak});
  processor.load_image(program);
  Debugged gdb(processor);
  run_to_break(processor, gdb);
  CHECK(gdb.debugger.read_register(3) == 0);
  CHECK(gdb.debugger.read_register(4) == 1u << EXRNIC_FW_LINE_TIMER);
  CHECK(gdb.debugger.read_register(5) == 0);
}

TEST_CASE("a processor that runs is not at rest, and has no version but what its firmware says") {
  Processor processor;
  CHECK(processor.load(EXRNIC_REG_FW_VERSION) == 0);
  processor.start(firmware().payload);
  processor.load_image({beq(0, 0, 0xffff), kNop});
  CHECK(processor.rests());
  processor.store(EXRNIC_REG_FW_CONTROL, EXRNIC_FW_CONTROL_RUN);
  CHECK(processor.load(EXRNIC_REG_FW_VERSION) == 0);
  for (int i = 0; i < 100; ++i) {
    processor.cycle();
    CHECK_FALSE(processor.dut().idle_o);
  }
}

TEST_CASE("the watch-dog does not bite a processor that dozes, and bites one that does not") {
  for (const bool dozes : {true, false}) {
    Processor processor;
    std::vector<uint32_t> program = {lui(8, EXRNIC_FW_DEVICES >> 16),
                                     addiu(9, 0, 100),
                                     addiu(10, 0, 500),
                                     sw(10, 8, EXRNIC_REG_DEV_TIMER),
                                     sw(9, 8, EXRNIC_REG_DEV_WATCHDOG),
                                     dozes ? sw(0, 8, EXRNIC_REG_DEV_DOZE) : kNop,
                                     sw(0, 8, EXRNIC_REG_DEV_WATCHDOG)};
    if (!dozes) program.insert(program.end() - 1, 200, kNop);
    program.insert(program.end(), {beq(0, 0, 0xffff), kNop});
    processor.load_image(program);
    processor.store(EXRNIC_REG_FW_CONTROL, EXRNIC_FW_CONTROL_RUN);
    for (int i = 0; i < 1000; ++i) processor.cycle();
    const bool failed = processor.load(EXRNIC_REG_FW_STATE) == EXRNIC_FW_STATE_FAILED;
    CHECK(failed == !dozes);
  }
}

TEST_CASE("the high half of the time is that of the moment at which the low half was loaded") {
  Processor processor;
  std::vector<uint32_t> program = {lui(8, EXRNIC_FW_DEVICES >> 16),
                                   lw(4, 8, EXRNIC_REG_DEV_TIME_LO)};
  program.insert(program.end(), 100, kNop);
  program.push_back(addiu(6, 8, EXRNIC_REG_DEV_TIME_LO));  // its address, which is not loaded
  program.push_back(lw(5, 8, EXRNIC_REG_DEV_TIME_HI));
  program.push_back(kBreak);
  processor.load_image(program);
  Debugged gdb(processor);
  gdb.debugger.halt();
  processor.store(EXRNIC_REG_FW_CONTROL, EXRNIC_FW_CONTROL_RUN);
  gdb.wait_halted();
  constexpr uint64_t kNextHigh = uint64_t{6} << 32;
  processor.begin_of_time = kNextHigh - 4 * (static_cast<uint64_t>(processor.cycles()) + 50);
  gdb.debugger.resume();
  gdb.wait_halted();
  const uint32_t low = gdb.debugger.read_register(4);
  REQUIRE(low >= 0x8000'0000);
  CHECK(gdb.debugger.read_register(5) == 5);
}

TEST_CASE("an interrupt that is pending is taken when a debugger lets the processor go on") {
  Processor processor;
  processor.start(firmware().payload);
  Debugged gdb(processor);
  gdb.halt();
  processor.store(EXRNIC_REG_FW_COMMAND, EXRNIC_FW_OP_QUERY);
  gdb.debugger.write_register(debug::kStatus, 0x401);  // IM[2], IEc
  CHECK(gdb.step() == kMemory + 0x80);
  CHECK((gdb.debugger.read_register(debug::kCause) >> 2 & 0x1f) == 0);
}

}  // namespace
}  // namespace exrnic::testing
