// SPDX-License-Identifier: BSD-2-Clause
// Memory regions: their physical buffer lists, and two of them over the same bytes.
#include <set>
#include <string>

#include "connection.h"
#include "pattern.h"

namespace exrnic {

namespace {

// ---- PBL

constexpr size_t kPage = 4096;

void ExpectPbl(Bench* bench, vl_mr* mr, uint32_t pages_expected) {
  std::vector<uint64_t> entries(pages_expected + 1, ~uint64_t{0});
  uint32_t pages = pages_expected;
  uint32_t page_shift = 0;
  Check(vl_get_pbl(mr, entries.data(), &pages, &page_shift), "vl_get_pbl");
  bench->ExpectEqual(pages, pages_expected, "entries of the PBL");
  bench->ExpectEqual(page_shift, EXRNIC_PAGE_SHIFT, "page shift");
  bench->ExpectEqual(entries.back(), ~uint64_t{0}, "the word behind the list");
  entries.pop_back();
  const std::set<uint64_t> different(entries.begin(), entries.end());
  bench->ExpectEqual(different.size(), pages_expected, "different pages");
  for (uint64_t entry : entries) bench->ExpectEqual(entry % kPage, 0, "offset in a page");
  pages = 0;
  Check(vl_get_pbl(mr, nullptr, &pages, &page_shift), "vl_get_pbl");
  bench->ExpectEqual(pages, pages_expected, "entries of the PBL when none fits");
}

void CheckPbl(Bench* bench) {
  Side side(*bench);
  Pages memory(8 * kPage);
  const struct {
    size_t from, bytes;
    uint32_t pages;
  } kRegions[] = {{0, 8 * kPage, 8}, {kPage - 1, 2, 2}, {kPage, 1, 1}, {17, 3 * kPage, 4}};
  for (const auto& region : kRegions) {
    const Owned<vl_mr> mr =
        Own(vl_allocate_mr(side.pd.get(), memory.data() + region.from, region.bytes, 0),
            "vl_allocate_mr");
    ExpectPbl(bench, mr.get(), region.pages);
  }
}

// ---- Many regions

constexpr uint32_t kRegions = 100;
constexpr uint32_t kRegionBytes = 300;

struct ManyStags {
  uint32_t stag[kRegions];
};
enum Message : uint32_t { kStags = 500 };

void PushToMany(Bench* bench) {
  Side side(*bench);
  Connection connection(&side);
  connection.Meet(bench);
  const uint64_t seed = bench->NextSeed();
  FillPattern(seed, connection.source(), connection.bytes());
  const ManyStags stags = bench->oob()->ReceiveStruct<ManyStags>(kStags);
  for (uint32_t i = 0; i < kRegions; ++i) {
    Push push = MakePush(connection, i, i * kRegionBytes, i * kRegionBytes, kRegionBytes);
    push.remote_stag = stags.stag[i];
    Post(connection, {push});
    ExpectCompletion(bench, connection.cq(), i, VL_WC_SUCCESS);
  }
  bench->Meet();
}

void OfferMany(Bench* bench) {
  Side side(*bench);
  Connection connection(&side);
  connection.Meet(bench);
  const uint64_t seed = bench->NextSeed();
  std::vector<Owned<vl_mr>> regions;
  std::set<uint32_t> different;
  ManyStags stags;
  for (uint32_t i = 0; i < kRegions; ++i) {
    regions.push_back(
        Own(vl_allocate_mr(side.pd.get(), connection.target() + i * kRegionBytes, kRegionBytes,
                           VL_ACCESS_LOCAL_WRITE | VL_ACCESS_REMOTE_WRITE),
            "vl_allocate_mr"));
    stags.stag[i] = vl_mr_stag(regions.back().get());
    different.insert(stags.stag[i] >> EXRNIC_STAG_INDEX_SHIFT);
  }
  bench->ExpectEqual(different.size(), kRegions, "different STag indices");
  bench->oob()->SendStruct(kStags, stags);
  bench->Meet();
  bench->Expect(!ComparePattern(seed, connection.target(), kRegions * kRegionBytes),
                "bytes arrived wrong");
}

// ---- Changed regions

struct ChangedStags {
  uint32_t before;
  uint32_t now;
};
enum ChangeMessage : uint32_t { kChanged = 510 };

void ExpectPush(Bench* bench, const Connection& connection, uint32_t stag, vl_wc_status status,
                uint32_t detail) {
  Push push = MakePush(connection, 1, 0, 0, kRegionBytes);
  push.remote_stag = stag;
  Post(connection, {push});
  ExpectCompletion(bench, connection.cq(), 1, status, detail);
}

void PushToChanged(Bench* bench) {
  Side side(*bench);
  Connection connection(&side);
  connection.Meet(bench);
  FillPattern(bench->NextSeed(), connection.source(), connection.bytes());
  const auto stags = bench->oob()->ReceiveStruct<ChangedStags>(kChanged);
  ExpectPush(bench, connection, stags.now, VL_WC_SUCCESS, 0);
  ExpectPush(bench, connection, stags.before, VL_WC_REM_ACCESS_ERR, EXRNIC_TERM_CODE_TAGGED_STAG);
  bench->Meet();
}

void OfferChanged(Bench* bench) {
  Side side(*bench);
  Connection connection(&side);
  connection.Meet(bench);
  const uint64_t seed = bench->NextSeed();
  Pages elsewhere(4096);
  const Owned<vl_mr> mr =
      Own(vl_allocate_mr(side.pd.get(), elsewhere.data(), elsewhere.size(), VL_ACCESS_REMOTE_READ),
          "vl_allocate_mr");
  ChangedStags stags = {vl_mr_stag(mr.get()), 0};
  Check(vl_reallocate_mr(mr.get(), VL_REALLOCATE_MEMORY | VL_REALLOCATE_ACCESS, nullptr,
                         connection.target(), connection.bytes(), VL_ACCESS_REMOTE_WRITE),
        "vl_reallocate_mr");
  stags.now = vl_mr_stag(mr.get());
  bench->oob()->SendStruct(kChanged, stags);
  bench->Meet();
  bench->Expect(!ComparePattern(seed, connection.target(), kRegionBytes), "bytes arrived wrong");
}

}  // namespace

std::vector<GuestCheck> RegionChecks() {
  return {
      {"the PBL of a region names each of its pages, and no more than fit are written", CheckPbl,
       CheckPbl},
      {"a hundred regions side by side are each reached by their own STag", PushToMany, OfferMany},
      {"a reallocated region is reached where it is now, with its new rights, by its new STag "
       "alone",
       PushToChanged, OfferChanged},
  };
}

}  // namespace exrnic
