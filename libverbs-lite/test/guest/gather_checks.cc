// SPDX-License-Identifier: BSD-2-Clause
// Every length and alignment of two gathered elements, and of their place at the peer.
#include <algorithm>
#include <random>
#include <string>

#include "connection.h"
#include "pattern.h"

namespace exrnic {

namespace {

constexpr size_t kPage = 4096;
constexpr size_t kBytes = 4u << 20;
constexpr uint32_t kDepth = 64;

// One PUSH: two pieces of the source, and where they come together at the target.
struct Piece {
  size_t from[2];
  uint32_t length[2];
  size_t to;
  uint32_t total() const { return length[0] + length[1]; }
};

// Both ends compute the same plan, in which no two places at the target touch.
using Plan = std::vector<Piece>;

// Every pair of awkward lengths, at random unaligned addresses, some a few bytes before a page's
// end.
Plan LengthsPlan(uint64_t seed) {
  constexpr uint32_t kLengths[] = {0, 1, 15, 17, 4095, 4097};
  constexpr int kRepeats = 4;
  std::mt19937_64 random(seed);
  auto place = [&](size_t page) {
    const size_t offset = random() % 2 == 0 ? random() % 64 : kPage - 1 - random() % 32;
    return page * kPage + offset;
  };
  Plan plan;
  size_t page = 0;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    for (uint32_t first : kLengths) {
      for (uint32_t second : kLengths) {
        plan.push_back(
            {{place(random() % 64), place(random() % 64)}, {first, second}, place(page)});
        page += 4;  // 8192 bytes that start late in a page end in the third behind it
      }
    }
  }
  return plan;
}

// Every shift of the source against the target within the data path.
Plan AlignmentPlan(uint64_t seed) {
  constexpr size_t kShifts = 32;
  constexpr size_t kStride = 192;
  std::mt19937_64 random(seed);
  Plan plan;
  for (size_t from = 0; from < kShifts; ++from) {
    for (size_t to = 0; to < kShifts; ++to) {
      const uint32_t first = random() % 70;
      const uint32_t second = random() % 40;
      const size_t second_from = kPage + random() % kPage;
      plan.push_back({{from, second_from}, {first, second}, plan.size() * kStride + to});
    }
  }
  return plan;
}

Push PushOf(const Connection& connection, uint64_t wr_id, const Piece& piece) {
  return {wr_id,
          {connection.Source(piece.from[0], piece.length[0]),
           connection.Source(piece.from[1], piece.length[1])},
          connection.peer().address + piece.to,
          connection.peer().stag};
}

void Request(Bench* bench, Plan (*make)(uint64_t)) {
  Side side(*bench);
  Connection connection(&side, kBytes, kDepth);
  connection.Meet(bench);
  FillPattern(bench->NextSeed(), connection.source(), connection.bytes());
  const Plan plan = make(bench->NextSeed());
  for (size_t done = 0; done < plan.size();) {
    const size_t count = std::min<size_t>(kDepth, plan.size() - done);
    std::vector<Push> pushes;
    for (size_t i = 0; i < count; ++i)
      pushes.push_back(PushOf(connection, done + i, plan[done + i]));
    Post(connection, pushes);
    for (size_t i = 0; i < count; ++i) {
      ExpectCompletion(bench, connection.cq(), done + i, VL_WC_SUCCESS);
    }
    done += count;
  }
  bench->Meet();
}

// What the whole target must look like.
std::vector<uint8_t> Expected(uint64_t seed, const Plan& plan) {
  std::vector<uint8_t> source(kBytes);
  FillPattern(seed, source.data(), source.size());
  std::vector<uint8_t> target(kBytes, Connection::kPoison);
  for (const Piece& piece : plan) {
    auto at = target.begin() + static_cast<std::ptrdiff_t>(piece.to);
    for (int i : {0, 1}) at = std::copy_n(&source[piece.from[i]], piece.length[i], at);
  }
  return target;
}

void Respond(Bench* bench, Plan (*make)(uint64_t)) {
  Side side(*bench);
  Connection connection(&side, kBytes, kDepth);
  connection.Meet(bench);
  const uint64_t seed = bench->NextSeed();
  const Plan plan = make(bench->NextSeed());
  const std::vector<uint8_t> expected = Expected(seed, plan);
  bench->Meet();
  auto wrong = std::mismatch(expected.begin(), expected.end(), connection.target());
  if (wrong.first == expected.end()) return;
  const size_t at = static_cast<size_t>(wrong.first - expected.begin());
  auto behind = std::find_if(plan.begin(), plan.end(),
                             [=](const Piece& piece) { return piece.to + piece.total() > at; });
  std::string text = "byte " + std::to_string(at) + " of the target is wrong";
  if (behind != plan.end()) {
    text += ", at or before a PUSH of " + std::to_string(behind->length[0]) + " + " +
            std::to_string(behind->length[1]) + " bytes from " + std::to_string(behind->from[0]) +
            " and " + std::to_string(behind->from[1]) + " to " + std::to_string(behind->to);
  }
  bench->Expect(false, text);
}

GuestCheck MakeCheck(const char* sentence, Plan (*make)(uint64_t)) {
  return {sentence, [make](Bench* bench) { Request(bench, make); },
          [make](Bench* bench) { Respond(bench, make); }};
}

}  // namespace

std::vector<GuestCheck> GatherChecks() {
  return {
      MakeCheck("two gathered elements of 0, 1, 15, 17, 4095 and 4097 bytes, unaligned and over "
                "page ends, arrive where they belong and nowhere else",
                LengthsPlan),
      MakeCheck("every shift of source against target within 32 bytes arrives byte for byte",
                AlignmentPlan),
  };
}

}  // namespace exrnic
