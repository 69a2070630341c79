// SPDX-License-Identifier: BSD-2-Clause
// Files of a client that cannot be mapped, each held open once for all of its regions: a client may
// grant a region a page, and this process's file descriptors are for all clients together.
//
// Threads: none of its own; one calls at a time, see "Several threads" in sim/README.md.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <tuple>
#include <variant>

#include "sim/posix/unique_fd.h"
#include "sim/vfio_user/memory_budget.h"
#include "sim/vfio_user/protocol.h"

namespace exrnic::vfio_user {

class OpenFiles {
 public:
  using File = std::shared_ptr<const UniqueFd>;

  explicit OpenFiles(const MemoryBudget& budget) : most_(budget.open_files) {}

  // `file`, or an earlier descriptor of the same file with the same flags. It stays open as long as
  // somebody holds it. ENOSPC: the budget's files are held. Else errno of fstat.
  std::variant<File, Fault> keep(UniqueFd file);

 private:
  using Key = std::tuple<dev_t, ino_t, int>;  // and the flags that it was opened with
  void forget_unused();

  size_t most_;
  std::map<Key, std::weak_ptr<const UniqueFd>> files_;
};

}  // namespace exrnic::vfio_user
