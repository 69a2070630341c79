// SPDX-License-Identifier: BSD-2-Clause
// A bus behind a PEB with one port that writes, asks and answers at random, and is judged.
#pragma once

#include "rtl-model/ref/peb/testing/checker.h"
#include "rtl-model/ref/peb/testing/network.h"

namespace exrnic::peb::testing {

class RandomBus final : public Station {
 public:
  RandomBus(const CoreConfig& config, Side side, Random& random, Direction& out, Direction& in)
      : Station(config, side, 1),
        random_(random),
        configures_(side == Side::kHost),
        out_(out),
        in_(in) {}

  void work() {
    if (begins && peb->has_room(0, kPosted) && chance(random_, 0.05)) write();
    if (begins && peb->has_room(0, kNonPosted) && chance(random_, 0.03)) ask();
    while (!served_.empty() && chance(random_, answering)) answer();
  }
  void lose_power() {
    out_.restarts();
    served_.clear();
    restart();
  }

  void write() {
    const size_t length = 1 + below(random_, chance(random_, 0.5) ? 64 : 5000);
    const uint64_t address = out_.writes(length, below(random_, 4096));
    peb->write(0, address, pattern_at(address, length));
  }
  void ask() {
    const bool config = configures_ && chance(random_, 0.2);
    const auto length =
        static_cast<uint32_t>(1 + below(random_, config ? kRegister : EXRNIC_PEB_REQUEST_MAX));
    const uint64_t offset = below(random_, config ? kRegister + 1 - length : 4096);
    using Kind = Request::Kind;
    const Kind kind = !config                ? Kind::kRead
                      : chance(random_, 0.5) ? Kind::kConfigRead
                                             : Kind::kConfigWrite;
    peb->request(0, out_.asks(kind, length, offset, now_ns));
  }

  bool can_write(unsigned) override { return takes_writes && chance(random_, taking); }
  void write(unsigned, Write&& write) override { in_.arrives(write); }
  bool can_request(unsigned) override {
    return takes_requests && served_.size() < kServed && chance(random_, taking);
  }
  void request(unsigned, uint64_t name, Request&& request) override {
    const uint64_t number = in_.arrives(request);
    served_.push_back({name, number, std::move(request)});
  }
  void answered(unsigned, Answer&& answer) override { out_.answered(answer, now_ns, in_); }
  void link(unsigned, bool up) override {
    out_.link(up);
    served_.clear();
  }

  bool begins = true;
  bool takes_writes = true, takes_requests = true;
  double taking = 0.3;  // of what comes, in a step
  double answering = 0.2;
  double refusing = 0.02;

 private:
  static constexpr size_t kServed = 8;  // at a time
  struct Served {
    uint64_t name = 0;
    uint64_t number = 0;
    Request request;
  };

  void answer() {
    const auto at = served_.begin() + static_cast<std::ptrdiff_t>(below(random_, served_.size()));
    const Served served = std::move(*at);
    served_.erase(at);
    const auto status = chance(random_, refusing) ? EXRNIC_COMPLETION_STATUS_UNSUPPORTED
                                                  : EXRNIC_COMPLETION_STATUS_SUCCESSFUL;
    const Request& request = served.request;
    const bool reads = request.kind != Request::Kind::kConfigWrite;
    in_.completes(served.number, status, out_);
    peb->complete(0, served.name, status,
                  reads ? pattern_at(request.address, request.length) : Bytes());
  }

  Random& random_;
  const bool configures_;
  Direction& out_;
  Direction& in_;
  std::vector<Served> served_;
};

// A host, its device and what is between them.
struct Pair {
  static constexpr uint16_t kGroup = 5;

  static CoreConfig config(uint16_t node) {
    CoreConfig config;
    config.node_id = node;
    return config;
  }
  static constexpr uint64_t patience() { return uint64_t{1} << EXRNIC_READ_TIMEOUT_SHIFT; }

  explicit Pair(uint64_t seed) : network(seed) {
    network.add(host);
    network.add(device);
    host.assign(0, Peer{2, kGroup});
    device.assign(0, Peer{1, kGroup});
  }

  void step() {
    host.work();
    device.work();
    network.step();
  }
  void run(uint64_t steps) {
    for (uint64_t i = 0; i < steps; ++i) step();
  }
  // Until nothing is owed to anybody.
  void settle(uint64_t most = 3'000'000) {
    host.begins = device.begins = false;
    for (uint64_t i = 0; i < most && !settled(); ++i) step();
    REQUIRE(settled());
    check_rest();
  }
  uint64_t malformed() const {
    return host.peb->counters().malformed + device.peb->counters().malformed;
  }
  bool settled() const {
    return down.up() && up.up() && down.all_answered() && up.all_answered() &&
           (down.changed || (down.all_arrived() && up.all_arrived()));
  }

  Network network;
  Direction down{256, 512, patience()};  // what the host says
  Direction up{256, 512, patience()};    // what the device does
  RandomBus host{config(1), Side::kHost, network.random, down, up};
  RandomBus device{config(2), Side::kDevice, network.random, up, down};
};

}  // namespace exrnic::peb::testing
