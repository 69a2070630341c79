// SPDX-License-Identifier: BSD-2-Clause
// Two ports that know each other, and a reference PEB in the shadow of each. Between these two
// nothing is lost and nothing takes time: what one bus says has reached the other one at once.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "rtl-model/ref/peb/peb_core.h"

namespace exrnic::lockstep {

class PebShadow {
 public:
  struct Place {
    CoreConfig config;  // of its PEB, with the number that it has
    peb::Side side = peb::Side::kHost;
  };
  PebShadow(const peb::PebFactory& make, const Place& first, const Place& second, uint16_t group);

  // `end`: 0 or 1, whose bus says it.
  void write(unsigned end, uint64_t address, const Bytes& data);
  void request(unsigned end, peb::BusRequest&& request);
  // Its `index`-th request.
  void complete(unsigned end, uint64_t index, exrnic_completion_status status, const Bytes& data);

  // What has reached a bus, and nobody has taken.
  struct Reached {
    std::deque<peb::Write> writes;
    std::deque<peb::Request> requests;
    std::map<uint64_t, peb::Answer> answers;  // by the name that its bus has given
  };
  Reached& reached(unsigned end) { return ends_[end].reached; }

 private:
  struct End final : peb::PebSink {
    bool can_transmit() override { return true; }
    void transmit(Frame&& frame) override { sent.push_back(std::move(frame)); }
    bool can_write(unsigned) override { return true; }
    void write(unsigned, peb::Write&& write) override {
      reached.writes.push_back(std::move(write));
    }
    bool can_request(unsigned) override { return true; }
    void request(unsigned, uint64_t name, peb::Request&& request) override {
      names.push_back(name);
      reached.requests.push_back(std::move(request));
    }
    void answered(unsigned, peb::Answer&& answer) override {
      const uint64_t id = answer.id;
      reached.answers[id] = std::move(answer);
    }
    void link(unsigned, bool) override {}

    std::unique_ptr<peb::PebCore> peb;
    std::vector<Frame> sent;
    std::vector<uint64_t> names;  // of requests, by index
    Reached reached;
  };

  void run();

  std::array<End, 2> ends_;
  uint64_t time_ns_ = 0;  // their own
};

}  // namespace exrnic::lockstep
