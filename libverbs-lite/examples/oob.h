// SPDX-License-Identifier: BSD-2-Clause
// The out-of-band channel: how two programs in two guests exchange queue pair numbers, STags and
// verdicts, over a line that connects them (oob_line.h). Every message is acknowledged and repeated
// until it is, so noise and a peer that starts late do no harm.
//
// Errors are std::runtime_error, with a text for the user. Not for several threads.
#ifndef EXRNIC_EXAMPLES_OOB_H
#define EXRNIC_EXAMPLES_OOB_H

#include <chrono>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <type_traits>
#include <vector>

#include "oob_frame.h"

namespace exrnic {

struct OobLimits {
  std::chrono::milliseconds connect = std::chrono::seconds(60);
  std::chrono::milliseconds message = std::chrono::seconds(60);
  std::chrono::milliseconds repeat = std::chrono::milliseconds(300);
};

class Oob {
 public:
  // fd: a bidirectional byte stream; owned from here on. program: both ends must have the same.
  Oob(int fd, std::string program, OobLimits limits = {});
  ~Oob();
  Oob(const Oob&) = delete;
  Oob& operator=(const Oob&) = delete;

  // Returns once each end knows that the other is there.
  void Connect();

  // Returns once the peer has the message (it may not have asked for it yet).
  void Send(uint32_t type, const std::vector<uint8_t>& payload);
  // The next message, which must have this type.
  std::vector<uint8_t> Receive(uint32_t type);

  // The same with a plain structure: both guests run the same program on the same kind of machine.
  template <typename T>
  void SendStruct(uint32_t type, const T& value) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= kOobPayloadMax);
    const uint8_t* bytes = reinterpret_cast<const uint8_t*>(&value);
    Send(type, {bytes, bytes + sizeof(T)});
  }
  template <typename T>
  T ReceiveStruct(uint32_t type) {
    static_assert(std::is_trivially_copyable_v<T>);
    const std::vector<uint8_t> payload = Receive(type);
    if (payload.size() != sizeof(T)) ThrowLength(type, payload.size(), sizeof(T));
    T value;
    memcpy(&value, payload.data(), sizeof(T));
    return value;
  }
  // Each end sends its own and gets the other's.
  template <typename T>
  T Exchange(uint32_t type, const T& value) {
    SendStruct(type, value);
    return ReceiveStruct<T>(type);
  }

  // Tells the peer, which throws at its next call, and waits for nothing. Never throws.
  void Abort(const std::string& reason) noexcept;

 private:
  using Clock = std::chrono::steady_clock;

  void Write(const OobFrame& frame);
  OobFrame MakeFrame(OobKind kind) const;
  void ReadSome(Clock::time_point until);
  void Serve(Clock::time_point until);
  void Handle(const OobFrame& frame);
  void HandleSyn(const OobFrame& frame);
  void HandleData(const OobFrame& frame);
  [[noreturn]] static void ThrowLength(uint32_t type, size_t got, size_t expected);

  const int fd_;
  const std::string program_;
  const OobLimits limits_;
  const uint32_t session_;
  uint32_t peer_session_ = 0;
  bool connected_ = false;
  uint32_t next_sequence_ = 1;
  uint32_t acknowledged_ = 0;
  uint32_t next_expected_ = 1;
  OobParser parser_;
  std::deque<OobFrame> received_;
};

}  // namespace exrnic

#endif  // EXRNIC_EXAMPLES_OOB_H
