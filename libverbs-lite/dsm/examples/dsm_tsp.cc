// SPDX-License-Identifier: BSD-2-Clause
// The shortest tour of a number of cities, by branch and bound. A tour begins with three cities;
// each such beginning is work for whoever takes the next one, under a lock; the best length is
// under another one.
#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

#include "dsm_program.h"

namespace exrnic {

namespace {

constexpr unsigned kCitiesMost = 20;
constexpr int kWorkLock = 0, kBestLock = 1;

struct TspShared {
  uint32_t distance[kCitiesMost][kCitiesMost];
  alignas(4096) uint32_t next_work;
  alignas(4096) uint32_t best;
};

size_t TspArea(const DsmSizes&) { return sizeof(TspShared); }

struct TspSearch {
  const TspShared* map;
  unsigned cities;
  uint32_t best;  // as far as it knows
  bool Visit(unsigned city, uint32_t visited, uint32_t length, unsigned depth) {
    if (length >= best) return false;
    if (depth == cities) {
      const uint32_t tour = length + map->distance[city][0];
      const bool better = tour < best;
      best = std::min(best, tour);
      return better;
    }
    bool better = false;
    for (unsigned next = 1; next < cities; ++next) {
      if ((visited >> next & 1) != 0) continue;
      better |= Visit(next, visited | 1u << next, length + map->distance[city][next], depth + 1);
    }
    return better;
  }
};

void DrawCities(TspShared* map, unsigned cities) {
  DsmNumbers numbers(4711);
  for (unsigned a = 0; a < cities; ++a)
    for (unsigned b = 0; b < a; ++b)
      map->distance[a][b] = map->distance[b][a] = 10 + static_cast<uint32_t>(numbers.Next() % 90);
  map->next_work = 0;
  map->best = UINT32_MAX;
}

// Beginnings are numbers of two digits of base `cities - 1`.
bool VisitWork(TspSearch* search, uint32_t work) {
  const unsigned others = search->cities - 1;
  const unsigned first = 1 + work / others, second = 1 + work % others;
  if (first == second) return false;
  const auto& distance = search->map->distance;
  return search->Visit(second, 1u | 1u << first | 1u << second,
                       distance[0][first] + distance[first][second], 3);
}

uint64_t RunTsp(const DsmSizes& sizes, DsmTimer* timer) {
  const unsigned cities = sizes.size;
  if (cities < 4 || cities > kCitiesMost)
    throw std::runtime_error("tsp: --size is " + std::to_string(cities) + ": 4 to 20");
  auto* const shared = reinterpret_cast<TspShared*>(jia_alloc(sizeof(TspShared)));
  if (jiapid == 0) DrawCities(shared, cities);
  timer->Begin();
  const uint32_t works = (cities - 1) * (cities - 1);
  for (;;) {
    jia_lock(kWorkLock);
    const uint32_t work = shared->next_work;
    if (work < works) shared->next_work = work + 1;
    jia_unlock(kWorkLock);
    if (work >= works) break;
    TspSearch search = {shared, cities, shared->best};  // it may be better by now: no harm
    if (!VisitWork(&search, work)) continue;
    jia_lock(kBestLock);
    shared->best = std::min(shared->best, search.best);
    jia_unlock(kBestLock);
  }
  timer->End();
  const uint32_t best = shared->best;
  if (jiapid == 0 && sizes.checked) {
    TspShared alone;
    DrawCities(&alone, cities);
    TspSearch search = {&alone, cities, UINT32_MAX};
    for (uint32_t work = 0; work < works; ++work) VisitWork(&search, work);
    if (best != search.best) {
      throw std::runtime_error("tsp: the best tour is " + std::to_string(best) +
                               ", of one process it is " + std::to_string(search.best));
    }
  }
  return best;
}

}  // namespace

const DsmProgram kTspProgram = {"tsp",
                                "the shortest tour of cities, by branch and bound under locks",
                                {12, 1, true},
                                TspArea,
                                RunTsp};

}  // namespace exrnic
