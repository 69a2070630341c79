// SPDX-License-Identifier: BSD-2-Clause
// A host with several ports, and a device behind each, that write, ask and answer at random.
#pragma once

#include <memory>
#include <vector>

#include "rtl-model/ref/peb/testing/checker.h"
#include "rtl-model/ref/peb/testing/network.h"

namespace exrnic::peb::testing {

// The bus of one port. `core` is asked for anew, as a station that restarts has another one.
class PortBus {
 public:
  PortBus(Station& station, unsigned port, bool configures, Random& random, Direction& out,
          Direction& in)
      : station_(station),
        port_(port),
        configures_(configures),
        random_(random),
        out_(out),
        in_(in) {}

  void work() {
    if (begins && core().has_room(port_, kPosted) && chance(random_, writing)) write();
    if (begins && core().has_room(port_, kNonPosted) && chance(random_, asking)) ask();
    while (!served_.empty() && chance(random_, answering)) answer();
  }
  void write() {
    const size_t length = 1 + below(random_, chance(random_, 0.5) ? 64 : 5000);
    const uint64_t address = out_.writes(length, below(random_, 4096));
    core().write(port_, address, pattern_at(address, length));
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
    core().request(port_, out_.asks(kind, length, offset, station_.now_ns));
  }
  void lose_power() {
    out_.restarts();
    served_.clear();
  }

  bool can_write() { return takes_writes && chance(random_, taking); }
  void write(Write&& write) { in_.arrives(write); }
  bool can_request() {
    return takes_requests && served_.size() < kServed && chance(random_, taking);
  }
  void request(uint64_t name, Request&& request) {
    const uint64_t number = in_.arrives(request);
    served_.push_back({name, number, std::move(request)});
  }
  void answered(Answer&& answer) { out_.answered(answer, station_.now_ns, in_); }
  void link(bool up) {
    out_.link(up);
    served_.clear();
  }

  bool begins = true;
  bool takes_writes = true, takes_requests = true;
  double writing = 0.02, asking = 0.01;
  double taking = 0.3;
  double answering = 0.2;

 private:
  static constexpr size_t kServed = 8;
  struct Served {
    uint64_t name = 0;
    uint64_t number = 0;
    Request request;
  };

  PebCore& core() { return *station_.peb; }

  void answer() {
    const auto at = served_.begin() + static_cast<std::ptrdiff_t>(below(random_, served_.size()));
    const Served served = std::move(*at);
    served_.erase(at);
    const Request& request = served.request;
    const bool reads = request.kind != Request::Kind::kConfigWrite;
    in_.completes(served.number, EXRNIC_COMPLETION_STATUS_SUCCESSFUL, out_);
    core().complete(port_, served.name, EXRNIC_COMPLETION_STATUS_SUCCESSFUL,
                    reads ? pattern_at(request.address, request.length) : Bytes());
  }

  Station& station_;
  const unsigned port_;
  const bool configures_;
  Random& random_;
  Direction& out_;
  Direction& in_;
  std::vector<Served> served_;
};

class ManyStation final : public Station {
 public:
  using Station::Station;
  PortBus& bus(unsigned port) { return *buses.at(port); }
  void work() {
    for (auto& bus : buses) bus->work();
  }
  void lose_power() {
    for (auto& bus : buses) bus->lose_power();
    restart();
  }

  bool can_write(unsigned port) override { return bus(port).can_write(); }
  void write(unsigned port, Write&& write) override { bus(port).write(std::move(write)); }
  bool can_request(unsigned port) override { return bus(port).can_request(); }
  void request(unsigned port, uint64_t name, Request&& request) override {
    bus(port).request(name, std::move(request));
  }
  void answered(unsigned port, Answer&& answer) override { bus(port).answered(std::move(answer)); }
  void link(unsigned port, bool up) override { bus(port).link(up); }

  std::vector<std::unique_ptr<PortBus>> buses;  // by port
};

// Node 1 is the host; port i of it has the device of node 2 + i.
struct Many {
  static constexpr unsigned kDevices = 4;
  static constexpr uint16_t kGroup = 5;

  static CoreConfig config(uint16_t node, uint16_t payload, uint16_t read, uint16_t bits) {
    CoreConfig config;
    config.node_id = node;
    config.max_payload = payload;
    config.max_read = read;
    config.data_bits = bits;
    return config;
  }
  static constexpr uint64_t patience() { return uint64_t{1} << EXRNIC_READ_TIMEOUT_SHIFT; }

  explicit Many(uint64_t seed, uint16_t payload = 256, uint16_t read = 512, uint16_t bits = 512)
      : network(seed), host(config(1, payload, read, bits), Side::kHost, kDevices) {
    network.add(host);
    for (unsigned i = 0; i < kDevices; ++i) {
      const auto node = static_cast<uint16_t>(2 + i);
      down.push_back(std::make_unique<Direction>(payload, read, patience()));
      up.push_back(std::make_unique<Direction>(payload, read, patience()));
      devices.push_back(
          std::make_unique<ManyStation>(config(node, payload, read, bits), Side::kDevice, 1));
      host.buses.push_back(
          std::make_unique<PortBus>(host, i, true, network.random, *down[i], *up[i]));
      devices[i]->buses.push_back(
          std::make_unique<PortBus>(*devices[i], 0, false, network.random, *up[i], *down[i]));
      network.add(*devices[i]);
      host.assign(i, peer_of(i));
      devices[i]->assign(0, Peer{1, kGroup});
    }
  }
  static Peer peer_of(unsigned device) { return {static_cast<uint16_t>(2 + device), kGroup}; }

  void step() {
    host.work();
    for (auto& device : devices) device->work();
    network.step();
  }
  void run(uint64_t steps) {
    for (uint64_t i = 0; i < steps; ++i) step();
  }
  void begin_nothing() {
    for (unsigned i = 0; i < kDevices; ++i) host.bus(i).begins = devices[i]->bus(0).begins = false;
  }
  // After a line was cut EFE's round trip time may be so long that frames leave one in many ms.
  void settle(uint64_t most = 30'000'000) {
    begin_nothing();
    for (uint64_t i = 0; i < most && !settled(); ++i) step();
    for (unsigned i = 0; i < kDevices; ++i) {
      INFO("device " << i);
      CHECK(settled(i));
    }
    REQUIRE(settled());
    check_rest();
  }
  bool settled(unsigned i) const {
    return down[i]->up() && up[i]->up() && down[i]->all_answered() && up[i]->all_answered() &&
           down[i]->all_arrived() && up[i]->all_arrived();
  }
  bool settled() const {
    for (unsigned i = 0; i < kDevices; ++i)
      if (!settled(i)) return false;
    return true;
  }
  uint64_t malformed() const {
    uint64_t all = host.peb->counters().malformed;
    for (const auto& device : devices) all += device->peb->counters().malformed;
    return all;
  }

  Network network;
  std::vector<std::unique_ptr<Direction>> down, up;  // what the host says, and what devices do
  ManyStation host;
  std::vector<std::unique_ptr<ManyStation>> devices;
};

}  // namespace exrnic::peb::testing
