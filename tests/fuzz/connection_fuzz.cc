// SPDX-License-Identifier: BSD-2-Clause
// What the other end of a connection sends before there are queue pairs: the messages of
// exrnic/connect.h, its words on a serial line, and the frames of the examples' line.
#include <algorithm>

#include "conn_message.h"
#include "oob_frame.h"
#include "tests/fuzz/target.h"

namespace exrnic::fuzz {
namespace {

enum : uint8_t { kHead, kBody, kWord, kFrames };

void fuzz_body(Reader& in) {
  ConnInfoBody body{};
  const Bytes bytes = in.bytes(body.size());
  std::copy(bytes.begin(), bytes.end(), body.begin());
  vl_conn_info info;
  if (DecodeConnInfo(body, VL_SERVICE_RC, &info) != 0) return;
  if (info.private_len > VL_CONN_PRIVATE_MAX) found("private data that does not fit is taken");
  // It may end with the last byte there is.
  if (info.length != 0 && info.address + (info.length - 1) < info.address)
    found("memory that wraps is taken");
  // What is taken is what is sent again, but for private data behind its length.
  vl_conn_info again;
  if (DecodeConnInfo(EncodeConnInfo(info, VL_SERVICE_RC), VL_SERVICE_RC, &again) != 0)
    found("an info is refused when sent again");
  if (again.qpn != info.qpn || again.address != info.address || again.stag != info.stag ||
      !std::equal(info.private_data, info.private_data + info.private_len, again.private_data))
    found("an info changes when it is sent again");
}

void fuzz_head(Reader& in) {
  ConnHead head{};
  const Bytes bytes = in.bytes(head.size());
  std::copy(bytes.begin(), bytes.end(), head.begin());
  for (const ConnKind kind : {ConnKind::kInfo, ConnKind::kReady, ConnKind::kMeet}) {
    const size_t body = kind == ConnKind::kInfo ? kConnInfoBytes : 0;
    const bool taken = CheckConnHead(head, kind, body) == 0;
    if (taken != (head == EncodeConnHead(kind, body))) found("a head is misjudged");
  }
}

void fuzz_word(Reader& in) {
  LineBytes word{};
  const Bytes bytes = in.bytes(word.size());
  std::copy(bytes.begin(), bytes.end(), word.begin());
  const size_t begins = BeginningOfWord(word.data(), word.size());
  if (begins > word.size()) found("more of a word than there are bytes");
  const auto decoded = DecodeLineWord(word);
  if (!decoded) return;
  if (begins != word.size()) found("a word does not begin as one");
  if (EncodeLineWord(*decoded) != word) found("a word changes when it is sent again");
}

// In pieces, as a line delivers them.
void fuzz_frames(Reader& in) {
  OobParser parser;
  while (!in.empty()) {
    const Bytes piece = in.bytes(1 + in.take<uint8_t>());
    parser.Add(piece.data(), piece.size());
    while (const auto frame = parser.Next()) {
      if (frame->payload.size() > kOobPayloadMax) found("a payload is too long");
      OobParser second;
      const auto bytes = EncodeOobFrame(*frame);
      second.Add(bytes.data(), bytes.size());
      if (!second.Next()) found("a frame is refused when sent again");
    }
  }
}

}  // namespace

std::vector<Bytes> connection_seeds() {
  std::vector<Bytes> seeds;
  for (const ConnKind kind : {ConnKind::kInfo, ConnKind::kReady}) {
    seeds.push_back({kHead});
    for (const uint8_t byte : EncodeConnHead(kind, kind == ConnKind::kInfo ? kConnInfoBytes : 0))
      seeds.back().push_back(byte);
  }
  vl_conn_info info{};
  info.node_id = 1;
  info.qpn = 17;
  info.address = 0x7f0000001000;
  info.length = 65536;
  info.private_len = 5;
  seeds.push_back({kBody});
  for (const uint8_t byte : EncodeConnInfo(info, VL_SERVICE_RC)) seeds.back().push_back(byte);
  LineWord word;
  word.session = 3;
  word.heard = 4;
  word.stage = LineStage::kReady;
  word.body = EncodeConnInfo(info, VL_SERVICE_RC);
  seeds.push_back({kWord});
  for (const uint8_t byte : EncodeLineWord(word)) seeds.back().push_back(byte);
  Bytes stream;
  for (const OobKind kind : {OobKind::kSyn, OobKind::kData, OobKind::kAck, OobKind::kAbort}) {
    OobFrame frame;
    frame.kind = kind;
    frame.session = 7;
    frame.payload.assign(kind == OobKind::kData ? 100 : 0, 0x58);
    put(stream, EncodeOobFrame(frame));
  }
  seeds.push_back({kFrames});
  for (size_t at = 0; at < stream.size(); at += 40) {
    const size_t count = std::min<size_t>(40, stream.size() - at);
    put(seeds.back(), static_cast<uint8_t>(count - 1));
    seeds.back().insert(seeds.back().end(), stream.begin() + static_cast<ptrdiff_t>(at),
                        stream.begin() + static_cast<ptrdiff_t>(at + count));
  }
  return seeds;
}

void fuzz_connection(const uint8_t* data, size_t size) {
  Reader in(data, size);
  switch (in.take<uint8_t>() % 4) {
    case kHead:
      return fuzz_head(in);
    case kBody:
      return fuzz_body(in);
    case kWord:
      return fuzz_word(in);
    default:
      return fuzz_frames(in);
  }
}

}  // namespace exrnic::fuzz
