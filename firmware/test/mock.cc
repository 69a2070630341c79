// SPDX-License-Identifier: BSD-2-Clause
#include "test/mock.h"

#include <algorithm>

#include "exrnic_registers.h"

namespace exrnic::testing {
namespace {

Hardware* hardware;

}  // namespace

Hardware::Hardware() { hardware = this; }
Hardware::~Hardware() { hardware = nullptr; }

void Hardware::punt(exrnic_fw_punt_kind kind, uint16_t from, uint32_t pd,
                    std::vector<uint32_t> payload) {
  std::array<uint32_t, EXRNIC_FW_PUNT_WORDS> words{};
  const uint32_t number = from;
  words[EXRNIC_FW_PUNT_WORD_REQUEST] =
      kind |
      (kind == EXRNIC_FW_PUNT_KIND_MESSAGE ? number << EXRNIC_FW_REQUEST_NODE_SHIFT
                                           : number << EXRNIC_FW_REQUEST_NUMBER_SHIFT |
                                                 0x5555u << EXRNIC_FW_REQUEST_GENERATION_SHIFT);
  words[EXRNIC_FW_PUNT_WORD_MSN] = static_cast<uint32_t>(punts.size() + 1);
  words[EXRNIC_FW_PUNT_WORD_PD] = pd;
  std::copy(payload.begin(), payload.end(), words.begin() + EXRNIC_FW_PUNT_WORD_PAYLOAD);
  punts.push_back(words);
}

void Hardware::run(uint32_t op) {
  const Direct command{op, words_};
  commands.push_back(command);
  busy_ = true;
  status_ = judge ? judge(command) : EXRNIC_FW_DIRECT_STATUS_OK;
  if (status_ != EXRNIC_FW_DIRECT_STATUS_OK) return;
  if (op == EXRNIC_FW_DIRECT_SEND_DATA) {
    uint32_t& length = words_[EXRNIC_FW_MEMORY_WORD_LENGTH];
    if (length > room_bytes) status_ = EXRNIC_FW_DIRECT_STATUS_NO_ROOM;
    length -= std::min(length, room_bytes);
    return;
  }
  const uint32_t name = words_[EXRNIC_FW_SEND_WORD_STAG];
  if (op == EXRNIC_FW_DIRECT_GRANT) {
    for (const auto& [other, grant] : grants)
      if ((other ^ name) % EXRNIC_FW_GRANTS == 0)
        throw std::logic_error("a grant takes the place of another one");
    grants[name] = {words_[EXRNIC_FW_SEND_WORD_NODE], command.wide(EXRNIC_FW_MEMORY_WORD_TO_HIGH),
                    words_[EXRNIC_FW_MEMORY_WORD_LENGTH]};
    return;
  }
  if (op == EXRNIC_FW_DIRECT_REVOKE) {
    if (grants.erase(name) != 1) throw std::logic_error("what is revoked was not granted");
    return;
  }
  if (words_[EXRNIC_FW_MEMORY_WORD_PD] == EXRNIC_FW_PD) run_in_region(op);
}

void Hardware::run_in_region(uint32_t op) {
  const Direct command{op, words_};
  const uint64_t to = command.wide(EXRNIC_FW_MEMORY_WORD_TO_HIGH);
  for (uint32_t i = 0; i < command[EXRNIC_FW_MEMORY_WORD_LENGTH] / 4 && i < 16; ++i) {
    if (op == EXRNIC_FW_DIRECT_READ) words_[EXRNIC_FW_MEMORY_WORD_DATA + i] = region[to + 4 * i];
    if (op == EXRNIC_FW_DIRECT_WRITE) region[to + 4 * i] = words_[EXRNIC_FW_MEMORY_WORD_DATA + i];
  }
}

uint32_t Hardware::read(uint32_t reg) {
  if (reg == EXRNIC_REG_DEV_BELL) {
    if (bells.empty()) return ~0u;
    bell_ = bells.front();
    bells.pop_front();
    return bell_.page;
  }
  if (reg == EXRNIC_REG_DEV_BELL_NUMBER) return bell_.number;
  if (reg == EXRNIC_REG_DEV_BELL_INDEX) return bell_.index;
  if (reg == EXRNIC_REG_DEV_BLOCK) return blocks.empty() ? ~0u : blocks.front().page;
  if (registers::in_dev_block_words(reg))
    return blocks.at(0).words.at((reg - EXRNIC_REG_DEV_BLOCK_WORDS) / 4);
  if (reg == EXRNIC_REG_DEV_TIME_LO) return static_cast<uint32_t>(time_ns);
  if (reg == EXRNIC_REG_DEV_TIME_HI) return static_cast<uint32_t>(time_ns >> 32);
  if (reg == EXRNIC_REG_DEV_PUNTS) return static_cast<uint32_t>(punts.size());
  if (registers::in_dev_punt_words(reg)) return punts.at(0)[(reg - EXRNIC_REG_DEV_PUNT_WORDS) / 4];
  if (registers::in_dev_direct_words(reg)) return words_[(reg - EXRNIC_REG_DEV_DIRECT_WORDS) / 4];
  if (reg == EXRNIC_REG_DEV_DIRECT_STATUS) {
    if (!busy_) return status_;
    busy_ = false;
    return EXRNIC_FW_DIRECT_STATUS_BUSY;
  }
  return registers[reg];
}

void Hardware::write(uint32_t reg, uint32_t value) {
  if (reg == EXRNIC_REG_DEV_PUNT_POP) {
    punts.pop_front();
  } else if (reg == EXRNIC_REG_DEV_BLOCK_POP) {
    blocks.pop_front();
  } else if (reg == EXRNIC_REG_DEV_DIRECT) {
    run(value);
  } else if (reg == EXRNIC_REG_DEV_RAISE) {
    if (busy_) throw std::logic_error("a process is woken for what may still be under way");
    raises.push_back(value);
  } else if (registers::in_dev_direct_words(reg)) {
    words_[(reg - EXRNIC_REG_DEV_DIRECT_WORDS) / 4] = value;
  } else {
    registers[reg] = value;
  }
}

}  // namespace exrnic::testing

extern "C" {
uint32_t dev_read(uint32_t reg) { return exrnic::testing::hardware->read(reg); }
void dev_write(uint32_t reg, uint32_t value) { exrnic::testing::hardware->write(reg, value); }
uint32_t memory_used(void) { return 0x1234; }
uint32_t memory_stack_used(void) { return 0x56; }
void fw_assertion_fault(const char* file, uint32_t) { throw exrnic::testing::Assertion(file); }
}
