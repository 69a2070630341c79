// SPDX-License-Identifier: BSD-2-Clause
// exrnic-ntb-forge: a peer of exrnic_ntb.ko that is none. By the ports of its link it says records
// that look right, with queue pairs, STags and lengths that are not its own; writes into the
// records of the other side; rings, and closes and opens its ports, without end. Then it says what
// is in order, so that the link comes up there; lets the clients' port go for a moment; and takes
// the link down without end. What that side makes of all this is looked at there, too.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <random>
#include <stdexcept>
#include <thread>

#include "exrnic/ntb.h"
#include "exrnic/verbs.hpp"

namespace exrnic::ntb_forge {
namespace {

constexpr uint32_t kRecordId = 0x4e01u << 16;  // kmod/ntb/record.c
constexpr uint32_t kEnabled = 1u << 24;
constexpr uint32_t kReady = 1u << 25;
constexpr uint32_t kUp = 1u << 26;
constexpr uint32_t kFlags = kEnabled | kReady | kUp;
constexpr uint32_t kQpn = 0xffffffu;
constexpr uint32_t kSomeQpn = 2;
constexpr unsigned kQpnWord = 1;
constexpr unsigned kPeerQpnWord = 2;
constexpr unsigned kFollowedWord = 3;
constexpr double kTimeToRead = 0.005;

using Clock = std::chrono::steady_clock;

Clock::time_point within(double seconds) {
  return Clock::now() +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

class Forger {
 public:
  Forger(vl_rnic* rnic, uint32_t node, unsigned link, uint32_t seed)
      : rnic_(rnic), node_(node), number_(2 * link), random_(seed) {
    bells_ = open(number_);
    control_ = open(number_ + 1);
  }
  ~Forger() {
    vl_close_port(control_);
    vl_close_port(bells_);
  }
  Forger(const Forger&) = delete;
  Forger& operator=(const Forger&) = delete;

  void lie(double seconds) {
    for (const auto end = within(seconds); Clock::now() < end;) {
      say_what_is_not_so();
      disturb();
      if (number() % 64 == 0) reopen(&control_, number_ + 1);
      if (number() % 64 == 0) reopen(&bells_, number_);
    }
  }

  // How often the link has come up there.
  unsigned take_down(double seconds) {
    unsigned ups = 0;
    bool wanted = true;
    for (const auto end = within(seconds); Clock::now() < end;) {
      say_what_is_so(wanted);
      if (!is_there(wanted)) continue;
      ups += wanted;
      wanted = !wanted;
    }
    return ups;
  }

  // Whether the link there becomes so.
  bool becomes(bool up, double seconds) {
    for (const auto end = within(seconds); Clock::now() < end;) {
      say_what_is_so(true);
      if (is_there(up)) return true;
    }
    return false;
  }

  void let_go_of_bells() { reopen(&bells_, number_); }

 private:
  vl_port* open(unsigned number) {
    vl_port* const port = vl_open_port(rnic_, number, node_, number);
    if (port == nullptr) vl::ThrowErrno("vl_open_port");
    return port;
  }

  void reopen(vl_port** port, unsigned number) {
    vl_close_port(*port);
    *port = open(number);
  }

  uint32_t number() { return static_cast<uint32_t>(random_()); }
  bool now_and_then() { return number() % 4 == 0; }

  // What the other side says of itself, so that lies fit.
  uint32_t heard(unsigned word) {
    uint32_t value = 0;
    vl_get_peer_scratchpad(control_, word, &value);
    return value;
  }

  // Looked at for a while: a record that changes all the time is never read as a whole there.
  bool is_there(bool up) {
    for (const auto end = within(kTimeToRead); Clock::now() < end;) {
      if (((heard(kQpnWord) & kUp) != 0) == up) return true;
    }
    return false;
  }

  // ENOTCONN: the other side has closed its port for a moment.
  static void check(int result) {
    if (result != 0 && errno != ENOTCONN) vl::ThrowErrno("a port");
  }

  void say(unsigned word, uint32_t value) { check(vl_set_own_scratchpad(control_, word, value)); }

  // Another number each time: the record has changed.
  void say_next() {
    sequence_ += 2;
    say(0, kRecordId | (sequence_ & 0xfffe));
    check(vl_ring_port(control_, 1));
  }

  void say_what_is_not_so() {
    for (unsigned word = kFollowedWord + 1; word < VL_PORT_SPADS; word++) say(word, number());
    if (now_and_then()) say(kQpnWord, (number() & kQpn) | kFlags);
    say(kPeerQpnWord, (now_and_then() ? number() : heard(kQpnWord)) & kQpn);
    say(kFollowedWord, (heard(0) & 0xffff) | number() << 16);
    say_next();
  }

  // A queue pair that is not there: nothing goes by it, as there are no windows.
  void say_what_is_so(bool enabled) {
    for (unsigned word = kFollowedWord + 1; word < VL_PORT_SPADS; word++) say(word, 0);
    say(kPeerQpnWord, heard(kQpnWord) & kQpn);
    say(kFollowedWord, heard(0) & 0xffff);
    say(kQpnWord, kSomeQpn | kReady | (enabled ? kEnabled : 0));
    say_next();
  }

  void disturb() {
    check(vl_set_scratchpad(control_, number() % VL_PORT_SPADS, number()));
    check(vl_set_scratchpad(bells_, number() % VL_PORT_SPADS, number()));
    for (int i = 0; i < 16; i++) check(vl_ring_port(bells_, number()));
    if (now_and_then()) say(0, number());
  }

  vl_rnic* rnic_;
  uint32_t node_;
  unsigned number_;
  std::mt19937 random_;
  uint32_t sequence_ = 0;
  vl_port* bells_;
  vl_port* control_;
};

struct Options {
  uint32_t node = 0;
  unsigned link = 0;
  double lies = 2;
  double downs = 0;
  double held = 0;
  unsigned most_ups = 3;
  uint32_t seed = 1;
};

void expect(bool what, const char* text) {
  if (!what) throw std::runtime_error(text);
}

void forge(const Options& options) {
  const vl::Owned<vl_rnic> rnic = vl::OpenRnic();
  Forger forger(rnic.get(), options.node, options.link, options.seed);
  forger.lie(options.lies);
  std::this_thread::sleep_for(std::chrono::duration<double>(options.held));
  if (options.downs == 0) return;
  expect(forger.becomes(true, 20), "the link there does not come up");
  forger.let_go_of_bells();
  expect(forger.becomes(false, 5), "the link there has not gone down with the clients' port");
  const unsigned ups = forger.take_down(options.downs);
  fmt::print("it came up {} times, and was taken down\n", ups);
  expect(ups <= options.most_ups, "that is too often");
}

}  // namespace
}  // namespace exrnic::ntb_forge

int main(int argc, char** argv) {
  exrnic::ntb_forge::Options options;
  CLI::App app("Is a peer of exrnic_ntb.ko that says what is not so");
  app.add_option("--to", options.node, "the node")->required();
  app.add_option("--link", options.link, "of both nodes");
  app.add_option("--seconds", options.lies, "so long it lies");
  app.add_option("--held", options.held, "so long it keeps its ports, and says nothing");
  app.add_option("--downs", options.downs,
                 "so long it takes the link down again and again (0: not)");
  app.add_option("--most-ups", options.most_ups, "so often that may come up meanwhile");
  app.add_option("--seed", options.seed, "of what it says");
  CLI11_PARSE(app, argc, argv);
  try {
    exrnic::ntb_forge::forge(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "exrnic-ntb-forge: {}\n", error.what());
    return 1;
  }
  return 0;
}
