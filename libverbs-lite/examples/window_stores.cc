// SPDX-License-Identifier: BSD-2-Clause
#include "window_stores.h"

#include <cerrno>
#include <cstring>

#include "exrnic/ntb.h"
#include "pattern.h"

namespace exrnic {

namespace {

enum Message : uint32_t { kStored = 60, kVerified };

constexpr uint32_t kStores = 256;
constexpr uint64_t kBytes = kStores * sizeof(uint64_t);

struct Stored {
  uint64_t seed;
  uint64_t stores;
};

uint64_t WordOf(uint64_t seed, uint32_t i) { return Mix(seed + i); }

StoreResult StoreAndLoad(vl_window* window, uint64_t seed) {
  auto* words = static_cast<volatile uint64_t*>(vl_window_address(window));
  for (uint32_t i = 0; i < kStores; ++i) words[i] = WordOf(seed, i);
  vl_window_flush();
  StoreResult result;
  result.stores = kStores;
  for (uint32_t i = 0; i < kStores; ++i) result.read_back += words[i] == WordOf(seed, i);
  return result;
}

}  // namespace

StoreResult StoreIntoPeer(const StoreLink& link, uint64_t seed) {
  StoreResult result;
  vl_window* window = vl_map_window(link.qp, link.peer_stag, link.peer_address, kBytes,
                                    VL_WINDOW_STORE | VL_WINDOW_LOAD);
  if (window == nullptr && errno != EOPNOTSUPP) vl::ThrowErrno("vl_map_window");
  if (window != nullptr) {
    result = StoreAndLoad(window, seed);
    vl_unmap_window(window);
  }
  link.oob->SendStruct(kStored, Stored{seed, result.stores});
  result.verified = link.oob->ReceiveStruct<uint32_t>(kVerified);
  return result;
}

void CompareStores(const StoreLink& link) {
  const auto stored = link.oob->ReceiveStruct<Stored>(kStored);
  uint32_t verified = 0;
  for (uint32_t i = 0; i < kStores && i < stored.stores; ++i) {
    uint64_t word;
    memcpy(&word, link.target + i * sizeof(word), sizeof(word));
    verified += word == WordOf(stored.seed, i);
  }
  link.oob->SendStruct(kVerified, verified);
}

}  // namespace exrnic
