// SPDX-License-Identifier: BSD-2-Clause
#include "sim/debug/gdb_packets.h"

namespace exrnic::debug {
namespace {

constexpr char kInterrupt = 3;  // Ctrl-C

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

uint8_t checksum(std::string_view payload) {
  uint8_t sum = 0;
  for (const char c : payload) sum = static_cast<uint8_t>(sum + static_cast<uint8_t>(c));
  return sum;
}

}  // namespace

std::optional<PacketReader::Event> PacketReader::next() {
  while (!pending_.empty()) {
    const char first = pending_.front();
    if (first == '$') break;
    pending_.erase(0, 1);
    if (first == kInterrupt) return Event{Event::Kind::kInterrupt, ""};
    if (first == '-') return Event{Event::Kind::kAgain, ""};
  }
  const size_t end = pending_.find('#');
  if (end == std::string::npos || end + 2 >= pending_.size()) {
    if (pending_.size() <= kMostPacket) return std::nullopt;
    pending_.clear();
    return Event{Event::Kind::kDamaged, ""};
  }
  std::string payload = pending_.substr(1, end - 1);
  const auto sum = from_hex(std::string_view(pending_).substr(end + 1, 2));
  pending_.erase(0, end + 3);
  if (!sum || sum->front() != checksum(payload)) return Event{Event::Kind::kDamaged, ""};
  return Event{Event::Kind::kPacket, std::move(payload)};
}

std::string packet(std::string_view payload) {
  const uint8_t sum = checksum(payload);
  return "$" + std::string(payload) + "#" + to_hex(&sum, 1);
}

std::optional<std::vector<uint8_t>> from_hex(std::string_view digits) {
  if (digits.size() % 2 != 0) return std::nullopt;
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i < digits.size(); i += 2) {
    const int high = digit(digits[i]), low = digit(digits[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes.push_back(static_cast<uint8_t>(high << 4 | low));
  }
  return bytes;
}

std::string to_hex(const uint8_t* bytes, size_t count) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string digits;
  for (size_t i = 0; i < count; ++i) {
    digits += kDigits[bytes[i] >> 4];
    digits += kDigits[bytes[i] & 15];
  }
  return digits;
}

std::optional<uint32_t> take_number(std::string_view* text) {
  uint32_t value = 0;
  size_t digits = 0;
  for (; digits < text->size() && digits < 8 && digit((*text)[digits]) >= 0; ++digits) {
    value = value << 4 | static_cast<uint32_t>(digit((*text)[digits]));
  }
  if (digits == 0) return std::nullopt;
  text->remove_prefix(digits);
  return value;
}

bool take(std::string_view* text, char character) {
  if (text->empty() || text->front() != character) return false;
  text->remove_prefix(1);
  return true;
}

}  // namespace exrnic::debug
