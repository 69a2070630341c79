// SPDX-License-Identifier: BSD-2-Clause
#include "sim/trace/recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "sim/pcie/host_port.h"

namespace exrnic::trace {
namespace {

// Writes down what it is told.
class Listener final : public Observer {
 public:
  struct Told {
    SimTime ps;
    std::string text;
    bool operator==(const Told& other) const { return ps == other.ps && text == other.text; }
  };
  std::vector<Told> told;

  void start(uint64_t /*period_ps*/, unsigned /*nodes*/) override {}
  void core_event(const At& at, const TraceEvent& event) override {
    add(at, fmt::format("event {} {}", static_cast<int>(event.what), text_of(event.args)));
  }
  void frame(const At& at, const Frame& frame, bool out) override {
    add(at, fmt::format("frame {} {}", out, text_of(frame)));
  }
  void store(const At& at, unsigned bar, uint64_t offset, unsigned size, uint64_t value) override {
    add(at, fmt::format("store {} {} {} {}", bar, offset, size, value));
  }
  void block(const At& at, unsigned bar, uint64_t offset, const uint8_t* data) override {
    add(at, fmt::format("block {} {} {}", bar, offset, sum_of(data, DevicePort::kBlockBytes)));
  }
  void loaded(const At& at, unsigned bar, uint64_t offset, uint64_t value, SimTime since) override {
    add(at, fmt::format("loaded {} {} {} {}", bar, offset, value, since));
  }
  void memory(const At& at, bool write, uint64_t address, const uint8_t* data,
              size_t length) override {
    const size_t kept = write ? std::min(length, Recorder::kKept) : 0;
    add(at, fmt::format("memory {} {} {} {}", write, address, length, sum_of(data, kept)));
  }
  void interrupt(const At& at, unsigned vector) override {
    add(at, fmt::format("interrupt {}", vector));
  }
  void reset(const At& at) override { add(at, "reset"); }
  void lost(SimTime ps, const std::string& where, Loss loss, const Frame& frame) override {
    add({0, ps}, fmt::format("lost {} {} {}", where, static_cast<int>(loss), text_of(frame)));
  }
  void dropped(const At& at, const Frame& frame, unsigned counter) override {
    add(at, fmt::format("dropped {} {}", counter, text_of(frame)));
  }
  void unserved(const At& at, const exrnic_trace_args& segment, unsigned counter) override {
    add(at, fmt::format("unserved {} {}", counter, text_of(segment)));
  }
  void refused(const At& at, unsigned peer, uint16_t seq, unsigned code,
               bool comes_again) override {
    add(at, fmt::format("refused {} {} {} {}", peer, seq, code, comes_again));
  }

 private:
  void add(const At& at, const std::string& text) {
    told.push_back({at.ps, fmt::format("{}: {}", at.node, text)});
  }
  static uint64_t sum_of(const uint8_t* data, size_t length) {
    uint64_t sum = length;
    for (size_t i = 0; i < length; ++i) sum = sum * 31 + data[i];
    return sum;
  }
  static std::string text_of(const Frame& frame) {
    return fmt::format("{} {} {}", frame.data.size(), frame.fcs_error,
                       sum_of(frame.data.data(), std::min(frame.data.size(), Recorder::kKept)));
  }
  static std::string text_of(const exrnic_trace_args& args) {
    return fmt::format("{} {} {} {}", args.qpn, args.index, args.node, args.flags);
  }
};

using Random = std::mt19937;

Bytes random_bytes(Random& random, size_t most) {
  Bytes bytes(random() % (most + 1));
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

exrnic_trace_args random_args(Random& random) {
  exrnic_trace_args args{};
  args.qpn = random() % 100;
  args.index = static_cast<uint16_t>(random());
  args.node = static_cast<uint16_t>(random());
  args.flags = random() % 4;
  return args;
}

// One call, the same for the same numbers.
void tell(Observer& observer, Random random, const At& at) {
  constexpr unsigned kKinds = 12;
  const unsigned kind = random() % kKinds;
  const unsigned few = random() % 8;
  const uint64_t many = uint64_t{random()} << 32 | random();
  const Frame frame{random_bytes(random, 1500), random() % 2 == 0, false};
  const Bytes data = random_bytes(random, 4096);
  const Bytes block(DevicePort::kBlockBytes, static_cast<uint8_t>(random()));
  const bool yes = random() % 2 == 0;
  switch (kind) {
    case 0:
      return observer.core_event(at, {static_cast<exrnic_trace>(few), random_args(random)});
    case 1:
      return observer.frame(at, frame, yes);
    case 2:
      return observer.store(at, few, many, 1u << few % 4, ~many);
    case 3:
      return observer.block(at, few, many, block.data());
    case 4:
      return observer.loaded(at, few, many, ~many, at.ps / 2);
    case 5:
      return observer.memory(at, yes, many, yes ? data.data() : nullptr, data.size());
    case 6:
      return observer.interrupt(at, few);
    case 7:
      return observer.reset(at);
    case 8:
      return observer.lost(at.ps, fmt::format("leaf{}.3", few), static_cast<Loss>(few % 6), frame);
    case 9:
      return observer.dropped(at, frame, few);
    case 10:
      return observer.unserved(at, random_args(random), few);
    default:
      return observer.refused(at, few, static_cast<uint16_t>(many), few * 256, yes);
  }
}

void fail(const std::string& line) { FAIL(line); }

// Plays all that it gives.
void play_all(Recorder& recorder, size_t most, Observer& observer) {
  for (Bytes records = recorder.take(most); !records.empty(); records = recorder.take(most)) {
    CHECK(records.size() <= most);
    for (size_t at = 0; at < records.size();) at = play(records, at, observer);
  }
}

TEST_CASE("what is recorded is told again as it was told, in order of time") {
  constexpr SimTime kLate = 500;
  for (unsigned seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    Recorder recorder(kLate, true, fail);
    CHECK(recorder.watches_losses());
    Listener direct;
    Listener again;
    for (unsigned i = 0; i < 3000; ++i) {
      const At at{static_cast<unsigned>(random() % 5), SimTime{10} * i + random() % kLate};
      const Random call = random;
      tell(recorder, call, at);
      tell(direct, call, at);
      random.discard(2);
      if (random() % 200 != 0) continue;
      play_all(recorder, Recorder::kLongest + random() % 2000, again);
    }
    recorder.settle();
    play_all(recorder, size_t{1} << 20, again);
    std::stable_sort(direct.told.begin(), direct.told.end(),
                     [](const auto& a, const auto& b) { return a.ps < b.ps; });
    REQUIRE(again.told.size() == direct.told.size());
    CHECK(again.told == direct.told);
  }
}

TEST_CASE("many records wait in a file, and come out whole, twice over") {
  Recorder recorder(0, false, fail);
  CHECK_FALSE(recorder.watches_losses());
  constexpr unsigned kRecords = 100'000;  // of some 60 bytes and more
  for (unsigned round = 0; round < 2; ++round) {
    for (unsigned i = 0; i < kRecords; ++i) recorder.interrupt({i % 7, SimTime{i}}, i);
    recorder.settle();
    Listener again;
    play_all(recorder, 3000, again);
    REQUIRE(again.told.size() == kRecords);
    for (unsigned i = 0; i < kRecords; ++i)
      REQUIRE(again.told[i] == Listener::Told{i, fmt::format("{}: interrupt {}", i % 7, i)});
  }
}

TEST_CASE(
    "where no temporary file can be, one line says so, and what was kept until then is whole") {
  const char* const before = std::getenv("TMPDIR");
  const std::string folder = before == nullptr ? "" : before;
  ::setenv("TMPDIR", "/dev/null/none", 1);
  std::vector<std::string> logged;
  Recorder recorder(0, false, [&](const std::string& line) { logged.push_back(line); });
  constexpr unsigned kRecords = 100'000;
  for (unsigned i = 0; i < kRecords; ++i) recorder.interrupt({0, SimTime{i}}, i);
  if (before == nullptr)
    ::unsetenv("TMPDIR");
  else
    ::setenv("TMPDIR", folder.c_str(), 1);
  REQUIRE(logged.size() == 1);
  CHECK(logged[0].find("/dev/null/none: Not a directory") != std::string::npos);
  Listener again;
  play_all(recorder, 3000, again);
  REQUIRE(again.told.size() > 1000);
  REQUIRE(again.told.size() < kRecords);
  for (unsigned i = 0; i < again.told.size(); ++i)
    REQUIRE(again.told[i] == Listener::Told{i, fmt::format("0: interrupt {}", i)});
}

TEST_CASE("what may still be preceded by something older is not given away") {
  Recorder recorder(100, false, fail);
  recorder.interrupt({0, 1000}, 1);
  recorder.interrupt({1, 1099}, 2);
  CHECK(recorder.take(Recorder::kLongest).empty());
  recorder.interrupt({1, 1000}, 3);
  recorder.interrupt({0, 1100}, 4);
  Listener again;
  play_all(recorder, Recorder::kLongest, again);
  REQUIRE(again.told.size() == 2);
  CHECK(again.told[0].text == "0: interrupt 1");
  CHECK(again.told[1].text == "1: interrupt 3");
}

}  // namespace
}  // namespace exrnic::trace
