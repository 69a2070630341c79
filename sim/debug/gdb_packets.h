// SPDX-License-Identifier: BSD-2-Clause
// Frames of GDB's remote serial protocol: $payload#checksum, answered by + or -. (GDB manual,
// appendix E.)
//
// Threads: none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace exrnic::debug {

constexpr size_t kMostPacket = 4096;  // bytes of a payload; what is longer is refused

// What a debugger has sent, cut into packets.
class PacketReader {
 public:
  struct Event {
    enum class Kind { kPacket, kInterrupt, kDamaged, kAgain };  // kAgain: the last answer was lost
    Kind kind;
    std::string payload;
  };
  void append(std::string_view bytes) { pending_ += bytes; }
  std::optional<Event> next();  // nothing: more bytes are needed

 private:
  std::string pending_;
};

std::string packet(std::string_view payload);  // framed

// Hexadecimal digits, two for a byte; nothing for an odd number or another character.
std::optional<std::vector<uint8_t>> from_hex(std::string_view digits);
std::string to_hex(const uint8_t* bytes, size_t count);

// A number of 1 to 8 hexadecimal digits in front of `text`, which then begins behind it.
std::optional<uint32_t> take_number(std::string_view* text);
// The character, if it is next; likewise.
bool take(std::string_view* text, char character);

}  // namespace exrnic::debug
