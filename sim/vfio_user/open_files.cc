// SPDX-License-Identifier: BSD-2-Clause
#include "sim/vfio_user/open_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <iterator>

namespace exrnic::vfio_user {

void OpenFiles::forget_unused() {
  for (auto file = files_.begin(); file != files_.end();) {
    file = file->second.expired() ? files_.erase(file) : std::next(file);
  }
}

std::variant<OpenFiles::File, Fault> OpenFiles::keep(UniqueFd file) {
  struct stat status{};
  if (::fstat(file.get(), &status) != 0)
    return refused(errno, std::string("DMA_MAP: fstat: ") + strerror(errno));
  // While a descriptor is held, its file lives, and nothing else has its number.
  const Key key{status.st_dev, status.st_ino, ::fcntl(file.get(), F_GETFL)};
  const auto known = files_.find(key);
  if (known != files_.end()) {
    if (File held = known->second.lock()) return held;
  }
  forget_unused();
  if (files_.size() >= most_) {
    return refused(ENOSPC, "DMA_MAP of more than " + std::to_string(most_) +
                               " files that are not sealed against shrinking, this client's share");
  }
  auto held = std::make_shared<const UniqueFd>(std::move(file));
  files_[key] = held;
  return held;
}

}  // namespace exrnic::vfio_user
