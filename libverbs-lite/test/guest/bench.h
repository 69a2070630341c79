// SPDX-License-Identifier: BSD-2-Clause
// What a check of exrnic-guest-test works with. Each check has two parts that run at the same time,
// in the guest of node 0 (the requester, which PUSHes) and in that of node 1 (the responder).
#ifndef EXRNIC_GUEST_BENCH_H
#define EXRNIC_GUEST_BENCH_H

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "exrnic/verbs.h"
#include "oob.h"
#include "verbs_objects.h"

namespace exrnic {

class Bench {
 public:
  Bench(uint32_t node, OpenRnicCall open, Oob* oob, uint64_t seed)
      : node_(node), open_(std::move(open)), oob_(oob), seed_(seed) {}

  bool requester() const { return node_ == 0; }
  vl_rnic* Open() const { return open_(); }
  Oob* oob() { return oob_; }
  // Both ends draw the same numbers.
  uint64_t NextSeed();

  // Processes that a check of deaths kills, at least; both ends have the same.
  uint32_t deaths() const { return deaths_; }
  void set_deaths(uint32_t deaths) { deaths_ = deaths; }

  // Both ends have come here.
  void Meet();

  // Notes a failure of the running check, and goes on.
  void Expect(bool condition, const std::string& text);
  // Also gives what was found.
  void ExpectEqual(uint64_t got, uint64_t expected, const std::string& what);
  // The failures noted since the last call.
  std::vector<std::string> TakeFailures();

 private:
  const uint32_t node_;
  const OpenRnicCall open_;
  Oob* const oob_;
  uint64_t seed_;
  uint32_t deaths_ = 8;
  std::vector<std::string> failures_;
};

struct GuestCheck {
  std::string sentence;  // what holds
  std::function<void(Bench*)> requester;
  std::function<void(Bench*)> responder;
  bool needs_kernel = false;     // of a guest, with its module; else any RNIC will do
  bool two_contexts = false;     // opens the RNIC twice, which a simulator's socket does not allow
  bool needs_rnic = false;       // does what the tests' software device does not know
  bool needs_processor = false;  // for firmware: the reference model has none
};

// The checks, by file.
std::vector<GuestCheck> SeccompChecks();
std::vector<GuestCheck> RemoteErrorChecks();
std::vector<GuestCheck> LocalErrorChecks();
std::vector<GuestCheck> DoorbellChecks();
std::vector<GuestCheck> GatherChecks();
std::vector<GuestCheck> MessageChecks();
std::vector<GuestCheck> DatagramChecks();
std::vector<GuestCheck> MessageErrorChecks();
std::vector<GuestCheck> PullChecks();
std::vector<GuestCheck> AtomicChecks();
std::vector<GuestCheck> SrqChecks();
std::vector<GuestCheck> NotifyChecks();
std::vector<GuestCheck> ResizeChecks();
std::vector<GuestCheck> EventChecks();
std::vector<GuestCheck> DestroyChecks();
std::vector<GuestCheck> ProcessChecks();
std::vector<GuestCheck> KillChecks();
std::vector<GuestCheck> RegionChecks();
std::vector<GuestCheck> MemoryWindowChecks();
std::vector<GuestCheck> NtbChecks();
std::vector<GuestCheck> MessageChannelChecks();

std::vector<GuestCheck> AllChecks();

// Runs checks in both guests. The requester writes "ok - sentence" or "not ok - sentence" with a
// reason for each to `out`; the responder only reasons of its own. Returns how many failed. Throws
// if the two lose each other.
int RunChecks(const std::vector<GuestCheck>& checks, Bench* bench, FILE* out);

}  // namespace exrnic

#endif  // EXRNIC_GUEST_BENCH_H
