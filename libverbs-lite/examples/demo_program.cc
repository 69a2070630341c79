// SPDX-License-Identifier: BSD-2-Clause
#include "demo_program.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <string>

#include "pattern.h"

namespace exrnic {

namespace {

enum Message : uint32_t { kHello = 300, kConnected, kReady, kPushed, kCompared, kBye };

constexpr uint32_t kPingBytes = 8;
constexpr uint64_t kPushSeed = 1'000'000, kPullSeed = 2'000'000;  // and one more for each part

// What one end tells the other before any byte goes through the RNICs.
struct Hello {
  uint64_t address;  // of its memory
  uint32_t stag;
  uint32_t node;
  uint32_t qpn;
  uint32_t rsvd;
};

// One end: memory that its peer may write and read, and a queue pair.
class End {
 public:
  End(const OpenRnicCall& open, size_t bytes)
      : memory_(bytes),
        rnic_(Own(open(), "cannot open the RNIC")),
        pd_(Own(vl_allocate_pd(rnic_.get()), "vl_allocate_pd")),
        cq_(Own(vl_create_cq(rnic_.get(), 64, nullptr), "vl_create_cq")),
        qp_(CreateQp(pd_.get(), Attributes(cq_.get()))),
        mr_(Own(
            vl_allocate_mr(pd_.get(), memory_.data(), bytes,
                           VL_ACCESS_LOCAL_WRITE | VL_ACCESS_REMOTE_WRITE | VL_ACCESS_REMOTE_READ),
            "vl_allocate_mr")) {}

  void Connect(Oob* oob) {
    const Hello mine = {AddressOf(memory_.data()), vl_mr_stag(mr_.get()),
                        QueryRnic(rnic_.get()).node_id, vl_qp_number(qp_.get()), 0};
    peer_ = oob->Exchange(kHello, mine);
    if (peer_.node == mine.node) throw std::runtime_error("both ends are the same node");
    ConnectQp(qp_.get(), peer_.node, peer_.qpn);
    // Nothing may arrive before the other one knows its peer, too.
    oob->Exchange<uint32_t>(kConnected, 0);
  }

  uint8_t* memory() { return memory_.data(); }
  uint32_t node() const { return QueryRnic(rnic_.get()).node_id; }
  uint32_t peer() const { return peer_.node; }

  // A PUSH or a PULL of part `part` of both memories, in parts of `bytes`; the device's time of its
  // end.
  uint64_t Move(vl_wr_opcode opcode, uint32_t bytes, uint32_t part) {
    const uint64_t offset = uint64_t{part} * bytes;
    vl_send_wr wr = {};
    wr.opcode = opcode;
    wr.remote_stag = peer_.stag;
    wr.remote_address = peer_.address + offset;
    Post(wr, Sge(bytes, offset));
    return Await(opcode == VL_OP_PUSH ? VL_WC_PUSH : VL_WC_PULL).timestamp_ns;
  }

  void Send(uint32_t bytes) {
    vl_send_wr wr = {};
    wr.opcode = VL_OP_SEND;
    wr.flags = VL_SEND_INLINE;
    Post(wr, Sge(bytes));
  }
  void PostReceive(uint32_t bytes) {
    const vl_sge sge = Sge(bytes);
    vl_recv_wr wr = {};
    wr.sg_list = &sge;
    wr.num_sge = 1;
    Check(vl_post_rq(qp_.get(), &wr, nullptr), "vl_post_rq");
  }
  uint64_t AwaitMessage() { return Await(VL_WC_RECV).timestamp_ns; }

 private:
  static vl_qp_init_attr Attributes(vl_cq* cq) {
    vl_qp_init_attr init = QpAttributes(cq, 16, 4);
    init.max_inline = kPingBytes;
    init.max_reads_out = 1;
    init.max_reads_in = 1;
    return init;
  }
  vl_sge Sge(uint32_t bytes, uint64_t offset = 0) const {
    return {AddressOf(memory_.data()) + offset, bytes, vl_mr_stag(mr_.get())};
  }
  void Post(vl_send_wr wr, const vl_sge& sge) {
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.flags |= VL_SEND_SIGNALED;
    Check(vl_post_sq(qp_.get(), &wr, nullptr), "vl_post_sq");
  }
  // The next completion of this kind; those of SENDs are not waited for and come in between.
  vl_wc Await(vl_wc_opcode opcode) {
    for (;;) {
      const vl_wc wc = AwaitCompletion(cq_.get(), "a work request");
      if (wc.status != VL_WC_SUCCESS) throw std::runtime_error(vl_status_string(wc.status));
      if (wc.opcode == opcode) return wc;
    }
  }

  std::vector<uint8_t> memory_;
  Owned<vl_rnic> rnic_;
  Owned<vl_pd> pd_;
  Owned<vl_cq> cq_;
  Owned<vl_qp> qp_;
  Owned<vl_mr> mr_;
  Hello peer_ = {};
};

// A line of JSON for each operation and size.
class Rows {
 public:
  Rows(FILE* out, const End& end) : out_(out), from_(end.node()), to_(end.peer()) {}

  // ends: the device's times of consecutive operations; the first is where the clock starts.
  // verified: of these, those whose bytes were compared.
  void Add(const char* operation, uint32_t bytes, const std::vector<uint64_t>& ends,
           uint32_t verified) {
    const std::chrono::duration<double, std::milli> wall = Clock::now() - last_;
    const double ns = static_cast<double>(ends.back() - ends.front());
    fprintf(out_,
            "@exrnic {\"operation\":\"%s\",\"from\":%u,\"to\":%u,\"size\":%u,\"ops\":%zu,"
            "\"verified\":%u,\"time_us\":%.3f,\"wall_ms\":%.1f}\n",
            operation, from_, to_, bytes, ends.size(), verified,
            ns / 1e3 / static_cast<double>(ends.size() - 1), wall.count());
    fflush(out_);
    last_ = Clock::now();
  }

 private:
  using Clock = std::chrono::steady_clock;

  FILE* const out_;
  const uint32_t from_, to_;
  Clock::time_point last_ = Clock::now();
};

// The first takes the time from which the others are counted.
uint32_t PartsOf(const DemoOptions& options) { return options.times + 1; }

void Fill(uint64_t seed, uint8_t* memory, uint32_t bytes, uint32_t parts) {
  for (uint32_t part = 0; part < parts; ++part)
    FillPattern(PatternStream(seed + part, bytes), memory + uint64_t{part} * bytes, bytes);
}

void Compare(uint64_t seed, const uint8_t* with, uint32_t bytes, const char* what) {
  const auto wrong = ComparePattern(PatternStream(seed, bytes), with, bytes);
  if (!wrong) return;
  throw std::runtime_error(std::string(what) + " of " + std::to_string(bytes) + " bytes: byte " +
                           std::to_string(wrong->offset) + " is " + std::to_string(wrong->got) +
                           ", not " + std::to_string(wrong->expected));
}

// How many were compared: all.
uint32_t CompareParts(uint64_t seed, const uint8_t* with, uint32_t bytes, uint32_t parts,
                      const char* what) {
  uint32_t compared = 0;
  for (; compared < parts; ++compared)
    Compare(seed + compared, with + uint64_t{compared} * bytes, bytes, what);
  return compared;
}

std::vector<uint64_t> MoveParts(End* end, vl_wr_opcode opcode, uint32_t bytes, uint32_t parts) {
  std::vector<uint64_t> ends;
  for (uint32_t part = 0; part < parts; ++part) ends.push_back(end->Move(opcode, bytes, part));
  return ends;
}

void Lead(const DemoOptions& options, End* end, Oob* oob, FILE* out) {
  const uint32_t parts = PartsOf(options);
  Rows rows(out, *end);
  for (uint32_t bytes : options.sizes) {
    Fill(kPushSeed, end->memory(), bytes, parts);
    const auto ends = MoveParts(end, VL_OP_PUSH, bytes, parts);
    oob->SendStruct(kPushed, bytes);
    rows.Add("PUSH", bytes, ends, oob->ReceiveStruct<uint32_t>(kCompared));
  }
  for (uint32_t bytes : options.sizes) {
    oob->SendStruct(kReady, bytes);
    oob->Receive(kReady);
    memset(end->memory(), 0, uint64_t{parts} * bytes);
    const auto ends = MoveParts(end, VL_OP_PULL, bytes, parts);
    rows.Add("PULL", bytes, ends, CompareParts(kPullSeed, end->memory(), bytes, parts, "a PULL"));
  }
  oob->Exchange<uint32_t>(kReady, 0);
  std::vector<uint64_t> ends;
  uint32_t verified = 0;
  for (uint64_t round = 0; round <= options.rounds; ++round, ++verified) {
    FillPattern(PatternStream(round, kPingBytes), end->memory(), kPingBytes);
    end->PostReceive(kPingBytes);
    end->Send(kPingBytes);
    ends.push_back(end->AwaitMessage());
    Compare(round, end->memory(), kPingBytes, "an answer");
  }
  rows.Add("SEND", kPingBytes, ends, verified);
}

void Follow(const DemoOptions& options, End* end, Oob* oob) {
  const uint32_t parts = PartsOf(options);
  for (uint32_t bytes : options.sizes) {
    if (oob->ReceiveStruct<uint32_t>(kPushed) != bytes) throw std::runtime_error("other sizes");
    oob->SendStruct(kCompared, CompareParts(kPushSeed, end->memory(), bytes, parts, "a PUSH"));
  }
  for (uint32_t bytes : options.sizes) {
    if (oob->ReceiveStruct<uint32_t>(kReady) != bytes) throw std::runtime_error("other sizes");
    Fill(kPullSeed, end->memory(), bytes, parts);
    oob->SendStruct(kReady, bytes);
  }
  end->PostReceive(kPingBytes);
  oob->Exchange<uint32_t>(kReady, 0);
  for (uint32_t round = 0; round <= options.rounds; ++round) {
    end->AwaitMessage();
    // The next message may follow the answer at once. It cannot overtake it, so both may use the
    // same memory.
    if (round < options.rounds) end->PostReceive(kPingBytes);
    end->Send(kPingBytes);
  }
}

void Run(const DemoOptions& options, const OpenRnicCall& open, Oob* oob, FILE* out) {
  const uint32_t most = *std::max_element(options.sizes.begin(), options.sizes.end());
  End end(open, std::max(size_t{PartsOf(options)} * most, size_t{kPingBytes}));
  end.Connect(oob);
  if (end.node() < end.peer()) {
    Lead(options, &end, oob, out);
  } else {
    Follow(options, &end, oob);
  }
  oob->Exchange<uint32_t>(kBye, 0);
}

}  // namespace

void RunDemo(const DemoOptions& options, const OpenRnicCall& open, Oob* oob, FILE* out) {
  oob->Connect();
  try {
    Run(options, open, oob, out);
  } catch (const std::exception& error) {
    oob->Abort(error.what());
    throw;
  }
}

}  // namespace exrnic
