// SPDX-License-Identifier: BSD-2-Clause
#include "pages.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace exrnic {

namespace {

constexpr uint32_t kPagesTogether = 16;

}  // namespace

DsmPages::DsmPages(DsmArea* area, DsmLayout* layout, unsigned self, DsmHomes* homes)
    : area_(area),
      layout_(layout),
      self_(self),
      homes_(homes),
      states_(area->bytes() / kDsmPage),
      before_(kPagesTogether * kDsmPage) {}

void DsmPages::SetAccess(const std::vector<uint32_t>& pages, DsmAccess access) {
  for (const uint32_t page : pages) states_[page].access = access;
  area_->Protect(pages, access);
}

void DsmPages::Open(uint32_t first, uint32_t count) {
  std::vector<uint32_t> own;
  for (uint32_t page = first; page < first + count; ++page)
    if (layout_->HasHome(page) && IsHome(page)) own.push_back(page);
  SetAccess(own, DsmAccess::kWrite);
}

// ---- Faults

void DsmPages::MarkWritten(uint32_t page) {
  if (states_[page].written) return;
  states_[page].written = true;
  written_.push_back(page);
}

// Pages from there on that come together: of one home, and not here. Those that were here before,
// or as many as the program seems to want, which goes from one to the next.
uint32_t DsmPages::RunAt(uint32_t page) {
  ahead_ = page == next_ ? std::min(2 * ahead_, kPagesTogether) : 1;
  uint32_t count = 1;
  for (; count < kPagesTogether; ++count) {
    const uint32_t other = page + count;
    if (other >= layout_->pages() || !layout_->HasHome(other)) break;
    if (layout_->Home(other) != layout_->Home(page)) break;
    if (states_[other].access != DsmAccess::kNone) break;
    if (!states_[other].had && count >= ahead_) break;
  }
  next_ = page + count;
  return count;
}

void DsmPages::Fetch(uint32_t page) {
  const uint32_t count = RunAt(page);
  const unsigned home = layout_->Home(page);
  uint8_t* const bytes = area_->view(page);
  for (uint32_t i = 0; i < count; ++i) {
    State* const state = &states_[page + i];
    if (state->compares) memcpy(&before_[i * kDsmPage], bytes + i * kDsmPage, kDsmPage);
    state->young = !state->tracked;
    if (state->young) young_.push_back(page + i);
    state->access = DsmAccess::kRead;
  }
  homes_->Pull(home, uint64_t{page} * kDsmPage, count * static_cast<uint32_t>(kDsmPage));
  homes_->AwaitPages();
  counts_.pulled += count;
  std::vector<uint32_t> same;
  for (uint32_t i = 0; i < count; ++i) {
    State* const state = &states_[page + i];
    if (std::exchange(state->compares, false) && state->young &&
        memcmp(&before_[i * kDsmPage], bytes + i * kDsmPage, kDsmPage) == 0)
      same.push_back(page + i);
  }
  if (!same.empty()) homes_->Share(home, same);
  area_->Protect(page, count, DsmAccess::kRead);
}

void DsmPages::MakeTwin(uint32_t page) {
  if (free_twins_.empty()) {
    twins_.push_back(std::make_unique<uint8_t[]>(kDsmPage));
    free_twins_.push_back(twins_.back().get());
  }
  states_[page].twin = free_twins_.back();
  free_twins_.pop_back();
  memcpy(states_[page].twin, area_->view(page), kDsmPage);
  twinned_.push_back(page);
}

void DsmPages::Fault(uint32_t page, bool write) {
  State* const state = &states_[page];
  if (state->access == DsmAccess::kNone) {
    ++(write ? counts_.write_faults : counts_.read_faults);
    Fetch(page);
  } else if (write && state->access == DsmAccess::kRead) {
    ++counts_.write_faults;
  }
  if (!write || state->access == DsmAccess::kWrite) return;  // another thread was first
  if (IsHome(page)) {
    MarkWritten(page);
  } else {
    MakeTwin(page);
  }
  state->access = DsmAccess::kWrite;
  area_->Protect(page, 1, DsmAccess::kWrite);
}

// ---- Release

void DsmPages::PushDiff(uint32_t page) {
  State* const state = &states_[page];
  runs_.clear();
  FindDsmRuns(area_->view(page), state->twin, kDsmPage, &runs_);
  free_twins_.push_back(std::exchange(state->twin, nullptr));
  if (runs_.empty()) return;
  homes_->Push(layout_->Home(page), runs_, uint64_t{page} * kDsmPage);
  ++counts_.pushed;
  for (const DsmRun& run : runs_) counts_.pushed_bytes += run.bytes;
  MarkWritten(page);
}

std::vector<uint32_t> DsmPages::Release() {
  if (!twinned_.empty()) {
    SetAccess(twinned_, DsmAccess::kRead);
    for (const uint32_t page : std::exchange(twinned_, {})) PushDiff(page);
    homes_->AwaitPages();
  }
  for (const uint32_t page : written_) {
    states_[page].written = false;
    // All others give up what they have of it: it has no copies, and this node may write on.
    if (IsHome(page)) states_[page].tracked = false;
  }
  return std::exchange(written_, {});
}

// ---- Acquire

void DsmPages::HearNotice(const std::vector<DsmRange>& ranges, unsigned writer) {
  for (const DsmRange& range : ranges) {
    for (uint32_t page = range.first; page < range.first + range.count; ++page) {
      State* const state = &states_[page];
      if (!layout_->HasHome(page) || IsHome(page)) continue;
      if (layout_->Home(page) == writer) state->tracked = false;
      state->compares = false;
      if (state->access == DsmAccess::kNone || state->outdated) continue;
      state->outdated = true;
      outdated_.push_back(page);
    }
  }
}

void DsmPages::Acquire() {
  for (const uint32_t page : young_) {
    State* const state = &states_[page];
    if (!std::exchange(state->young, false) || state->outdated) continue;
    state->compares = state->twin == nullptr;
    state->outdated = true;
    outdated_.push_back(page);
  }
  young_.clear();
  if (outdated_.empty()) return;
  SetAccess(outdated_, DsmAccess::kNone);
  bool pushed = false;
  for (const uint32_t page : outdated_) {
    State* const state = &states_[page];
    state->outdated = false;
    state->had = true;
    if (state->twin == nullptr) continue;
    twinned_.erase(std::find(twinned_.begin(), twinned_.end(), page));
    PushDiff(page);  // told at the next release
    pushed = true;
  }
  outdated_.clear();
  if (pushed) homes_->AwaitPages();
}

// ---- Copies that homes know

std::vector<uint32_t> DsmPages::Track(const std::vector<DsmRange>& ranges) {
  std::vector<uint32_t> tracked, protect;
  for (const DsmRange& range : ranges) {
    for (uint32_t page = range.first; page < range.first + range.count; ++page) {
      State* const state = &states_[page];
      if (!layout_->HasHome(page) || !IsHome(page)) continue;
      tracked.push_back(page);
      if (std::exchange(state->tracked, true) || state->written) continue;
      protect.push_back(page);
    }
  }
  SetAccess(protect, DsmAccess::kRead);
  return tracked;
}

void DsmPages::HearTracked(const std::vector<DsmRange>& ranges, unsigned home) {
  for (const DsmRange& range : ranges)
    for (uint32_t page = range.first; page < range.first + range.count; ++page)
      if (layout_->HasHome(page) && layout_->Home(page) == home && home != self_)
        states_[page].tracked = true;
}

}  // namespace exrnic
