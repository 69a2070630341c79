// SPDX-License-Identifier: BSD-2-Clause
// Fabric management on the RTL and on the reference model: the same frames and the same stores of
// the driver, one after the other, have the same answers from both, byte by byte.
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <deque>
#include <random>
#include <vector>

#include "rtl-model/ref/management/testing/requests.h"
#include "rtl-model/ref/ref_core.h"
#include "rtl-model/systemc/core.h"

namespace exrnic {
namespace {

using management::testing::make_frame;

class Side final : private CoreSink {
 public:
  template <typename Make>
  Side(const Make& make, const CoreConfig& config) : core(make(config, *this)) {
    settle();
  }

  // Until nothing happens any more.
  void settle() {
    for (unsigned cycle = 0; cycle < 4000; ++cycle) {
      core->step(time_ns_ += 4);
      if (core->idle() && cycle > 50) return;
    }
    FAIL("the core does not come to rest");
  }
  void receive(const Bytes& frame, bool fcs_error) {
    core->receive({frame, fcs_error});
    settle();
  }
  void store(uint32_t offset, uint32_t value, uint8_t size = 4) {
    core->mmio_write({EXRNIC_BAR_REGISTERS, offset, size, value});
  }
  uint64_t load(uint32_t offset) {
    core->mmio_read({EXRNIC_BAR_REGISTERS, offset, 4, 0});
    settle();
    REQUIRE(!loaded_.empty());
    const uint64_t value = loaded_.front();
    loaded_.pop_front();
    return value;
  }

  std::vector<Bytes> frames;
  std::unique_ptr<Core> core;

 private:
  bool can_transmit() override { return true; }
  void transmit(Frame&& frame) override { frames.push_back(std::move(frame.data)); }
  bool can_write() override { return true; }
  void write(PostedWrite&& /*write*/) override {}
  bool can_read() override { return true; }
  void read(const ReadRequest& /*request*/) override {}
  void mmio_read_done(uint64_t data) override { loaded_.push_back(data); }
  bool peek(uint64_t /*address*/, uint8_t* /*out*/, size_t /*length*/) override { return false; }

  std::deque<uint64_t> loaded_;
  uint64_t time_ns_ = 0;
};

class Pair {
 public:
  explicit Pair(const CoreConfig& config)
      : rtl(make_rtl_core, config), ref(make_ref_core, config) {}

  void receive(const Bytes& frame, bool fcs_error = false) {
    rtl.receive(frame, fcs_error);
    ref.receive(frame, fcs_error);
  }
  void send(const Bytes& frame) {
    for (Side* side : {&rtl, &ref}) {
      for (unsigned i = 0; i < frame.size(); i += 4)
        side->store(EXRNIC_REG_MANAGEMENT_OUT + i, frame[i] | frame[i + 1] << 8 |
                                                       frame[i + 2] << 16 |
                                                       uint32_t{frame[i + 3]} << 24);
      side->store(EXRNIC_REG_MANAGEMENT_SEND, 1);
      side->settle();
    }
  }
  uint64_t same(uint32_t offset) {
    const uint64_t value = rtl.load(offset);
    CAPTURE(offset);
    REQUIRE(value == ref.load(offset));
    return value;
  }
  void compare() {
    const bool same_frames = rtl.frames == ref.frames;
    CAPTURE(rtl.frames.size(), ref.frames.size());
    REQUIRE(same_frames);
    for (const uint32_t offset : {EXRNIC_REG_MANAGEMENT_STATUS, EXRNIC_REG_NODE_ID,
                                  EXRNIC_REG_MAC_LO, EXRNIC_REG_MAC_HI, EXRNIC_REG_STATUS})
      same(offset);
    for (const auto counter : {EXRNIC_COUNTER_MANAGEMENT_SERVED, EXRNIC_COUNTER_MANAGEMENT_DROPPED,
                               EXRNIC_COUNTER_FRAMES_RX}) {
      CAPTURE(counter);
      REQUIRE(rtl.core->peek_counter(counter) == ref.core->peek_counter(counter));
    }
  }

  Side rtl;
  Side ref;
};

// A frame that is nearly always one of management, and often one that somebody would send.
class Frames {
 public:
  explicit Frames(uint64_t seed) : random_(seed) {}

  uint64_t below(uint64_t limit) { return random_() % limit; }
  bool chance(unsigned in) { return below(in) == 0; }

  Bytes next() {
    Bytes frame = make_frame(
        destination(), static_cast<exrnic_management_method>(chance(12) ? below(16) : below(4)),
        static_cast<exrnic_management_attribute>(chance(4) ? below(7) : 0),
        chance(8) ? static_cast<uint32_t>(random_()) : 0);
    uint8_t* const header = management::header(frame);
    exrnic_eth_set_src(frame.data(), destination());
    exrnic_management_header_set_transaction(header, random_());
    exrnic_management_header_set_key(header, keys_[below(3)]);
    header[EXRNIC_MANAGEMENT_HEADER_BYTES - 1] = static_cast<uint8_t>(below(2));
    const uint64_t hops = chance(10) ? below(256) : below(5);
    const bool directed = exrnic_eth_dst(frame.data()) == management::kAnyone;
    if (directed || chance(8)) {
      exrnic_management_header_set_hops(header, hops);
      exrnic_management_header_set_hop(header, chance(3) ? hops : below(hops + 2));
    }
    for (unsigned i = 0; i < EXRNIC_MANAGEMENT_HOPS; ++i)
      management::put_number(management::hop_of(frame, i), ports_[below(4)]);
    uint8_t* const data = management::data(frame);
    for (unsigned i = 0; i < EXRNIC_MANAGEMENT_DATA_BYTES; ++i)
      data[i] = static_cast<uint8_t>(random_());
    exrnic_management_device_set_sets(data, chance(6) ? below(256) : below(16));
    exrnic_management_device_set_number(data, numbers_[below(6)]);
    exrnic_management_device_set_new_key(data, keys_[below(3)]);
    if (chance(16)) frame.resize(below(400) + EXRNIC_ETH_FRAME_MIN);
    if (chance(16)) frame.at(EXRNIC_ETH_BYTES) ^= static_cast<uint8_t>(1u << below(8));
    return frame;
  }

 private:
  uint64_t destination() {
    return chance(2) ? management::kAnyone : management::mac_of(numbers_[below(6)]);
  }

  std::mt19937_64 random_;
  static constexpr uint64_t keys_[] = {0, 0, 0x123456789abcdef};
  static constexpr uint16_t numbers_[] = {0, 7, 255, 256, EXRNIC_NODE_NONE, 0x8000};
  static constexpr uint16_t ports_[] = {0, 0, 1, EXRNIC_PORT_NONE};
};

constexpr unsigned kSteps = 400;

void run(uint64_t seed, const CoreConfig& config) {
  CAPTURE(seed);
  Frames frames(seed);
  Pair pair(config);
  bool up = true;
  for (unsigned step = 0; step < kSteps; ++step) {
    CAPTURE(step);
    switch (frames.below(8)) {
      case 0:
      case 1: {
        Bytes frame = frames.next();
        frame.resize(EXRNIC_MANAGEMENT_FRAME_BYTES);
        if (frames.chance(12)) exrnic_eth_set_ethertype(frame.data(), EXRNIC_ETHERTYPE);
        pair.send(frame);
        break;
      }
      case 2:
        for (Side* side : {&pair.rtl, &pair.ref}) side->store(EXRNIC_REG_MANAGEMENT_TAKEN, 1);
        break;
      case 3:
        for (unsigned i = 0; i < EXRNIC_MANAGEMENT_FRAME_BYTES; i += 4) {
          pair.same(EXRNIC_REG_MANAGEMENT_IN + i);
          pair.same(EXRNIC_REG_MANAGEMENT_OUT + i);
        }
        break;
      case 4:
        if (!frames.chance(4)) break;
        up = !up;
        for (Side* side : {&pair.rtl, &pair.ref}) {
          side->core->set_link(up);
          side->settle();
        }
        break;
      default: {
        const Bytes frame = frames.next();
        pair.receive(frame, frames.chance(20));
      }
    }
    pair.compare();
  }
}

TEST_CASE("agents of RTL and reference model answer alike, whatever comes") {
  CoreConfig config;
  config.guid = 0x0245585212345678;
  config.data_bits = GENERATE(uint16_t{128}, uint16_t{256});
  config.node_id = GENERATE(uint16_t{EXRNIC_NODE_NONE}, uint16_t{7});
  const uint64_t seed = GENERATE(1, 2, 3);
  run(seed, config);
}

}  // namespace
}  // namespace exrnic
