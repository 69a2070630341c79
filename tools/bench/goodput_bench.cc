// SPDX-License-Identifier: BSD-2-Clause
#include "tools/bench/goodput_bench.h"

#include "tools/bench/limits.h"

namespace exrnic::bench {
namespace {

const char* name_of(Carrier carrier) {
  switch (carrier) {
    case Carrier::kPush:
      return "push";
    case Carrier::kPull:
      return "pull";
    default:
      return "msg";
  }
}

}  // namespace

void measure_goodput(const std::string& profile, Carrier carrier,
                     const std::vector<uint32_t>& sizes, Results& results) {
  const Profile data = load_profile(profile);
  const std::string name = name_of(carrier);
  for (const uint32_t size : sizes) {
    Path path(profile, size, make_rtl_core);
    const uint32_t mtu = path.pair.left.rnic.read_register(EXRNIC_REG_MTU);
    const double goodput = path.stream(carrier, size, operations_for(size)) * size;
    const double limit =
        carrier == Carrier::kSend ? send_limit(data, mtu, size) : push_limit(data, mtu, size);
    const nlohmann::ordered_json keys = {{"profile", profile}, {"size", size}};
    results.add(name + ".goodput_ratio", goodput / limit, "ratio", Clock::kSimulated, keys);
    results.add(name + ".goodput_mbps", goodput / 1e6, "MB/s", Clock::kSimulated, keys);
    results.add(name + ".limit_mbps", limit / 1e6, "MB/s", Clock::kSimulated, keys);
  }
}

void measure_message_rate(const std::string& profile, Carrier carrier, Results& results) {
  Path path(profile, 8, make_rtl_core);
  const char* operation = carrier == Carrier::kSend ? "send" : name_of(carrier);
  results.add("msg.rate_mps", path.stream(carrier, 8, 512) / 1e6, "10^6/s", Clock::kSimulated,
              {{"profile", profile}, {"operation", operation}, {"size", 8}});
}

}  // namespace exrnic::bench
