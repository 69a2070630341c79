// SPDX-License-Identifier: BSD-2-Clause
#include "sim/debug/gdb_session.h"

#include <array>
#include <cstring>

namespace exrnic::debug {
namespace {

constexpr char kOk[] = "OK";
constexpr char kBadRequest[] = "E01";
constexpr char kNothingThere[] = "E0e";  // EFAULT
constexpr char kUnknown[] = "";          // GDB goes without it
constexpr char kExited[] = "W00";
constexpr char kTrap[] = "S05";         // SIGTRAP: a breakpoint, or a step has ended
constexpr char kInterrupted[] = "S02";  // SIGINT
constexpr uint32_t kMostMemory = kMostPacket / 2 - 16;

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

std::string word_to_hex(uint32_t value) {
  std::array<uint8_t, 4> bytes;
  std::memcpy(bytes.data(), &value, 4);
  return to_hex(bytes.data(), 4);
}

uint32_t word_from(const uint8_t* bytes) {
  uint32_t value;
  std::memcpy(&value, bytes, 4);
  return value;
}

// The widest aligned access, so that a word of a device is read once.
unsigned access_at(uint32_t address, uint32_t left) {
  if (address % 4 == 0 && left >= 4) return 4;
  return address % 2 == 0 && left >= 2 ? 2 : 1;
}

// "ADDRESS,LENGTH"
bool take_range(std::string_view* request, uint32_t* address, uint32_t* length) {
  const auto first = take_number(request);
  if (!first || !take(request, ',')) return false;
  const auto second = take_number(request);
  if (!second || *second > kMostMemory) return false;
  *address = *first;
  *length = *second;
  return true;
}

}  // namespace

GdbSession::GdbSession(ProcessorDebugger& processor) : processor_(processor) { processor_.halt(); }

std::string GdbSession::receive(std::string_view bytes) {
  reader_.append(bytes);
  std::string out;
  while (!ended_) {
    const auto event = reader_.next();
    if (!event) break;
    switch (event->kind) {
      case PacketReader::Event::Kind::kPacket:
        out += "+" + answer(event->payload);
        break;
      case PacketReader::Event::Kind::kDamaged:
        out += "-";
        break;
      case PacketReader::Event::Kind::kAgain:
        out += last_;
        break;
      case PacketReader::Event::Kind::kInterrupt:
        asked_ = running_;
        processor_.halt();
        break;
    }
  }
  return out;
}

std::string GdbSession::look() {
  if (!running_ || ended_) return "";
  try {
    if (processor_.runs()) {
      if (!processor_.halted()) return "";
      running_ = false;
      return last_ = packet(asked_ ? kInterrupted : kTrap);
    }
  } catch (const DebugError&) {
  }
  end();
  return last_ = packet(kExited);
}

// Nothing while the answer has to wait for the processor to halt.
std::string GdbSession::answer(const std::string& payload) {
  std::string reply;
  try {
    if (!running_ && processor_.runs()) {
      reply = handle(payload);
    } else if (running_) {
      reply = kBadRequest;  // GDB asks nothing of a program that runs
    } else {
      end();
      reply = kExited;
    }
  } catch (const DebugError&) {
    end();
    reply = kExited;
  }
  if (running_) return "";
  return last_ = packet(reply);
}

std::string GdbSession::handle(std::string_view request) {
  const char kind = request.empty() ? '\0' : request.front();
  const std::string_view rest = request.substr(request.empty() ? 0 : 1);
  switch (kind) {
    case '?':
      running_ = true;  // it halts soon, unless it has: look() says so
      asked_ = false;
      return "";
    case 'g':
      return read_registers();
    case 'G':
      return write_registers(rest);
    case 'p':
      return read_register(rest);
    case 'P':
      return write_register(rest);
    case 'm':
      return read_memory(rest);
    case 'M':
      return write_memory(rest);
    case 'c':
    case 's':
      go_on(rest, kind == 's');
      return "";
    case 'D':
    case 'k':
      end();
      return kOk;
    case 'H':
    case 'T':
      return kOk;  // there is one thread
    default:
      break;
  }
  if (starts_with(request, "qSupported")) return "PacketSize=1000";
  if (request == "qAttached") return "1";
  return kUnknown;
}

std::string GdbSession::read_registers() {
  std::string digits;
  for (unsigned i = 0; i < kRegisters; ++i) digits += word_to_hex(processor_.read_register(i));
  return digits;
}

std::string GdbSession::write_registers(std::string_view digits) {
  const auto bytes = from_hex(digits.substr(0, 8 * kRegisters));
  if (!bytes || bytes->size() != 4 * kRegisters) return kBadRequest;
  for (unsigned i = 0; i < kRegisters; ++i) {
    processor_.write_register(i, word_from(bytes->data() + 4 * i));
  }
  return kOk;
}

std::string GdbSession::read_register(std::string_view request) {
  const auto number = take_number(&request);
  if (!number || !request.empty()) return kBadRequest;
  // GDB knows of a floating-point unit, too.
  return *number < kRegisters ? word_to_hex(processor_.read_register(*number)) : "xxxxxxxx";
}

std::string GdbSession::write_register(std::string_view request) {
  const auto number = take_number(&request);
  if (!number || *number >= kRegisters || !take(&request, '=')) return kBadRequest;
  const auto bytes = from_hex(request);
  if (!bytes || bytes->size() != 4) return kBadRequest;
  processor_.write_register(*number, word_from(bytes->data()));
  return kOk;
}

std::string GdbSession::read_memory(std::string_view request) {
  uint32_t address, left;
  if (!take_range(&request, &address, &left) || !request.empty()) return kBadRequest;
  std::string digits;
  while (left > 0) {
    const unsigned bytes = access_at(address, left);
    uint32_t value;
    if (!processor_.load(address, bytes, &value)) break;
    digits += word_to_hex(value).substr(0, size_t{2} * bytes);
    address += bytes;
    left -= bytes;
  }
  return digits.empty() ? kNothingThere : digits;
}

std::string GdbSession::write_memory(std::string_view request) {
  uint32_t address, length;
  if (!take_range(&request, &address, &length) || !take(&request, ':')) return kBadRequest;
  auto data = from_hex(request);
  if (!data || data->size() != length) return kBadRequest;
  data->resize(length + 3);  // a word can be read at every place
  for (uint32_t at = 0; at < length;) {
    const unsigned bytes = access_at(address + at, length - at);
    if (!processor_.store(address + at, bytes, word_from(data->data() + at))) return kNothingThere;
    at += bytes;
  }
  return kOk;
}

void GdbSession::go_on(std::string_view request, bool one_step) {
  if (const auto address = take_number(&request)) processor_.write_register(kPc, *address);
  if (one_step) {
    processor_.step();
  } else {
    processor_.resume();
  }
  running_ = true;
  asked_ = false;
}

void GdbSession::end() {
  processor_.detach();
  running_ = false;
  ended_ = true;
}

}  // namespace exrnic::debug
