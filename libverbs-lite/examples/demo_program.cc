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
constexpr uint64_t kPushSeed = 1, kPullSeed = 2;

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

  // A PUSH or a PULL of the first `bytes` of both memories; the device's time of its end.
  uint64_t Move(vl_wr_opcode opcode, uint32_t bytes) {
    vl_send_wr wr = {};
    wr.opcode = opcode;
    wr.remote_stag = peer_.stag;
    wr.remote_address = peer_.address;
    Post(wr, bytes);
    return Await(opcode == VL_OP_PUSH ? VL_WC_PUSH : VL_WC_PULL).timestamp_ns;
  }

  void Send(uint32_t bytes) {
    vl_send_wr wr = {};
    wr.opcode = VL_OP_SEND;
    wr.flags = VL_SEND_INLINE;
    Post(wr, bytes);
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
  vl_sge Sge(uint32_t bytes) const {
    return {AddressOf(memory_.data()), bytes, vl_mr_stag(mr_.get())};
  }
  void Post(vl_send_wr wr, uint32_t bytes) {
    const vl_sge sge = Sge(bytes);
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

// Rows of the table.
class Table {
 public:
  explicit Table(FILE* out) : out_(out) {
    fprintf(out_, "%-28s %8s %6s %15s %12s %10s\n", "operation", "size", "times", "simulated time",
            "bandwidth", "wall time");
  }
  // Device times of the ends of consecutive operations; the first is only where the clock starts.
  void Row(const std::string& operation, uint32_t bytes, const std::vector<uint64_t>& ends) {
    const auto now = Clock::now();
    const double count = static_cast<double>(ends.size() - 1);
    const double ns = static_cast<double>(ends.back() - ends.front()) / count;
    const double wall_ms = std::chrono::duration<double, std::milli>(now - last_).count();
    char bandwidth[32] = "";
    if (bytes >= 4096) snprintf(bandwidth, sizeof(bandwidth), "%.2f GB/s", bytes / ns);
    fprintf(out_, "%-28s %8s %6.0f %12.2f us %12s %7.1f ms\n", operation.c_str(),
            Size(bytes).c_str(), count, ns / 1e3, bandwidth, wall_ms);
    fflush(out_);
    last_ = Clock::now();
  }

 private:
  using Clock = std::chrono::steady_clock;
  static std::string Size(uint32_t bytes) {
    if (bytes % (1u << 20) == 0) return std::to_string(bytes >> 20) + " MiB";
    if (bytes % (1u << 10) == 0) return std::to_string(bytes >> 10) + " KiB";
    return std::to_string(bytes) + " B";
  }

  FILE* const out_;
  Clock::time_point last_ = Clock::now();
};

void Compare(uint64_t seed, uint8_t* with, uint32_t bytes, const char* what) {
  const auto wrong = ComparePattern(PatternStream(seed, bytes), with, bytes);
  if (!wrong) return;
  throw std::runtime_error(std::string(what) + " of " + std::to_string(bytes) + " bytes: byte " +
                           std::to_string(wrong->offset) + " is " + std::to_string(wrong->got) +
                           ", not " + std::to_string(wrong->expected));
}

std::vector<uint64_t> Repeat(End* end, vl_wr_opcode opcode, uint32_t bytes, uint32_t times) {
  std::vector<uint64_t> ends;
  for (uint32_t i = 0; i <= times; ++i) ends.push_back(end->Move(opcode, bytes));
  return ends;
}

void Lead(const DemoOptions& options, End* end, Oob* oob, FILE* out) {
  const std::string from = "node " + std::to_string(end->node());
  const std::string to = "node " + std::to_string(end->peer());
  Table table(out);
  for (uint32_t bytes : options.sizes) {
    FillPattern(PatternStream(kPushSeed, bytes), end->memory(), bytes);
    const auto ends = Repeat(end, VL_OP_PUSH, bytes, options.times);
    oob->SendStruct(kPushed, bytes);
    oob->Receive(kCompared);
    table.Row("PUSH  " + from + " -> " + to, bytes, ends);
  }
  for (uint32_t bytes : options.sizes) {
    oob->SendStruct(kReady, bytes);
    oob->Receive(kReady);
    memset(end->memory(), 0, bytes);
    const auto ends = Repeat(end, VL_OP_PULL, bytes, options.times);
    Compare(kPullSeed, end->memory(), bytes, "a PULL");
    table.Row("PULL  " + from + " <- " + to, bytes, ends);
  }
  oob->Exchange<uint32_t>(kReady, 0);
  std::vector<uint64_t> ends;
  for (uint64_t round = 0; round <= options.rounds; ++round) {
    FillPattern(PatternStream(round, kPingBytes), end->memory(), kPingBytes);
    end->PostReceive(kPingBytes);
    end->Send(kPingBytes);
    ends.push_back(end->AwaitMessage());
    Compare(round, end->memory(), kPingBytes, "an answer");
  }
  table.Row("SEND  and back, round trip", kPingBytes, ends);
}

void Follow(const DemoOptions& options, End* end, Oob* oob) {
  for (uint32_t bytes : options.sizes) {
    if (oob->ReceiveStruct<uint32_t>(kPushed) != bytes) throw std::runtime_error("other sizes");
    Compare(kPushSeed, end->memory(), bytes, "a PUSH");
    oob->SendStruct(kCompared, bytes);
  }
  for (uint32_t bytes : options.sizes) {
    if (oob->ReceiveStruct<uint32_t>(kReady) != bytes) throw std::runtime_error("other sizes");
    FillPattern(PatternStream(kPullSeed, bytes), end->memory(), bytes);
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
  End end(open, std::max(most, kPingBytes));
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
