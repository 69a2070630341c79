// SPDX-License-Identifier: BSD-2-Clause
#include "conn_message.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "transport/error_text.h"

namespace exrnic {

namespace {

// Puts integers behind each other, and takes them out again.
class Cursor {
 public:
  explicit Cursor(uint8_t* at) : at_(at) {}
  template <typename T>
  void Put(T value) {
    for (size_t i = sizeof(T); i-- > 0;) *at_++ = static_cast<uint8_t>(value >> (8 * i));
  }
  template <typename T>
  T Get() {
    T value = 0;
    for (size_t i = 0; i < sizeof(T); ++i) value = static_cast<T>(value << 8 | *at_++);
    return value;
  }
  uint8_t* at() const { return at_; }

 private:
  uint8_t* at_;
};

int Refuse(int error, const char* format, unsigned long got, unsigned long expected) {
  char text[160];
  snprintf(text, sizeof(text), format, got, expected);
  SetErrorText(text);
  return error;
}

// FNV-1a.
uint32_t Checksum(const uint8_t* bytes, size_t count) {
  uint32_t sum = 0x811c9dc5;
  for (size_t i = 0; i < count; ++i) sum = (sum ^ bytes[i]) * 0x01000193;
  return sum;
}

}  // namespace

ConnHead EncodeConnHead(ConnKind kind, size_t body_bytes) {
  ConnHead head;
  Cursor cursor(head.data());
  cursor.Put(kConnMagic);
  cursor.Put(kConnVersion);
  cursor.Put(static_cast<uint16_t>(kind));
  cursor.Put(static_cast<uint32_t>(body_bytes));
  return head;
}

int CheckConnHead(const ConnHead& head, ConnKind kind, size_t body_bytes) {
  ConnHead copy = head;
  Cursor cursor(copy.data());
  const uint32_t magic = cursor.Get<uint32_t>();
  if (magic != kConnMagic) {
    return Refuse(EPROTO, "the peer's message starts with 0x%08lx, not 0x%08lx: no vl_connect_qp",
                  magic, kConnMagic);
  }
  const uint16_t version = cursor.Get<uint16_t>();
  if (version != kConnVersion) {
    return Refuse(EPROTONOSUPPORT, "the peer speaks version %lu of connections, this library %lu",
                  version, kConnVersion);
  }
  const uint16_t got_kind = cursor.Get<uint16_t>();
  if (got_kind != static_cast<uint16_t>(kind)) {
    return Refuse(EPROTO, "the peer sent message %lu where message %lu is due", got_kind,
                  static_cast<uint16_t>(kind));
  }
  const uint32_t bytes = cursor.Get<uint32_t>();
  if (bytes == body_bytes) return 0;
  return Refuse(EPROTO, "the peer's message has %lu bytes, not %lu", bytes, body_bytes);
}

LineBytes EncodeLineWord(const LineWord& word) {
  LineBytes bytes;
  const ConnHead head = EncodeConnHead(word.kind, kLineWordBytes - kConnHeadBytes);
  memcpy(bytes.data(), head.data(), head.size());
  Cursor cursor(bytes.data() + head.size());
  cursor.Put(word.session);
  cursor.Put(word.heard);
  cursor.Put(static_cast<uint32_t>(word.stage));
  memcpy(cursor.at(), word.body.data(), word.body.size());
  Cursor end(cursor.at() + word.body.size());
  end.Put(Checksum(bytes.data(), static_cast<size_t>(end.at() - bytes.data())));
  return bytes;
}

std::optional<LineWord> DecodeLineWord(const LineBytes& bytes) {
  LineBytes copy = bytes;
  Cursor end(&copy[kLineWordBytes - sizeof(uint32_t)]);
  if (end.Get<uint32_t>() != Checksum(copy.data(), kLineWordBytes - sizeof(uint32_t))) return {};
  LineWord word;
  Cursor cursor(copy.data());
  const uint32_t magic = cursor.Get<uint32_t>();
  const uint16_t version = cursor.Get<uint16_t>();
  word.kind = static_cast<ConnKind>(cursor.Get<uint16_t>());
  const uint32_t rest = cursor.Get<uint32_t>();
  word.session = cursor.Get<uint32_t>();
  word.heard = cursor.Get<uint32_t>();
  word.stage = static_cast<LineStage>(cursor.Get<uint32_t>());
  memcpy(word.body.data(), cursor.at(), word.body.size());
  const bool known = magic == kConnMagic && version == kConnVersion &&
                     rest == kLineWordBytes - kConnHeadBytes &&
                     (word.kind == ConnKind::kInfo || word.kind == ConnKind::kMeet) &&
                     word.session != 0 && word.stage <= LineStage::kLeaves;
  return known ? std::optional<LineWord>(word) : std::nullopt;
}

size_t BeginningOfWord(const uint8_t* bytes, size_t count) {
  // All words begin alike: the head, but for its kind.
  const ConnHead head = EncodeConnHead(ConnKind::kInfo, kLineWordBytes - kConnHeadBytes);
  constexpr size_t kAlike = sizeof(kConnMagic) + sizeof(kConnVersion);
  for (size_t from = count > kLineWordBytes ? count - kLineWordBytes : 0; from < count; ++from) {
    if (memcmp(bytes + from, head.data(), std::min(count - from, kAlike)) == 0) return count - from;
  }
  return 0;
}

ConnInfoBody EncodeConnInfo(const vl_conn_info& info, vl_service service) {
  ConnInfoBody body = {};
  Cursor cursor(body.data());
  cursor.Put(info.node_id);
  cursor.Put(info.qpn);
  cursor.Put(info.address);
  cursor.Put(info.length);
  cursor.Put(info.stag);
  cursor.Put(info.private_len);
  cursor.Put(static_cast<uint32_t>(service));
  memcpy(cursor.at(), info.private_data, info.private_len);
  return body;
}

int DecodeConnInfo(const ConnInfoBody& body, vl_service service, vl_conn_info* info) {
  ConnInfoBody copy = body;
  Cursor cursor(copy.data());
  info->node_id = cursor.Get<uint32_t>();
  info->qpn = cursor.Get<uint32_t>();
  info->address = cursor.Get<uint64_t>();
  info->length = cursor.Get<uint64_t>();
  info->stag = cursor.Get<uint32_t>();
  info->private_len = cursor.Get<uint32_t>();
  const uint32_t got_service = cursor.Get<uint32_t>();
  memcpy(info->private_data, cursor.at(), VL_CONN_PRIVATE_MAX);
  if (info->private_len > VL_CONN_PRIVATE_MAX) {
    return Refuse(EPROTO, "the peer speaks of %lu bytes of private data; at most %lu fit",
                  info->private_len, VL_CONN_PRIVATE_MAX);
  }
  if (got_service != static_cast<uint32_t>(service)) {
    return Refuse(
        EPROTO,
        "the peer's queue pair is of service %lu, this one of %lu (enum vl_service): create "
        "both of the same",
        got_service, static_cast<uint32_t>(service));
  }
  const uint64_t last = info->address + (info->length - 1);
  if (info->length == 0 || last >= info->address)
    return 0;  // it may end with the last byte there is
  return Refuse(EPROTO, "the peer's memory of 0x%lx bytes at 0x%lx wraps", info->length,
                info->address);
}

}  // namespace exrnic
