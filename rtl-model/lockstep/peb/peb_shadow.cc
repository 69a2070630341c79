// SPDX-License-Identifier: BSD-2-Clause
#include "rtl-model/lockstep/peb/peb_shadow.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace exrnic::lockstep {
namespace {

constexpr uint64_t kStepNs = 64;
constexpr unsigned kSteps = 1'000'000;  // in which all has arrived
constexpr unsigned kQuiet = 200;        // without a frame: each answers in a step or two
constexpr uint8_t kPatient = 63;        // a read time-out that never strikes

}  // namespace

PebShadow::PebShadow(const peb::PebFactory& make, const Place& first, const Place& second,
                     uint16_t group) {
  const std::array<const Place*, 2> places = {&first, &second};
  for (unsigned end = 0; end < 2; ++end) {
    CoreConfig config = places[end]->config;
    config.link_up = true;
    config.read_timeout_shift = kPatient;
    ends_[end].peb = make(config, places[end]->side, 1, ends_[end]);
  }
  for (unsigned end = 0; end < 2; ++end) {
    ends_[end].peb->step(time_ns_);
    ends_[end].peb->assign(
        0, peb::Peer{static_cast<uint16_t>(places[1 - end]->config.node_id), group});
  }
  run();
}

void PebShadow::write(unsigned end, uint64_t address, const Bytes& data) {
  ends_[end].peb->write(0, address, data);
  run();
}

void PebShadow::request(unsigned end, peb::BusRequest&& request) {
  ends_[end].peb->request(0, std::move(request));
  run();
}

void PebShadow::complete(unsigned end, uint64_t index, exrnic_completion_status status,
                         const Bytes& data) {
  ends_[end].peb->complete(0, ends_[end].names.at(index), status, data);
  run();
}

// Until nothing is under way. A request that waits for a tag waits for the bus of its peer: then
// no frame is sent.
void PebShadow::run() {
  unsigned quiet = 0;
  for (unsigned i = 0; i < kSteps; ++i) {
    time_ns_ += kStepNs;
    ++quiet;
    for (End& end : ends_) end.peb->step(time_ns_);
    for (unsigned end = 0; end < 2; ++end) {
      for (Frame& frame : std::exchange(ends_[end].sent, {})) {
        frame.data.resize(std::max<size_t>(frame.data.size(), EXRNIC_ETH_FRAME_MIN));
        ends_[1 - end].peb->receive(std::move(frame));
        quiet = 0;
      }
    }
    const bool rests = quiet != 0 && ends_[0].peb->idle() && ends_[1].peb->idle();
    const bool up = ends_[0].peb->is_up(0) && ends_[1].peb->is_up(0);
    if (up && (rests || quiet == kQuiet)) return;
  }
  throw std::logic_error("lockstep: the reference PEBs do not come to rest");
}

}  // namespace exrnic::lockstep
