// SPDX-License-Identifier: BSD-2-Clause
// One fault of each kind in a PEB is found, and none where there is none.
#include "rtl-model/lockstep/peb/peb_lockstep.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <string>

#include "rtl-model/lockstep/mismatch.h"
#include "rtl-model/ref/peb/peb.h"
#include "rtl-model/ref/peb/testing/random_bus.h"

namespace exrnic::lockstep {
namespace {

using peb::Answer;
using peb::Request;
using peb::Side;
using peb::Write;
using peb::testing::Faults;

enum class Fault {
  kNone,
  kWriteByte,
  kWriteAddress,
  kWriteMissing,
  kWriteTwice,
  kRequestLength,
  kRequestKind,
  kRequestMissing,
  kAnswerByte,
  kAnswerStatus,
};

// What a PEB hands over, with a fault in the `kAt`-th of its kind.
class Spoiler final : public peb::PebSink {
 public:
  Spoiler(peb::PebSink& sink, const Fault& fault) : sink_(sink), fault_(fault) {}
  bool can_transmit() override { return sink_.can_transmit(); }
  void transmit(Frame&& frame) override { sink_.transmit(std::move(frame)); }
  bool can_write(unsigned port) override { return sink_.can_write(port); }
  bool can_request(unsigned port) override { return sink_.can_request(port); }
  void link(unsigned port, bool up) override { sink_.link(port, up); }
  void assigned(unsigned port) override { sink_.assigned(port); }

  void write(unsigned port, Write&& write) override {
    const bool now = ++writes_ == kAt;
    if (now && fault_ == Fault::kWriteByte) write.data.back() ^= 1;
    if (now && fault_ == Fault::kWriteAddress) write.address += 4;
    if (now && fault_ == Fault::kWriteMissing) return;
    if (now && fault_ == Fault::kWriteTwice) sink_.write(port, Write(write));
    sink_.write(port, std::move(write));
  }
  void request(unsigned port, uint64_t name, Request&& request) override {
    const bool now = ++requests_ == kAt;
    if (now && fault_ == Fault::kRequestLength) ++request.length;
    if (now && fault_ == Fault::kRequestKind) request.kind = Request::Kind::kConfigRead;
    if (now && fault_ == Fault::kRequestMissing) return;
    sink_.request(port, name, std::move(request));
  }
  void answered(unsigned port, Answer&& answer) override {
    const bool now = ++answers_ == kAt;
    if (now && fault_ == Fault::kAnswerByte) {
      if (answer.data.empty()) answer.data.push_back(0);
      answer.data.front() ^= 0x80;
    }
    if (now && fault_ == Fault::kAnswerStatus) answer.status = EXRNIC_COMPLETION_STATUS_ABORT;
    sink_.answered(port, std::move(answer));
  }

 private:
  static constexpr unsigned kAt = 10;
  peb::PebSink& sink_;
  const Fault& fault_;
  unsigned writes_ = 0, requests_ = 0, answers_ = 0;
};

class Spoiled final : public peb::PebCore {
 public:
  Spoiled(const CoreConfig& config, Side side, unsigned ports, peb::PebSink& sink,
          const Fault& fault)
      : spoiler_(sink, fault), peb_(config, side, ports, spoiler_) {}
  void assign(unsigned port, const std::optional<peb::Peer>& peer) override {
    peb_.assign(port, peer);
  }
  std::optional<peb::Peer> peer(unsigned port) const override { return peb_.peer(port); }
  bool is_up(unsigned port) const override { return peb_.is_up(port); }
  bool has_room(unsigned port, peb::Flow flow) const override { return peb_.has_room(port, flow); }
  void write(unsigned port, uint64_t address, const Bytes& data) override {
    peb_.write(port, address, data);
  }
  void request(unsigned port, peb::BusRequest&& request) override {
    peb_.request(port, std::move(request));
  }
  void complete(unsigned port, uint64_t name, exrnic_completion_status status,
                const Bytes& data) override {
    peb_.complete(port, name, status, data);
  }
  void receive(Frame&& frame) override { peb_.receive(std::move(frame)); }
  void set_link(bool up) override { peb_.set_link(up); }
  uint16_t number() const override { return peb_.number(); }
  void step(uint64_t time_ns) override { peb_.step(time_ns); }
  bool idle() const override { return peb_.idle(); }
  uint64_t wakes_at_ns() const override { return peb_.wakes_at_ns(); }
  const peb::Counters& counters() const override { return peb_.counters(); }
  uint64_t peek_counter(exrnic_counter which) const override { return peb_.peek_counter(which); }

 private:
  Spoiler spoiler_;
  peb::Peb peb_;
};

// A bus that says what it is told to, and answers at once.
class Bus final : public peb::PebSink {
 public:
  bool can_transmit() override { return true; }
  void transmit(Frame&& frame) override { sent.push_back(std::move(frame)); }
  bool can_write(unsigned) override { return true; }
  void write(unsigned, Write&&) override {}
  bool can_request(unsigned) override { return true; }
  void request(unsigned, uint64_t name, Request&& request) override {
    served.emplace_back(name, std::move(request));
  }
  void answered(unsigned, Answer&&) override { ++answers; }
  void link(unsigned, bool) override {}

  void answer() {
    for (auto& [name, request] : std::exchange(served, {})) {
      Bytes data(request.length);
      for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<uint8_t>(request.address + i);
      peb->complete(0, name, EXRNIC_COMPLETION_STATUS_SUCCESSFUL, data);
    }
  }

  std::unique_ptr<peb::PebCore> peb;
  std::vector<Frame> sent;
  std::vector<std::pair<uint64_t, Request>> served;
  unsigned answers = 0;
};

// A host and its device; the host's PEB has the fault.
struct Two {
  explicit Two(Fault fault)
      : fault(fault),
        lockstep(make_peb_lockstep(
            [this](const CoreConfig& config, Side side, unsigned ports,
                   peb::PebSink& sink) -> std::unique_ptr<peb::PebCore> {
              const Fault& its = side == Side::kHost ? this->fault : none;
              return std::make_unique<Spoiled>(config, side, ports, sink, its);
            },
            peb::make_ref_peb)) {
    CoreConfig config;
    config.node_id = 1;
    host.peb = lockstep.make(config, Side::kHost, 1, host);
    config.node_id = 2;
    device.peb = lockstep.make(config, Side::kDevice, 1, device);
    host.peb->assign(0, peb::Peer{2, 7});
    device.peb->assign(0, peb::Peer{1, 7});
    run(2000);
  }
  void run(unsigned steps) {
    for (unsigned i = 0; i < steps; ++i) {
      now_ns += 64;
      for (Bus* bus : {&host, &device}) bus->peb->step(now_ns);
      for (Frame& frame : std::exchange(host.sent, {})) device.peb->receive(padded(frame));
      for (Frame& frame : std::exchange(device.sent, {})) host.peb->receive(padded(frame));
      host.answer();
      device.answer();
    }
  }
  static Frame padded(Frame& frame) {
    frame.data.resize(std::max<size_t>(frame.data.size(), EXRNIC_ETH_FRAME_MIN));
    return std::move(frame);
  }
  // Both ways: writes, and reads.
  void work() {
    for (unsigned i = 0; i < 20; ++i) {
      for (Bus* bus : {&host, &device}) {
        bus->peb->write(0, 0x1000 * i + 3, Bytes(40 + i, static_cast<uint8_t>(i)));
        peb::BusRequest request;
        request.id = i;
        request.address = 0x100 * i;
        request.length = 64;
        bus->peb->request(0, std::move(request));
      }
      run(100);
    }
    run(2000);
    lockstep.check_rest();
  }

  const Fault none = Fault::kNone;
  const Fault fault;
  PebLockstep lockstep;
  Bus host, device;
  uint64_t now_ns = 0;
};

std::string found(Fault fault) {
  Two two(fault);
  try {
    two.work();
  } catch (const Mismatch& mismatch) {
    return mismatch.what();
  }
  return "";
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("lockstep of PEBs: two that do the same are found to do so") {
  Two two(Fault::kNone);
  two.work();
  CHECK(two.host.answers == 20);
  CHECK(two.device.answers == 20);
  CHECK(two.lockstep.compared() == 2 * 3 * 20);
}

TEST_CASE("lockstep of PEBs: each fault in what reaches a bus is found, with its place") {
  for (const Fault fault : {Fault::kWriteByte, Fault::kWriteAddress, Fault::kWriteMissing,
                            Fault::kWriteTwice, Fault::kRequestLength, Fault::kRequestKind,
                            Fault::kRequestMissing, Fault::kAnswerByte, Fault::kAnswerStatus}) {
    INFO("fault " << static_cast<int>(fault));
    CHECK(has(found(fault), "node 1, PEB port 0, "));
  }
  CHECK(has(found(Fault::kWriteByte), "a write to 0x9003 of 49 bytes 0909"));
  CHECK(has(found(Fault::kRequestLength), "a request of kind 0 at 0x900 of 65 bytes"));
  CHECK(has(found(Fault::kAnswerStatus), "expected was status 0"));
}

TEST_CASE("lockstep of PEBs: another life is judged from its begin on") {
  Two two(Fault::kNone);
  two.work();
  const uint64_t before = two.lockstep.compared();
  two.host.peb->assign(0, std::nullopt);
  two.run(100);
  two.host.peb->assign(0, peb::Peer{2, 7});
  two.run(200'000);
  CHECK(two.host.peb->is_up(0));
  two.host.answers = two.device.answers = 0;
  two.work();
  CHECK(two.host.answers == 20);
  CHECK(two.lockstep.compared() == before + 2 * 3 * 20);
}

}  // namespace exrnic::lockstep
