// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/tiles/firmware/cpu/random_program.h"

#include <cstring>
#include <iterator>
#include <random>
#include <string>

#include "rtl-model/tiles/firmware/cpu/mips.h"

namespace exrnic::testing {
namespace {

using mips::Form;
using mips::Instruction;

constexpr uint32_t kText = 0x1000;
constexpr uint32_t kTextEnd = 0x9000;
constexpr uint32_t kData = 0xc000;  // register 28; 16 bits of offset around it must hit data only
constexpr int kReach = 0x2000;
constexpr uint32_t kAt = 1, kK0 = 26, kK1 = 27, kGp = 28, kBack = 30, kRa = 31;
constexpr uint32_t kSegment = 0x80000000;

class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed), image_(mips::kMemoryBytes) {}

  std::vector<uint8_t> image() {
    for (uint8_t& byte : image_) byte = static_cast<uint8_t>(random_());
    at_ = 0;
    put("j", {.imm = kText / 4});
    put_nop();
    at_ = 0x80;
    handler();
    at_ = kText;
    prologue();
    while (at_ < kTextEnd - 0x100) something();
    put("j", {.imm = kText / 4});
    put_nop();
    return image_;
  }

 private:
  struct Fields {
    uint32_t rs = 0, rt = 0, rd = 0, imm = 0;
  };

  void word(uint32_t value) {
    std::memcpy(&image_.at(at_), &value, sizeof value);
    at_ += 4;
  }
  void put(const std::string& name, const Fields& fields) {
    word(mips::encode(mips::by_name(name), {fields.rs, fields.rt, fields.rd, fields.imm}));
  }
  void put_nop() { word(0); }

  uint32_t below(uint32_t bound) {
    return std::uniform_int_distribution<uint32_t>(0, bound - 1)(random_);
  }
  bool one_in(uint32_t n) { return below(n) == 0; }

  // Sources are any; what a random instruction writes must not be a register with a meaning.
  uint32_t source() { return one_in(4) ? below(32) : 1 + below(8); }
  uint32_t target() {
    const uint32_t number = one_in(4) ? below(32) : 1 + below(8);
    return number == kK0 || number == kK1 || number == kGp || number == kBack ? 2 : number;
  }
  uint32_t immediate() {
    static constexpr uint32_t kEdges[] = {0, 1, 0x7fff, 0x8000, 0xffff, 4};
    return one_in(3) ? kEdges[below(6)] : below(0x10000);
  }

  // Goes on behind the instruction that failed, or at register 30 if the jump there was bad. An
  // interrupt goes back to where it came from.
  void handler() {
    put("mfc0", {.rt = kK0, .rd = mips::kCause});
    put("mtc0", {.rt = 0, .rd = mips::kCause});  // an interrupt of software is over
    put("mfc0", {.rt = kK1, .rd = mips::kEpc});
    put("andi", {.rs = kK0, .rt = kK0, .imm = 0x7c});
    put("beq", {.rs = kK0, .rt = 0, .imm = 12});  // interrupt: back
    put_nop();
    put("mfc0", {.rt = kK0, .rd = mips::kCause});
    put("bgez", {.rs = kK0, .imm = 2});
    put("addiu", {.rs = kK1, .rt = kK1, .imm = 4});
    put("addiu", {.rs = kK1, .rt = kK1, .imm = 4});  // in a delay slot: behind that
    put("srl", {.rt = kK1, .rd = kK0, .imm = 16});
    put("xori", {.rs = kK0, .rt = kK0, .imm = kSegment >> 16});
    put("bne", {.rs = kK0, .rt = 0, .imm = 3});  // a jump to nowhere
    put("andi", {.rs = kK1, .rt = kK0, .imm = 3});
    put("beq", {.rs = kK0, .rt = 0, .imm = 2});
    put_nop();
    put("addu", {.rs = kBack, .rt = 0, .rd = kK1});
    put("jr", {.rs = kK1});
    put("rfe", {});
  }

  void prologue() {
    for (uint32_t number = 1; number < 32; ++number) constant(number, random_());
    constant(kGp, kSegment | kData);
    constant(kBack, kSegment | kText);
    constant(kAt, 0xff01);
    put("mtc0", {.rt = kAt, .rd = mips::kStatus});
  }
  void constant(uint32_t number, uint32_t value) {
    put("lui", {.rt = number, .imm = value >> 16});
    put("ori", {.rs = number, .rt = number, .imm = value & 0xffff});
  }

  void something() {
    switch (below(24)) {
      case 0:
        return fault();
      case 1:
        return system_move();
      case 2:
        return jump();
      case 3:
        return bad_jump();
      case 4:
      case 5:
        return branch();
      case 6:
        return soft_interrupt();
      case 7:
        return divide();
      default:
        return plain();
    }
  }

  // Anything that may stand in a delay slot.
  void plain() {
    for (;;) {
      const Instruction& instruction = mips::instructions()[below(mips::instructions().size())];
      Fields fields{source(), source(), target(), immediate()};
      switch (instruction.form) {
        case Form::kThree:
        case Form::kShift:
        case Form::kFrom:
        case Form::kTo:
          break;
        case Form::kMulDiv:
          if (instruction.name[0] == 'd') continue;  // see divide()
          break;
        case Form::kImmediate:
        case Form::kUpper:
          fields.rt = target();
          break;
        case Form::kLoad:
        case Form::kStore:
          if (instruction.form == Form::kLoad) fields.rt = target();
          fields.rs = kGp;
          fields.imm = static_cast<uint32_t>(static_cast<int>(below(2 * kReach)) - kReach);
          if (!one_in(16)) fields.imm &= ~3u;
          break;
        default:
          continue;
      }
      return word(mips::encode(instruction, {fields.rs, fields.rt, fields.rd, fields.imm}));
    }
  }

  // Not in a delay slot: division by zero is done by hand in the independent model.
  void divide() { put(one_in(2) ? "div" : "divu", {.rs = source(), .rt = source()}); }

  void branch() {
    static const char* kNames[] = {"beq",  "bne",  "blez",   "bgtz",
                                   "bltz", "bgez", "bltzal", "bgezal"};
    const uint32_t distance = 1 + below(12);
    const char* name = kNames[below(8)];
    const bool links = std::strlen(name) == 6;
    put(name, {.rs = links ? 1 + below(8) : source(), .rt = source(), .imm = distance});
    plain();
    for (uint32_t i = 1; i < distance; ++i) plain();
  }

  void jump() {
    const uint32_t distance = 1 + below(6);
    const uint32_t destination = at_ + 4 + 4 * distance;
    switch (below(4)) {
      case 0:
        put("j", {.imm = destination / 4});
        break;
      case 1:
        put("jal", {.imm = destination / 4});
        break;
      case 2:
        constant(kAt, kSegment | (destination + 8));
        put("jr", {.rs = kAt});
        break;
      default:
        constant(kAt, kSegment | (destination + 8));
        put("jalr", {.rs = kAt, .rd = one_in(2) ? kRa : 2});
        break;
    }
    plain();
    for (uint32_t i = 1; i < distance; ++i) plain();
  }

  void bad_jump() {
    static constexpr uint32_t kNowhere[] = {0x80010000, 0x9ffffffc, 0x80001002, 0x80001001};
    constant(kBack, kSegment | (at_ + 24));
    constant(kAt, kNowhere[below(4)]);
    put("jr", {.rs = kAt});
    put_nop();
  }

  void fault() {
    static constexpr uint32_t kReserved[] = {0x0000003f, 0x04040000, 0x0000003e, 0x7c000000,
                                             0x60000000, 0xfc000000, 0x40200000, 0x0000003c,
                                             0x68000000, 0x9c000000};
    static constexpr uint32_t kMoves[] = {17, 18, 19};          // to and from coprocessors 1 to 3
    static constexpr uint32_t kTransfers[] = {49, 50, 57, 58};  // loads and stores of theirs
    static constexpr uint32_t kElsewhere[] = {0x80010000, 0x9fff0000, 0xa0010000, 0xbfff0000};
    switch (below(9)) {
      case 0:
        return put("syscall", {});
      case 1:
        return put("break", {});
      case 2:
        return word(kMoves[below(3)] << 26 | below(2) << 23 | source() << 16 | source() << 11);
      case 6:
        constant(kAt, 0x7fffff00 + below(0x200));
        return put("add", {.rs = kAt, .rt = kAt, .rd = 2});
      case 7:
        constant(kAt, 0x80000000 + below(0x100));
        return put("addi", {.rs = kAt, .rt = kAt, .imm = 0xff80});
      case 5:
        return word(kTransfers[below(4)] << 26 | below(1 << 26));
      case 3:
        return word(kReserved[below(std::size(kReserved))]);
      case 4:
        constant(kAt, kElsewhere[below(4)]);
        return put(one_in(2) ? "lw" : "sw", {.rs = kAt, .rt = 3, .imm = 4 * below(16)});
      default:  // the data by an address of another segment
        constant(kAt, 0xa0000000 | kData);
        return put(one_in(2) ? "lw" : "sw", {.rs = kAt, .rt = 3, .imm = 4 * below(16)});
    }
  }

  void system_move() {
    static constexpr uint32_t kNumbers[] = {
        0, mips::kBadVAddr, mips::kStatus, mips::kCause, mips::kEpc, mips::kPrid};
    if (one_in(3)) {
      put("ori", {.rs = 0, .rt = kAt, .imm = (below(0x100) << 8) | 1});
      return put("mtc0", {.rt = kAt, .rd = mips::kStatus});
    }
    // Cause is compared without the lines that are raised now, which must not reach memory.
    const uint32_t number = kNumbers[below(6)];
    put("mfc0", {.rt = number == mips::kCause ? 0 : target(), .rd = number});
  }

  void soft_interrupt() {
    put("ori", {.rs = 0, .rt = kAt, .imm = below(4) << 8});
    put("mtc0", {.rt = kAt, .rd = mips::kCause});
    put("mtc0", {.rt = 0, .rd = mips::kCause});
  }

  std::mt19937 random_;
  std::vector<uint8_t> image_;
  uint32_t at_ = 0;
};

}  // namespace

std::vector<uint8_t> random_program(uint32_t seed) { return Generator(seed).image(); }

}  // namespace exrnic::testing
