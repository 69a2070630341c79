// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/tiles/firmware/cpu/unicorn_model.h"

#include <fmt/format.h>

#include <cstring>
#include <stdexcept>

#include "rtl-model/tiles/firmware/cpu/mips.h"

namespace exrnic::testing {
namespace {

void require(uc_err error, const char* what) {
  if (error != UC_ERR_OK)
    throw std::runtime_error(fmt::format("Unicorn: {}: {}", what, uc_strerror(error)));
}

// What Unicorn's MIPS target calls its exceptions, as the R3000's codes.
uint32_t code_of(uint32_t number) {
  switch (number) {
    case 12:
      return mips::kAddressLoad;
    case 13:
      return mips::kAddressStore;
    case 17:
      return mips::kSyscall;
    case 18:
      return mips::kBreak;
    case 19:
      return mips::kCoprocessor;
    case 20:
      return mips::kReserved;
    case 21:
      return mips::kOverflow;
    default:
      throw std::runtime_error(fmt::format("Unicorn raised its exception {}", number));
  }
}

// Registers in Unicorn's numbering, for its calls that take many at once.
std::array<int, 32> register_ids() {
  std::array<int, 32> ids{};
  for (int i = 0; i < 32; ++i) ids[i] = UC_MIPS_REG_0 + i;
  return ids;
}

}  // namespace

UnicornModel::UnicornModel(const std::vector<uint8_t>& memory) : pc_(mips::kResetPc) {
  require(
      uc_open(UC_ARCH_MIPS, static_cast<uc_mode>(UC_MODE_MIPS32 | UC_MODE_LITTLE_ENDIAN), &engine_),
      "uc_open");
  require(uc_ctl_set_cpu_model(engine_, UC_CPU_MIPS32_4KC), "uc_ctl_set_cpu_model");
  require(uc_mem_map(engine_, 0, memory.size(), UC_PROT_ALL), "uc_mem_map");
  require(uc_mem_write(engine_, 0, memory.data(), memory.size()), "uc_mem_write");
  const auto hook = [&](int type, auto function) {
    uc_hook handle;
    require(uc_hook_add(engine_, &handle, type, reinterpret_cast<void*>(function), this, 1, 0),
            "uc_hook_add");
  };
  hook(UC_HOOK_CODE, &UnicornModel::on_code);
  hook(UC_HOOK_INTR, &UnicornModel::on_exception);
  hook(UC_HOOK_MEM_UNMAPPED, &UnicornModel::on_unmapped);
  hook(UC_HOOK_MEM_WRITE, &UnicornModel::on_write);
  require(uc_context_alloc(engine_, &clean_), "uc_context_alloc");
  require(uc_context_save(engine_, clean_), "uc_context_save");
}

UnicornModel::~UnicornModel() {
  uc_context_free(clean_);
  uc_close(engine_);
}

std::string UnicornModel::check(const std::vector<Retired>& retired) {
  retired_ = &retired;
  next_ = 0;
  while (next_ < retired.size() && difference_.empty()) {
    stop_ = Stop::kNone;
    resume();
    const uc_err error = uc_emu_start(engine_, pc_, ~uint64_t{0}, 0, 0);
    const bool is_unmapped = error == UC_ERR_READ_UNMAPPED || error == UC_ERR_WRITE_UNMAPPED ||
                             error == UC_ERR_FETCH_UNMAPPED;
    if (!is_unmapped) require(error, "uc_emu_start");
    if (!difference_.empty() || stop_ == Stop::kEnd) break;
    if (stop_ == Stop::kException) {
      expect_exception(retired.at(next_ - 1));
    } else if (stop_ == Stop::kByHand) {
      do_by_hand();
    } else {
      differs("Unicorn stopped");
    }
  }
  return difference_;
}

std::vector<uint8_t> UnicornModel::memory() const {
  std::vector<uint8_t> bytes(mips::kMemoryBytes);
  require(uc_mem_read(engine_, 0, bytes.data(), bytes.size()), "uc_mem_read");
  return bytes;
}

// A branch that was left in its delay slot stays behind in Unicorn's hidden state: go on from a
// clean one, with the registers as they are.
void UnicornModel::resume() {
  std::array<uint32_t, kRegisters> values = expected_;
  uint32_t hi, lo;
  uc_reg_read(engine_, UC_MIPS_REG_HI, &hi);
  uc_reg_read(engine_, UC_MIPS_REG_LO, &lo);
  require(uc_context_restore(engine_, clean_), "uc_context_restore");
  for (int i = 1; i < kRegisters; ++i) uc_reg_write(engine_, UC_MIPS_REG_0 + i, &values[i]);
  uc_reg_write(engine_, UC_MIPS_REG_HI, &hi);
  uc_reg_write(engine_, UC_MIPS_REG_LO, &lo);
}

void UnicornModel::on_code(uc_engine*, uint64_t address, uint32_t, void* self) {
  static_cast<UnicornModel*>(self)->before(static_cast<uint32_t>(address));
}

void UnicornModel::on_exception(uc_engine* engine, uint32_t number, void* self) {
  auto* model = static_cast<UnicornModel*>(self);
  const uint32_t code = code_of(number);
  // Unaligned: no instruction, and no call of on_code.
  if (code == mips::kAddressLoad && model->in_delay_slot_ && model->jump_target_ % 4 != 0)
    model->before(model->jump_target_);
  model->raise(code);
  uc_emu_stop(engine);
}

// The address is the program's in Unicorn 2.0, and in 2.1 the one behind the MMU, which has lost
// the segment: of a fetch the program counter tells.
bool UnicornModel::on_unmapped(uc_engine* engine, uc_mem_type type, uint64_t, int, int64_t,
                               void* self) {
  auto* model = static_cast<UnicornModel*>(self);
  if (type == UC_MEM_FETCH_UNMAPPED) {
    uint32_t pc = 0;
    uc_reg_read(engine, UC_MIPS_REG_PC, &pc);
    model->before(pc);  // no instruction: no call of on_code
    model->raise(mips::kBusFetch);
  } else {
    model->raise(mips::kBusData);
  }
  return false;
}

void UnicornModel::on_write(uc_engine*, uc_mem_type, uint64_t, int, int64_t, void* self) {
  static_cast<UnicornModel*>(self)->wrote_ = true;
}

// Called before each instruction: all before it have ended.
void UnicornModel::before(uint32_t pc) {
  if (stop_ != Stop::kNone) return;
  compare_registers();
  compare_store();
  if (next_ == retired_->size() || !difference_.empty()) {
    pc_ = pc;
    stop_ = Stop::kEnd;
    uc_emu_stop(engine_);
    return;
  }
  const Retired& record = (*retired_)[next_];
  if (record.pc != pc) {
    differs(fmt::format("pc {:08x}, Unicorn is at {:08x}", record.pc, pc));
    uc_emu_stop(engine_);
    return;
  }
  in_delay_slot_ = next_ > 0 && !(*retired_)[next_ - 1].is_exception &&
                   mips::is_branch((*retired_)[next_ - 1].instruction);
  pc_ = pc;
  ++next_;
  if (needs_hand(record)) {
    stop_ = Stop::kByHand;
    uc_emu_stop(engine_);
    return;
  }
  if (!record.is_exception) note_executed(record.instruction);
  if (record.rd != 0) expected_[record.rd] = record.value;
}

void UnicornModel::note_executed(uint32_t word) {
  const mips::Instruction* instruction = mips::decode(word);
  if (instruction == nullptr) return differs("a reserved instruction was executed");
  ++executed_[instruction->name];
  if (instruction->form == mips::Form::kRegister || instruction->form == mips::Form::kLink)
    jump_target_ = expected_[mips::rs(word)];
}

void UnicornModel::raise(uint32_t code) {
  if (stop_ != Stop::kNone) return;
  wrote_ = false;  // told of before it was refused
  stop_ = Stop::kException;
  raised_code_ = code;
}

void UnicornModel::compare_registers() {
  static const std::array<int, 32> ids = register_ids();
  std::array<void*, kRegisters> places;
  for (int i = 0; i < kRegisters; ++i) places[i] = &actual_[i];
  uc_reg_read_batch(engine_, const_cast<int*>(ids.data()), places.data(), kRegisters);
  for (int i = 1; i < kRegisters; ++i)
    if (actual_[i] != expected_[i])
      return differs(
          fmt::format("register {} is {:08x}, Unicorn has {:08x}", i, expected_[i], actual_[i]));
}

void UnicornModel::compare_store() {
  const bool wrote = wrote_;
  wrote_ = false;
  if (next_ == 0) return;
  const Retired& record = (*retired_)[next_ - 1];
  if (record.is_store != wrote)
    return differs(wrote ? "Unicorn stored, the RTL did not" : "the RTL stored, Unicorn did not");
  if (!wrote) return;
  uint32_t word = 0;
  require(uc_mem_read(engine_, record.store_address, &word, sizeof word), "uc_mem_read");
  if (word != record.stored_word)
    differs(fmt::format("memory {:08x} is {:08x}, Unicorn has {:08x}", record.store_address,
                        record.stored_word, word));
}

// ---- What Unicorn cannot know

bool UnicornModel::needs_hand(const Retired& record) const {
  if (record.is_exception && record.code == mips::kInterrupt) return true;
  const uint32_t word = record.instruction;
  const mips::Instruction* instruction = mips::decode(word);
  if (instruction == nullptr || record.is_exception) return false;
  if (instruction->form == mips::Form::kSystem || instruction->name == "rfe") return true;
  if (instruction->name != "div" && instruction->name != "divu") return false;
  const uint32_t divisor = expected_[mips::rt(word)];
  return divisor == 0 ||
         (instruction->name == "div" && divisor == ~0u && expected_[mips::rs(word)] == 0x80000000);
}

void UnicornModel::do_by_hand() {
  const Retired& record = (*retired_)[next_ - 1];
  if (record.is_exception) return take_interrupt(record);
  const uint32_t word = record.instruction;
  const std::string& name = mips::decode(word)->name;
  ++executed_[name];
  if (in_delay_slot_ && name != "rfe")
    return differs(name + " in a delay slot: the program is at fault");
  if (name == "mfc0") move_from_system(record);
  if (name == "mtc0") move_to_system(mips::rd(word), expected_[mips::rt(word)]);
  if (name == "rfe") status_ = (status_ & ~0xfu) | (status_ >> 2 & 0xf);
  if (name == "div" || name == "divu") divide(word);
  pc_ = in_delay_slot_ ? jump_target_ : pc_ + 4;  // "jr; rfe" is how handlers return
}

void UnicornModel::take_interrupt(const Retired& record) {
  const uint32_t pending = (record.interrupts << 10 | (cause_ & 0x300)) & status_ & 0xff00;
  if (!(status_ & 1)) differs("an interrupt although they are disabled");
  if (pending == 0) differs("an interrupt that nobody asked for");
  // Unicorn does not stop before a delay slot but behind it. No harm: branch and slot come again,
  // with the same registers.
  wrote_ = false;
  enter_exception(mips::kInterrupt, 0);
}

void UnicornModel::expect_exception(const Retired& record) {
  if (!record.is_exception)
    return differs(fmt::format("no exception, Unicorn has {}", raised_code_));
  const uint32_t word = record.instruction;
  // Unicorn knows these as Loongson's only.
  if (raised_code_ == mips::kReserved && word >> 26 == 18) raised_code_ = mips::kCoprocessor;
  if (record.code != raised_code_)
    return differs(fmt::format("exception {}, Unicorn has {}", record.code, raised_code_));
  if (raised_code_ == mips::kAddressLoad && record.pc % 4 != 0) {
    bad_address_ = record.pc;
  } else if (raised_code_ == mips::kAddressLoad || raised_code_ == mips::kAddressStore) {
    bad_address_ = expected_[mips::rs(word)] + static_cast<int16_t>(word & 0xffff);
  }
  enter_exception(raised_code_, raised_code_ == mips::kCoprocessor ? word >> 26 & 3 : 0);
}

void UnicornModel::enter_exception(uint32_t code, uint32_t coprocessor) {
  ++exceptions_[code];
  if (in_delay_slot_ != (*retired_)[next_ - 1].in_delay_slot) differs("the delay slot's mark");
  epc_ = in_delay_slot_ ? pc_ - 4 : pc_;
  cause_ = (cause_ & 0x300) | code << 2 | coprocessor << 28 |
           static_cast<uint32_t>(in_delay_slot_) << 31;
  status_ = (status_ & ~0x3fu) | (status_ << 2 & 0x3c);
  in_delay_slot_ = false;
  pc_ = mips::kExceptionPc;
}

void UnicornModel::move_from_system(const Retired& record) {
  uint32_t value = 0;
  uint32_t compared = ~0u;
  switch (mips::rd(record.instruction)) {
    case mips::kBadVAddr:
      value = bad_address_;
      break;
    case mips::kStatus:
      value = status_;
      break;
    case mips::kCause:
      value = cause_;
      compared = ~0xfc00u;  // which lines are raised depends on time
      break;
    case mips::kEpc:
      value = epc_;
      break;
    case mips::kPrid:
      value = 0x230;
      break;
    default:
      break;
  }
  if ((record.value & compared) != (value & compared) && mips::rt(record.instruction) != 0)
    differs(fmt::format("system register {} is {:08x}, the model has {:08x}",
                        mips::rd(record.instruction), record.value, value));
  if (record.rd != 0) expected_[record.rd] = record.value;
}

void UnicornModel::move_to_system(uint32_t number, uint32_t value) {
  if (number == mips::kStatus) status_ = value & 0xff3f;
  if (number == mips::kCause) cause_ = (cause_ & ~0x300u) | (value & 0x300);
}

// As README.md promises; MIPS leaves it open.
void UnicornModel::divide(uint32_t word) {
  const uint32_t dividend = expected_[mips::rs(word)];
  const bool is_signed = mips::decode(word)->name == "div";
  uint32_t hi = dividend;
  uint32_t lo = is_signed && dividend >> 31 ? 1 : ~0u;
  if (expected_[mips::rt(word)] != 0) hi = 0, lo = dividend;
  uc_reg_write(engine_, UC_MIPS_REG_HI, &hi);
  uc_reg_write(engine_, UC_MIPS_REG_LO, &lo);
}

void UnicornModel::differs(const std::string& what) {
  if (!difference_.empty()) return;
  const size_t index = next_ == 0 ? 0 : next_ - 1;
  const Retired& record = (*retired_)[index];
  difference_ = fmt::format("{} (at or before instruction {:08x} at {:08x}, {} of this run)", what,
                            record.instruction, record.pc, index);
}

}  // namespace exrnic::testing
