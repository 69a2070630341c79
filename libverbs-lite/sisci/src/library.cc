// SPDX-License-Identifier: BSD-2-Clause
#include "library.h"

#include <cerrno>
#include <thread>

#include "signals.h"

namespace exrnic::sisci {

Library& TheLibrary() {
  static auto* const library = new Library;
  return *library;
}

sci_error_t ErrorOf(int verbs_errno) {
  switch (verbs_errno) {
    case ENOMEM:
      return SCI_ERR_NOSPC;
    case ENOSPC:
    case EDQUOT:
      return SCI_ERR_HW_NOSPC;
    case EFAULT:
      return SCI_ERR_ILLEGAL_ADDRESS;
    case ENOENT:
    case ECONNREFUSED:
      return SCI_ERR_NO_SUCH_ADAPTERNO;
    case EPROTONOSUPPORT:
      return SCI_ERR_INCONSISTENT_VERSIONS;
    case EOPNOTSUPP:
      return SCI_ERR_NOT_IMPLEMENTED;
    case ENODEV:
      return SCI_ERR_NO_LINK_ACCESS;
    default:
      return SCI_ERR_SYSTEM;
  }
}

// ---- Callbacks

thread_local bool Callbacks::this_thread_ = false;

void Callbacks::Add(std::function<void()> callback) {
  if (!started_) {
    const SignalsBlocked blocked;
    std::thread(Run).detach();
    started_ = true;
  }
  waiting_.push_back(std::move(callback));
  changed_.notify_one();
}

void Callbacks::Run() {
  this_thread_ = true;
  Library& library = TheLibrary();
  Callbacks& self = library.callbacks;
  Lock lock(library.mutex);
  for (;;) {
    self.changed_.wait(lock, [&] { return !self.waiting_.empty(); });
    const std::function<void()> callback = std::move(self.waiting_.front());
    self.waiting_.pop_front();
    lock.unlock();
    callback();
    lock.lock();
  }
}

void CallBack(const std::shared_ptr<Object>& object,
              std::function<sci_callback_action_t()> callback) {
  if (object->callback_cancelled || object->callbacks_waiting == kCallbacksMax) return;
  ++object->callbacks_waiting;
  TheLibrary().callbacks.Add([object, callback = std::move(callback)] {
    Library& library = TheLibrary();
    Lock lock(library.mutex);
    --object->callbacks_waiting;
    if (object->removed || object->callback_cancelled) return;
    object->in_callback = true;
    lock.unlock();
    const sci_callback_action_t action = callback();
    lock.lock();
    object->in_callback = false;
    if (action == SCI_CALLBACK_CANCEL) object->callback_cancelled = true;
    object->changed.notify_all();
  });
}

Clock::time_point DeadlineOf(unsigned timeout_ms) {
  if (timeout_ms == SCI_INFINITE_TIMEOUT) return Clock::time_point::max();
  return Clock::now() + std::chrono::milliseconds(timeout_ms);
}

}  // namespace exrnic::sisci
