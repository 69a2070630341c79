// SPDX-License-Identifier: BSD-2-Clause
// PEBs and a network that loses, doubles, reorders and breaks frames, step by step.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include "rtl-model/ref/peb/peb.h"
#if EXRNIC_PEB_RTL_HOST || EXRNIC_PEB_RTL_DEVICE || EXRNIC_PEB_LOCKSTEP
#include "rtl-model/peb/rtl_peb.h"
#define EXRNIC_PEB_RTL 1
#endif
#if EXRNIC_PEB_LOCKSTEP
#include "rtl-model/lockstep/peb/peb_lockstep.h"
#endif

namespace exrnic::peb::testing {

constexpr uint64_t kStepNs = 64;
#ifdef EXRNIC_PEB_RTL
constexpr bool kIsRtl = true;  // which takes cycles for what it does
#else
constexpr bool kIsRtl = false;
#endif

#ifdef EXRNIC_PEB_LOCKSTEP
constexpr bool kIsLockstep = true;  // what a test makes up is no message of the reference
inline const lockstep::PebLockstep& in_lockstep() {
  static const lockstep::PebLockstep made = lockstep::make_peb_lockstep(make_rtl_peb, make_ref_peb);
  return made;
}
inline void check_rest() { in_lockstep().check_rest(); }
inline uint64_t compared() { return in_lockstep().compared(); }  // so far
#else
constexpr bool kIsLockstep = false;
inline void check_rest() {}
inline uint64_t compared() { return 0; }
#endif

using Random = std::mt19937_64;
inline bool chance(Random& random, double p) {
  return std::uniform_real_distribution<>(0, 1)(random) < p;
}
inline uint64_t below(Random& random, uint64_t end) { return random() % end; }

struct Faults {
  double drop = 0, twice = 0, late = 0, corrupt = 0, change = 0;
};

// Which of the two are tested: the reference model, the RTL of one side, or that of both in
// lockstep.
inline std::unique_ptr<PebCore> make_peb(const CoreConfig& config, Side side, unsigned ports,
                                         PebSink& sink) {
#if EXRNIC_PEB_RTL_HOST
  if (side == Side::kHost) return make_rtl_peb(config, side, ports, sink);
#elif EXRNIC_PEB_RTL_DEVICE
  if (side == Side::kDevice) return make_rtl_peb(config, side, ports, sink);
#elif EXRNIC_PEB_LOCKSTEP
  return in_lockstep().make(config, side, ports, sink);
#endif
  return std::make_unique<Peb>(config, side, ports, sink);
}

// A PEB and its MAC; `Bus` is what hears of its ports.
class Station : public PebSink {
 public:
  Station(const CoreConfig& config, Side side, unsigned ports)
      : config_(config), side_(side), ports_(ports) {
    restart();
  }

  // As after power-on, with the same peers.
  void restart() {
    peb = make_peb(config_, side_, ports_, *this);
    peb->step(now_ns);
    for (const auto& [port, peer] : peers) peb->assign(port, peer);
  }
  void assign(unsigned port, const std::optional<Peer>& peer) {
    peers[port] = peer;
    peb->assign(port, peer);
  }
  uint16_t node() const { return config_.node_id; }

  bool can_transmit() override { return true; }
  void transmit(Frame&& frame) override { sent.push_back(std::move(frame)); }

  std::unique_ptr<PebCore> peb;
  std::map<unsigned, std::optional<Peer>> peers;
  std::vector<Frame> sent;
  uint64_t now_ns = 0;

 private:
  const CoreConfig config_;
  const Side side_;
  const unsigned ports_;
};

class Network {
 public:
  explicit Network(uint64_t seed) : random(seed) {}

  void add(Station& station) { stations_.push_back(&station); }

  void step() {
    now_ns += kStepNs;
    while (!under_way_.empty() && under_way_.begin()->first <= now_ns) {
      Frame frame = std::move(under_way_.begin()->second);
      under_way_.erase(under_way_.begin());
      const uint64_t to = exrnic_eth_dst(frame.data.data());
      for (Station* station : stations_)
        if (ref::mac_of(station->node()) == to && cut != station->node())
          station->peb->receive(Frame(frame));
    }
    for (Station* station : stations_) {
      station->now_ns = now_ns;
      const bool rests = station->peb->idle() && now_ns < station->peb->wakes_at_ns();
      if (rests && leaves_out) continue;
      station->peb->step(now_ns);
      if (rests && !station->sent.empty()) throw std::logic_error("who rests has sent a frame");
      for (Frame& frame : std::exchange(station->sent, {}))
        if (cut != station->node()) send(std::move(frame));
    }
  }

  void send(Frame&& frame) {
    frame.data.resize(std::max<size_t>(frame.data.size(), EXRNIC_ETH_FRAME_MIN));
    if (watch) watch(frame);
    if (chance(random, faults.drop)) return;
    frame.fcs_error = chance(random, faults.corrupt);
    constexpr size_t kPayload = EXRNIC_ETH_BYTES + EXRNIC_EFE_BYTES;
    if (frame.data.size() > kPayload && chance(random, faults.change))
      frame.data[kPayload + below(random, frame.data.size() - kPayload)] =
          static_cast<uint8_t>(random());
    if (chance(random, faults.twice)) put(Frame(frame));
    put(std::move(frame));
  }

  bool empty() const { return under_way_.empty(); }

  Random random;
  Faults faults;
  std::function<void(const Frame&)> watch;  // sees what is sent
  uint16_t cut = 0;                         // node whose line is
  uint64_t now_ns = 0;
  bool leaves_out = true;  // who rests is not stepped, as in the simulator

 private:
  // On time frames stay in order.
  void put(Frame&& frame) {
    const uint64_t extra = chance(random, faults.late) ? below(random, 100) : 0;
    under_way_.emplace(now_ns + (20 + extra) * kStepNs, std::move(frame));
  }

  std::vector<Station*> stations_;
  std::multimap<uint64_t, Frame> under_way_;
};

}  // namespace exrnic::peb::testing
