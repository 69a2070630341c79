// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/random_spoil.h"

namespace exrnic::testing {
namespace {

using Spoil = void (*)(Operation& operation, unsigned pair);

// A plain PUSH or PULL with one element, or a SEND with a receive, of at least two bytes.
void make_simple(Operation& operation, unsigned pair, exrnic_wqe_opcode opcode) {
  constexpr uint32_t kBytes = 700;
  exrnic_wqe& header = operation.header;
  const bool pull = opcode == EXRNIC_WQE_OPCODE_PULL;
  const Place source = place_of(Memory::kSource, pair % kDomains);
  const Place local = pull ? place_of(Memory::kLanding, pair) : source;
  const Place remote = pull ? source : place_of(Memory::kSink, pair);
  header = {};
  header.opcode = opcode;
  header.num_sge = header.num_slots = 1;
  header.length = kBytes;
  operation.inline_data.clear();
  operation.elements = {{local.base + 3, kBytes, local.stag}};
  operation.receive.reset();
  if (opcode == EXRNIC_WQE_OPCODE_SEND) {
    const Place inbox = place_of(Memory::kInbox, pair);
    operation.receive = {{inbox.base + 5, kBytes, inbox.stag}};
  } else {
    header.remote_stag = remote.stag;
    header.remote_to = remote.base + 7;
  }
}

void as_push(Operation& operation, unsigned pair) {
  make_simple(operation, pair, EXRNIC_WQE_OPCODE_PUSH);
}
void as_send(Operation& operation, unsigned pair) {
  make_simple(operation, pair, EXRNIC_WQE_OPCODE_SEND);
}
void as_pull(Operation& operation, unsigned pair) {
  make_simple(operation, pair, EXRNIC_WQE_OPCODE_PULL);
}

uint64_t end_of(Memory memory, unsigned which) {
  return place_of(memory, which).base + kRegionBytes;
}

// Where the peer finds the fault. `make` gives the operation, `change` the fault.
constexpr Spoil kRemoteSpoils[] = {
    [](Operation& o, unsigned p) { as_push(o, p), o.header.remote_stag ^= 1; },
    [](Operation& o, unsigned p) { as_push(o, p), o.header.remote_stag += 0x100000; },
    [](Operation& o, unsigned p) { as_push(o, p), o.header.remote_stag |= 0xffff'ff00; },
    [](Operation& o, unsigned p) {
      as_push(o, p), o.header.remote_to = place_of(Memory::kSink, p).base - 1;
    },
    [](Operation& o, unsigned p) {
      as_push(o, p), o.header.remote_to = end_of(Memory::kSink, p) - o.header.length + 1;
    },
    [](Operation& o, unsigned p) { as_push(o, p), o.header.remote_to = ~uint64_t{0}; },
    [](Operation& o, unsigned p) {  // of the other domain
      as_push(o, p), o.header.remote_stag = place_of(Memory::kSink, (p + 1) % kPairs).stag;
    },
    [](Operation& o, unsigned p) {  // no right to write
      as_push(o, p);
      const Place source = place_of(Memory::kSource, p % kDomains);
      o.header.remote_stag = source.stag;
      o.header.remote_to = source.base;
    },
    [](Operation& o, unsigned p) { as_pull(o, p), o.header.remote_stag ^= 1; },
    [](Operation& o, unsigned p) {
      as_pull(o, p), o.header.remote_to = end_of(Memory::kSource, p % kDomains) - 1;
    },
    [](Operation& o, unsigned p) { as_pull(o, p), o.header.remote_to = ~uint64_t{0} - 1; },
    [](Operation& o, unsigned p) {
      as_pull(o, p), o.header.remote_stag = place_of(Memory::kSource, (p + 1) % kDomains).stag;
    },
    [](Operation& o, unsigned p) {  // no right to read
      as_pull(o, p);
      const Place sink = place_of(Memory::kSink, p);
      o.header.remote_stag = sink.stag;
      o.header.remote_to = sink.base;
    },
    [](Operation& o, unsigned p) { as_send(o, p), o.receive->front().length -= 1; },
    [](Operation& o, unsigned p) { as_send(o, p), o.receive->front().stag ^= 1; },
    [](Operation& o, unsigned p) { as_send(o, p), o.receive->front().address += kRegionBytes; },
    [](Operation& o, unsigned p) {  // no right to write
      as_send(o, p);
      const Place source = place_of(Memory::kSource, p % kDomains);
      o.receive->front() = {source.base, o.header.length, source.stag};
    },
    [](Operation& o, unsigned p) {
      as_send(o, p);
      o.header.opcode = EXRNIC_WQE_OPCODE_SEND_INVALIDATE;
      o.header.imm_data = place_of(Memory::kVictim, p).stag ^ 1;
    },
    [](Operation& o, unsigned p) {  // a region without a remote right
      as_send(o, p);
      o.header.opcode = EXRNIC_WQE_OPCODE_SEND_INVALIDATE;
      o.header.imm_data = place_of(Memory::kInbox, p).stag;
    },
};

constexpr Spoil kLocalSpoils[] = {
    [](Operation& o, unsigned p) { as_push(o, p), o.header.opcode = 0; },
    [](Operation& o, unsigned p) { as_push(o, p), o.header.opcode = EXRNIC_WQE_OPCODE_RECV; },
    [](Operation& o, unsigned p) { as_push(o, p), o.header.flags |= 0x40; },
    [](Operation& o, unsigned p) { as_push(o, p), o.header.flags |= EXRNIC_WQE_FLAGS_SOLICITED; },
    [](Operation& o, unsigned p) { as_push(o, p), o.header.flags |= EXRNIC_WQE_FLAGS_INLINE; },
    [](Operation& o, unsigned p) { as_pull(o, p), o.header.flags |= EXRNIC_WQE_FLAGS_INLINE; },
    [](Operation& o, unsigned p) { as_push(o, p), o.header.num_sge = EXRNIC_MAX_SGE + 1; },
    [](Operation& o, unsigned p) { as_push(o, p), o.header.num_slots = 0; },
    [](Operation& o, unsigned p) { as_push(o, p), o.header.num_slots = 200; },
    [](Operation& o, unsigned p) { as_push(o, p), o.header.imm_data = 0x8000'0000; },
    [](Operation& o, unsigned p) { as_push(o, p), o.header.length += 1; },
    [](Operation& o, unsigned p) {
      as_push(o, p);
      o.header.length = o.elements.front().length = EXRNIC_MESSAGE_MAX + 1;
    },
    [](Operation& o, unsigned p) { as_push(o, p), o.elements.front().stag ^= 1; },
    [](Operation& o, unsigned p) { as_push(o, p), o.elements.front().stag |= 0xffff'ff00; },
    [](Operation& o, unsigned p) {
      as_push(o, p), o.elements.front().address = end_of(Memory::kSource, p % kDomains) - 1;
    },
    [](Operation& o, unsigned p) { as_push(o, p), o.elements.front().address = ~uint64_t{0}; },
    [](Operation& o, unsigned p) {
      as_push(o, p);
      o.elements.front().stag = place_of(Memory::kSource, (p + 1) % kDomains).stag;
    },
    [](Operation& o, unsigned p) {  // PULLed bytes need the right to write
      as_pull(o, p);
      const Place source = place_of(Memory::kSource, p % kDomains);
      o.elements.front().stag = source.stag;
      o.elements.front().address = source.base;
    },
    [](Operation& o, unsigned p) {
      as_push(o, p);
      o.header = {};
      o.header.opcode = EXRNIC_WQE_OPCODE_LOCAL_INVALIDATE;
      o.header.num_slots = 1;
      o.header.imm_data = place_of(Memory::kOwnVictim, p).stag ^ 1;
      o.elements.clear();
    },
};

template <size_t N>
Spoil any(std::mt19937_64& random, const Spoil (&spoils)[N]) {
  return spoils[random() % N];
}

}  // namespace

void spoil(std::mt19937_64& random, Operation& operation, unsigned pair, SpoilKind kind) {
  const Spoil chosen =
      kind == SpoilKind::kLocal ? any(random, kLocalSpoils) : any(random, kRemoteSpoils);
  chosen(operation, pair);
}

}  // namespace exrnic::testing
