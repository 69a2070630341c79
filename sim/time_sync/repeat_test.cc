// SPDX-License-Identifier: BSD-2-Clause
// What the plugin does at once must be what iterations do one by one. The vCPU is played: it has
// registers, and memory in pages whose virtual and physical addresses differ.
#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

extern "C" {
#include "plugin/repeat.h"
}

namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kPages = 4;
constexpr uint64_t kKernel = 0xffffffff81000000;  // where the played memory is

struct Vcpu {
  std::map<std::string, uint64_t> registers{{"rax", 0}, {"rcx", 0}, {"rdi", 0}, {"rsi", 0}};
  std::vector<uint8_t> memory = std::vector<uint8_t>(kPages * kPage);  // by physical address

  bool operator==(const Vcpu& other) const {
    return registers == other.registers && memory == other.memory;
  }
};

Vcpu vcpu;

}  // namespace

// QEMU's side, and GLib's.
struct qemu_plugin_register {
  std::string name;
};

namespace {

std::array<qemu_plugin_register, 4> handles{{{"rax"}, {"rcx"}, {"rdi"}, {"rsi"}}};

std::vector<uint8_t>& Storage(GByteArray* array) {
  static std::map<GByteArray*, std::vector<uint8_t>> all;
  return all[array];
}

}  // namespace

extern "C" {

GByteArray* g_byte_array_new() {
  static std::array<GByteArray, 2> arrays;
  static size_t used = 0;
  return &arrays.at(used++ % arrays.size());
}

GByteArray* g_byte_array_set_size(GByteArray* array, unsigned length) {
  Storage(array).resize(length);
  *array = {Storage(array).data(), length};
  return array;
}

unsigned g_array_get_element_size(GArray*) { return sizeof(qemu_plugin_reg_descriptor); }

char* g_array_free(GArray*, int) { return nullptr; }

GArray* qemu_plugin_get_registers() {
  static std::array<qemu_plugin_reg_descriptor, handles.size()> descriptors;
  for (size_t i = 0; i < handles.size(); ++i)
    descriptors[i] = {&handles[i], handles[i].name.c_str()};
  static GArray array{reinterpret_cast<char*>(descriptors.data()), descriptors.size()};
  return &array;
}

void qemu_plugin_read_register(qemu_plugin_register* from, GByteArray* to) {
  const uint64_t value = vcpu.registers.at(from->name);
  const unsigned length = to->len;
  g_byte_array_set_size(to, length + sizeof value);
  memcpy(to->data + length, &value, sizeof value);
}

void qemu_plugin_write_register(qemu_plugin_register* to, GByteArray* from) {
  memcpy(&vcpu.registers.at(to->name), from->data, sizeof(uint64_t));
}

void qemu_plugin_read_memory_hwaddr(uint64_t address, GByteArray* to, size_t length) {
  g_byte_array_set_size(to, length);
  memcpy(to->data, &vcpu.memory.at(address), length);
}

void qemu_plugin_write_memory_hwaddr(uint64_t address, GByteArray* from) {
  memcpy(&vcpu.memory.at(address), from->data, from->len);
}
}

namespace {

struct Instruction {
  std::array<uint8_t, REPEAT_LONGEST_CODE> code;
  uint64_t size;
  bool moves;
};

const std::vector<Instruction> kInstructions = {
    {{0xf3, 0xaa}, 1, false}, {{0xf3, 0xab}, 4, false}, {{0xf3, 0x48, 0xab}, 8, false},
    {{0xf3, 0xa4}, 1, true},  {{0xf3, 0xa5}, 4, true},  {{0xf3, 0x48, 0xa5}, 8, true},
};

// One after the other in virtual memory, not in physical memory; the last two are the same page.
uint64_t Physical(uint64_t address) {
  constexpr std::array<uint64_t, kPages> kPlaces = {2, 0, 3, 3};
  const uint64_t offset = address - kKernel;
  return kPlaces.at(offset / kPage) * kPage + offset % kPage;
}

struct Settings {
  uint64_t base = kKernel;  // of the memory that instructions name by their registers
  int64_t direction = 1;
  uint64_t room = UINT64_MAX;
};

// An iteration as QEMU runs it. One on two pages is told with its first byte.
void Step(const Instruction& instruction, const Settings& settings, repeat_kind kind,
          uint64_t executed) {
  auto& registers = vcpu.registers;
  const auto place = [&](const char* name) { return registers[name] - settings.base + kKernel; };
  std::array<uint8_t, 8> value{};
  const uint64_t step = instruction.size * static_cast<uint64_t>(settings.direction);
  memcpy(value.data(), &registers["rax"], value.size());
  if (instruction.moves) {
    const uint64_t from = place("rsi");
    for (uint64_t i = 0; i < instruction.size; ++i) value[i] = vcpu.memory.at(Physical(from + i));
    if (kind != 0) repeat_saw(kind, false, from, Physical(from), executed);
    registers["rsi"] += step;
  }
  const uint64_t to = place("rdi");
  for (uint64_t i = 0; i < instruction.size; ++i) vcpu.memory.at(Physical(to + i)) = value[i];
  if (kind != 0) repeat_saw(kind, true, to, Physical(to), executed);
  registers["rdi"] += step;
  --registers["rcx"];
}

struct Run {
  uint64_t executed = 0;
  uint64_t at_once = 0;
};

// As the plugin does it, or with `kind` 0 iteration by iteration.
Run Repeat(const Instruction& instruction, const Settings& settings, repeat_kind kind) {
  Run run;
  for (;;) {
    ++run.executed;
    const uint64_t count =
        kind == 0 ? 0 : std::min(repeat_possible(kind, run.executed), settings.room);
    if (count > 0) repeat_at_once(kind, count);
    run.executed += count;
    run.at_once += count;
    if (vcpu.registers["rcx"] == 0) return run;
    Step(instruction, settings, kind, run.executed);
  }
}

// Both ways from the same start. Returns what was done at once.
uint64_t Compare(const Instruction& instruction, const Vcpu& start, const Settings& settings = {}) {
  const repeat_kind kind = repeat_of(instruction.code.data());
  REQUIRE(kind != 0);
  vcpu = start;
  const Run one_by_one = Repeat(instruction, settings, 0);
  const Vcpu expected = vcpu;
  vcpu = start;
  repeat_forget();
  const Run at_once = Repeat(instruction, settings, kind);
  CHECK(vcpu == expected);
  CHECK(at_once.executed == one_by_one.executed);
  return at_once.at_once;
}

Vcpu Start(uint64_t rcx, uint64_t rdi, uint64_t rsi = kKernel) {
  Vcpu start;
  for (size_t i = 0; i < start.memory.size(); ++i)
    start.memory[i] = static_cast<uint8_t>(i * 7 + i / 251);
  start.registers = {{"rax", 0x1122334455667788}, {"rcx", rcx}, {"rdi", rdi}, {"rsi", rsi}};
  return start;
}

const Instruction& kFillBytes = kInstructions[0];
const Instruction& kCopyBytes = kInstructions[3];

bool started = repeat_start();

}  // namespace

TEST_CASE("what is done at once leaves memory, registers and time as iterations do") {
  REQUIRE(started);
  std::mt19937_64 random(1);
  uint64_t at_once = 0;
  for (int i = 0; i < 3000; ++i) {
    const Instruction& instruction = kInstructions[random() % kInstructions.size()];
    Settings settings;
    if (random() % 4 == 0) settings.room = random() % 100;
    const uint64_t count = random() % (3 * kPage / 2 / instruction.size);
    const uint64_t last = kPages * kPage - count * instruction.size;
    // Every second one has elements on two pages.
    const uint64_t aligned = i % 2 == 0 ? 8 : 1;
    const auto place = [&] { return kKernel + random() % last / aligned * aligned; };
    at_once += Compare(instruction, Start(count, place(), place()), settings);
  }
  CHECK(at_once > 0);
}

TEST_CASE("all but the first and the last iteration in a page are done at once") {
  CHECK(Compare(kFillBytes, Start(1000, kKernel)) == 998);
  CHECK(Compare(kCopyBytes, Start(1000, kKernel, kKernel + kPage)) == 998);
  CHECK(Compare(kFillBytes, Start(2 * kPage, kKernel)) == 2 * kPage - 3);
}

TEST_CASE("no iteration is done at once that would be done otherwise") {
  Settings settings;
  SECTION("towards lower addresses") {
    settings.direction = -1;
    CHECK(Compare(kFillBytes, Start(1000, kKernel + 2000), settings) == 0);
  }
  SECTION("in a segment") {
    settings.base = 0x10000;
    CHECK(Compare(kFillBytes, Start(1000, 0x10000), settings) == 0);
  }
  SECTION("to bytes that a later iteration loads") {
    CHECK(Compare(kCopyBytes, Start(1000, kKernel + 1, kKernel)) == 0);
  }
  SECTION("to bytes that a later iteration loads from another page of the same memory") {
    CHECK(Compare(kCopyBytes, Start(1000, kKernel + 2 * kPage + 1, kKernel + 3 * kPage)) == 0);
  }
}

TEST_CASE("nothing is done at once unless an iteration to memory ran just before") {
  const repeat_kind kind = repeat_of(kFillBytes.code.data());
  const uint64_t next = kKernel + 1;
  vcpu = Start(1000, next);
  repeat_forget();
  CHECK(repeat_possible(kind, 8) == 0);  // none, or one to a device
  repeat_saw(kind, true, kKernel, Physical(kKernel), 7);
  SECTION("it did") { CHECK(repeat_possible(kind, 8) == 999); }
  SECTION("other instructions ran since") { CHECK(repeat_possible(kind, 9) == 0); }
  SECTION("instructions are counted anew since") {
    repeat_forget();
    CHECK(repeat_possible(kind, 8) == 0);
  }
  SECTION("it was of another instruction") {
    CHECK(repeat_possible(repeat_of(kInstructions[1].code.data()), 8) == 0);
  }
}

TEST_CASE("a copy is not done at once when one of its sides is a device") {
  const repeat_kind kind = repeat_of(kCopyBytes.code.data());
  vcpu = Start(1000, kKernel + 1, kKernel + kPage + 1);
  const bool store = GENERATE(false, true);
  const uint64_t side = store ? kKernel : kKernel + kPage;
  repeat_forget();
  repeat_saw(kind, store, side, Physical(side), 7);
  CHECK(repeat_possible(kind, 8) == 0);
}

TEST_CASE("code that is not of 64 bits is left to QEMU") {
  const repeat_kind kind = repeat_of(kFillBytes.code.data());
  vcpu = Start(1000, 0x7fff0001);
  repeat_forget();
  repeat_saw(kind, true, 0x7fff0000, 0, 7);
  CHECK(repeat_possible(kind, 8) == 0);
}

TEST_CASE("only REP STOS and REP MOVS of whole registers are done at once") {
  for (const std::array<uint8_t, REPEAT_LONGEST_CODE>& code :
       std::vector<std::array<uint8_t, REPEAT_LONGEST_CODE>>{{0xaa},
                                                             {0xf2, 0xaa},
                                                             {0x66, 0xf3, 0xab},
                                                             {0xf3, 0x66, 0xab},
                                                             {0xf3, 0x67, 0xaa},
                                                             {0xf3, 0xac},
                                                             {0xf3, 0x6c},
                                                             {0xf3, 0x90}}) {
    CHECK(repeat_of(code.data()) == 0);
  }
}
