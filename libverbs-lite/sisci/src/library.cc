// SPDX-License-Identifier: BSD-2-Clause
#include "library.h"

#include <cerrno>
#include <cstdlib>
#include <string>
#include <thread>

#include "adapter.h"
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
  TheLibrary().callbacks.Add([object, callback = std::move(callback)] {
    Library& library = TheLibrary();
    Lock lock(library.mutex);
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

// ---- Adapters

namespace {

// VL_DEVICE is adapter 0, as everywhere; VL_DEVICE_n names another one.
std::string DeviceOf(unsigned number) {
  const std::string variable = number == 0 ? "VL_DEVICE" : "VL_DEVICE_" + std::to_string(number);
  const char* const device = getenv(variable.c_str());
  return device != nullptr && *device != 0 ? device : "exrnic" + std::to_string(number);
}

}  // namespace

std::shared_ptr<Adapter> OpenAdapter(unsigned number) {
  Require(number < kAdapters, SCI_ERR_ILLEGAL_ADAPTERNO);
  std::weak_ptr<Adapter>& place = TheLibrary().adapters[number];
  std::shared_ptr<Adapter> adapter = place.lock();
  if (adapter == nullptr) {
    adapter = std::make_shared<Adapter>(number, DeviceOf(number));
    place = adapter;
  }
  return adapter;
}

Clock::time_point DeadlineOf(unsigned timeout_ms) {
  if (timeout_ms == SCI_INFINITE_TIMEOUT) return Clock::time_point::max();
  return Clock::now() + std::chrono::milliseconds(timeout_ms);
}

}  // namespace exrnic::sisci
