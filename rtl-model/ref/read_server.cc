// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/ref/read_server.h"

#include <algorithm>
#include <utility>

#include "rtl-model/ref/ddp_header.h"
#include "rtl-model/ref/terminate_message.h"
#include "rtl-model/ref/to_peer.h"

namespace exrnic::ref {
namespace {

exrnic_term_code refusal(Verdict verdict) {
  switch (verdict) {
    case Verdict::kStag:
      return EXRNIC_TERM_CODE_RDMAP_STAG;
    case Verdict::kStream:
      return EXRNIC_TERM_CODE_RDMAP_STREAM;
    case Verdict::kAccess:
      return EXRNIC_TERM_CODE_ACCESS;
    case Verdict::kWrap:
      return EXRNIC_TERM_CODE_RDMAP_WRAP;
    case Verdict::kBounds:
      return EXRNIC_TERM_CODE_RDMAP_BOUNDS;
    default:
      return EXRNIC_TERM_CODE_STREAM;
  }
}

}  // namespace

// The queue pair may have changed while there was no room.
void ReadServer::next_segment() {
  QueuePair& qp = turn_.qp();
  if (!turn_.exists() || !qp.serves_peer() || qp.at.reads.empty()) return turn_.end(true);
  const Read& read = qp.at.reads.front();
  if (read.refused) return refuse(*read.refused);
  if (read.atomic) return begin_atomic();
  if (read.length == 0) return submit({});
  const ElementList source{{{read.source_to, read.length, read.source_stag}},
                           asker(qp, turn_.qpn()),
                           EXRNIC_ACCESS_REMOTE_READ};
  const size_t length = std::min(read.length - read.done, qp.mtu(state_.settings.mtu));
  turn_.phase = Turn::Phase::kReading;
  state_.trace(EXRNIC_TRACE_PAYLOAD_FETCH, turn_.qpn());
  gather_.gather(source, read.done, length, [this](const auto& result) { gathered(result); });
}

void ReadServer::gathered(const Gather::Result& result) {
  if (!turn_.qp().serves_peer()) return turn_.end(true);
  if (result.verdict != Verdict::kOk) return refuse(refusal(result.verdict));
  if (!result.readable) return lose();
  submit(result.data);
}

Segment ReadServer::addressed() const {
  Segment segment = segment_to_peer(turn_.qp(), turn_.qpn());
  segment.tag.kind = Tag::Kind::kResponse;
  return segment;
}

void ReadServer::submit(const Bytes& payload) {
  auto& reads = turn_.qp().at.reads;
  Read& read = reads.front();
  const bool last = read.done + payload.size() == read.length;
  Segment segment = addressed();
  segment.ddp = make_header(
      Tagged{EXRNIC_RDMAP_OPCODE_READ_RESPONSE, last, read.sink_stag, read.sink_to + read.done});
  segment.ddp.insert(segment.ddp.end(), payload.begin(), payload.end());
  efe_tx_.submit(std::move(segment));
  read.done += static_cast<uint32_t>(payload.size());
  if (last) {
    reads.pop_front();
    state_.count(EXRNIC_COUNTER_READS_SERVED);
    turn_.end(true);
  } else if (turn_.over() || !efe_tx_.has_share(turn_.qp().dest_node)) {
    turn_.end(true);
  } else {
    turn_.phase = Turn::Phase::kWindow;
  }
}

// ---- Atomics: what was written before is there when they read.

void ReadServer::begin_atomic() {
  const Atomic& atomic = *turn_.qp().at.reads.front().atomic;
  if (!atomic.known()) return refuse(EXRNIC_TERM_CODE_OPCODE);
  if (atomic.to % EXRNIC_ATOMIC_BYTES != 0) return refuse(EXRNIC_TERM_CODE_STREAM);
  turn_.phase = Turn::Phase::kReading;
  dma_write_.then([this] {
    if (!turn_.exists() || !turn_.qp().serves_peer()) return turn_.end(true);
    const Atomic& atomic = *turn_.qp().at.reads.front().atomic;
    const ElementList place{{{atomic.to, EXRNIC_ATOMIC_BYTES, atomic.stag}},
                            asker(turn_.qp(), turn_.qpn()),
                            EXRNIC_ACCESS_REMOTE_ATOMIC};
    gather_.gather(place, 0, EXRNIC_ATOMIC_BYTES,
                   [this](const Gather::Result& found) { execute(found); });
  });
}

void ReadServer::execute(const Gather::Result& found) {
  if (!turn_.qp().serves_peer()) return turn_.end(true);
  if (found.verdict != Verdict::kOk) return refuse(refusal(found.verdict));
  if (!found.readable) return refuse(EXRNIC_TERM_CODE_STREAM);
  const Atomic& atomic = *turn_.qp().at.reads.front().atomic;
  uint64_t old = 0;
  for (size_t i = 0; i < EXRNIC_ATOMIC_BYTES; ++i) old |= uint64_t{found.data[i]} << 8 * i;
  const uint64_t value = result_of(atomic, old);
  if (value == old) return submit_atomic(old);
  Bytes bytes(EXRNIC_ATOMIC_BYTES);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(value >> 8 * i);
  const ElementList place{{{atomic.to, EXRNIC_ATOMIC_BYTES, atomic.stag}},
                          asker(turn_.qp(), turn_.qpn()),
                          EXRNIC_ACCESS_REMOTE_ATOMIC};
  scatter_.scatter(place, 0, bytes, [this, old](Verdict verdict) {
    if (!turn_.qp().serves_peer()) return turn_.end(true);
    if (verdict != Verdict::kOk) return refuse(refusal(verdict));
    dma_write_.then([this, old] {  // a PULL behind it sees what it has written
      turn_.exists() && turn_.qp().serves_peer() ? submit_atomic(old) : turn_.end(true);
    });
  });
}

void ReadServer::submit_atomic(uint64_t old) {
  auto& at = turn_.qp().at;
  Segment segment = addressed();
  segment.ddp = make_atomic_response(++at.atomic_msn, at.reads.front().atomic->request_id, old);
  efe_tx_.submit(std::move(segment));
  at.reads.pop_front();
  state_.count(EXRNIC_COUNTER_ATOMICS_SERVED);
  turn_.end(true);
}

// The completer learns of it in its place behind what was submitted before. Until then nothing else
// is answered: the peer would take it for the answer that is lost.
void ReadServer::lose() {
  turn_.qp().at.reads_halted = true;
  Segment segment = addressed();
  segment.unsent = true;
  segment.status = EXRNIC_CQE_STATUS_LOC_PROT_ERR;
  efe_tx_.submit(std::move(segment));
  turn_.end(true);
}

void ReadServer::refuse(exrnic_term_code code) {
  QueuePair& qp = turn_.qp();
  Segment message = addressed();
  message.ddp = terminate_message(code, make_read_request(qp.at.reads.front()));
  message.tag.kind = Tag::Kind::kTerminate;
  message.stream = false;
  efe_tx_.submit(std::move(message));
  qp.at.reads.pop_front();
  QueuePair::Status told;
  told.told = true;
  turn_.end(false);
  state_.go_to_error(turn_.qpn(), EXRNIC_QP_CAUSE_REQUEST, told);
}

}  // namespace exrnic::ref
