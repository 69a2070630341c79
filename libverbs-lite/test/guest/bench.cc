// SPDX-License-Identifier: BSD-2-Clause
#include "bench.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "pattern.h"

namespace exrnic {

namespace {

enum Message : uint32_t { kMeet = 200, kCheck, kVerdict };

struct Verdict {
  uint32_t failures;
  char first[200];
};

Verdict MakeVerdict(const std::vector<std::string>& failures) {
  Verdict verdict = {static_cast<uint32_t>(failures.size()), {}};
  if (!failures.empty()) {
    failures.front().copy(verdict.first, sizeof(verdict.first) - 1);
  }
  return verdict;
}

bool RunCheck(const GuestCheck& check, uint32_t index, Bench* bench, FILE* out) {
  if (bench->oob()->Exchange(kCheck, index) != index) {
    throw std::runtime_error("the two ends are at different checks");
  }
  (bench->requester() ? check.requester : check.responder)(bench);
  const std::vector<std::string> failures = bench->TakeFailures();
  const Verdict theirs = bench->oob()->Exchange(kVerdict, MakeVerdict(failures));
  const bool ok = failures.empty() && theirs.failures == 0;
  if (bench->requester()) fprintf(out, "%s - %s\n", ok ? "ok" : "not ok", check.sentence.c_str());
  for (const std::string& failure : failures) fprintf(out, "#   %s\n", failure.c_str());
  if (bench->requester() && theirs.failures > 0) {
    fprintf(out, "#   at the responder: %s\n", theirs.first);
  }
  fflush(out);
  return ok;
}

}  // namespace

uint64_t Bench::NextSeed() { return seed_ = Mix(seed_ + 1); }

void Bench::Meet() { oob_->Exchange<uint32_t>(kMeet, 0); }

void Bench::Expect(bool condition, const std::string& text) {
  if (!condition) failures_.push_back(text);
}

void Bench::ExpectEqual(uint64_t got, uint64_t expected, const std::string& what) {
  if (got == expected) return;
  char text[64];
  snprintf(text, sizeof(text), ": 0x%llx, expected 0x%llx", static_cast<unsigned long long>(got),
           static_cast<unsigned long long>(expected));
  failures_.push_back(what + text);
}

std::vector<std::string> Bench::TakeFailures() {
  std::vector<std::string> failures;
  failures.swap(failures_);
  return failures;
}

std::vector<GuestCheck> AllChecks() {
  std::vector<GuestCheck> all;
  for (const std::vector<GuestCheck>& some : {SeccompChecks(),
                                              RegionChecks(),
                                              MemoryWindowChecks(),
                                              NtbChecks(),
                                              MessageChannelChecks(),
                                              GatherChecks(),
                                              MessageChecks(),
                                              DatagramChecks(),
                                              PullChecks(),
                                              AtomicChecks(),
                                              SrqChecks(),
                                              NotifyChecks(),
                                              ResizeChecks(),
                                              EventChecks(),
                                              RemoteErrorChecks(),
                                              MessageErrorChecks(),
                                              LocalErrorChecks(),
                                              DoorbellChecks(),
                                              DestroyChecks(),
                                              ProcessChecks(),
                                              KillChecks()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

int RunChecks(const std::vector<GuestCheck>& checks, Bench* bench, FILE* out) {
  int failed = 0;
  uint32_t index = 0;
  for (const GuestCheck& check : checks) {
    try {
      if (!RunCheck(check, index++, bench, out)) ++failed;
    } catch (const std::exception& error) {
      fprintf(out, "not ok - %s\n#   %s\n", check.sentence.c_str(), error.what());
      fflush(out);
      throw;
    }
  }
  return failed;
}

}  // namespace exrnic
