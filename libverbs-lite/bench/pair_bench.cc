// SPDX-License-Identifier: BSD-2-Clause
#include "pair_bench.h"

#include <cstring>
#include <stdexcept>

#include "stopwatch.h"

namespace exrnic {

namespace {

constexpr uint32_t kMessage = 8;
constexpr uint32_t kWrite = 64 << 10;
constexpr uint32_t kDepth = 16;
constexpr uint32_t kRounds = 20'000;
constexpr uint32_t kWarmUp = 100;
constexpr uint32_t kWrites = 8192;

enum Message : uint32_t { kHello = 1, kReady, kBye };

struct Hello {
  uint64_t address;
  uint32_t node;
  uint32_t qpn;
  uint32_t stag;
};

// One end; members in the order in which they are made.
class End {
 public:
  explicit End(const OpenRnicCall& open)
      : memory_(kDepth * kWrite),
        rnic_(Own(open(), "cannot open the RNIC")),
        pd_(Own(vl_allocate_pd(rnic_.get()), "vl_allocate_pd")),
        cq_(Own(vl_create_cq(rnic_.get(), 4 * kDepth, nullptr), "vl_create_cq")),
        qp_(CreateQp(pd_.get(), Attributes(cq_.get()))),
        mr_(Own(vl_allocate_mr(pd_.get(), memory_.data(), memory_.size(),
                               VL_ACCESS_LOCAL_WRITE | VL_ACCESS_REMOTE_WRITE),
                "vl_allocate_mr")) {}

  void Connect(uint32_t node, Oob* oob) {
    const Hello mine = {AddressOf(memory_.data()), node, vl_qp_number(qp_.get()),
                        vl_mr_stag(mr_.get())};
    peer_ = oob->Exchange(kHello, mine);
    if (peer_.node == node) throw std::runtime_error("both ends say the same --node");
    ConnectQp(qp_.get(), peer_.node, peer_.qpn);
  }
  const Hello& peer() const { return peer_; }
  uint8_t* memory() const { return memory_.data(); }

  void PostReceive() {
    const vl_sge sge = {AddressOf(memory_.data()), kMessage, vl_mr_stag(mr_.get())};
    const vl_recv_wr wr = {0, nullptr, &sge, 1};
    Check(vl_post_rq(qp_.get(), &wr, nullptr), "vl_post_rq");
  }
  // Its completion only gives its slot back, so one in kDepth / 2 has one.
  void Send() {
    vl_send_wr wr = {};
    const vl_sge sge = {AddressOf(memory_.data()), kMessage, 0};
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = VL_OP_SEND;
    wr.flags = VL_SEND_INLINE | (++sends_ % (kDepth / 2) == 0 ? VL_SEND_SIGNALED : 0);
    Check(vl_post_sq(qp_.get(), &wr, nullptr), "vl_post_sq");
  }
  void Push(uint32_t place) {
    const vl_sge sge = {AddressOf(memory_.data() + size_t{place} * kWrite), kWrite,
                        vl_mr_stag(mr_.get())};
    vl_send_wr wr = {};
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = VL_OP_PUSH;
    wr.flags = VL_SEND_SIGNALED;
    wr.remote_stag = peer_.stag;
    wr.remote_address = peer_.address + uint64_t{place} * kWrite;
    Check(vl_post_sq(qp_.get(), &wr, nullptr), "vl_post_sq");
  }
  // The next completion that is a receive (or, for PUSHes, any).
  void Await(bool receive, const char* what) {
    for (;;) {
      const vl_wc wc = AwaitCompletion(cq_.get(), what);
      if (wc.status != VL_WC_SUCCESS) {
        throw std::runtime_error(std::string(what) + " failed: " + vl_status_string(wc.status));
      }
      if (!receive || wc.opcode == VL_WC_RECV) return;
    }
  }

 private:
  static vl_qp_init_attr Attributes(vl_cq* cq) {
    // Twice the PUSHes under way: SENDs that gave no slot back yet may stand before them.
    vl_qp_init_attr init = QpAttributes(cq, 2 * kDepth, 2);
    init.max_inline = kMessage;
    return init;
  }

  Pages memory_;
  Owned<vl_rnic> rnic_;
  Owned<vl_pd> pd_;
  Owned<vl_cq> cq_;
  Owned<vl_qp> qp_;
  Owned<vl_mr> mr_;
  Hello peer_ = {};
  uint32_t sends_ = 0;
};

// Both ends hold a receive ready before anything is sent to them. The first byte of the last
// message is 1: then the peer answers no more.
void Ping(const PairOptions& options, End* end, Report* report) {
  std::vector<double> rounds;
  const Stopwatch whole;
  uint32_t round = 0;
  for (bool last = false; !last; ++round) {
    last = round + 1 == kRounds || whole.Ns() > options.seconds * 1e9;
    end->memory()[0] = last;
    const Stopwatch trip;
    end->Send();
    end->Await(true, "the answer of the peer");
    if (round >= kWarmUp || last) rounds.push_back(trip.Ns() / 1e3);
    if (!last) end->PostReceive();
  }
  const Report::Keys keys = {{"size", kMessage}, {"count", rounds.size()}};
  report->Add("pingpong.wall_us", Median(rounds), "us", keys);
  report->Add("pingpong.wall_mean_us", whole.Ns() / 1e3 / round, "us", keys);
}

void Pong(End* end) {
  for (bool last = false; !last;) {
    end->Await(true, "a message of the peer");
    last = end->memory()[0] != 0;
    if (!last) end->PostReceive();
    end->Send();
  }
}

void Write(const PairOptions& options, End* end, Report* report) {
  for (uint32_t place = 0; place < kDepth; ++place)
    memset(end->memory() + size_t{place} * kWrite, static_cast<int>(place + 1), kWrite);
  const Stopwatch watch;
  uint32_t posted = 0;
  uint32_t done = 0;
  for (; posted < kDepth; ++posted) end->Push(posted);
  while (done < posted) {
    end->Await(false, "a PUSH");
    ++done;
    if (posted < kWrites && watch.Ns() < options.seconds * 1e9) end->Push(posted++ % kDepth);
  }
  const double mib = static_cast<double>(done) * kWrite / (1 << 20);
  report->Add("write.wall_mibps", mib / (watch.Ns() / 1e9), "MiB/s",
              {{"size", kWrite}, {"count", done}});
}

void CheckWritten(const End& end) {
  for (size_t i = 0; i < size_t{kDepth} * kWrite; ++i) {
    if (end.memory()[i] != i / kWrite + 1) {
      throw std::runtime_error("byte " + std::to_string(i) + " of the PUSHes is wrong");
    }
  }
}

void Measure(const PairOptions& options, const OpenRnicCall& open, Oob* oob, Report* report) {
  End end(open);
  end.Connect(options.node, oob);
  const bool measures = options.node < end.peer().node;
  end.PostReceive();
  oob->Exchange(kReady, options.node);
  measures ? Ping(options, &end, report) : Pong(&end);
  if (measures) Write(options, &end, report);
  oob->Exchange(kReady, options.node);
  if (!measures) CheckWritten(end);
  oob->Exchange(kBye, options.node);
}

}  // namespace

void MeasurePair(const PairOptions& options, const OpenRnicCall& open, Oob* oob, Report* report) {
  oob->Connect();
  try {
    Measure(options, open, oob, report);
  } catch (const std::exception& error) {
    oob->Abort(error.what());
    throw;
  }
}

}  // namespace exrnic
