// SPDX-License-Identifier: BSD-2-Clause
#include "tools/bench/small_bench.h"

#include <fmt/core.h>

#include <optional>
#include <stdexcept>
#include <vector>

#include "tests/support/pair.h"
#include "tools/bench/limits.h"
#include "tools/bench/path.h"

namespace exrnic::bench {
namespace {

using testing::element;
using testing::QueuePair;
using testing::Region;
using testing::RnicDriver;
using testing::Work;

constexpr uint32_t kPage = 3;
constexpr uint32_t kPd = 7;
constexpr uint32_t kFirstQpn = 40;
constexpr uint32_t kQkey = 1;
constexpr uint32_t kLogSlots = 7;
constexpr uint32_t kDepth = 1 << kLogSlots;  // work requests of a queue pair under way
constexpr uint32_t kLogCompletions = 10;
constexpr uint32_t kRights =
    EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_REMOTE_WRITE | EXRNIC_ACCESS_REMOTE_READ;

struct Operation {
  const char* name;
  exrnic_service service;
  exrnic_wqe_opcode opcode;
};

// A node with its queue pairs and one completion queue.
struct End {
  End(Testbed& testbed, unsigned node, const Operation& operation, uint32_t count, uint32_t size)
      : rnic(testbed, node), cq(rnic.create_cq(1, kPage, kLogCompletions)) {
    testing::QueuePairOptions options;
    options.service = operation.service;
    options.log_slots = kLogSlots;
    for (uint32_t i = 0; i < count; ++i)
      qps.push_back(rnic.create_qp(kFirstQpn + i, kPage, kPd, cq, options));
    region = rnic.create_region(testing::kSinkStag, kPd, testing::kSinkBase, size, kRights);
  }

  // The next completion, if there is one.
  std::optional<exrnic_cqe> completion() {
    const std::optional<exrnic_cqe> cqe = rnic.take(cq);
    if (cqe && cqe->status != EXRNIC_CQE_STATUS_SUCCESS)
      throw std::runtime_error("a small message of queue pair " + std::to_string(cqe->qpn) +
                               " ended with status " + std::to_string(cqe->status));
    if (cqe && cq.index - reported >= 1u << (kLogCompletions - 2)) {
      reported = cq.index;
      rnic.store_doorbell(kPage, EXRNIC_DOORBELL_CQ, cq.number, cq.index);
    }
    return cqe;
  }

  RnicDriver rnic;
  testing::Queue cq;
  uint32_t reported = 0;  // completions that the RNIC knows to be taken
  std::vector<QueuePair> qps;
  Region region;
};

class Stream {
 public:
  Stream(const std::string& profile, const Operation& operation, uint32_t count, uint32_t size)
      : testbed_(testing::options_for(profile.c_str()), make_rtl_core),
        operation_(operation),
        size_(size),
        left_(testbed_, 0, operation, count, size),
        right_(testbed_, 1, operation, count, size) {
    for (uint32_t i = 0; i < count; ++i) {
      if (datagrams()) {
        left_.rnic.open_datagrams(left_.qps[i], kQkey);
        right_.rnic.open_datagrams(right_.qps[i], kQkey);
      } else {
        left_.rnic.connect(left_.qps[i], 1, kFirstQpn + i);
        right_.rnic.connect(right_.qps[i], 0, kFirstQpn + i);
      }
    }
  }

  uint32_t mtu() { return left_.rnic.read_register(EXRNIC_REG_MTU); }

  // Operations a second, from the end of the first quarter to that of the last. A datagram ends
  // when it has come; one that found no place was sent in vain.
  double rate(uint32_t operations) {
    const auto count = static_cast<uint32_t>(left_.qps.size());
    const uint32_t of_each = operations / count;
    const uint32_t all = of_each * count;
    arrived_.resize(count);
    std::vector<uint32_t> ended(count), posted(count);
    std::vector<uint64_t> sent_ns;
    for (uint32_t i = 0; i < count; ++i) post_receives(i);
    while (sent_ns.size() < all) {
      for (uint32_t i = 0; i < count; ++i)
        post(i, std::min(of_each, ended[i] + kDepth) - posted[i], posted[i]);
      const size_t before = sent_ns.size();
      run_until([&] {
        take_arrivals();
        while (const auto cqe = left_.completion()) {
          ++ended[cqe->qpn - kFirstQpn];
          sent_ns.push_back(cqe->timestamp);
        }
        return sent_ns.size() != before;
      });
    }
    if (!datagrams()) return per_second(sent_ns);
    testbed_.run_while_busy(kWaitNs);
    take_arrivals();
    if (arrival_ns_.size() < all / 2)
      throw std::runtime_error(
          fmt::format("most datagrams were lost: of {} {} came", all, arrival_ns_.size()));
    return per_second(arrival_ns_);
  }

 private:
  bool datagrams() const { return operation_.service == EXRNIC_SERVICE_UD; }
  bool receives() const { return operation_.opcode == EXRNIC_WQE_OPCODE_SEND; }

  template <typename Done>
  void run_until(Done done) {
    if (testbed_.run_until(done, kWaitNs) != RunResult::kDone)
      throw std::runtime_error("waited in vain for a small message");
  }
  static double per_second(const std::vector<uint64_t>& ns) {
    const size_t first = ns.size() / 4;
    return static_cast<double>(ns.size() - 1 - first) * 1e9 /
           static_cast<double>(ns.back() - ns[first]);
  }

  void take_arrivals() {
    std::vector<bool> came(arrived_.size());
    while (const auto cqe = right_.completion()) {
      arrival_ns_.push_back(cqe->timestamp);
      ++arrived_[cqe->qpn - kFirstQpn];
      came[cqe->qpn - kFirstQpn] = true;
    }
    for (uint32_t i = 0; i < came.size(); ++i)
      if (came[i]) post_receives(i);
  }
  // As many as there is room for.
  void post_receives(uint32_t i) {
    if (!receives()) return;
    QueuePair& to = right_.qps[i];
    const Bytes receive = slots_of(testing::receive_into({element(right_.region, 0, size_)}));
    while (to.rq.index - arrived_[i] < kDepth) right_.rnic.put(to.rq, receive);
    right_.rnic.store_doorbell(kPage, EXRNIC_DOORBELL_RQ, to.qpn, to.rq.index & 0xffff);
  }
  void post(uint32_t i, uint32_t more, uint32_t& posted) {
    if (more == 0) return;
    for (uint32_t k = 0; k < more; ++k) left_.rnic.put(left_.qps[i], work(i));
    left_.rnic.ring(left_.qps[i]);
    posted += more;
  }
  Work work(uint32_t i) const {
    Work work;
    work.opcode = operation_.opcode;
    work.elements = {element(left_.region, 0, size_)};
    if (datagrams()) {
      work.remote_stag = kQkey;
      work.remote_to = uint64_t{1} << EXRNIC_DATAGRAM_NODE_SHIFT | (kFirstQpn + i);
    } else if (!receives()) {
      work.remote_stag = right_.region.stag;
      work.remote_to = right_.region.base;
    }
    return work;
  }

  Testbed testbed_;
  Operation operation_;
  uint32_t size_;
  End left_, right_;
  std::vector<uint32_t> arrived_;  // of each queue pair
  std::vector<uint64_t> arrival_ns_;
};

}  // namespace

void measure_small(const std::string& profile, Results& results) {
  constexpr uint32_t kOperations = 2048;
  const Profile data = load_profile(profile);
  const Operation operations[] = {
      {"push", EXRNIC_SERVICE_RC, EXRNIC_WQE_OPCODE_PUSH},
      {"send", EXRNIC_SERVICE_RC, EXRNIC_WQE_OPCODE_SEND},
      {"pull", EXRNIC_SERVICE_RC, EXRNIC_WQE_OPCODE_PULL},
      {"ud", EXRNIC_SERVICE_UD, EXRNIC_WQE_OPCODE_SEND},
  };
  for (const Operation& operation : operations) {
    for (const uint32_t size : {8u, 64u}) {
      for (const uint32_t count : {1u, 8u}) {
        fmt::print(stderr, "bench: {} of {} bytes, {} queue pairs\n", operation.name, size, count);
        Stream stream(profile, operation, count, size);
        const double rate = stream.rate(kOperations);
        const double limit = operation.opcode == EXRNIC_WQE_OPCODE_SEND
                                 ? send_limit(data, stream.mtu(), size)
                                 : push_limit(data, stream.mtu(), size);
        const nlohmann::ordered_json keys = {{"profile", profile},
                                             {"operation", operation.name},
                                             {"size", size},
                                             {"queue_pairs", count}};
        results.add("small.rate_mps", rate / 1e6, "10^6/s", Clock::kSimulated, keys);
        results.add("small.ratio", rate * size / limit, "ratio", Clock::kSimulated, keys);
      }
    }
  }
}

}  // namespace exrnic::bench
