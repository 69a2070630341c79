// SPDX-License-Identifier: BSD-2-Clause
// exrnic-ntb-forge: a peer of exrnic_ntb.ko that is none. By the ports of its link it says records
// that look right, with queue pairs, STags and lengths that are not its own; writes into the
// records of the other side; and rings without end. What that side makes of it is looked at there.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <random>

#include "exrnic/ntb.h"
#include "exrnic/verbs.hpp"

namespace exrnic::ntb_forge {
namespace {

constexpr uint32_t kRecordId = 0x4e01u << 16;  // kmod/ntb/record.c
constexpr uint32_t kFlags = 0x7u << 24;
constexpr uint32_t kQpn = 0xffffffu;
constexpr unsigned kQpnWord = 1;
constexpr unsigned kPeerQpnWord = 2;
constexpr unsigned kFollowedWord = 3;

struct Forger {
  vl_port* bells;
  vl_port* control;
  std::mt19937 random;

  uint32_t number() { return static_cast<uint32_t>(random()); }
  bool now_and_then() { return number() % 4 == 0; }

  // What the other side says of itself, so that lies fit.
  uint32_t heard(unsigned word) {
    uint32_t value = 0;
    vl_get_peer_scratchpad(control, word, &value);
    return value;
  }

  // ENOTCONN: the other side has closed its port for a moment.
  static void check(int result) {
    if (result != 0 && errno != ENOTCONN) vl::ThrowErrno("a port");
  }

  void say(unsigned word, uint32_t value) { check(vl_set_own_scratchpad(control, word, value)); }

  void lie(uint32_t sequence) {
    say(0, kRecordId | (sequence & 0xfffe));
    for (unsigned word = kFollowedWord + 1; word < VL_PORT_SPADS; word++) say(word, number());
    if (now_and_then()) say(kQpnWord, (number() & kQpn) | kFlags);
    say(kPeerQpnWord, (now_and_then() ? number() : heard(kQpnWord)) & kQpn);
    say(kFollowedWord, (heard(0) & 0xffff) | number() << 16);
    check(vl_ring_port(control, 1));
  }

  void disturb() {
    check(vl_set_scratchpad(control, number() % VL_PORT_SPADS, number()));
    check(vl_set_scratchpad(bells, number() % VL_PORT_SPADS, number()));
    for (int i = 0; i < 16; i++) check(vl_ring_port(bells, number()));
    if (now_and_then()) say(0, number());
  }
};

void forge(uint32_t node, unsigned link, double seconds, uint32_t seed) {
  const vl::Owned<vl_rnic> rnic = vl::OpenRnic();
  vl_port* const bells = vl_open_port(rnic.get(), 2 * link, node, 2 * link);
  if (bells == nullptr) vl::ThrowErrno("vl_open_port");
  vl_port* const control = vl_open_port(rnic.get(), 2 * link + 1, node, 2 * link + 1);
  if (control == nullptr) vl::ThrowErrno("vl_open_port");
  Forger forger{bells, control, std::mt19937(seed)};
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  for (uint32_t round = 1; std::chrono::steady_clock::now() < end; round++) {
    forger.lie(2 * round);
    forger.disturb();
  }
  vl_close_port(control);
  vl_close_port(bells);
}

}  // namespace
}  // namespace exrnic::ntb_forge

int main(int argc, char** argv) {
  uint32_t node = 0;
  unsigned link = 0;
  double seconds = 2;
  uint32_t seed = 1;
  CLI::App app("Is a peer of exrnic_ntb.ko that says what is not so");
  app.add_option("--to", node, "the node")->required();
  app.add_option("--link", link, "of both nodes");
  app.add_option("--seconds", seconds, "so long");
  app.add_option("--seed", seed, "of what it says");
  CLI11_PARSE(app, argc, argv);
  try {
    exrnic::ntb_forge::forge(node, link, seconds, seed);
  } catch (const std::exception& error) {
    fmt::print(stderr, "exrnic-ntb-forge: {}\n", error.what());
    return 1;
  }
  return 0;
}
