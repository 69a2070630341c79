// SPDX-License-Identifier: BSD-2-Clause
#include "tools/bench/peb_bench.h"

#include <fmt/core.h>
#include <poll.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "sim/devices/remote/remote_endpoint.h"
#include "sim/testbed.h"
#include "tools/bench/limits.h"
#include "tools/bench/nvme_driver.h"
#include "tools/bench/nvme_program.h"

namespace exrnic::bench {
namespace {

using nvme::IoOpcode;

constexpr uint64_t kDiskBytes = 8 << 20;
constexpr uint64_t kWaitNs = 1'000'000'000;
constexpr uint32_t kSmall = 4096;
constexpr unsigned kRounds = 50;
constexpr unsigned kTransfers = 32;

enum class Via { kDirect, kPeb };

struct Operation {
  const char* name;
  IoOpcode opcode;
};
constexpr Operation kOperations[] = {{"write", IoOpcode::kWrite}, {"read", IoOpcode::kRead}};

std::unique_ptr<Core> no_core(const CoreConfig& /*config*/, CoreSink& /*sink*/) { return nullptr; }

// A host and its disk: two nodes, or one whose PEB is left alone.
class Disk {
 public:
  Disk(const Profile& profile, Via via, const peb::PebFactory& make_peb)
      : program_(kDiskBytes), testbed_(options(profile, via, make_peb), no_core) {
    peb::PebHost& host = testbed_.peb_host(0);
    if (via == Via::kDirect) {
      own_endpoint_ = make_endpoint(host.scheduler(), profile);
      link_ = std::make_unique<PcieLink>(host.scheduler(), profile.pcie, *own_endpoint_);
      own_endpoint_->connect(*link_);
    } else {
      testbed_.assign(0, 0, 0);
      await([&] { return host.slot(0).is_up(); });
    }
    DevicePort& device = link_ ? static_cast<DevicePort&>(*link_) : host.device(0);
    driver_.emplace(device, [this](const std::function<bool()>& done) { await(done); });
    if (link_) {
      link_->connect_host(&*driver_);
    } else {
      host.connect_host(0, &*driver_);
    }
    driver_->start();
    rest();
  }

  NvmeDriver& driver() { return *driver_; }
  SimTime now() const { return testbed_.now(); }

  // Until nothing is under way.
  void rest() {
    while (step([] { return false; })) {
    }
  }

 private:
  TestbedOptions options(const Profile& profile, Via via, const peb::PebFactory& make_peb) {
    TestbedOptions options;
    options.make_peb = make_peb;
    options.profile = profile;
    options.nodes = 0;
    options.peb_hosts = {1};
    if (via == Via::kPeb)
      options.peb_boxes.push_back(
          [this, profile](Scheduler& scheduler) { return make_endpoint(scheduler, profile); });
    return options;
  }

  std::unique_ptr<RemoteEndpoint> make_endpoint(Scheduler& scheduler, const Profile& profile) {
    const auto log = [](const std::string& line) { fmt::print(stderr, "bench: {}\n", line); };
    auto endpoint = std::make_unique<RemoteEndpoint>(scheduler, program_.socket(), profile.pcie,
                                                     log, RemoteEndpoint::Limits{});
    endpoint_ = endpoint.get();
    return endpoint;
  }

  void await(const std::function<bool()>& done) {
    while (!done())
      if (!step(done)) throw std::runtime_error("waited in vain for the NVMe controller");
  }

  // Time stands while the program has something to say. False: nothing happens any more.
  bool step(const std::function<bool()>& done) {
    const auto result =
        testbed_.run_until([&] { return endpoint_->holds_time() || done(); }, kWaitNs);
    if (!endpoint_->holds_time()) return result == RunResult::kDone;
    std::vector<pollfd> fds;
    endpoint_->append_poll_fds(fds);
    ::poll(fds.data(), fds.size(), endpoint_->poll_timeout_ms());
    endpoint_->service();
    return true;
  }

  NvmeProgram program_;
  RemoteEndpoint* endpoint_ = nullptr;
  Testbed testbed_;
  std::unique_ptr<RemoteEndpoint> own_endpoint_;
  std::unique_ptr<PcieLink> link_;
  std::optional<NvmeDriver> driver_;
};

// The median, in ns.
template <typename Operate>
double latency_ns(Disk& disk, Operate operate) {
  std::vector<SimTime> times;
  for (unsigned round = 0; round < kRounds; ++round) {
    disk.rest();
    const SimTime start = disk.now();
    operate();
    times.push_back(disk.now() - start);
  }
  const auto middle = times.begin() + kRounds / 2;
  std::nth_element(times.begin(), middle, times.end());
  return static_cast<double>(*middle) / kPsPerNs;
}

std::vector<std::pair<std::string, double>> latencies(Disk& disk) {
  NvmeDriver& driver = disk.driver();
  std::vector<std::pair<std::string, double>> all;
  for (const Operation& operation : kOperations)
    all.emplace_back(operation.name, latency_ns(disk, [&] {
                       driver.put(operation.opcode, 0, 0, kSmall);
                       driver.ring();
                       driver.complete();
                     }));
  all.emplace_back("load", latency_ns(disk, [&] { driver.load(nvme::kRegStatus); }));
  return all;
}

// What is written is read again.
void fill(NvmeDriver& driver, unsigned buffer, unsigned transfer) {
  std::memset(driver.data(buffer), static_cast<int>(transfer + 1), NvmeDriver::kMostBytes);
}

void compare(NvmeDriver& driver, unsigned buffer, unsigned transfer) {
  const uint8_t* data = driver.data(buffer);
  if (std::count(data, data + NvmeDriver::kMostBytes, transfer + 1) != NvmeDriver::kMostBytes)
    throw std::runtime_error("the NVMe controller has read something else than was written");
}

// Bytes in a second, between the completion that ends the first quarter and the last one.
double stream(Disk& disk, IoOpcode opcode) {
  NvmeDriver& driver = disk.driver();
  constexpr unsigned kFirst = kTransfers / 4;
  const auto put = [&](unsigned transfer) {
    const unsigned buffer = transfer % NvmeDriver::kDepth;
    if (opcode == IoOpcode::kWrite) fill(driver, buffer, transfer);
    driver.put(opcode, buffer, uint64_t{transfer} * NvmeDriver::kMostBytes, NvmeDriver::kMostBytes);
  };
  disk.rest();
  for (unsigned transfer = 0; transfer < NvmeDriver::kDepth; ++transfer) put(transfer);
  driver.ring();
  SimTime first = 0;
  for (unsigned ended = 0; ended < kTransfers; ++ended) {
    const unsigned buffer = driver.complete();
    if (ended == kFirst) first = disk.now();
    if (opcode == IoOpcode::kRead) compare(driver, buffer, ended);
    if (ended + NvmeDriver::kDepth >= kTransfers) continue;
    put(ended + NvmeDriver::kDepth);
    driver.ring();
  }
  const double seconds = static_cast<double>(disk.now() - first) / (kPsPerUs * 1e6);
  return (kTransfers - 1 - kFirst) * double{NvmeDriver::kMostBytes} / seconds;
}

// What all rows have.
struct Keys {
  nlohmann::ordered_json of(const std::string& operation, uint32_t size) const {
    return {{"profile", profile}, {"core", core}, {"operation", operation}, {"size", size}};
  }
  const std::string& profile;
  const std::string& core;
};

void add_latencies(const Keys& keys_of, Disk& direct, Disk& far, Results& results) {
  const auto near_ns = latencies(direct);
  const auto far_ns = latencies(far);
  for (size_t i = 0; i < near_ns.size(); ++i) {
    const std::string& operation = near_ns[i].first;
    auto keys = keys_of.of(operation, operation == "load" ? 4 : kSmall);
    results.add("peb.added_ns", far_ns[i].second - near_ns[i].second, "ns", Clock::kSimulated,
                keys);
    for (const bool over_peb : {false, true}) {
      keys["via"] = over_peb ? "peb" : "direct";
      results.add("peb.latency_ns", (over_peb ? far_ns : near_ns)[i].second, "ns",
                  Clock::kSimulated, keys);
    }
  }
}

}  // namespace

void measure_peb(const std::string& profile, const std::string& core,
                 const peb::PebFactory& make_peb, Results& results) {
  const Profile data = load_profile(profile);
  const Keys keys_of{profile, core};
  Disk direct(data, Via::kDirect, make_peb);
  Disk far(data, Via::kPeb, make_peb);
  add_latencies(keys_of, direct, far, results);
  const double limit = peb_limit(data);
  for (const Operation& operation : kOperations) {
    const double goodput = stream(far, operation.opcode);
    const auto keys = keys_of.of(operation.name, NvmeDriver::kMostBytes);
    results.add("peb.goodput_ratio", goodput / limit, "ratio", Clock::kSimulated, keys);
    results.add("peb.goodput_mbps", goodput / 1e6, "MB/s", Clock::kSimulated, keys);
    results.add("peb.limit_mbps", limit / 1e6, "MB/s", Clock::kSimulated, keys);
  }
}

}  // namespace exrnic::bench
