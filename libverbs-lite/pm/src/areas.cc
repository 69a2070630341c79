// SPDX-License-Identifier: BSD-2-Clause
#include "areas.h"

#include <cerrno>
#include <cinttypes>
#include <cstdio>

#include "pm_error.h"

namespace exrnic {

namespace {

std::string HandleText(const char* name, pm_handle handle, const std::string& whose) {
  char text[40];
  snprintf(text, sizeof(text), " is %#" PRIx64, handle);
  return std::string(name) + text + ", " + whose + ": ";
}

}  // namespace

void CheckPlace(const char* name, pm_handle handle, const PmArea& area, size_t length, int user,
                const std::string& whose) {
  const PmPlace place = PlaceOf(handle);
  if (area.generation != place.generation || area.locked == 0) {
    const bool was = place.generation != 0 && place.generation <= area.generation;
    throw PmError(EINVAL, HandleText(name, handle, whose) +
                              (was ? "its memory was unlocked" : "no handle that pmMLock gave"));
  }
  if (area.node != PM_NODE_ANY && user != PM_NODE_ANY && area.node != user) {
    throw PmError(EACCES, HandleText(name, handle, whose) + "locked for node " +
                              std::to_string(area.node) + ", not for node " + std::to_string(user));
  }
  if (place.offset > area.length || length > area.length - place.offset) {
    throw PmError(ERANGE, HandleText(name, handle, whose) + std::to_string(length) +
                              " bytes from " + std::to_string(place.offset) + ": it has " +
                              std::to_string(area.length));
  }
}

pm_handle PmAreas::Lock(vl_pd* pd, int node, void* address, size_t length) {
  for (uint32_t index = 0; index < PM_LOCKS_MAX; ++index) {
    PmArea* const area = &table_[index];
    // A generation names memory once: an index that has had all of them is used up.
    if (area->locked != 0 || area->generation + 1 == 1u << kPmGenerationBits) continue;
    regions_[index] =
        vl::AllocateMr(pd, address, length,
                       VL_ACCESS_LOCAL_WRITE | VL_ACCESS_REMOTE_WRITE | VL_ACCESS_REMOTE_READ);
    *area = {vl::AddressOf(address), length,        vl_mr_stag(regions_[index].get()),
             area->generation + 1,   int32_t{node}, 1};
    return HandleOf(index, area->generation);
  }
  throw PmError(ENOSPC, std::to_string(PM_LOCKS_MAX) + " areas are locked, which is the most");
}

const PmArea& PmAreas::Find(const char* name, pm_handle handle) const {
  const uint32_t index = PlaceOf(handle).index;
  static constexpr PmArea kNone = {};
  return CheckPlace(name, handle, index < PM_LOCKS_MAX ? table_[index] : kNone, 0, PM_NODE_ANY,
                    "here"),
         table_[index];
}

uint32_t PmAreas::Unlock(pm_handle handle) {
  Find("handle", handle);
  const PmPlace place = PlaceOf(handle);
  if (place.offset != 0) {
    throw PmError(EINVAL, HandleText("handle", handle, "here") + "not the first byte, but " +
                              std::to_string(place.offset) + " further on");
  }
  table_[place.index].locked = 0;
  return place.index;
}

}  // namespace exrnic
