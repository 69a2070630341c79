// SPDX-License-Identifier: BSD-2-Clause
#include "sim/vfio_user/memory_budget.h"

#include <sys/resource.h>

#include <algorithm>
#include <fstream>

namespace exrnic::vfio_user {
namespace {

constexpr uint64_t kAddressSpace = uint64_t{1} << 47;  // of x86-64 and of AArch64, at least
constexpr uint64_t kUsualMappings = 65'530;            // the kernel's default
constexpr size_t kOwnFiles = 48;  // of a client beside its memory: sockets, eventfds, a message's
constexpr size_t kFewestFiles = 4;

uint64_t limit_of(int resource, uint64_t otherwise) {
  rlimit limit{};
  const bool told = ::getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return told ? std::min<uint64_t>(limit.rlim_cur, otherwise) : otherwise;
}

uint64_t most_mappings() {
  uint64_t most = 0;
  std::ifstream("/proc/sys/vm/max_map_count") >> most;
  return most == 0 ? kUsualMappings : most;
}

}  // namespace

MemoryBudget MemoryBudget::share_of(size_t clients) {
  clients = std::max<size_t>(clients, 1);
  MemoryBudget share;
  const auto part = [clients](uint64_t all) { return all / 2 / clients; };
  share.mapped_bytes = std::min(share.mapped_bytes, part(limit_of(RLIMIT_AS, kAddressSpace)));
  share.mappings = std::min<size_t>(share.mappings, part(most_mappings()));
  const size_t files = part(limit_of(RLIMIT_NOFILE, uint64_t{1} << 30));
  share.open_files =
      std::min(share.open_files, std::max(files, kOwnFiles + kFewestFiles) - kOwnFiles);
  return share;
}

}  // namespace exrnic::vfio_user
