// SPDX-License-Identifier: BSD-2-Clause
// The messages of exrnic/connect.h on a stream, and its words on a serial line. Integers are
// big-endian.
#ifndef EXRNIC_LIBVERBS_CONN_MESSAGE_H
#define EXRNIC_LIBVERBS_CONN_MESSAGE_H

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "exrnic/connect.h"

namespace exrnic {

enum class ConnKind : uint16_t {
  kInfo = 1,   // a vl_conn_info
  kReady = 2,  // empty: the queue pair is in RTS
  kMeet = 3,   // empty: vl_conn_meet
};

constexpr uint32_t kConnMagic = 0x564c434e;  // "VLCN"
constexpr uint16_t kConnVersion = 2;

// magic 4, version 2, kind 2, bytes of the body 4
constexpr size_t kConnHeadBytes = 12;
// node_id 4, qpn 4, address 8, length 8, stag 4, private_len 4, service 4, private_data
constexpr size_t kConnInfoBytes = 36 + VL_CONN_PRIVATE_MAX;

using ConnHead = std::array<uint8_t, kConnHeadBytes>;
using ConnInfoBody = std::array<uint8_t, kConnInfoBytes>;

ConnHead EncodeConnHead(ConnKind kind, size_t body_bytes);
// 0; EPROTO or EPROTONOSUPPORT with vl_error_text(): not the head of a `kind` with such a body.
int CheckConnHead(const ConnHead& head, ConnKind kind, size_t body_bytes);

// On a line bytes get lost, come from a program that ran there before, or are nobody's. So an end
// says again and again all that there is to say of this call: its whole state, in one word.
enum class LineStage : uint32_t {
  kLooks = 0,  // for a peer that has heard of this call
  kReady = 1,  // knows the peer's body, and what is to be done with it is done
  kMet = 2,    // knows that both are ready: its last word
  kLeaves = 3  // has failed: its last word
};

struct LineWord {
  ConnKind kind = ConnKind::kInfo;  // kInfo or kMeet: of the call
  uint32_t session = 0;             // of this end's call, drawn at random; not 0
  uint32_t heard = 0;               // the peer's, as far as this end knows, or 0
  LineStage stage = LineStage::kLooks;
  ConnInfoBody body = {};
};

// A ConnHead; session, heard, stage, 4 each; the body; a checksum of all before, 4.
constexpr size_t kLineWordBytes = kConnHeadBytes + 12 + kConnInfoBytes + 4;
using LineBytes = std::array<uint8_t, kLineWordBytes>;

LineBytes EncodeLineWord(const LineWord& word);
// Empty: this is none.
std::optional<LineWord> DecodeLineWord(const LineBytes& bytes);
// As many of these bytes at the end may be the beginning of a word; no more than a word has.
size_t BeginningOfWord(const uint8_t* bytes, size_t count);

// service: of the queue pair.
ConnInfoBody EncodeConnInfo(const vl_conn_info& info, vl_service service);
// 0, or EPROTO with vl_error_text(): no such message, or of a queue pair of another service.
int DecodeConnInfo(const ConnInfoBody& body, vl_service service, vl_conn_info* info);

}  // namespace exrnic

#endif  // EXRNIC_LIBVERBS_CONN_MESSAGE_H
