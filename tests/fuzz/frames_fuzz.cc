// SPDX-License-Identifier: BSD-2-Clause
// Frames of a hostile peer into the reference model.
#include "rtl-model/ref/ref_core.h"
#include "tests/fuzz/frame_bench.h"

namespace exrnic::fuzz {
namespace {

void add(Bytes& input, const Bytes& ddp, uint8_t rights = kAllRight, uint64_t flags = 0,
         uint8_t refusal = 0) {
  put(input, rights);
  put(input, static_cast<uint16_t>(kFrameHeaders + ddp.size()));
  Bytes headers(kFrameHeaders);
  exrnic_efe_set_flags(headers.data() + EXRNIC_ETH_BYTES, flags);
  exrnic_efe_set_refusal(headers.data() + EXRNIC_ETH_BYTES, refusal);
  put(input, headers);
  put(input, ddp);
}

void add_once(Bytes& input, const Bytes& ddp, bool first) {
  add(input, ddp, kAllRight | kUnreliable, first ? EXRNIC_EFE_FLAGS_SYN : 0);
}

void add_datagram(Bytes& input, const Bytes& ddp, bool to_group) {
  Bytes frame(kFrameHeaders);
  exrnic_efe_set_klass(frame.data() + EXRNIC_ETH_BYTES, kDatagram);
  exrnic_efe_set_dst_qpn(frame.data() + EXRNIC_ETH_BYTES, to_group);
  put(frame, ddp);
  put(input, static_cast<uint8_t>(kAllRight | kUnreliable));
  put(input, static_cast<uint16_t>(frame.size()));
  put(input, frame);
}

Bytes tagged(uint8_t opcode, uint32_t stag, uint64_t to, size_t payload, bool last = true) {
  Bytes ddp(EXRNIC_DDP_TAGGED_BYTES + payload, 0x5a);
  exrnic_ddp_tagged_set_t(ddp.data(), 1);
  exrnic_ddp_tagged_set_last(ddp.data(), last);
  exrnic_ddp_tagged_set_rsvd(ddp.data(), 0);
  exrnic_ddp_tagged_set_dv(ddp.data(), EXRNIC_DDP_VERSION);
  exrnic_ddp_tagged_set_rv(ddp.data(), EXRNIC_RDMAP_VERSION);
  exrnic_ddp_tagged_set_rdmap_rsvd(ddp.data(), 0);
  exrnic_ddp_tagged_set_opcode(ddp.data(), opcode);
  exrnic_ddp_tagged_set_stag(ddp.data(), stag);
  exrnic_ddp_tagged_set_to(ddp.data(), to);
  return ddp;
}

Bytes untagged(uint8_t opcode, uint32_t qn, uint32_t msn, const Bytes& payload, uint32_t stag = 0) {
  Bytes ddp(EXRNIC_DDP_UNTAGGED_BYTES);
  exrnic_ddp_untagged_set_last(ddp.data(), 1);
  exrnic_ddp_untagged_set_dv(ddp.data(), EXRNIC_DDP_VERSION);
  exrnic_ddp_untagged_set_rv(ddp.data(), EXRNIC_RDMAP_VERSION);
  exrnic_ddp_untagged_set_opcode(ddp.data(), opcode);
  exrnic_ddp_untagged_set_invalidate_stag(ddp.data(), stag);
  exrnic_ddp_untagged_set_qn(ddp.data(), qn);
  exrnic_ddp_untagged_set_msn(ddp.data(), msn);
  put(ddp, payload);
  return ddp;
}

Bytes read_request(uint32_t stag, uint32_t length) {
  Bytes body(EXRNIC_READ_REQUEST_BYTES);
  exrnic_read_request_set_length(body.data(), length);
  exrnic_read_request_set_source_stag(body.data(), stag);
  exrnic_read_request_set_source_to(body.data(), kSinkBase);
  return untagged(EXRNIC_RDMAP_OPCODE_READ_REQUEST, EXRNIC_READ_QN, 1, body);
}

}  // namespace

std::vector<Bytes> frame_seeds() {
  std::vector<Bytes> seeds(8);
  for (uint64_t i = 0; i < 4; ++i)
    add(seeds[0], tagged(EXRNIC_RDMAP_OPCODE_WRITE, kSink, kSinkBase + i * 1024, 1024, i == 3));
  for (uint32_t i = 1; i <= 3; ++i)
    add(seeds[1], untagged(EXRNIC_RDMAP_OPCODE_SEND, EXRNIC_SEND_QN, i, Bytes(200 * i, 0x11)));
  add(seeds[1], untagged(EXRNIC_RDMAP_OPCODE_IMMEDIATE, EXRNIC_SEND_QN, 4, Bytes(8)));
  add(seeds[2], read_request(kSink, 3000));
  add(seeds[2], untagged(EXRNIC_RDMAP_OPCODE_SEND_INVALIDATE, EXRNIC_SEND_QN, 1, {}, kSink));
  add(seeds[2], tagged(EXRNIC_RDMAP_OPCODE_WRITE, kSink, kSinkBase, 10));
  add(seeds[3], tagged(EXRNIC_RDMAP_OPCODE_WRITE, kSecret, kSinkBase, 10));
  add(seeds[3], untagged(EXRNIC_RDMAP_OPCODE_TERMINATE, EXRNIC_TERMINATE_QN, 0, Bytes(20)));
  add(seeds[4], tagged(EXRNIC_RDMAP_OPCODE_READ_RESPONSE, kSink, kSinkBase, 100));
  for (uint64_t i = 0; i < 3; ++i)
    add_once(seeds[5], tagged(EXRNIC_RDMAP_OPCODE_WRITE, kSink, kSinkBase + i * 1024, 1024, i == 2),
             i == 0);
  add_once(seeds[5], untagged(EXRNIC_RDMAP_OPCODE_IMMEDIATE, EXRNIC_SEND_QN, 1, Bytes(8)), false);
  for (uint32_t i = 1; i <= 3; ++i)
    add_once(seeds[5], untagged(EXRNIC_RDMAP_OPCODE_SEND, EXRNIC_SEND_QN, i, Bytes(300 * i, 0x11)),
             true);
  for (uint32_t i = 0; i < 6; ++i)
    add_datagram(seeds[6],
                 untagged(EXRNIC_RDMAP_OPCODE_SEND, EXRNIC_SEND_QN, 1, Bytes(400 * i, 0x33)),
                 i % 2 == 0);
  for (uint8_t i = 1; i <= 3; ++i)
    add(seeds[7], untagged(EXRNIC_RDMAP_OPCODE_TERMINATE, EXRNIC_TERMINATE_QN, 1, Bytes(20)),
        kAllRight, i == 2 ? EXRNIC_EFE_FLAGS_RNR : 0, i);
  return seeds;
}

// A core of its own for each input: it is quickly made.
void fuzz_frames_ref(const uint8_t* data, size_t size) {
  FrameBench bench(make_ref_core);
  bench.run(data, size);
}

}  // namespace exrnic::fuzz
