// SPDX-License-Identifier: BSD-2-Clause
#include "transfer.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>
#include <stdexcept>

#include "pattern.h"

namespace exrnic {

namespace {

enum Message : uint32_t { kRound = 100, kReady, kDone, kVerdict };

struct Round {
  uint64_t seed;
  uint32_t size;
  uint32_t count;  // 0: the direction is at its end
};

struct Verdict {
  uint32_t verified;
  uint32_t wrong;  // 1: the rest says what
  uint32_t area;   // whose pattern is wrong, or behind which the guard is
  uint8_t in_guard;
  uint8_t expected;
  uint8_t got;
  uint8_t rsvd;
  uint64_t offset;
};

size_t RoundUp(size_t value) {
  return (value + AreaLayout::kGuard - 1) / AreaLayout::kGuard * AreaLayout::kGuard;
}

uint8_t PoisonOf(const Round& round) { return static_cast<uint8_t>(Mix(round.seed)); }

std::string Describe(const Round& round, uint32_t area) {
  if (area == 0) return "the warm-up PUSH before those of " + std::to_string(round.size) + " bytes";
  return "PUSH " + std::to_string(area) + " of " + std::to_string(round.count) + " of " +
         std::to_string(round.size) + " bytes";
}

// ---- Sender

void FillSource(const PushLink& link, const Round& round, const AreaLayout& layout) {
  for (uint32_t area = 0; area < layout.areas(); ++area) {
    FillPattern(PatternStream(round.seed, area), link.source + layout.Offset(area),
                layout.Length(area));
  }
}

void PostArea(const PushLink& link, const AreaLayout& layout, uint32_t area) {
  const size_t offset = layout.Offset(area);
  const vl_sge sge = {AddressOf(link.source + offset), static_cast<uint32_t>(layout.Length(area)),
                      link.source_stag};
  vl_send_wr wr = {};
  wr.wr_id = area;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = VL_OP_PUSH;
  wr.flags = VL_SEND_SIGNALED;
  wr.remote_stag = link.peer_stag;
  wr.remote_address = link.peer_address + offset;
  Check(vl_post_sq(link.qp, &wr, nullptr), "vl_post_sq");
}

uint64_t Await(const PushLink& link, const Round& round, uint32_t area) {
  const std::string what = Describe(round, area);
  const vl_wc wc = AwaitCompletion(link.cq, what);
  if (wc.status != VL_WC_SUCCESS) {
    char detail[16];
    snprintf(detail, sizeof(detail), "0x%04x", wc.detail);
    throw std::runtime_error(what + " failed: " + vl_status_string(wc.status) + ", detail " +
                             detail);
  }
  if (wc.wr_id != area) {
    throw std::runtime_error("a completion of work request " + std::to_string(wc.wr_id) +
                             " came where that of " + what + " was due");
  }
  return wc.timestamp_ns;
}

// Completion times of areas 1 to count, with `depth` in flight; element 0 is the warm-up's.
std::vector<uint64_t> PushAreas(const PushLink& link, const Round& round, const AreaLayout& layout,
                                uint32_t depth) {
  std::vector<uint64_t> times;
  PostArea(link, layout, 0);
  times.push_back(Await(link, round, 0));
  uint32_t posted = 0;
  for (uint32_t area = 1; area <= round.count; ++area) {
    while (posted < round.count && posted + 1 < area + depth) PostArea(link, layout, ++posted);
    times.push_back(Await(link, round, area));
  }
  return times;
}

void ThrowVerdict(const Round& round, const Verdict& verdict) {
  char text[160];
  snprintf(text, sizeof(text), "byte %llu is 0x%02x, not 0x%02x",
           static_cast<unsigned long long>(verdict.offset), verdict.got, verdict.expected);
  const std::string where = verdict.in_guard ? "the guard behind the area of " : "the area of ";
  throw std::runtime_error("at the receiver, in " + where + Describe(round, verdict.area) + ": " +
                           text);
}

struct RoundResult {
  std::vector<uint64_t> times;  // as PushAreas gives them
  uint32_t verified;
};

RoundResult SendRound(const PushLink& link, const Round& round, uint32_t depth) {
  const AreaLayout layout(round.size, round.count);
  link.oob->SendStruct(kRound, round);
  FillSource(link, round, layout);
  link.oob->Receive(kReady);
  std::vector<uint64_t> times = PushAreas(link, round, layout, depth);
  link.oob->Send(kDone, {});
  const Verdict verdict = link.oob->ReceiveStruct<Verdict>(kVerdict);
  if (verdict.wrong) ThrowVerdict(round, verdict);
  return {std::move(times), verdict.verified};
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// Operations in rounds that fit the region; each(times) gets those of a round. Returns how many the
// receiver has verified.
template <typename Each>
uint32_t InRounds(const PushLink& link, uint32_t size, uint32_t ops, uint32_t depth, uint64_t seed,
                  Each each) {
  uint32_t verified = 0;
  const uint32_t fit = AreaLayout::Fit(size, link.region);
  for (uint32_t done = 0; done < ops;) {
    const Round round = {Mix(seed + done), size, std::min(fit, ops - done)};
    const RoundResult result = SendRound(link, round, depth);
    each(result.times);
    verified += result.verified;
    done += round.count;
  }
  return verified;
}

// ---- Receiver

std::optional<Verdict> FindWrong(const PushLink& link, const Round& round,
                                 const AreaLayout& layout) {
  auto report = [](uint32_t area, bool in_guard, const Difference& difference) {
    return Verdict{0, 1, area, in_guard, difference.expected, difference.got, 0, difference.offset};
  };
  auto guard = [&](size_t from, size_t to) {
    return CompareByte(PoisonOf(round), link.target + from, to - from);
  };
  if (auto difference = guard(0, layout.Offset(0))) return report(0, true, *difference);
  for (uint32_t area = 0; area < layout.areas(); ++area) {
    const size_t offset = layout.Offset(area);
    const size_t end = offset + layout.Length(area);
    const uint64_t stream = PatternStream(round.seed, area);
    if (auto difference = ComparePattern(stream, link.target + offset, end - offset)) {
      return report(area, false, *difference);
    }
    if (auto difference = guard(end, layout.Offset(area + 1))) {
      return report(area, true, *difference);
    }
  }
  return std::nullopt;
}

void ReceiveRound(const PushLink& link, const Round& round) {
  const AreaLayout layout(round.size, round.count);
  if (layout.Extent() > link.region) throw std::runtime_error("a round larger than the region");
  memset(link.target, PoisonOf(round), layout.Extent());
  link.oob->Send(kReady, {});
  link.oob->Receive(kDone);
  const Verdict good = {round.count, 0, 0, 0, 0, 0, 0, 0};
  const Verdict verdict = FindWrong(link, round, layout).value_or(good);
  link.oob->SendStruct(kVerdict, verdict);
  if (verdict.wrong) ThrowVerdict(round, verdict);
}

}  // namespace

size_t AreaLayout::Offset(uint32_t area) const {
  if (area == 0) return kGuard;
  const size_t first = kGuard + RoundUp(kWarmUpBytes) + kGuard;
  return first + (area - 1) * (RoundUp(size_) + kGuard);
}

uint32_t AreaLayout::Fit(uint32_t size, size_t region) {
  const size_t first = AreaLayout(size, 0).Offset(1);
  const size_t count = region > first ? (region - first) / (RoundUp(size) + kGuard) : 0;
  if (count == 0) throw std::runtime_error("an operation larger than the region");
  return static_cast<uint32_t>(std::min<size_t>(count, UINT32_MAX));
}

PushResult SendSize(const PushLink& link, uint32_t size, uint32_t ops, uint64_t seed) {
  // A quarter one at a time; these also stand for bandwidth where nothing is left to pipeline.
  const uint32_t single = std::max(1u, ops / 4);
  PushResult result;
  std::vector<double> latencies;
  result.verified += InRounds(link, size, single, 1, Mix(seed), [&](const auto& times) {
    for (size_t i = 1; i < times.size(); ++i) {
      latencies.push_back(static_cast<double>(times[i] - times[i - 1]) / 1e3);
    }
  });
  result.latency_us = Median(latencies);

  double bytes = 0, microseconds = 0;
  result.verified +=
      InRounds(link, size, ops - single, kPushDepth, Mix(seed + 1), [&](const auto& times) {
        bytes += static_cast<double>(size) * static_cast<double>(times.size() - 2);
        microseconds += static_cast<double>(times.back() - times[1]) / 1e3;
      });
  result.ops = ops;
  result.bandwidth_mbps =
      microseconds > 0 ? bytes / microseconds : static_cast<double>(size) / result.latency_us;
  link.oob->SendStruct(kRound, Round{0, 0, 0});
  return result;
}

void ReceiveSize(const PushLink& link) {
  for (;;) {
    const Round round = link.oob->ReceiveStruct<Round>(kRound);
    if (round.count == 0) return;
    ReceiveRound(link, round);
  }
}

}  // namespace exrnic
