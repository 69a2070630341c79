// SPDX-License-Identifier: BSD-2-Clause
// The messages of exrnic/connect.h on a stream. Integers are big-endian.
#ifndef EXRNIC_LIBVERBS_CONN_MESSAGE_H
#define EXRNIC_LIBVERBS_CONN_MESSAGE_H

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "exrnic/connect.h"

namespace exrnic {

enum class ConnKind : uint16_t {
  kInfo = 1,   // a vl_conn_info
  kReady = 2,  // empty: the queue pair is in RTS
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
// service: of the queue pair.
ConnInfoBody EncodeConnInfo(const vl_conn_info& info, vl_service service);
// 0, or EPROTO with vl_error_text(): no such message, or of a queue pair of another service.
int DecodeConnInfo(const ConnInfoBody& body, vl_service service, vl_conn_info* info);

}  // namespace exrnic

#endif  // EXRNIC_LIBVERBS_CONN_MESSAGE_H
