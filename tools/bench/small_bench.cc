// SPDX-License-Identifier: BSD-2-Clause
#include "tools/bench/small_bench.h"

#include <optional>
#include <stdexcept>
#include <vector>

#include "tests/support/pair.h"
#include "tools/bench/limits.h"

namespace exrnic::bench {
namespace {

using testing::element;
using testing::QueuePair;
using testing::Region;
using testing::RnicDriver;
using testing::Work;

constexpr uint64_t kWaitNs = 1'000'000'000;
constexpr uint32_t kPage = 3;
constexpr uint32_t kPd = 7;
constexpr uint32_t kFirstQpn = 40;
constexpr uint32_t kQkey = 1;
constexpr uint32_t kLogSlots = 7;
constexpr uint32_t kLogCompletions = 10;
constexpr uint32_t kRights =
    EXRNIC_ACCESS_LOCAL_WRITE | EXRNIC_ACCESS_REMOTE_WRITE | EXRNIC_ACCESS_REMOTE_READ;

// What comes by datagrams and finds no place is lost: so many are under way at most.
constexpr uint32_t kDatagrams = 64;

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
      throw std::runtime_error("a small message ended with status " + std::to_string(cqe->status));
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

  // Operations a second, from the end of the first quarter to that of the last.
  double rate(uint32_t operations) {
    const auto count = static_cast<uint32_t>(left_.qps.size());
    const uint32_t depth = (1u << left_.qps[0].sq.log_entries);
    const uint32_t most = datagrams() ? std::min(depth, kDatagrams / count) : depth;
    const uint32_t of_each = operations / count;
    const uint32_t all = of_each * count;
    std::vector<uint32_t> ended(count), posted(count);
    uint64_t first_ns = 0, last_ns = 0;
    for (uint32_t done = 0; done < all;) {
      for (uint32_t i = 0; i < count; ++i)
        post(i, std::min(of_each, ended[i] + most) - posted[i], posted[i]);
      End& counts = datagrams() ? right_ : left_;
      exrnic_cqe cqe{};
      const auto got = [&] {
        while (&counts != &right_ && right_.completion()) {
        }
        const auto next = counts.completion();
        if (next) cqe = *next;
        return next.has_value();
      };
      if (testbed_.run_until(got, kWaitNs) != RunResult::kDone)
        throw std::runtime_error("waited in vain for a small message");
      do {
        ++ended[cqe.qpn - kFirstQpn];
        if (++done == all / 4) first_ns = cqe.timestamp;
        last_ns = cqe.timestamp;
      } while (got());
    }
    return (all - all / 4) * 1e9 / static_cast<double>(last_ns - first_ns);
  }

 private:
  bool datagrams() const { return operation_.service == EXRNIC_SERVICE_UD; }
  bool receives() const { return operation_.opcode == EXRNIC_WQE_OPCODE_SEND; }

  void post(uint32_t i, uint32_t more, uint32_t& posted) {
    if (more == 0) return;
    if (receives()) {
      QueuePair& to = right_.qps[i];
      const Bytes receive = slots_of(testing::receive_into({element(right_.region, 0, size_)}));
      for (uint32_t k = 0; k < more; ++k) right_.rnic.put(to.rq, receive);
      right_.rnic.store_doorbell(kPage, EXRNIC_DOORBELL_RQ, to.qpn, to.rq.index & 0xffff);
    }
    for (uint32_t k = 0; k < more; ++k) left_.rnic.put(left_.qps[i], work(i));
    left_.rnic.ring(left_.qps[i]);
    posted += more;
  }
  Work work(uint32_t i) const {
    Work work;
    work.opcode = operation_.opcode;
    work.elements = {element(left_.region, 0, size_)};
    if (datagrams()) {
      work.flags = 0;  // its arrival tells
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
