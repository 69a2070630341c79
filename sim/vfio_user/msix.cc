// SPDX-License-Identifier: BSD-2-Clause
#include "sim/vfio_user/msix.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

namespace exrnic::vfio_user {
namespace {

// An eventfd is an anonymous inode, which has no file type. This keeps pipes and sockets out, whose
// writes can raise SIGPIPE; the other anonymous inodes refuse writes, which does no harm.
bool may_be_eventfd(int fd) {
  struct stat status{};
  return ::fstat(fd, &status) == 0 && (status.st_mode & S_IFMT) == 0;
}

void signal(int eventfd) {
  const uint64_t one = 1;
  // It fails only when 2^64 - 2 interrupts wait already; there is nothing to add to that.
  [[maybe_unused]] const ssize_t written = ::write(eventfd, &one, sizeof(one));
}

}  // namespace

std::optional<Fault> Msix::set_irqs(const SetIrqsRequest& request, std::vector<UniqueFd> fds) {
  if (request.start > vectors_.size() || request.count > vectors_.size() - request.start) {
    return refused(EINVAL, "SET_IRQS of vectors " + std::to_string(request.start) + " and " +
                               std::to_string(request.count) + " in all; there are " +
                               std::to_string(vectors_.size()));
  }
  if (request.data == IrqData::kEventfd) return set_eventfds(request, std::move(fds));
  if (request.count == 0) {  // by decode_set_irqs(): disable all
    disconnect();
    return std::nullopt;
  }
  for (uint32_t i = 0; i < request.count; ++i) {
    if (request.data == IrqData::kBool && !request.selected[i]) continue;
    act(request.action, request.start + i);
  }
  return std::nullopt;
}

std::optional<Fault> Msix::set_eventfds(const SetIrqsRequest& request, std::vector<UniqueFd> fds) {
  if (request.action != IrqAction::kTrigger) {
    return refused(ENOTSUP, "SET_IRQS with an eventfd to mask or unmask");
  }
  if (!fds.empty() && fds.size() != request.count) {
    return refused(EINVAL, "SET_IRQS of " + std::to_string(request.count) + " vectors with " +
                               std::to_string(fds.size()) + " file descriptors");
  }
  for (const UniqueFd& fd : fds) {
    if (!may_be_eventfd(fd.get())) return refused(EINVAL, "SET_IRQS with what is no eventfd");
  }
  for (uint32_t i = 0; i < request.count; ++i) {
    Vector& vector = vectors_[request.start + i];
    vector.eventfd = fds.empty() ? UniqueFd() : std::move(fds[i]);
    if (!vector.eventfd) continue;
    const int fd = vector.eventfd.get();
    // A full eventfd must not stop the simulator.
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  }
  return std::nullopt;
}

void Msix::act(IrqAction action, unsigned index) {
  Vector& vector = vectors_[index];
  switch (action) {
    case IrqAction::kMask:
      vector.masked = true;
      break;
    case IrqAction::kUnmask:
      vector.masked = false;
      if (std::exchange(vector.pending, false)) fire(index);
      break;
    case IrqAction::kTrigger:
      fire(index);
      break;
  }
}

bool Msix::fire(unsigned index) {
  if (index >= vectors_.size() || !vectors_[index].eventfd) return false;
  Vector& vector = vectors_[index];
  if (vector.masked) {
    vector.pending = true;
  } else {
    signal(vector.eventfd.get());
    if (std::count(signalled_.begin(), signalled_.end(), index) == 0) signalled_.push_back(index);
  }
  return true;
}

bool Msix::taken() {
  while (!signalled_.empty()) {
    pollfd entry = {vectors_[signalled_.back()].eventfd.get(), POLLIN, 0};
    if (entry.fd >= 0 && ::poll(&entry, 1, 0) > 0 && (entry.revents & POLLIN) != 0) return false;
    signalled_.pop_back();
  }
  return true;
}

void Msix::reset() {
  for (Vector& vector : vectors_) vector.pending = false;
}

void Msix::disconnect() {
  for (Vector& vector : vectors_) vector = Vector();
}

}  // namespace exrnic::vfio_user
