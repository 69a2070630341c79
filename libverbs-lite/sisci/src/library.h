// SPDX-License-Identifier: BSD-2-Clause
// What a process has once: the lock that guards all state of this library, the handles, the
// adapters, the ids of its segments, and the thread that runs callbacks.
#ifndef EXRNIC_SISCI_LIBRARY_H
#define EXRNIC_SISCI_LIBRARY_H

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>
#include <utility>

#include "exrnic/verbs.hpp"
#include "handles.h"
#include "sisci_api.h"

namespace exrnic::sisci {

class Adapter;
struct LocalSegment;

using Clock = std::chrono::steady_clock;
using Lock = std::unique_lock<std::mutex>;

constexpr unsigned kAdapters = 16;

// How a call of this library fails: thrown, and never beyond Call().
struct Failure {
  sci_error_t error;
};

// What a call of the verbs library that failed means here.
sci_error_t ErrorOf(int verbs_errno);

// Runs callbacks, one at a time, without the lock.
class Callbacks {
 public:
  void Add(std::function<void()> callback);  // under the lock
  bool IsThisThread() const { return this_thread_; }

 private:
  static void Run();

  bool started_ = false;
  std::deque<std::function<void()>> waiting_;
  std::condition_variable changed_;
  static thread_local bool this_thread_;
};

struct Library {
  std::mutex mutex;
  std::condition_variable answered;  // an answer has come, or a link has changed
  bool initialised = false;
  Handles handles;
  std::array<std::weak_ptr<Adapter>, kAdapters> adapters;
  std::array<bool, kAdapters> has_rnic{};      // until the adapter is gone, which takes a while
  std::condition_variable_any rnic_is_free;    // one of them is not
  std::map<uint32_t, LocalSegment*> segments;  // those with an id
  Callbacks callbacks;
};

// It outlives everything: threads of the library may still run when the process ends.
Library& TheLibrary();

// The adapter with this number, opened if need be. Under the lock, which it may let go meanwhile.
std::shared_ptr<Adapter> OpenAdapter(unsigned number);

Clock::time_point DeadlineOf(unsigned timeout_ms);

// Waits for it; false behind the deadline.
template <typename Done>
bool WaitFor(Lock* lock, std::condition_variable* changed, Clock::time_point deadline, Done done) {
  if (deadline != Clock::time_point::max()) return changed->wait_until(*lock, deadline, done);
  changed->wait(*lock, done);
  return true;
}

inline void Require(bool holds, sci_error_t error) {
  if (!holds) throw Failure{error};
}

// known: flags that the call has; useless: those of them that do nothing here.
inline void CheckFlags(unsigned flags, unsigned known, unsigned useless = 0) {
  Require((flags & ~(known | useless)) == 0, SCI_ERR_ILLEGAL_FLAG);
  Require((flags & useless) == 0, SCI_ERR_FLAG_NOT_IMPLEMENTED);
}

template <typename T>
std::shared_ptr<T> Get(const void* handle, Type type) {
  Require(TheLibrary().initialised, SCI_ERR_NOT_INITIALIZED);
  std::shared_ptr<Object> object =
      TheLibrary().handles.Get(reinterpret_cast<uintptr_t>(handle), type);
  Require(object != nullptr, SCI_ERR_ILLEGAL_PARAMETER);
  return std::static_pointer_cast<T>(std::move(object));
}

// An object in use by a call: under the lock, until Unlock or the end.
template <typename T>
class Using {
 public:
  Using(const void* handle, Type type) : object_(Get<T>(handle, type)), lock_(TheLibrary().mutex) {
    Require(!object_->removed, SCI_ERR_ILLEGAL_PARAMETER);
  }
  T* operator->() const { return object_.get(); }
  const std::shared_ptr<T>& object() const { return object_; }
  Lock* lock() { return &lock_; }
  // A call that waits keeps the adapter, whatever others remove meanwhile.
  template <typename A>
  A* Keep(A* adapter) {
    adapter_ = adapter->shared_from_this();
    return adapter;
  }

 private:
  const std::shared_ptr<T> object_;
  std::shared_ptr<Adapter> adapter_;
  Lock lock_;  // let go first
};

// Under the lock. Throws SCI_ERR_API_NOSPC.
template <typename Handle, typename T>
void Publish(const std::shared_ptr<T>& object, Handle* handle) {
  const uint64_t value = TheLibrary().handles.Add(object);
  Require(value != 0, SCI_ERR_API_NOSPC);
  *handle = reinterpret_cast<Handle>(static_cast<uintptr_t>(value));
}

// Under the lock: from here on nobody finds it, and who waits for it is told.
inline void Withdraw(Object* object) {
  object->removed = true;
  TheLibrary().handles.Remove(object->handle);
  object->changed.notify_all();
}

// Behind this no callback of it runs, unless this is one. It is withdrawn.
inline void AwaitCallback(Lock* lock, Object* object) {
  if (TheLibrary().callbacks.IsThisThread()) return;
  object->changed.wait(*lock, [&] { return !object->in_callback; });
}

// Under the lock: callback() runs soon, without it, unless the object is removed or its callback
// cancelled by then. Of one object so many wait, and those beyond are lost.
constexpr unsigned kCallbacksMax = 1024;
void CallBack(const std::shared_ptr<Object>& object,
              std::function<sci_callback_action_t()> callback);

// The face of every call: nothing is thrown beyond it.
template <typename Body>
auto Call(sci_error_t* error, Body body) -> decltype(body()) {
  sci_error_t result = SCI_ERR_OK;
  try {
    if (error != nullptr) *error = SCI_ERR_OK;
    return body();
  } catch (const Failure& failure) {
    result = failure.error;
  } catch (const vl::VerbsError& failure) {
    errno = failure.error();
    result = ErrorOf(failure.error());
  } catch (const std::bad_alloc&) {
    result = SCI_ERR_NOSPC;
  } catch (const std::system_error&) {  // no thread
    result = SCI_ERR_SYSTEM;
  }
  if (error != nullptr) *error = result;
  return decltype(body())();
}

// Exports it under the names, too, that Dolphin's headers give it.
#define SISCI_EXPORT(name)                                                                         \
  __asm__(".globl _SISCI_PUBLIC_FUNC_ST_" #name "\n.set _SISCI_PUBLIC_FUNC_ST_" #name ", " #name   \
          "\n.globl _SISCI_PUBLIC_FUNC_MT_" #name "\n.set _SISCI_PUBLIC_FUNC_MT_" #name ", " #name \
          "\n")

}  // namespace exrnic::sisci

#endif  // EXRNIC_SISCI_LIBRARY_H
