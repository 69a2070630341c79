// SPDX-License-Identifier: BSD-2-Clause
#include "tools/bench/once_bench.h"

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "tools/bench/limits.h"
#include "tools/bench/path.h"

namespace exrnic::bench {
namespace {

using testing::element;
using testing::Pair;
using testing::Side;

constexpr uint32_t kQpn = 60;
constexpr uint32_t kQkey = 1;

// So many the receiver holds before it has served the first; what comes then is dropped
// (RX_OVERFLOW).
constexpr uint32_t kMostUnderWay = 32;

// Two nodes with a queue pair of the service each.
class OncePath {
 public:
  OncePath(const std::string& profile, exrnic_service service, uint32_t size)
      : pair_(testing::options_for(profile.c_str()), make_rtl_core), size_(size) {
    testing::QueuePairOptions options;
    options.service = service;
    for (unsigned node : {0u, 1u}) {
      Side& side = *sides_[node];
      qps_[node] = side.rnic.create_qp(kQpn, Side::kPage, Side::kPd, side.cq, options);
      regions_[node] = testing::sink_of(side, size);
      if (service == EXRNIC_SERVICE_UD) {
        side.rnic.open_datagrams(qps_[node], kQkey);
        to_ = kQpn;
      } else {
        side.rnic.connect(qps_[node], 1 - node, kQpn);
      }
    }
  }

  uint32_t mtu() { return pair_.left.rnic.read_register(EXRNIC_REG_MTU); }

  void receive(unsigned node) {
    sides_[node]->rnic.post_receive(qps_[node], {element(regions_[node], 0, size_)});
  }
  testing::Work send_from(unsigned node, bool inlined) const {
    testing::Work work;
    work.flags = 0;
    if (inlined) {
      work.flags |= EXRNIC_WQE_FLAGS_INLINE;
      work.inline_data.assign(size_, 1);
    } else {
      work.elements = {element(regions_[node], 0, size_)};
    }
    if (to_ != 0) work.remote_to = uint64_t{1 - node} << EXRNIC_DATAGRAM_NODE_SHIFT | to_;
    if (to_ != 0) work.remote_stag = kQkey;
    return work;
  }
  // Until the next message has come; when, in ns.
  uint64_t arrival(unsigned node) {
    const exrnic_cqe cqe = sides_[node]->wait(kWaitNs);
    if (cqe.opcode != EXRNIC_WQE_OPCODE_RECV || cqe.status != EXRNIC_CQE_STATUS_SUCCESS)
      throw std::runtime_error("a message that is sent once did not arrive");
    return cqe.timestamp;
  }

  // Messages a second.
  double stream(uint32_t operations) {
    const uint32_t depth = std::min(1u << qps_[0].sq.log_entries, kMostUnderWay);
    const uint32_t first = operations / 4;
    uint32_t posted = 0;
    uint64_t first_ns = 0, last_ns = 0;
    for (uint32_t arrived = 0; arrived < operations; ++arrived) {
      const uint32_t before = posted;
      for (; posted < operations && posted - arrived < depth; ++posted) {
        receive(1);
        pair_.left.rnic.put(qps_[0], send_from(0, false));
      }
      if (posted != before) pair_.left.rnic.ring(qps_[0]);
      last_ns = arrival(1);
      if (arrived == first) first_ns = last_ns;
    }
    return (operations - 1 - first) * 1e9 / static_cast<double>(last_ns - first_ns);
  }

  double round_trip_us() {
    uint64_t ns = 0;
    for (int round = 0; round < 2; ++round) {  // the second one finds all on chip
      for (const unsigned node : {0u, 1u}) receive(node);
      pair_.testbed.run_until([] { return false; }, kWaitNs);
      const uint64_t start = pair_.testbed.now_ns();
      for (const unsigned node : {0u, 1u}) {
        sides_[node]->rnic.post(qps_[node], send_from(node, true));
        arrival(1 - node);
      }
      ns = pair_.testbed.now_ns() - start;
    }
    return static_cast<double>(ns) / 1e3;
  }

 private:
  Pair pair_;
  uint32_t size_;
  uint32_t to_ = 0;  // of UD: the queue pair at the peer
  Side* const sides_[2] = {&pair_.left, &pair_.right};
  testing::QueuePair qps_[2];
  testing::Region regions_[2];
};

}  // namespace

void measure_once(const std::string& profile, Results& results) {
  const Profile data = load_profile(profile);
  const struct {
    const char* name;
    exrnic_service service;
    std::vector<uint32_t> sizes;
  } rows[] = {{"uc", EXRNIC_SERVICE_UC, {1024, 65536}}, {"ud", EXRNIC_SERVICE_UD, {1024}}};
  for (const auto& row : rows) {
    for (const uint32_t size : row.sizes) {
      OncePath path(profile, row.service, size);
      const double goodput = path.stream(operations_for(size)) * size;
      const double limit = send_limit(data, path.mtu(), size);
      const std::string name = row.name;
      const nlohmann::ordered_json keys = {{"profile", profile}, {"size", size}};
      results.add(name + ".goodput_ratio", goodput / limit, "ratio", Clock::kSimulated, keys);
      results.add(name + ".goodput_mbps", goodput / 1e6, "MB/s", Clock::kSimulated, keys);
      results.add(name + ".limit_mbps", limit / 1e6, "MB/s", Clock::kSimulated, keys);
    }
  }
  constexpr uint32_t kSmall = 8;
  OncePath path(profile, EXRNIC_SERVICE_UD, kSmall);
  results.add("ud.rtt_us", path.round_trip_us(), "us", Clock::kSimulated,
              {{"profile", profile}, {"size", kSmall}});
}

}  // namespace exrnic::bench
