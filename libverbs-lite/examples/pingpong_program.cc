// SPDX-License-Identifier: BSD-2-Clause
#include "pingpong_program.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "pattern.h"

namespace exrnic {

namespace {

enum Message : uint32_t { kHello = 1, kReady, kBye };

struct Hello {
  uint64_t seed;
  uint64_t plan;  // a digest of sizes and rounds, which both ends must agree on
  uint32_t node;
  uint32_t qpn;
};

uint64_t PlanDigest(const PingpongOptions& options) {
  uint64_t digest = Mix(options.rounds);
  for (uint32_t size : options.sizes) digest = Mix(digest + size);
  return digest;
}

// All that one guest has; members in the order in which they may be made.
class Table {
 public:
  Table(const OpenRnicCall& open, bool events)
      : sent_(kPingpongSizeMax),
        received_(2 * kPingpongSizeMax),
        rnic_(Own(open(), "cannot open the RNIC")),
        pd_(Own(vl_allocate_pd(rnic_.get()), "vl_allocate_pd")),
        channel_(events ? CreateCompChannel(rnic_.get()) : nullptr),
        cq_(CreateCq(rnic_.get(), QueueAttributes(channel_.get()))),
        qp_(CreateQp(pd_.get(), Attributes(cq_.get()))),
        sent_mr_(Register(sent_, 0)),
        received_mr_(Register(received_, VL_ACCESS_LOCAL_WRITE)) {}

  vl_rnic* rnic() const { return rnic_.get(); }
  vl_qp* qp() const { return qp_.get(); }
  uint8_t* message() const { return sent_.data(); }

  // Receives go to two halves of the memory in turn: one takes the next message while the bytes of
  // the last one are still at work.
  void PostReceive(uint32_t size) {
    const vl_sge sge = {AddressOf(Half(next_)), size, vl_mr_stag(received_mr_.get())};
    const vl_recv_wr wr = {next_++, nullptr, &sge, 1};
    Check(vl_post_rq(qp_.get(), &wr, nullptr), "vl_post_rq");
  }

  void SendMessage(uint32_t size) { Send({AddressOf(message()), size, StagOf(sent_mr_)}); }
  // The bytes of a receive.
  void SendBack(const vl_wc& receive) {
    Send({AddressOf(Half(receive.wr_id)), receive.byte_len, StagOf(received_mr_)});
  }
  const uint8_t* BytesOf(const vl_wc& receive) const { return Half(receive.wr_id); }

  // The next receive; completions of SENDs only give back their slots.
  vl_wc AwaitMessage(const std::string& what) {
    for (;;) {
      const vl_wc wc = channel_ ? SleepUntilCompletion(channel_.get(), cq_.get(), what, true)
                                : AwaitCompletion(cq_.get(), what);
      if (wc.status != VL_WC_SUCCESS) {
        throw std::runtime_error(what + " failed: " + vl_status_string(wc.status));
      }
      if (wc.opcode == VL_WC_RECV) return wc;
    }
  }

 private:
  static constexpr uint32_t kSends = 4;
  static constexpr uint32_t kReceives = 2;

  static vl_cq_init_attr QueueAttributes(vl_comp_channel* channel) {
    vl_cq_init_attr attr = {};
    attr.entries = kSends + kReceives;
    attr.channel = channel;
    return attr;
  }
  static vl_qp_init_attr Attributes(vl_cq* cq) {
    vl_qp_init_attr init = QpAttributes(cq, kSends, kReceives);
    init.max_inline = VL_MAX_INLINE;
    return init;
  }
  static uint32_t StagOf(const Owned<vl_mr>& mr) { return vl_mr_stag(mr.get()); }
  Owned<vl_mr> Register(const Pages& pages, int access) {
    return Own(vl_allocate_mr(pd_.get(), pages.data(), pages.size(), access), "vl_allocate_mr");
  }
  uint8_t* Half(uint64_t receive) const {
    return received_.data() + receive % 2 * kPingpongSizeMax;
  }
  void Send(const vl_sge& sge) {
    vl_send_wr wr = {};
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = VL_OP_SEND;
    wr.flags =
        VL_SEND_SIGNALED | VL_SEND_SOLICITED | (sge.length <= VL_MAX_INLINE ? VL_SEND_INLINE : 0);
    Check(vl_post_sq(qp_.get(), &wr, nullptr), "vl_post_sq");
  }

  Pages sent_;
  Pages received_;
  Owned<vl_rnic> rnic_;
  Owned<vl_pd> pd_;
  Owned<vl_comp_channel> channel_;
  Owned<vl_cq> cq_;
  Owned<vl_qp> qp_;
  Owned<vl_mr> sent_mr_;
  Owned<vl_mr> received_mr_;
  uint64_t next_ = 0;
};

Hello Greet(const PingpongOptions& options, const Table& table, Oob* oob) {
  const uint32_t node = QueryRnic(table.rnic()).node_id;
  if (node != options.node) {
    throw std::runtime_error("the RNIC is node " + std::to_string(node) + ", not " +
                             std::to_string(options.node) + " as --node says");
  }
  const Hello mine = {options.seed, PlanDigest(options), options.node, vl_qp_number(table.qp())};
  const Hello theirs = oob->Exchange(kHello, mine);
  if (theirs.node == options.node) throw std::runtime_error("both guests say the same --node");
  if (theirs.plan != mine.plan) {
    throw std::runtime_error("the peer was started with other --sizes or --rounds");
  }
  ConnectQp(table.qp(), theirs.node, theirs.qpn);
  return theirs;
}

std::string Describe(const char* what, uint32_t round, uint32_t size) {
  return std::string(what) + " " + std::to_string(round) + " of " + std::to_string(size) + " bytes";
}

double Median(std::vector<uint64_t> values) {
  const auto half = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), half, values.end());
  return static_cast<double>(*half);
}

// Node 0. One round more than is counted: the first only gives the time from which to count.
double Ping(Table* table, uint32_t size, uint32_t rounds, uint64_t seed) {
  std::vector<uint64_t> trips;
  uint64_t last = 0;
  for (uint32_t round = 0; round <= rounds; ++round) {
    const uint64_t stream = PatternStream(seed, round);
    FillPattern(stream, table->message(), size);
    table->PostReceive(size);
    table->SendMessage(size);
    const std::string what = Describe("answer", round, size);
    const vl_wc wc = table->AwaitMessage(what);
    if (wc.byte_len != size || ComparePattern(stream, table->BytesOf(wc), size)) {
      throw std::runtime_error(what + " is not what was sent");
    }
    if (round > 0) trips.push_back(wc.timestamp_ns - last);
    last = wc.timestamp_ns;
  }
  return Median(std::move(trips)) / 1e3;
}

// Node 1. Its receive is posted before the ping comes: the first by the caller, each further one
// before the answer goes out.
void Pong(Table* table, uint32_t size, uint32_t rounds) {
  for (uint32_t round = 0; round <= rounds; ++round) {
    const vl_wc wc = table->AwaitMessage(Describe("message", round, size));
    if (round < rounds) table->PostReceive(size);
    table->SendBack(wc);
  }
}

void PlayAll(const PingpongOptions& options, const OpenRnicCall& open, Oob* oob, FILE* out) {
  Table table(open, options.events);
  const Hello peer = Greet(options, table, oob);
  const bool serves = options.node < peer.node;
  for (uint32_t size : options.sizes) {
    if (!serves) table.PostReceive(size);
    oob->Exchange(kReady, size);
    if (!serves) {
      Pong(&table, size, options.rounds);
      continue;
    }
    const double rtt_us = Ping(&table, size, options.rounds, Mix(options.seed + size));
    fprintf(out, "@exrnic {\"size\":%u,\"rounds\":%u,\"verified\":%u,\"rtt_us\":%.3f%s}\n", size,
            options.rounds, options.rounds, rtt_us, options.events ? ",\"events\":true" : "");
    fflush(out);
  }
  oob->Exchange(kBye, options.node);
}

}  // namespace

std::vector<uint32_t> DefaultPingpongSizes() {
  return {8, 64, 256, 1u << 10, 4u << 10, 16u << 10, 64u << 10};
}

void RunPingpong(const PingpongOptions& options, const OpenRnicCall& open, Oob* oob, FILE* out) {
  oob->Connect();
  try {
    PlayAll(options, open, oob, out);
  } catch (const std::exception& error) {
    oob->Abort(error.what());
    throw;
  }
}

}  // namespace exrnic
